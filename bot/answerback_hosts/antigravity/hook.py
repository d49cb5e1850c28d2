"""Antigravity CLI's hooks.

Shapes: https://antigravity.google/docs/hooks, and what others recorded of releases 1.1.20 and 1.2.3: the program is in
no registry. A hook can allow or deny the use of a tool but not give its result, so the answer to ask_question is the
reason of a denial. Release 1.1.2 still asked in its own window about what a hook had allowed; 1.2.3 does not.
"""

from __future__ import annotations

from typing import Final

from answerback.hooks.host import Call, Host, Json, Outcome, parse_arguments, text_in
from answerback_agents.pipe.host_answers import deny
from answerback_hosts.antigravity.answers import is_before_tool

_ASK_TOOL: Final = "ask_question"
_SAYS: Final = "People allowed it."


def _tool(event: Json) -> str:
    return text_in(event["toolCall"], "name") or "?"


def _call(event: Json) -> Call | None:
    if not is_before_tool(event):
        return None
    arguments = parse_arguments(event["toolCall"].get("args"))
    folders = event.get("workspacePaths")
    folder = folders[0] if isinstance(folders, list) and folders else None
    conversation = text_in(event, "conversationId")
    metadata = {"cwd": folder} if isinstance(folder, str) else {}
    if (tool := _tool(event)) == _ASK_TOOL:
        return Call(tool, arguments, "antigravity", conversation, metadata=metadata)
    return Call(
        name="antigravity/PreToolUse",
        arguments={"toolCall": {"name": tool, "args": arguments}},
        dialect="approval",
        conversation=conversation,
        is_permission=True,
        metadata=metadata,
    )


def _answer(event: Json, outcome: Outcome) -> Json:
    is_question = _tool(event) == _ASK_TOOL
    why_not = outcome.description if is_question else outcome.denial_reason
    if why_not is None:
        return {"decision": "allow", "reason": _SAYS}
    return deny(HOST.name, event, why_not)


def _conversation(event: Json) -> str | None:
    """The conversation of an event before the model is called, which can add a message."""
    is_before_model = "invocationNum" in event and "modelOutput" not in event
    return text_in(event, "conversationId") if is_before_model else None


HOST: Final = Host(
    name="antigravity",
    call=_call,
    answer=_answer,
    conversation=_conversation,
    tell_model=lambda _event, text: {"injectSteps": [{"userMessage": text}]},
)
