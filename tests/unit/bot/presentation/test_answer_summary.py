"""Answers and initial values of forms read as lists of titles and values, not as JSON."""

from __future__ import annotations

from typing import Any, Final

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer, Back
from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.presentation.answer_summary import brief_answer, prefill_texts
from tests.unit.bot.dialect_support import act, ask_from_call

LABELS: Final = Labels()
ROWS: Final[dict[str, Any]] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "tls": {"type": "boolean", "title": "TLS"},
        },
    },
}
VALUE: Final[JsonValue] = [{"name": "a", "tls": True}, {"name": "b"}]


def form_ask(*more: dict[str, Any]) -> Ask:
    question = {"id": "rows", "text": "Which?", "answer_type": "schema", "schema": ROWS}
    return ask_from_call("ask_user", {"questions": [question, *more]})


@pytest.mark.rule("WEB-26")
def test_rows_read_as_rows_in_the_headline_of_an_answer_and_after_back() -> None:
    text = "Name: a, TLS: Yes · Name: b"
    ended = act(form_ask(), Answer(value=VALUE))
    assert brief_answer(view_of(ended, LABELS), LABELS) == text
    back = act(
        form_ask({"id": "b", "text": "More?", "answer_type": "boolean"}),
        Answer(value=VALUE),
        Back(),
    )
    prompt = view_of(back, LABELS).prompt
    assert prompt is not None
    assert prefill_texts(prompt, LABELS) == [LABELS.prefilled.format(text=text)]
