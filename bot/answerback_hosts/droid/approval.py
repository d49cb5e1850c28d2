"""Approval requests of Factory Droid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue

from answerback.core import headline
from answerback.core.form import MAX_OPTIONS
from answerback.core.headline import ToolKind
from answerback.dialects.approvals.approval_request import (
    DECISION,
    AnswersById,
    ApprovalRequest,
    Editable,
    EditsById,
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

_WITH_A_PLAN: Final = "proceed_edit"
"""An option that Droid takes only together with a changed plan: without one, its SDK cancels instead (droid-sdk 0.5.0,
`RequestPermissionResult`). Droid 0.215.0 offers none, and takes a changed plan with any option that approves it.
"""
_TOOL_USE: Final = ("type", "id", "name", "input")
_PLAN: Final = "plan"


def _read_droid(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    """Read a request about one or several uses of tools, which are decided together."""
    uses: list[tuple[ArgumentNode, Json]] = []
    tools: list[str] = []
    for node in call.items("toolUses", min_items=1, max_items=MAX_OPTIONS, noun="uses"):
        use = require_object(node, "toolUse") if node.is_object() else node
        tools.append(read_tool_name((use, "name")))
        said = together(_said(node), toolUse=others(use, *_TOOL_USE))
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
    is_plan = len(uses) == 1 and headline.kind_of(tools[0]) is ToolKind.PLAN
    plans = _plans(call.at("toolUses").at(0)) if is_plan else ()
    yield ApprovalRequest(
        tool=", ".join(dict.fromkeys(tools)),
        arguments=arguments.value if is_one else several,
        compared=(arguments,) if is_one else (),
        notes=together(others(call, "toolUses", "options"), toolUses=details if is_one else {}),
        options=tuple(each for each in offered if each.value != _WITH_A_PLAN) or offered,
        takes_note=True,
        nothing_known=is_plan and not plans,
        editable=Editable(plans, part=_PLAN) if _are_alike(plans) else None,
    )


def _said(node: ArgumentNode) -> Json:
    """Return what Droid says of a use of a tool, without what stands in the tool's input too."""
    said, given = others(node, "toolUse", "confirmationType"), node.at("toolUse").at("input").value
    details = said.get("details")
    if isinstance(details, dict) and isinstance(given, dict):
        said["details"] = {
            name: value
            for name, value in details.items()
            if name not in given or given[name] != value
        }
    return said


def _plans(use: ArgumentNode) -> tuple[ArgumentNode, ...]:
    """Return where the plan stands: in the tool's input, and in what Droid shows."""
    places = (use.at("toolUse").at("input").at(_PLAN), use.at("details").at(_PLAN))
    return tuple(each for each in places if isinstance(each.value, str) and each.value.strip())


def _are_alike(plans: Sequence[ArgumentNode]) -> bool:
    return len({str(each.value) for each in plans}) == 1


def _edited(answers: AnswersById, arguments: Json, edits: EditsById) -> JsonValue:
    """Approve a plan as it was changed, which Droid writes into the plan's file."""
    offers: Any = arguments["options"]
    with_a_plan = any(each["value"] == _WITH_A_PLAN for each in offers)
    chosen = _WITH_A_PLAN if with_a_plan else answers[DECISION]
    return {"selectedOption": chosen, "editedSpecContent": edits[DECISION][_PLAN]}


VARIANTS: Final[Mapping[str, Variant]] = {
    "droid.request_permission": one_field(
        _read_droid, "selectedOption", "cancel", reason="comment", reason_when_allowed=True
    )._replace(render_edited=_edited),
}
