"""The dialect `single`: one typed question at the top level of the call."""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form
from answerback.dialects import question_reader, results
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_definitions import BY_DIALECT

FIELDS: Final = ("question", "context", "answer_type", "options", "default")
"""The fields of a call; any of them identifies this dialect if there are no ``questions``."""
QUESTION_ID: Final = "answer"


def parse(call: ArgumentNode) -> Form | None:
    call.is_object(FIELDS)
    text = call.text("question")
    if text is not None and text.splitlines() != [text]:
        call.fail("newline", "question must be on one line; put the rest into context.", "question")
    question = question_reader.read_question(
        call,
        id=QUESTION_ID,
        text=text,
        types=question_reader.NON_SCHEMA_TYPES,
        default_type=AnswerType.TEXT,
    )
    return form_of(call, question)


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    if ask.status is not Status.ANSWERED:
        return results.json_result(results.cancelled_fields(ask))
    [question] = ask.form.questions
    value = ask.walk.values[question.id]
    return results.json_result({"answer_type": question.answer_type.value, "answer": value})


DIALECT: Final = Dialect(
    name="single",
    calls=(
        CallRule(
            ("ask_user",),
            Shape(
                # Even without a question: a call with one of these gets the message that the question is missing.
                has_any=frozenset(FIELDS),
                lacks=frozenset({"questions"}),
            ),
            20,
            question_reader.OPTIONS,
        ),
    ),
    parse=parse,
    render=render,
    tool=BY_DIALECT["single"],
    order=2,
)
