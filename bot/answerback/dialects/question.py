"""The dialect `question`: choices with values and labels; several questions end in a review.

Also `questionnaire`, of an extension in @earendil-works/pi-coding-agent 1.5.2 (examples/extensions/questionnaire.ts).
"""

from __future__ import annotations

from typing import Final

from answerback.core.answers import format_value
from answerback.core.form import MAX_OPTIONS, MAX_QUESTIONS, AnswerType, Form, Option, Question
from answerback.dialects import question_results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect
from answerback.dialects.tool_definitions import BY_DIALECT


def parse(call: ArgumentNode) -> Form | None:
    """Parse a call's arguments into a form, or return None if problems were recorded."""
    call.is_object()
    questions: list[Question] = []
    ids: set[str] = set()
    for i, node in enumerate(
        call.items("questions", min_items=1, max_items=MAX_QUESTIONS, noun="questions")
    ):
        if not node.is_object():
            continue
        question_id = node.label("id")
        if question_id in ids:
            node.fail(
                "duplicate_id",
                f'{node.name}.id "{question_id}" is already used; ids must be unique.',
                "id",
            )
        label = node.label("label", required=False, blank=True)
        other = node.flag("allowOther", default=True)
        prompt = node.text("prompt")
        options = _options(node)
        if question_id is None:
            continue
        ids.add(question_id)
        header = label if label and label.strip() else f"Q{i + 1}"
        questions.append(
            Question(
                id=question_id,
                text=prompt or "?",
                header=header,
                answer_type=AnswerType.SELECT,
                options=options,
                other=other,
            )
        )
    return None if call.problems.found else Form(questions=tuple(questions), review=True)


def _options(node: ArgumentNode) -> tuple[Option, ...]:
    options: list[Option] = []
    values: set[str] = set()
    for item in node.items("options", min_items=1, max_items=MAX_OPTIONS, noun="options"):
        if not item.is_object():
            continue
        value = item.label("value", blank=True)
        label = item.label("label")
        description = item.text("description", required=False, blank=True)
        if value is None or label is None:
            continue
        if value in values:
            item.fail(
                "duplicate_option",
                f"{item.name}.value {format_value(value)} is already used; values must be unique.",
                "value",
            )
        values.add(value)
        options.append(Option(value=value, label=label, description=description or None))
    return tuple(options)


DIALECT: Final = Dialect(
    name="question",
    calls=(
        CallRule(
            ("question", question_results.QUESTIONNAIRE), options={"options": ("value", "label")}
        ),
    ),
    parse=parse,
    render=question_results.render,
    tool=BY_DIALECT["question"],
    order=5,
)
