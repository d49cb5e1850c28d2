"""Approval requests of Antigravity CLI's hooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from answerback.dialects.approvals.approval_request import (
    ApprovalRequest,
    Variant,
    one_field,
    options,
    others,
    read_tool_name,
    require_object,
    together,
)
from answerback.dialects.call_reader import ArgumentNode

_SAME: Final = {
    "CommandLine": "command",
    "Cwd": "cwd",
    "TargetFile": "file_path",
    "TargetContent": "old_string",
    "ReplacementContent": "new_string",
    "CodeContent": "content",
}
"""Its names of arguments, and those that other hosts' tools of the same kind have."""
_KINDS: Final = {
    "run_command": "execute",
    "write_to_file": "edit",
    "replace_file_content": "edit",
    "multi_replace_file_content": "edit",
}


def _read(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    tool_call = require_object(call, "toolCall")
    tool = read_tool_name((tool_call, "name"))
    yield ApprovalRequest(
        tool=tool,
        arguments=_renamed(tool_call.at("args").value),
        compared=(tool_call.at("args"),),
        notes=together(others(call, "toolCall"), toolCall=others(tool_call, "name", "args")),
        acp_kind=_KINDS.get(tool),
        options=options(allow="Allow once", deny="Deny"),
        takes_note=True,  # the hook delivers it before the model is called again
    )


def _renamed(arguments: JsonValue) -> JsonValue:
    if not isinstance(arguments, dict):
        return arguments
    return {_SAME.get(name, name): value for name, value in arguments.items()}


VARIANTS: Final[Mapping[str, Variant]] = {
    "antigravity/PreToolUse": one_field(_read, "behavior", "deny", reason="message"),
}
