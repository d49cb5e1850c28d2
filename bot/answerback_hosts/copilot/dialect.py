"""The dialect `copilot`: GitHub Copilot's ask_user, with one question and choices, or a form from a schema.

Based on the packages @github/copilot 1.0.102 and github-copilot-sdk 1.0.27.
"""

from __future__ import annotations

from typing import Any, Final

from answerback.core.ask import Ask, ToolResult
from answerback.core.form import AnswerType, Form
from answerback.dialects import choice_forms, elicitation, elicitation_form, results
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_description import ONE, described_tool
from answerback.dialects.tool_schema_parts import (
    LABEL,
    QUESTION_TEXT,
    flag_schema,
    object_schema,
    options_schema,
)

QUESTION_ID: Final = "answer"


def parse(call: ArgumentNode) -> Form | None:
    call.is_object()
    if call.has("requestedSchema"):
        return elicitation_form.parse_form(call)
    text = call.text("question")
    options = choice_forms.read_plain_options(call, "choices", required=False)
    allow_other = call.flag("allowFreeform", default=True)
    question = choice_forms.choice_question(QUESTION_ID, text or "", options, other=allow_other)
    return form_of(call, question)


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    (question,) = ask.form.questions
    given = ask.walk.answer(question.id)
    if ask.request.arguments.get("requestedSchema") is not None:
        # Never decline: Copilot would tell its model that nobody is there and that it should work autonomously.
        result: Any = elicitation.render(ask)
        is_accepted = result.structured["action"] == "accept"
        return result if is_accepted else results.json_result({"action": "cancel"})
    chosen = given is not None and question.answer_type is AnswerType.SELECT and not given.other
    answer = results.said(ask) if given is None else str(given.value)
    content = f"User {'selected' if chosen else 'responded'}: {answer}"
    if results.end_reason(ask):
        content = answer
    elif given is not None and (remark := results.source_remark(given)):
        content = f"Not answered by the user ({remark}): {answer}"
    return ToolResult(
        content=content,
        structured={"answer": answer, "wasFreeform": not chosen, **results.reason_field(ask)},
    )


_PARAMETERS: Final = object_schema(
    {
        "question": QUESTION_TEXT,
        "choices": options_schema(
            LABEL, "The choices, all different; none for a free-text answer."
        ),
        "allowFreeform": flag_schema(
            "Whether the user may answer with free text instead of a choice.", default=True
        ),
    },
    "question",
    "choices",
)
_TOOL: Final = described_tool(
    "copilot",
    "ask_user",
    _PARAMETERS,
    ONE,
    '{"answer": …, "wasFreeform": …}: a choice, or the user\'s own words, also if they reply instead.',
    recommend='put it first and end it with "(Recommended)".',
    shape='one question with choices, which returns {"answer": …, "wasFreeform": …}',
)

_CHOICES: Final = {"choices": ()}
DIALECT: Final = Dialect(
    name="copilot",
    calls=(
        CallRule(("ask_user",), Shape(has=frozenset({"requestedSchema"})), 10, _CHOICES),
        CallRule(
            ("ask_user",),
            Shape(
                has=frozenset({"question"}),
                has_any=frozenset({"choices", "allowFreeform"}),
                lacks=frozenset({"questions", "answer_type"}),
            ),
            10,
            _CHOICES,
        ),
        CallRule(("user_input.requested",), options=_CHOICES),
    ),
    parse=parse,
    render=render,
    tool=_TOOL,
    order=8,
)
