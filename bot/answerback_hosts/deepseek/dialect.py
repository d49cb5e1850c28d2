"""The dialect `deepseek`: DeepSeek Harness's ask_user_question, whose questions have ids and may review a plan.

Shapes: what its host asks its clients (`questions` with ``detail`` and ``intent``), read in November 2026. Other hosts'
questions of this name have no id.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect, Shape

_PLAN_REVIEW: Final = "plan-review"


def _parse(call: ArgumentNode) -> Form | None:
    ids: set[str] = set()
    form = choice_forms.read_form(call, lambda node, _: _question(node, ids))
    if form is None or not any(question.plan for question in form.questions):
        return form
    return form.model_copy(update={"decided_by_hand": True})


def _question(node: ArgumentNode, ids: set[str]) -> Question | None:
    question_id, text = node.label("id"), node.text("question")
    choice_forms.require_unique(node, "id", question_id, ids)
    options = choice_forms.read_options(node, min_items=0, required=False)
    kind = choice_forms.read_multiple(node, "multiSelect")
    detail = node.text("detail", required=False, blank=True) or None
    approve = _approves(node.at("intent").value)
    if question_id is None or text is None:
        return None
    is_plan = kind is AnswerType.SELECT and approve in [option.value for option in options]
    return choice_forms.choice_question(
        question_id,
        text,
        tuple(_decides(option, approve) for option in options) if is_plan else options,
        kind,
        other=not is_plan,
        header=choice_forms.read_header(node),
        context=detail,
        plan=is_plan,
    )


def _approves(intent: JsonValue) -> str | None:
    """Return the label that approves a plan; None if the question reviews none."""
    match intent:
        case {"kind": kind, "approve": str() as label} if kind == _PLAN_REVIEW:
            return label
        case _:
            return None


def _decides(option: Option, approve: str | None) -> Option:
    kind = OptionKind.ALLOW_ONCE if option.value == approve else OptionKind.DENY
    return option.model_copy(update={"kind": kind})


@results.unless_failed
def _render(ask: Ask) -> ToolResult:
    """Render the answers by id; the message of a Reply stands in the place of the user's own words."""
    answers: list[JsonValue] = []
    for place, question in enumerate(ask.form.questions):
        given = ask.walk.answer(question.id)
        if given is None and ask.walk.reply is not None and place == ask.walk.at:
            answers.append({"id": question.id, "selected": [], "custom": ask.walk.reply})
        elif given is not None and question.answer_type is AnswerType.TEXT:
            answers.append({"id": question.id, "selected": [], "custom": str(given.value)})
        elif given is not None:
            custom = {} if given.other_text is None else {"custom": given.other_text}
            selected = results.chosen_values(given)
            answers.append({"id": question.id, "selected": selected, **custom})
    if ask.status is Status.ANSWERED:
        return results.json_result({"answers": answers})
    return results.json_result({"answers": answers, "cancelled": True, **results.reason_field(ask)})


DIALECT: Final = Dialect(
    name="deepseek",
    calls=(
        CallRule(
            ("ask_user_question",), Shape(first_has=frozenset({"id", "question"})), 10, lists=True
        ),
    ),
    parse=_parse,
    render=_render,
    order=30,
)
