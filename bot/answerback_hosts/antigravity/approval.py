"""Approval requests of Antigravity CLI's hooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from answerback.core import headline
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
"""Its tools' names of arguments, and those that other hosts' tools of the same kind have."""
_KINDS: Final = {
    "run_command": "execute",
    "write_to_file": "edit",
    "replace_file_content": "edit",
    "multi_replace_file_content": "edit",
}


def _read(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    tool_call = require_object(call, "toolCall")
    tool, arguments, line = read_tool_name((tool_call, "name")), tool_call.at("args").value, None
    if tool in _KINDS and isinstance(arguments, dict):
        if arguments.keys().isdisjoint(_SAME.values()):
            arguments = {_SAME.get(name, name): value for name, value in arguments.items()}
        else:  # an argument that the tool does not read: the headline must not come from it
            line = headline.use(tool, None)
    yield ApprovalRequest(
        tool=tool,
        arguments=arguments,
        headline=line,
        compared=(tool_call.at("args"),),
        notes=together(others(call, "toolCall"), toolCall=others(tool_call, "name", "args")),
        acp_kind=_KINDS.get(tool),
        options=options(allow="Allow once", deny="Deny"),
        takes_note=True,  # the hook delivers it before the model is called again
    )


VARIANTS: Final[Mapping[str, Variant]] = {
    "antigravity/PreToolUse": one_field(_read, "behavior", "deny", reason="message"),
}
