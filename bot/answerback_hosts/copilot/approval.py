"""Approval requests of Copilot CLI's hooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from answerback.core import headline
from answerback.core.headline import ToolKind
from answerback.dialects.approvals.approval_request import (
    ApprovalRequest,
    Variant,
    one_field,
    options,
    others,
    read_tool_name,
)
from answerback.dialects.approvals.unseen_fields import HostFields
from answerback.dialects.call_reader import ArgumentNode

_COPILOT_EVENT_FIELDS: Final = (
    "hookName",
    "sessionId",
    "timestamp",
    "cwd",
    "permissionSuggestions",
)


def _read_copilot(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    name = read_tool_name((call, "toolName"))
    server, _, tool = name.rpartition("/")
    if headline.kind_of(name) is not ToolKind.OTHER:
        server, tool = "", name  # a slash may also belong to a known name
    yield ApprovalRequest(
        tool=tool,
        server=server or None,
        arguments=call.at("toolInput").value,
        compared=(call.at("toolInput"),),
        notes=others(call, "toolName", "toolInput", *_COPILOT_EVENT_FIELDS),
        options=options(allow="Allow", deny="Deny"),
        takes_note=True,  # the hook delivers it with the next prompt
    )


VARIANTS: Final[Mapping[str, Variant]] = {
    "permissionRequest": one_field(_read_copilot, "behavior", "deny", reason="message"),
}
HOST_FIELDS: Final = HostFields((), ("permissionSuggestions",))
