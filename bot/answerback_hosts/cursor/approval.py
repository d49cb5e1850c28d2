"""Approval requests of Cursor's hooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from answerback.dialects.approvals.approval_request import (
    ApprovalRequest,
    Variant,
    one_field,
    options,
    others,
    read_tool_name,
)
from answerback.dialects.call_reader import ArgumentNode

_OPTIONS: Final = options(allow="Allow once", deny="Deny")


def _read_command(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    command = call.text("command") if isinstance(call.value, dict) else None
    yield ApprovalRequest(
        tool="shell",
        arguments={"command": command},
        compared=(call.at("command"),),
        notes=others(call, "command"),
        acp_kind="execute",
        options=_OPTIONS,
        takes_note=True,  # the hook delivers it at the end of the turn
    )


def _read_mcp_tool(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    places = ((key, call.at(key).value) for key in ("url", "command"))
    shown, server = next(
        ((key, value) for key, value in places if isinstance(value, str)), ("", None)
    )
    yield ApprovalRequest(
        tool=read_tool_name((call, "tool_name")),
        server=server,
        arguments=call.at("tool_input").value,
        compared=(call.at("tool_input"),),
        notes=others(call, "tool_name", "tool_input", shown),
        options=_OPTIONS,
        takes_note=True,
    )


VARIANTS: Final[Mapping[str, Variant]] = {
    "cursor/beforeShellExecution": one_field(_read_command, "behavior", "deny", reason="message"),
    "cursor/beforeMCPExecution": one_field(_read_mcp_tool, "behavior", "deny", reason="message"),
}
