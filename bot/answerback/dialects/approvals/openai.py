"""Approval requests of OpenAI: MCP tools of the Responses API, and any tool of the Agents SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.dialects.approvals.approval_request import (
    DECISION,
    YES_NO,
    AnswersById,
    ApprovalRequest,
    Json,
    Variant,
    mcp_tool_name,
    options,
    others,
    read_tool_name,
    together,
    yes_or_no,
)
from answerback.dialects.approvals.arguments_markdown import parse_json_arguments
from answerback.dialects.call_reader import ArgumentNode


def _read_openai_mcp(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    call.label("id")
    server, tool = call.label("server_label"), read_tool_name((call, "name"))
    yield ApprovalRequest(
        tool=tool,
        server=server,
        full_name=mcp_tool_name(server, tool),
        arguments=parse_json_arguments(call.at("arguments").value),
        compared=(call.at("arguments"),),
        notes=others(call, "type", "id", "server_label", "name", "arguments"),
        options=YES_NO,
    )


def _openai_mcp_response(arguments: Json, approve: bool) -> Json:
    request: Json = {"approval_request_id": arguments["id"], "approve": approve}
    return {"type": "mcp_approval_response", **request}


_OPENAI: Final = options(
    approve="Approve",
    approve_always="Always approve this tool in this run",
    reject="Reject",
    reject_always="Always reject this tool in this run",
)


_OPENAI_ITEM: Final = ("type", "tool_name", "raw_item", "tool_origin", "tool_lookup_key")
_OPENAI_RAW_ITEM: Final = ("type", "id", "call_id", "callId", "status", "server_label")


def _read_openai(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    item = call.at("raw_item")
    tool = read_tool_name((call, "tool_name"), (item, "name"), (item, "type"))
    use = _openai_use(item)
    named = () if item.at("name").value != tool else ("name",)
    yield ApprovalRequest(
        tool=tool,
        arguments=use.arguments,
        compared=(item.at(use.shown),),
        acp_kind=use.acp_kind,
        notes=together(
            others(call, *_OPENAI_ITEM),
            raw_item=others(item, *_OPENAI_RAW_ITEM, use.shown, *named),
        ),
        server=_server_label(item),
        options=_OPENAI,
    )


class _OpenaiUse(NamedTuple):
    """The effect of a tool of OpenAI Agents, the field that says so, and the kind of tool in ACP's words."""

    arguments: JsonValue
    shown: str
    acp_kind: str | None = None


def _openai_use(item: ArgumentNode) -> _OpenaiUse:
    match item.value:
        case {"type": "shell_call" | "local_shell_call", "action": dict() as action}:
            given: Json = {key: value for key, value in action.items() if value is not None}
            return _OpenaiUse(given, "action", "execute")
        case {"type": "apply_patch_call", "operation": dict() as operation}:
            return _OpenaiUse({"changes": [operation]}, "operation", "edit")
        case _:
            return _OpenaiUse(parse_json_arguments(item.at("arguments").value), "arguments")


def _server_label(item: ArgumentNode) -> str | None:
    label = item.at("server_label").value
    return label if isinstance(label, str) and label else None


def _openai_decision(answers: AnswersById, _arguments: Json) -> JsonValue:
    decision, _, always = str(answers[DECISION]).partition("_")
    return {"approved": decision == "approve", "always": bool(always)}


def _openai_no_decision(_answers: AnswersById, _arguments: Json, reason: str) -> JsonValue:
    return {"approved": False, "always": False, "rejection_message": reason}


def _openai_notes(result: Json, notes: AnswersById) -> Json:
    """Only a rejection has a message."""
    return result if result["approved"] else {**result, "rejection_message": notes[DECISION]}


OPENAI_MCP: Final = yes_or_no(_read_openai_mcp, _openai_mcp_response)
OPENAI_AGENTS: Final = Variant(_read_openai, _openai_decision, _openai_no_decision, _openai_notes)
