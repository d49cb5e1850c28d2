"""Approval requests of gateways: `answerback mcp-proxy`, and OpenClaw.

A client of `answerback mcp-proxy` wants to call a tool of a server, which is named as the proxy's policy names it.
Nothing else about it comes from the server itself, but the change of a tool's definition, which is shown as such.
OpenClaw asks for a command that it would run, and for what a plug-in would do; shapes: its protocol of 2026.9.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from answerback.core.form import Option
from answerback.dialects.approvals.approval_request import (
    ApprovalRequest,
    one_field,
    options,
    others,
    read_tool_name,
)
from answerback.dialects.approvals.arguments_markdown import Block
from answerback.dialects.call_reader import ArgumentNode

_CHANGED: Final = "changed"


def _read_proxy(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    changed = call.text(_CHANGED) if call.has(_CHANGED) else None
    title = "**The server has changed this tool since a call of it was allowed:**"
    yield ApprovalRequest(
        tool=read_tool_name((call, "name")),
        server=call.label("server"),
        arguments=call.at("arguments").value,
        compared=(call.at("arguments"),),
        notes=others(call, "server", "name", "arguments", _CHANGED),
        lead=() if changed is None else (Block(title, changed, "diff"),),
        options=options(allow="Allow once", deny="Deny"),
    )


MCP_PROXY: Final = one_field(_read_proxy, "behavior", "deny", reason="message")


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


OPENCLAW_COMMAND: Final = one_field(_read_command, "decision", _DENY)
OPENCLAW_PLUGIN: Final = one_field(_read_plugin, "decision", _DENY)
