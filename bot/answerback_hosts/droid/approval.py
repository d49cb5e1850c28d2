"""Approval requests of Factory Droid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from answerback.core.form import MAX_OPTIONS
from answerback.dialects.approvals.approval_request import (
    ApprovalRequest,
    Json,
    Variant,
    one_field,
    others,
    read_options,
    read_tool_name,
    require_object,
    together,
)
from answerback.dialects.call_reader import ArgumentNode

_WITH_A_TEXT: Final = "proceed_edit"
"""An option that Droid takes only together with a changed plan: without one, its SDK cancels instead (droid-sdk 0.5.0,
`RequestPermissionResult`). People say what to change in a comment."""
_TOOL_USE: Final = ("type", "id", "name", "input")


def _read_droid(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    """Read a request about one or several uses of tools, which are decided together."""
    uses: list[tuple[ArgumentNode, Json]] = []
    tools: list[str] = []
    for node in call.items("toolUses", min_items=1, max_items=MAX_OPTIONS, noun="uses"):
        use = require_object(node, "toolUse") if node.is_object() else node
        tools.append(read_tool_name((use, "name")))
        said = together(
            others(node, "toolUse", "confirmationType"), toolUse=others(use, *_TOOL_USE)
        )
        uses.append((use.at("input"), said))
    several: list[JsonValue] = [
        part
        for tool, (given, said) in zip(tools, uses, strict=True)
        for part in ({tool: given.value}, said)
        if part
    ]
    offered = tuple(option for option, _ in read_options(call, "value", "label"))
    [(arguments, details), *_] = uses or [(call.at("toolUses"), {})]
    is_one = len(uses) <= 1
    yield ApprovalRequest(
        tool=", ".join(dict.fromkeys(tools)),
        arguments=arguments.value if is_one else several,
        compared=(arguments,) if is_one else (),
        notes=together(others(call, "toolUses", "options"), toolUses=details if is_one else {}),
        options=tuple(each for each in offered if each.value != _WITH_A_TEXT) or offered,
        takes_note=True,
    )


VARIANTS: Final[Mapping[str, Variant]] = {
    "droid.request_permission": one_field(
        _read_droid, "selectedOption", "cancel", reason="comment", reason_when_allowed=True
    ),
}
