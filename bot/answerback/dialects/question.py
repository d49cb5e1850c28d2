"""The dialect `question`: choices with values and labels; several questions end in a review.

Also `questionnaire`, of an extension in @earendil-works/pi-coding-agent 1.5.2 (examples/extensions/questionnaire.ts).
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form, Question, options_json
from answerback.core.walker import GivenAnswer
from answerback.dialects import choice_forms
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect
from answerback.dialects.results import failure_result, reply_and_reason_fields, source_remark
from answerback.dialects.tool_definitions import BY_DIALECT

_QUESTIONNAIRE: Final = "questionnaire"
NO_QUESTIONS: Final = ToolResult(
    content="Error: No questions provided",
    structured={"questions": [], "answers": [], "cancelled": True},
)
"""The result that this tool promises for a call without questions: not an error, and in its usual format."""
_OPTION: Final = ("value", "label")
"""An option's fields: what comes back, and what people see."""


def parse(call: ArgumentNode) -> Form | None:
    ids: set[str] = set()

    def read(node: ArgumentNode, position: str) -> Question:
        question_id = node.label("id")
        choice_forms.require_unique(node, "id", question_id, ids)
        label = node.label("label", required=False, blank=True)
        return Question(
            id=question_id or position,
            text=node.text("prompt") or "?",
            header=label if label and label.strip() else position.upper(),
            answer_type=AnswerType.SELECT,
            options=choice_forms.read_options(node, "options", _OPTION, min_items=1, blank=True),
            other=node.tool != _QUESTIONNAIRE or node.flag("allowOther", default=True),
        )

    return choice_forms.read_form(call, read, review=True)


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
    return ToolResult(content=_content(ask), structured=structured | reply_and_reason_fields(ask))


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
        "options": options_json(question.options) or [],
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
    calls=(CallRule(("question", _QUESTIONNAIRE), options={"options": _OPTION}, lists=True),),
    parse=parse,
    render=render,
    tool=BY_DIALECT["question"],
    order=5,
)
