"""Approval requests of an OpenClaw gateway: for a command that it would run, and for what a plug-in would do.

Shapes: the protocol of OpenClaw 2026.9.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.form import Option
from answerback.core.headline import fit
from answerback.dialects.approvals.approval_request import (
    DECISION,
    AnswersById,
    ApprovalRequest,
    Json,
    Variant,
    notes,
    options,
    read_tool_name,
)
from answerback.dialects.call_reader import ArgumentNode

_ONCE: Final = "allow-once"
_ALWAYS: Final = "allow-always"
_DENY: Final = "deny"
_LABELS: Final = {_ONCE: "Allow once", _ALWAYS: "Always allow", _DENY: "Deny"}
_COMMAND_NOTES: Final = ("cwd", "host", "nodeId", "resolvedPath", "warningText", "agentId")
_PLUGIN_NOTES: Final = ("description", "detail", "scope", "severity", "pluginId", "agentId")


def _options(call: ArgumentNode) -> tuple[Option, ...]:
    """The decisions that the gateway accepts: once and no, unless it says otherwise."""
    listed = call.at("allowedDecisions").value
    allowed = listed if isinstance(listed, list) else [_ONCE]
    return options(
        **{value: label for value, label in _LABELS.items() if value in [*allowed, _DENY]}
    )


def _read_command(call: ArgumentNode) -> Sequence[ApprovalRequest]:
    command = call.text("command") if isinstance(call.value, dict) else None
    request = ApprovalRequest(
        tool="exec",
        arguments={"command": command},
        notes=notes(call, *_COMMAND_NOTES),
        acp_kind="execute",
        options=_options(call),
    )
    return [request]


def _read_plugin(call: ArgumentNode) -> Sequence[ApprovalRequest]:
    title = read_tool_name((call, "title"))
    request = ApprovalRequest(
        tool=read_tool_name((call, "toolName"), (call, "title")),
        notes=notes(call, *_PLUGIN_NOTES),
        headline=fit(title, "Allow: "),
        options=_options(call),
    )
    return [request]


def _decision(answers: AnswersById, _arguments: Json) -> JsonValue:
    return {"decision": answers[DECISION]}


def _no_decision(_answers: AnswersById, _arguments: Json, _reason: str) -> JsonValue:
    return {"decision": _DENY}


COMMAND: Final = Variant(_read_command, _decision, _no_decision)
PLUGIN: Final = Variant(_read_plugin, _decision, _no_decision)
