"""What the MCP tools return: asks, mistakes and late answers, in words for the model and as data."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_types import CallToolResult, TextContent
from pydantic import JsonValue

from answerback.core.ask import Status, ToolResult
from answerback.mcp import tools
from answerback.mcp.backend import AskJson


def result_for_ask(ask: AskJson) -> CallToolResult:
    """What a tool returns of an ask as it stands."""
    if ask["status"] == Status.OPEN:
        clarify = ask["clarify"]
        return _clarify(ask, clarify) if isinstance(clarify, dict) else _pending(ask)
    if ask["end_turn"]:
        words = "The user ended the turn. Stop here: call no further tools, and wait for the user."
        return text_result(words, {"end_turn": True, "ask_id": ask["id"]})
    return result_from_dialect(ToolResult.model_validate(ask["tool_result"]))


def waiting_message(ask: AskJson) -> str:
    """That an answer is awaited, and where: it names the ask."""
    return f"Waiting for an answer to {ask['id']}{_place(ask)}"


def result_from_dialect(result: ToolResult) -> CallToolResult:
    """A dialect's result."""
    return text_result(result.content, result.structured, is_error=result.is_error)


def error_result(words: str) -> CallToolResult:
    """An error, for the model."""
    return text_result(words, {"error": words}, is_error=True)


def text_result(words: str, structured: JsonValue, *, is_error: bool = False) -> CallToolResult:
    """A result as text and as data. Until 2026-07-28, data may only be an object.

    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
    """
    data = structured if isinstance(structured, dict) else None
    return CallToolResult(
        content=[TextContent(text=words)], structured_content=data, is_error=is_error
    )


def _pending(ask: AskJson) -> CallToolResult:
    words = (
        f"Nobody has answered yet; the question stays open{_place(ask)}. Call {tools.WAIT} with ask_id "
        f'"{ask["id"]}" to go on waiting. Do not ask again, and do not assume an answer.'
    )
    structured: JsonValue = {
        "status": "pending",
        "ask_id": ask["id"],
        "answered": ask["answers"],
        "message": words,
    }
    return text_result(words, structured)


def _clarify(ask: AskJson, asked: Mapping[str, JsonValue]) -> CallToolResult:
    by = asked["by"]
    name = by.get("name") if isinstance(by, dict) else None
    words = (
        f"{name or 'Somebody'} has not answered yet, and asks you to explain first: {asked['text']}\n"
        f'Call {tools.ADD_CONTEXT} with ask_id "{ask["id"]}" and your explanation, then {tools.WAIT} with the same '
        "ask_id. The question stays open. Do not ask it again, and do not assume an answer."
    )
    structured: JsonValue = {
        "status": "clarify",
        "ask_id": ask["id"],
        "clarify": dict(asked),
        "answered": ask["answers"],
        "message": words,
    }
    return text_result(words, structured)


def _place(ask: AskJson) -> str:
    thread = ask["thread"]
    url = thread.get("url") if isinstance(thread, dict) else None
    return f" at {url}" if url else f" on {ask['surface']}"
