"""The results of the MCP tools: asks, errors and late answers, as text for the model and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mcp_types import CallToolResult, TextContent
from pydantic import JsonValue

from answerback.core.ask import Status, ToolResult
from answerback.mcp import tools
from answerback.mcp.backend import AskJson
from answerback_base.file_text import describe_file, place_in_service

FILES_META: Final = "answerback/files"
"""In a result's ``_meta``: the files that people sent with what the result tells."""


def result_for_ask(ask: AskJson) -> CallToolResult:
    if ask["status"] == Status.OPEN:
        clarify = ask["clarify"]
        return _clarify(ask, clarify) if isinstance(clarify, dict) else _pending(ask)
    if ask["end_turn"]:
        text = (
            "The user ended the turn. Stop here: do not call any more tools, and wait for the user."
        )
        return text_result(text, {"end_turn": True, "ask_id": ask["id"]})
    result = result_from_dialect(ToolResult.model_validate(ask["tool_result"]))
    if sent := files_of(ask):
        said = (
            describe_file(str(each["name"]), place_in_service(str(each["id"]))) for each in sent
        )
        result.content.append(TextContent(text="\n".join(said)))
        result.meta = files_meta([ask])
    return result


def files_meta(asks: Sequence[AskJson]) -> dict[str, JsonValue] | None:
    """Return what `answerback mcp` reads of the files that a result names, to save them; None if it names none."""
    files: list[JsonValue] = [
        {**each, "conversation": ask.get("conversation") or ask["id"]}
        for ask in asks
        for each in files_of(ask)
    ]
    return {FILES_META: files} if files else None


def files_of(ask: AskJson) -> list[dict[str, JsonValue]]:
    """Return the files that people sent, as far as the agent may read them."""
    sent = ask.get("answer_files")
    return [each for each in sent if isinstance(each, dict)] if isinstance(sent, list) else []


def waiting_message(ask: AskJson) -> str:
    """The message that an ask is waiting for an answer, with its id and place."""
    return f"Waiting for an answer to {ask['id']}{_place(ask)}"


def result_from_dialect(result: ToolResult) -> CallToolResult:
    return text_result(result.content, result.structured, is_error=result.is_error)


def error_result(text: str) -> CallToolResult:
    return text_result(text, {"error": text}, is_error=True)


def text_result(text: str, structured: JsonValue, *, is_error: bool = False) -> CallToolResult:
    """Build a result as text and data. Before protocol version 2026-07-28, data must be an object.

    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
    """
    data = structured if isinstance(structured, dict) else None
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=data, is_error=is_error
    )


def _pending(ask: AskJson) -> CallToolResult:
    text = (
        f"Nobody has answered yet; the question stays open{_place(ask)}. Call {tools.WAIT} with ask_id "
        f'"{ask["id"]}" to continue waiting. Do not ask again, and do not assume an answer.'
    )
    return _open_result(ask, "pending", text)


def _clarify(ask: AskJson, asked: Mapping[str, JsonValue]) -> CallToolResult:
    by = asked["by"]
    name = by.get("name") if isinstance(by, dict) else None
    text = (
        f"{name or 'Someone'} has not answered yet and asks you to explain first: {asked['text']}\n"
        f'Call {tools.ADD_CONTEXT} with ask_id "{ask["id"]}" and your explanation, then {tools.WAIT} with the same '
        "ask_id. The question stays open. Do not ask it again, and do not assume an answer."
    )
    return _open_result(ask, "clarify", text, clarify=dict(asked))


def _open_result(ask: AskJson, status: str, text: str, **more: JsonValue) -> CallToolResult:
    head: dict[str, JsonValue] = {"status": status, "ask_id": ask["id"], **more}
    return text_result(text, {**head, "answered": ask["answers"], "message": text})


def _place(ask: AskJson) -> str:
    thread = ask["thread"]
    url = thread.get("url") if isinstance(thread, dict) else None
    return f" at {url}" if url else f" on {ask['surface']}"
