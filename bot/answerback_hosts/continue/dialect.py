"""The dialect `continue`: read in @continuedev/cli 1.5.47."""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, ToolResult
from answerback.dialects import results
from answerback.dialects.choice_rows import Row, row_dialect
from answerback.dialects.tool_description import ONE, described_tool
from answerback.dialects.tool_schema_parts import (
    LABEL,
    QUESTION_TEXT,
    SUGGESTIONS,
    object_schema,
    with_description,
)


def _render(ask: Ask) -> ToolResult:
    """Continue: a text that says which option it was; of several questions, which it does not have, one for each."""
    texts = [_text(ask, i) for i in range(len(ask.form.questions))]
    if len(texts) > 1:
        asked = zip(ask.form.questions, texts, strict=True)
        texts = [f"{question.text}\n{text}" for question, text in asked]
    return results.text_result(results.remarked(ask, "\n\n".join(texts)))


def _text(ask: Ask, place: int) -> str:
    question = ask.form.questions[place]
    given = ask.walk.answer(question.id)
    reply = ask.walk.reply if place == ask.walk.at else None
    if given is None and reply is None:
        return results.unanswered_text(ask)
    answer = reply if given is None else str(given.value)
    option = question.option(given.value) if given is not None and not given.other else None
    if option is not None:
        return f'User selected option {question.options.index(option) + 1}: "{answer}"'
    how = "provided custom answer" if question.options else "answered"
    return f'User {how}: "{answer}"'


_PARAMETERS: Final = object_schema(
    {
        "question": QUESTION_TEXT,
        "options": SUGGESTIONS,
        "defaultAnswer": with_description(
            LABEL, "Pre-selected for the user, who still confirms it."
        ),
    },
    "question",
    "options",
)
_TOOL: Final = described_tool(
    "continue",
    "AskQuestion",
    _PARAMETERS,
    ONE,
    "which option the user selected, or their own words, also if they reply instead.",
    recommend='make it the default answer; it may end with "(Recommended)".',
    shape="one question with options, which returns a sentence",
)

DIALECT: Final = row_dialect(
    "continue",
    Row(default="defaultAnswer"),
    _render,
    "AskQuestion",
    order=23,
    tool=_TOOL,
)
