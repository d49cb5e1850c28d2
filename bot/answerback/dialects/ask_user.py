"""The dialect `ask_user`: typed questions, some conditional on earlier answers; answers are keyed by question id."""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import MAX_QUESTIONS, Form, Question
from answerback.dialects import question_reader, results
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_definitions import BY_DIALECT

_FIELDS: Final = ("id", "text", *question_reader.FIELDS, "when")


def parse(call: ArgumentNode) -> Form | None:
    call.is_object(("questions",))
    by_id: dict[str, Question | None] = {}
    questions: list[Question | None] = []
    for node in call.items("questions", min_items=1, max_items=MAX_QUESTIONS, noun="questions"):
        if not node.is_object(_FIELDS):
            continue
        question_id = node.label("id")
        if question_id in by_id:
            node.at("id").already_used(question_id or "", code="duplicate_id")
        if question_id == results.CANCEL_MARKER:
            node.fail(
                "reserved_id",
                f'{node.name}.id "{question_id}" is the mark of a cancelled call in the result; use another id.',
                "id",
            )
        text = node.text("text")
        question = question_reader.read_question(node, id=question_id, text=text, earlier=by_id)
        questions.append(question)
        if question_id is not None:
            by_id.setdefault(question_id, question)
    return form_of(call, *questions)


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    if ask.status is not Status.ANSWERED:
        return results.json_result(results.cancelled_fields(ask))
    answers = ask.walk.values
    return results.json_result({q.id: answers.get(q.id) for q in ask.form.questions})


DIALECT: Final = Dialect(
    name="ask_user",
    calls=(
        CallRule(
            ("ask_user",), Shape(first_has=frozenset({"answer_type"})), 30, question_reader.OPTIONS
        ),
        CallRule(("ask_user",), options=question_reader.OPTIONS),
    ),
    parse=parse,
    render=render,
    tool=BY_DIALECT["ask_user"],
    order=1,
)
