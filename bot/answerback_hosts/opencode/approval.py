"""Approval requests of opencode, of both kinds of its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from answerback.core.form import OptionKind
from answerback.dialects.approvals.approval_request import (
    ApprovalRequest,
    Variant,
    one_field,
    option_for,
    optional_items,
    options,
    others,
    read_tool_name,
)
from answerback.dialects.call_reader import ArgumentNode


def _read_opencode(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    [once, reject] = options(once="Allow once", reject="Deny")
    patterns = [node.value for node in optional_items(call, "always", "patterns")]
    label = f"Always allow {', '.join(map(str, patterns))} until opencode ends"
    always = option_for("always", label, patterns, OptionKind.ALLOW_ALWAYS, whole=True)
    yield ApprovalRequest(
        tool=read_tool_name((call, "permission")),
        arguments=call.at("metadata").value,
        compared=(call.at("metadata"),),
        notes=others(call, "permission", "metadata", "always", "id", "sessionID", "tool"),
        options=(once, always, reject) if patterns else (once, reject),
    )


def _read_opencode_v2(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    [once, reject] = options(once="Allow once", reject="Deny")
    saved = [node.value for node in optional_items(call, "save", "rules")]
    label = f"Always allow {', '.join(map(str, saved))}"
    always = option_for("always", label, saved, OptionKind.ALLOW_ALWAYS, whole=True)
    yield ApprovalRequest(
        tool=read_tool_name((call, "action")),
        arguments=call.at("metadata").value,
        compared=(call.at("metadata"),),
        notes=others(call, "action", "metadata", "save", "id", "sessionID", "source"),
        options=(once, always, reject) if saved else (once, reject),
    )


VARIANTS: Final[Mapping[str, Variant]] = {
    "permission.asked": one_field(_read_opencode, "reply", "reject", reason="message"),
    "permission.v2.asked": one_field(_read_opencode_v2, "reply", "reject", reason="message"),
}
