"""The dialect `cursor`: read in @cursor/sdk 1.0.32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Question
from answerback.core.walker import GivenAnswer
from answerback.dialects import results
from answerback.dialects.choice_rows import Row, row_dialect
from answerback.dialects.dialect import Shape
from answerback.dialects.tool_description import CHOICES, described_tool
from answerback.dialects.tool_schema_parts import (
    KEY,
    LABEL,
    MULTIPLE,
    QUESTION_TEXT,
    object_schema,
    options_schema,
    questions_schema,
)

Json = dict[str, JsonValue]


def _render(ask: Ask) -> ToolResult:
    """Cursor: its AskQuestionResult as JSON; of an asynchronous call, the message that follows."""
    answers: list[JsonValue] = [
        _answer(question, given)
        for question in ask.form.questions
        if (given := ask.walk.answer(question.id)) is not None
    ]
    if ask.status is not Status.ANSWERED:
        structured: Json = {"rejected": {"reason": results.said(ask)}, **results.reason_field(ask)}
        structured |= {"success": {"answers": answers}} if answers else {}
        return results.json_result(structured)
    structured = {"success": {"answers": answers}}
    if ask.request.mode != "async":
        return results.json_result(structured)
    content = "\n\n".join(
        "\n".join([question.text, *_labels(question, ask.walk.answer(question.id))])
        for question in ask.form.questions
    )
    return ToolResult(content=results.remarked(ask, content), structured=structured)


def _answer(question: Question, given: GivenAnswer) -> Json:
    is_text = question.answer_type is AnswerType.TEXT
    ids = [] if is_text else results.chosen_values(given)
    text = str(given.value) if is_text else given.other_text or ""
    return {"questionId": question.id, "selectedOptionIds": ids, "freeformText": text}


def _labels(question: Question, given: GivenAnswer | None) -> list[str]:
    values = [] if given is None else results.answer_values(given)
    options = {option.value: option.label for option in question.options}
    return [options.get(str(value), str(value)) for value in values] or ["(no answer)"]


def _runs_async(_name: str, arguments: Mapping[str, JsonValue]) -> bool:
    return True in (arguments.get("run_async"), arguments.get("runAsync"))


_PARAMETERS: Final = questions_schema(
    {
        "id": KEY,
        "prompt": QUESTION_TEXT,
        "options": options_schema(
            object_schema({"id": LABEL, "label": LABEL}, "id", "label"), min_items=1
        ),
        "allow_multiple": MULTIPLE,
    },
    "id",
    "prompt",
    "options",
)
_TOOL: Final = described_tool(
    "cursor",
    "AskQuestion",
    _PARAMETERS,
    CHOICES,
    '{"success": {"answers": [{"questionId", "selectedOptionIds", "freeformText"}]}}, or rejected and why.',
    shape="questions with id, prompt and options, which return the ids of options",
)

DIALECT: Final = row_dialect(
    "cursor",
    Row(
        text="prompt",
        labels=("id", "label"),
        multiple=("allow_multiple", "allowMultiple"),
        key="id",
        title="title",
    ),
    _render,
    "AskQuestion",
    Shape(first_has=frozenset({"prompt"})),
    10,
    order=24,
    is_async=_runs_async,
    accepted={"async": {}},
    tool=_TOOL,
)
