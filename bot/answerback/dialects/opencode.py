"""The dialect `opencode`: opencode's question tool; the answer to each question is a list of labels or free text.

Based on the packages opencode-ai 1.18.33 and @opencode-ai/sdk 1.19.3. A call may also be one question, as of the
extension examples/extensions/question.ts in @earendil-works/pi-coding-agent 1.5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.core.form import AnswerType, Form, Question
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_definitions import BY_DIALECT


def parse(call: ArgumentNode) -> Form | None:
    if call.has("questions") or not call.has("question"):
        return choice_forms.read_form(call, _question)
    return choice_forms.form_of(call, _question(call, "answer"))


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended, as the host itself would for these answers."""
    reply: list[JsonValue] = [] if ask.walk.reply is None else [ask.walk.reply]
    rows = [*results.values_by_question(ask, reply)]
    structured: JsonValue = {"answers": [row for _, row in rows], **results.reason_field(ask)}
    return ToolResult(content=_content(ask, rows), structured=structured)


def _content(ask: Ask, rows: Sequence[tuple[Question, list[JsonValue]]]) -> str:
    """Return the host's words for answers that its user gave; other words for others."""
    given = {each.question_id: each for each in ask.walk.answers}
    remarks = {
        key: remark for key, each in given.items() if (remark := results.source_remark(each))
    }
    answers = ", ".join(
        f'"{question.text}"="{", ".join(map(str, row)) or "Unanswered"}"'
        + (f" ({remarks[question.id]})" if question.id in remarks else "")
        for question, row in rows
    )
    if results.end_reason(ask):
        return f"{results.unanswered_text(ask)} {answers}"
    if remarks:
        return f"These answers to your questions are not all from the user: {answers}."
    return f"User has answered your questions: {answers}. You can now continue with the user's answers in mind."


def _question(node: ArgumentNode, question_id: str) -> Question | None:
    text = node.text("question")
    options = choice_forms.read_options(node, min_items=0)
    kind = choice_forms.read_multiple(node, "multiple")
    custom = node.flag("custom", default=True)
    if not custom and node.at("options").value == []:
        message = f"{node.name}.options is empty and custom is false: no answer would be possible."
        node.fail("options_required", message, "options")
    if text is None:
        return None
    header = choice_forms.read_header(node)
    question = choice_forms.choice_question(
        question_id, text, options, kind, other=custom, header=header
    )
    return (
        choice_forms.with_recommended_default(question) if kind is AnswerType.SELECT else question
    )


DIALECT: Final = Dialect(
    name="opencode",
    calls=(
        CallRule(
            ("question",),
            Shape(first_has=frozenset({"question"}), first_lacks=frozenset({"prompt"})),
        ),
        CallRule(("question",), Shape(has=frozenset({"question"}), lacks=frozenset({"questions"}))),
    ),
    parse=parse,
    render=render,
    tool=BY_DIALECT["opencode"],
    order=9,
)
