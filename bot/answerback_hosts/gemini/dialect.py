"""The dialect `gemini`: Gemini CLI's ask_user; answers are keyed by question position.

Based on the packages @google/gemini-cli-core and @google/gemini-cli 0.61.0.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Option, Question
from answerback.core.walker import GivenAnswer
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_description import described_tool
from answerback.dialects.tool_schema_parts import (
    HEADER,
    LABELLED,
    MULTIPLE,
    QUESTION_TEXT,
    TEXT,
    options_schema,
    questions_schema,
    with_description,
)

_DISMISSED: Final = "User dismissed ask_user dialog without answering."
_CHOICE: Final = "choice"
_YES_OR_NO: Final = "yesno"
_TYPES: Final = (_CHOICE, "text", _YES_OR_NO)
_YES_AND_NO: Final = tuple(Option(value=word, label=word) for word in ("Yes", "No"))


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    texts = [_text(question, ask.walk.answer(question.id)) for question in ask.form.questions]
    answers: dict[str, JsonValue] = {str(i): text for i, text in enumerate(texts) if text}
    if ask.status is Status.ANSWERED:
        return results.json_result({"answers": answers})
    return ToolResult(
        content=results.append_reply(ask, _DISMISSED),
        structured={"answers": answers, "cancelled": True, **results.reply_and_reason_fields(ask)},
    )


def _question(node: ArgumentNode, question_id: str) -> Question | None:
    text = node.text("question")
    kind_name = node.choice("type", _TYPES)
    kind = AnswerType.TEXT
    options: tuple[Option, ...] = ()
    if kind_name == _YES_OR_NO:
        kind, options = AnswerType.SELECT, _YES_AND_NO
    elif kind_name == _CHOICE:
        kind = choice_forms.read_multiple(node, "multiSelect")
        options = choice_forms.read_options(node, min_items=2)
    hint = node.text("placeholder", required=False, blank=True)
    if text is None:
        return None
    text = text.replace("\\n", "\n")
    if not text.strip():
        node.fail("empty", f"{node.name}.question must not be blank.", "question")
    header = choice_forms.read_header(node)
    return choice_forms.choice_question(
        question_id, text, options, kind, header=header, context=hint or None
    )


def _text(question: Question, given: GivenAnswer | None) -> str:
    """Format an answer on one line; empty if nothing was chosen or written."""
    if given is None:
        return ""
    if question.answer_type is AnswerType.TEXT:
        return str(given.value).strip()
    rows = results.answer_values(given)
    if given.other_text is not None:
        rows[-1] = given.other_text.strip()
    return ", ".join(map(str, rows))


_PARAMETERS: Final = questions_schema(
    {
        "question": QUESTION_TEXT,
        "header": HEADER,
        "type": {
            "type": "string",
            "enum": ["choice", "text", "yesno"],
            "description": "Options to choose from, free text, or Yes and No.",
        },
        "options": options_schema(
            LABELLED, "Only for choice. Do not add an Other: it is always offered.", min_items=2
        ),
        "multiSelect": MULTIPLE,
        "placeholder": with_description(TEXT, "A hint for a free-text answer."),
    },
    "question",
    "type",
)
_TOOL: Final = described_tool(
    "gemini",
    "ask_user",
    _PARAMETERS,
    "Ask the user choice, text and yes/no questions, and wait for the answers.",
    '{"answers": {"0": …}}, keyed by the position of the question: a label, several joined by commas, or the '
    "user's own words; empty answers are left out. If the user replies instead: cancelled, with their reply.",
    shape='questions with question and type, which return {"answers": {"0": …}} by position',
)

DIALECT: Final = Dialect(
    name="gemini",
    calls=(CallRule(("ask_user",), Shape(first_has=frozenset({"question", "type"})), 50),),
    parse=partial(choice_forms.read_form, read=_question),
    render=render,
    tool=_TOOL,
    order=7,
)
