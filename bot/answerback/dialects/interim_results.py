"""The interim result of an asynchronous ask, which tells the model that the answer will come later."""

from __future__ import annotations

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.dialects import results
from answerback.dialects.installed import installed_dialects


def render_interim_result(ask: Ask) -> ToolResult | None:
    """Render the tool result until there is an answer; None if the agent waits, or the ask has ended."""
    request = ask.request
    if not ask.open or request.mode != "async":
        return None
    dialect = installed_dialects().usable.get(request.dialect)
    is_async = dialect.is_async if dialect else None
    if dialect and dialect.accepted and is_async and is_async(request.name, request.arguments):
        return results.json_result({**dialect.accepted})  # the result that the tool promises
    message = (
        f"People were asked, and the question stays open ({ask.id}). Do not wait and do not assume an answer: continue "
        "with what does not depend on it. The answer comes later, as a message or from the tool check_answers."
    )
    structured: JsonValue = {"status": "pending", "ask_id": ask.id, "message": message}
    return ToolResult(content=message, structured=structured)
