"""The dialect `ask_user_form`: multiple-choice questions answered by position, or free text instead of answers."""

from __future__ import annotations

from functools import partial
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Question
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_definitions import BY_DIALECT


def _question(node: ArgumentNode, question_id: str) -> Question | None:
    text = node.text("question")
    kind = choice_forms.read_multiple(node, "multiSelect")
    options = choice_forms.read_options(node, min_items=2)
    if text is None or not options:
        return None
    question = choice_forms.choice_question(question_id, text, options, kind)
    # In a single choice, the first option is the agent's recommendation.
    is_single = kind is AnswerType.SELECT
    return question.with_default(options[0].value) if is_single else question


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    by_id = ask.walk.values
    answers: list[JsonValue] = [_as_array(q, by_id.get(q.id)) for q in ask.form.questions]
    match ask.status:
        case Status.ANSWERED:
            return results.json_result({"answers": answers})
        case Status.CANCELLED:
            return results.json_result(
                {"freeText": ask.walk.reply or "", **results.reason_field(ask)}
            )
        case _:
            return results.json_result(
                {"cancelled": True, "answers": answers, **results.reply_and_reason_fields(ask)}
            )


def _as_array(question: Question, value: JsonValue) -> JsonValue:
    """Return the answer to a multi-select as an array, even if it is only free text."""
    several = question.answer_type is AnswerType.MULTI_SELECT
    return [value] if several and isinstance(value, str) else value


DIALECT: Final = Dialect(
    name="ask_user_form",
    calls=(
        CallRule(("ask_user",), Shape(first_has=frozenset({"question"})), 60),
        # Without its text, such a question is told from a typed one by what it lacks besides.
        CallRule(
            ("ask_user",),
            Shape(
                first_has=frozenset({"options"}),
                first_lacks=frozenset({"answer_type", "id", "prompt", "text"}),
            ),
            61,
        ),
    ),
    parse=partial(
        choice_forms.read_form, read=_question, reply_needs_text=True, reply_is_free_text=True
    ),
    render=render,
    tool=BY_DIALECT["ask_user_form"],
    order=3,
)
