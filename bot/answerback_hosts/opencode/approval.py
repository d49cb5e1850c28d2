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
from answerback.dialects.approvals.unseen_fields import HostFields
from answerback.dialects.call_reader import ArgumentNode


def _read(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    yield _request(
        call,
        tool="permission",
        saved=("always", "patterns"),
        until=" until opencode ends",
        by="tool",
    )


def _read_v2(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    yield _request(call, tool="action", saved=("save", "rules"), until="", by="source")


def _request(
    call: ArgumentNode, *, tool: str, saved: tuple[str, str], until: str, by: str
) -> ApprovalRequest:
    """Read a request of either kind.

    Args:
        tool: the field that names what opencode wants to do.
        saved: the field with the patterns that *always* saves, and what they are called in an error.
        until: how long they hold, as the end of the option's label.
        by: the field that names the call that asks.
    """
    [once, reject] = options(once="Allow once", reject="Deny")
    patterns = [node.value for node in optional_items(call, *saved)]
    label = f"Always allow {', '.join(map(str, patterns))}{until}"
    always = option_for("always", label, patterns, OptionKind.ALLOW_ALWAYS, whole=True)
    return ApprovalRequest(
        tool=read_tool_name((call, tool)),
        arguments=call.at("metadata").value,
        compared=(call.at("metadata"),),
        notes=others(call, tool, "metadata", saved[0], "id", "sessionID", by),
        options=(once, always, reject) if patterns else (once, reject),
        takes_note=True,  # the bridge adds it to the session
    )


VARIANTS: Final[Mapping[str, Variant]] = {
    "permission.asked": one_field(_read, "reply", "reject", reason="message"),
    "permission.v2.asked": one_field(_read_v2, "reply", "reject", reason="message"),
}
HOST_FIELDS: Final = HostFields(("callID", "messageID", "sessionID"), ("always",))
