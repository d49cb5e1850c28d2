"""Messages from a bridge to a model beside the answer to its host, for words that the answer has no place for."""

from __future__ import annotations

from typing import Any

import pytest

from answerback_agents.bridges.ask_people import words_for_model
from answerback_client import Ask, ToolResult

SAID = 'The user was asked "Run make"'


def ended(structured: dict[str, Any] | None, **fields: Any) -> Ask:
    """Return an ask that a person has decided, with the result for its host."""
    result = None if structured is None else ToolResult("", structured, is_error=False)
    json = {"headline": "Run make", "note": None, "reply": None, "source": "human", **fields}
    return Ask(
        id="ask_1",
        status="answered",
        revision=2,
        tool_result=result,
        end_turn=False,
        reply=json["reply"],
        answers={},
        prompt=None,
        url=None,
        json=json,
    )


@pytest.mark.rule("APPROVAL-13")
@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (ended({"reply": "once"}), None),
        (ended({"reply": "once"}, note="On staging."), f"{SAID}, decided, and said: On staging."),
        (ended({"reply": "reject", "message": "Not here."}, note="Not here."), None),
        (ended({"decision": "decline"}, reply="Not here."), f"{SAID} and replied: Not here."),
        (ended({"reply": "reject", "message": "Not here."}, reply="Not here."), None),
        (ended(None, reply="Ask Ada."), f"{SAID} and replied: Ask Ada."),
    ],
)
def test_words_that_the_answer_brings_are_not_told_again(ask: Ask, text: str | None) -> None:
    assert words_for_model(ask) == text
