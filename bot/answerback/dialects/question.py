"""The dialect `question`: choices with values and labels; several questions end in a review.

Also `questionnaire`, of an extension in @earendil-works/pi-coding-agent 1.5.2 (examples/extensions/questionnaire.ts).
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.answers import format_value
from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import MAX_OPTIONS, MAX_QUESTIONS, AnswerType, Form, Option, Question
from answerback.core.walker import GivenAnswer
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect
from answerback.dialects.results import failure_result, source_remark
from answerback.dialects.tool_definitions import BY_DIALECT

_QUESTIONNAIRE: Final = "questionnaire"
NO_QUESTIONS: Final = ToolResult(
    content="Error: No questions provided",
    structured={"questions": [], "answers": [], "cancelled": True},
)
"""The result that this tool promises for a call without questions: not an error, and in its usual format."""


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


def render(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended. As this tool promises, a failure is not an error result."""
    failed = ask.status is Status.FAILED
    collected = () if failed else ask.walk.answers
    answers = [_answer(_question(ask, given), given) for given in collected]
    structured: dict[str, JsonValue] = {
        "questions": [_question_json(ask, question) for question in ask.form.questions],
        "answers": list(answers),
        "cancelled": ask.status is not Status.ANSWERED,
    }
    if failed:
        return ToolResult(content=failure_result(ask).content, structured=structured)
    if ask.status is not Status.ANSWERED:
        if ask.walk.reply is not None:
            structured["reply"] = ask.walk.reply
        if ask.status in {Status.EXPIRED, Status.WITHDRAWN}:
            structured["reason"] = ask.status.value
    return ToolResult(content=_content(ask), structured=structured)


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


def _question(ask: Ask, given: GivenAnswer) -> Question:
    return next(q for q in ask.form.questions if q.id == given.question_id)


def _answer(question: Question, given: GivenAnswer) -> dict[str, JsonValue]:
    option = None if given.other else question.option(given.value)
    if option is None:
        return {"id": question.id, "value": given.value, "label": given.value, "wasCustom": True}
    return {
        "id": question.id,
        "value": option.value,
        "label": option.label,
        "wasCustom": False,
        "index": question.options.index(option) + 1,
    }


def _question_json(ask: Ask, question: Question) -> dict[str, JsonValue]:
    """Return a question as its host completes it."""
    more = {"allowOther": question.other} if ask.request.name == _QUESTIONNAIRE else {}
    return {
        **more,
        "id": question.id,
        "label": question.header,
        "prompt": question.text,
        "options": [o.model_dump(exclude_none=True) for o in question.options],
    }


def _content(ask: Ask) -> str:
    lines = []
    for given in ask.walk.answers:
        question = _question(ask, given)
        answer = _answer(question, given)
        custom = bool(answer["wasCustom"])
        chosen = str(given.value) if custom else f"{answer['index']}. {answer['label']}"
        if remark := source_remark(given):
            chosen += f" ({remark})"
        else:
            chosen = f"user {'wrote' if custom else 'selected'}: {chosen}"
        lines.append(f"{question.header}: {chosen}")
    if ask.status is Status.ANSWERED:
        return "\n".join(lines)
    how = {Status.EXPIRED: "No answer in time", Status.WITHDRAWN: "The questions were withdrawn"}
    reply = f": {ask.walk.reply}" if ask.walk.reply else ""
    return "\n".join([f"{how.get(ask.status, 'User cancelled the questions')}{reply}", *lines])


DIALECT: Final = Dialect(
    name="question",
    calls=(CallRule(("question", _QUESTIONNAIRE), options={"options": ("value", "label")}),),
    parse=parse,
    render=render,
    tool=BY_DIALECT["question"],
    order=5,
)
