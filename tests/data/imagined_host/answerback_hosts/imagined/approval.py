"""Imagined's requests for permission."""

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
from answerback.dialects.approvals.unseen_fields import HostFields
from answerback.dialects.call_reader import ArgumentNode


def _read(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    yield ApprovalRequest(
        tool=read_tool_name((call, "tool")),
        arguments=call.at("input").value,
        compared=(call.at("input"),),
        notes=others(call, "tool", "input", "run", "offers"),
        options=options(allow="Allow once", deny="Deny"),
    )


VARIANTS: Final[Mapping[str, Variant]] = {
    "imagined/permission": one_field(_read, "behavior", "deny", reason="message")
}
HOST_FIELDS: Final = HostFields(("run",), ("offers",))
