"""The dialect `ask_user_form`: multiple-choice questions answered by position, or free text instead of answers."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import MAX_QUESTIONS, AnswerType, Form, Question
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_definitions import BY_DIALECT


def parse(call: ArgumentNode) -> Form | None:
    """Parse a call's arguments into a form, or return None if problems were recorded."""
    call.is_object()
    questions: list[Question] = []
    for i, node in enumerate(
        call.items("questions", min_items=1, max_items=MAX_QUESTIONS, noun="questions")
    ):
        if not node.is_object():
            continue
        text = node.text("question")
        multiple = node.flag("multiSelect", default=False)
        options = choice_forms.read_label_options(node, min_items=2)
        if text is None or not options:
            continue
        question = Question(
            id=f"q{i + 1}",
            text=text,
            answer_type=AnswerType.MULTI_SELECT if multiple else AnswerType.SELECT,
            options=options,
            other=True,
            other_beside=multiple,
        )
        if not multiple:  # in a single choice, the first option is the agent's recommendation
            question = question.model_copy(
                update={"default": options[0].value, "has_default": True}
            )
        questions.append(question)
    if call.problems.found:
        return None
    return Form(questions=tuple(questions), reply_needs_text=True, reply_is_free_text=True)


def render(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended."""
    by_id = ask.walk.values
    answers: list[JsonValue] = [_as_array(q, by_id.get(q.id)) for q in ask.form.questions]
    match ask.status:
        case Status.ANSWERED:
            return results.json_result({"answers": answers})
        case Status.FAILED:
            return results.failure_result(ask)
        case Status.CANCELLED:
            return results.json_result({"freeText": ask.walk.reply or ""})
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
    calls=(CallRule(("ask_user",), Shape(first_has=frozenset({"question"})), 60),),
    parse=parse,
    render=render,
    tool=BY_DIALECT["ask_user_form"],
    order=3,
)
