"""The dialect `approval`: a host asks whether its agent may use a tool, in the host's own format.

For every host, people see one choice with the tool and all its arguments. Nothing is preselected, and no deadline
approves anything: ending the ask in any way other than a decision counts as a denial.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core import headline
from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.errors import Problem
from answerback.core.form import Form, OptionKind
from answerback.core.grants import ToolCall
from answerback.core.headline import ToolKind
from answerback.dialects import results
from answerback.dialects.approvals import acp, frameworks, mcp_proxy, openai, unseen_fields
from answerback.dialects.approvals.approval_request import Variant
from answerback.dialects.approvals.decision_result import render_decided
from answerback.dialects.call_reader import ArgumentNode, ProblemCollector, did_you_mean
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback_base.hosts import load_parts

_HOSTS: Final = load_parts("approval")
VARIANTS: Final[dict[str, Variant]] = {
    "session/request_permission": acp.ACP,
    "hitl_request": frameworks.LANGCHAIN_BATCH,
    "tool_approval": frameworks.LANGCHAIN,
    "mcp_approval_request": openai.OPENAI_MCP,
    "tool_approval_item": openai.OPENAI_AGENTS,
    "tool-approval-request": frameworks.AI_SDK,
    "DeferredToolRequests": frameworks.PYDANTIC_AI,
    "adk_request_confirmation": frameworks.ADK,
    "tools/call": mcp_proxy.MCP_PROXY,
    **{name: variant for part in _HOSTS.values() for name, variant in part.VARIANTS.items()},
}
"""The reader and the renderer of each host's approvals, by the name of its request."""
_SHAPES: Final[dict[str, Shape]] = {
    name: shape
    for part in _HOSTS.values()
    if hasattr(part, "SHAPES")
    for name, shape in part.SHAPES.items()
}
"""The shapes of approvals that their names alone do not tell from other calls."""
_FIELDS: Final = unseen_fields.fields_by_request(_HOSTS.values())


def parse(call: ArgumentNode) -> Form | None:
    call.is_object()
    if (variant := VARIANTS.get(call.tool)) is None:
        name = call.tool[:100]
        known, meant = ", ".join(VARIANTS), did_you_mean(name, VARIANTS)
        message = f'name "{name}" is not an approval request{meant}; the known ones are: {known}.'
        problem = Problem(pointer="/name", code="unknown_value", message=message)
        call.problems.add(problem)
        return None
    requests = [*variant.read(call)]
    if call.problems.found:
        return None
    questions = tuple(
        question
        for each in requests
        for question in each.questions(denial_has_note=variant.with_notes is not None)
    )
    # A question that comes as a request for permission allows nothing, so an option of it is no denial either.
    return Form(questions=questions, decided_by_hand=any(each.is_approval for each in questions))


def read_tool_call(name: str, arguments: dict[str, JsonValue]) -> ToolCall | None:
    """Return the one use of a tool that a valid call asks for; None if it asks for anything else as well."""
    requests = [*VARIANTS[name].read(ArgumentNode(arguments, ProblemCollector(arguments, name)))]
    if len(requests) != 1 or requests[0].headline is not None or requests[0].lead:
        return None
    if requests[0].nothing_known:
        return None
    [one] = requests
    if not one.takes_grants:
        return None
    once = [option for option in one.options if option.kind is OptionKind.ALLOW_ONCE]
    if len(once) != 1 or any(
        more.when and more.when.equals == once[0].value for more in one.further
    ):
        return None
    [option] = once
    kind = ToolKind.MCP if one.server else headline.kind_of(one.tool, one.acp_kind)
    # What an option does besides allowing stands only in its text, or in fields that are not known.
    sent = unseen_fields.sent_options(arguments, option)
    others: dict[str, JsonValue] = {
        "option": [option.value, option.label, option.description, *sent],
        "unseen": unseen_fields.read_unseen(arguments, one, _FIELDS.get(name)),
    }
    if kind is not ToolKind.EDIT:  # the text about an edit differs each time
        others["said"] = [one.title, *one.said, *one.texts]
    return ToolCall(name, one.tool, one.server, kind, one.arguments, one.notes, others)


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    variant, answers = VARIANTS[ask.request.name], ask.walk.values
    arguments = ask.request.arguments
    if ask.status is Status.ANSWERED:
        return results.json_result(render_decided(variant, ask))
    return results.json_result(variant.render_no_decision(answers, arguments, results.said(ask)))


DIALECT: Final = Dialect(
    name="approval",
    calls=(
        *(CallRule((name,), shape, 10, options={}) for name, shape in _SHAPES.items()),
        CallRule(tuple(name for name in VARIANTS if name not in _SHAPES), options={}),
    ),
    parse=parse,
    render=render,
)
