"""Approval requests of OpenClaw: for a command that it would run, and for what a plug-in would do.

Shapes: its protocol of 2026.9.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from answerback.core.form import Option
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

_ONCE: Final = "allow-once"
_ALWAYS: Final = "allow-always"
_DENY: Final = "deny"
_LABELS: Final = {_ONCE: "Allow once", _ALWAYS: "Always allow", _DENY: "Deny"}
_HIDDEN_FIELDS: Final = (
    *("id", "sessionKey", "sessionId", "runId", "toolCallId", "allowedDecisions", "unavailableDecisions"),
    *("ask", "security", "timeoutMs", "expiresInDays", "twoPhase", "requireDeliveryRoute", "suppressDelivery"),
    *("turnSourceChannel", "turnSourceTo", "turnSourceAccountId", "turnSourceThreadId"),
    *("deliverToApprovalClientsOnly", "approvalReviewerDeviceIds", "commandAnalysis", "commandSpans"),
)  # fmt: skip
"""Fields that say who asks whom, and how; not what would be done."""


def _options(call: ArgumentNode) -> tuple[Option, ...]:
    """The decisions that the gateway accepts: once and no, unless it says otherwise."""
    listed = call.at("allowedDecisions").value
    allowed = listed if isinstance(listed, list) else [_ONCE]
    return options(
        **{value: label for value, label in _LABELS.items() if value in [*allowed, _DENY]}
    )


def _read_command(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    command = call.text("command") if isinstance(call.value, dict) else None
    yield ApprovalRequest(
        tool="exec",
        arguments={"command": command},
        compared=(call.at("command"),),
        notes=others(call, "command", *_HIDDEN_FIELDS),
        acp_kind="execute",
        options=_options(call),
    )


def _read_plugin(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    title = read_tool_name((call, "title"))
    yield ApprovalRequest(
        tool=read_tool_name((call, "toolName"), (call, "title")),
        notes=others(call, "title", *_HIDDEN_FIELDS),
        headline=f"Allow: {title}",
        options=_options(call),
    )


VARIANTS: Final[Mapping[str, Variant]] = {
    "exec.approval.requested": one_field(_read_command, "decision", _DENY),
    "plugin.approval.requested": one_field(_read_plugin, "decision", _DENY),
}
HOST_FIELDS: Final = HostFields(
    ("sessionKey", "runId"),
    ("allowedDecisions", "unavailableDecisions", "commandAnalysis", "commandSpans"),
)
