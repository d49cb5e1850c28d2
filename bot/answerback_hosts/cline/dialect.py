"""The dialect `cline`: Cline's ask_question, and the older ask_followup_question, which Roo Code also has.

Based on the package @cline/core 0.0.86, https://github.com/cline/cline and https://github.com/RooCodeInc/Roo-Code.
"""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, ToolResult
from answerback.core.form import Form, Option
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback.dialects.dialect import CallRule, Dialect
from answerback.dialects.tool_description import ONE, described_tool
from answerback.dialects.tool_schema_parts import (
    LABEL,
    QUESTION_TEXT,
    object_schema,
    options_schema,
)

QUESTION_ID: Final = "answer"


def parse(call: ArgumentNode) -> Form | None:
    call.is_object()
    question = choice_forms.choice_question(
        QUESTION_ID, call.text("question") or "", _options(call)
    )
    return form_of(call, question)


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended: the answer itself."""
    given = ask.walk.answer(QUESTION_ID)
    text = results.said(ask) if given is None else str(given.value)
    return ToolResult(content=text, structured=text)


def _options(call: ArgumentNode) -> tuple[Option, ...]:
    """Read the options, or else the suggestions in ``follow_up``."""
    sent = call.at("options").value
    if sent is None or sent == [] or (isinstance(sent, str) and not sent.strip()):
        return choice_forms.read_options(call, "follow_up", ("text",), min_items=0, required=False)
    return choice_forms.read_plain_options(call, "options")


_PARAMETERS: Final = object_schema(
    {
        "question": QUESTION_TEXT,
        "options": options_schema(
            LABEL, "Two to five choices, all different; none for a free-text answer."
        ),
    },
    "question",
)
_TOOL: Final = described_tool(
    "cline",
    "ask_question",
    _PARAMETERS,
    ONE,
    "the answer itself: the option, or the user's own words, also if they reply instead.",
    recommend='put it first; it may end with "(Recommended)".',
)

DIALECT: Final = Dialect(
    name="cline",
    calls=(
        CallRule(
            ("ask_question", "ask_followup_question"),
            options={"options": (), "follow_up": ("text",)},
        ),
    ),
    parse=parse,
    render=render,
    tool=_TOOL,
    order=12,
)
