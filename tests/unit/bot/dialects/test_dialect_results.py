"""Results beyond the vectors: every way an ask can end, in the format that each dialect promises."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from answerback.core.actions import Answer, EndTurn, Other, Reply, Submit
from answerback.core.ask import Change, Reason, Status, apply_action, end_ask
from answerback.core.walker import Source
from answerback.dialects import registry
from answerback.service.ask_wire import ask_json
from answerback_testing.dialect_contract import UNCONFIRMED, end_unconfirmed
from tests.unit.bot.dialect_support import CALLS, act, make_ask


def outcome(dialect: str, how: str) -> Any:
    ask = make_ask(dialect)
    if len(ask.form.questions) > 1:
        ask = act(ask, Answer(value="A"))
    match how:
        case "cancelled":
            ask = act(ask, Reply(text="words"))
        case "turn_ended":
            ask = act(ask, EndTurn())
        case "failed":
            ask = end_ask(
                ask, Status.FAILED, at=1, reason=Reason.NO_PROMPT_BACKEND, message="Do not retry."
            ).ask
        case _:
            ask = end_ask(ask, Status(how), at=1, reason=Reason(how)).ask
    return registry.render_result(ask)


EXPECTED: dict[str, dict[str, Any]] = {
    "ask_user": {
        "cancelled": {"cancelled": True, "answered": {"a": "A"}, "reply": "words"},
        "expired": {"cancelled": True, "answered": {"a": "A"}, "reason": "expired"},
        "withdrawn": {"cancelled": True, "answered": {"a": "A"}, "reason": "withdrawn"},
    },
    "single": {
        "cancelled": {"cancelled": True, "answered": {}, "reply": "words"},
        "expired": {"cancelled": True, "answered": {}, "reason": "expired"},
    },
    "tool_question": {"withdrawn": {"cancelled": True, "answered": {}, "reason": "withdrawn"}},
    "ask_user_form": {
        "cancelled": {"freeText": "words"},
        "expired": {"cancelled": True, "answers": ["A", None], "reason": "expired"},
    },
    "elicitation": {
        "cancelled": {"action": "decline"},
        "expired": {"action": "cancel"},
        "withdrawn": {"action": "cancel"},
    },
}


@pytest.mark.rule("DIALECT-6")
@pytest.mark.parametrize(("dialect", "how"), [(d, h) for d, hows in EXPECTED.items() for h in hows])
def test_an_ask_that_ended_without_answers_gives_a_result_in_the_dialects_format(
    dialect: str, how: str
) -> None:
    result = outcome(dialect, how)
    assert (result.structured, result.is_error) == (EXPECTED[dialect][how], False)
    assert json.loads(result.content) == result.structured


@pytest.mark.rule("DIALECT-7")
@pytest.mark.parametrize("dialect", CALLS)
def test_a_failure_is_an_error_result_unless_the_tool_promises_otherwise(
    dialect: str,
) -> None:
    result = outcome(dialect, "failed")
    assert result.content == "Do not retry."
    if dialect == "question":
        assert not result.is_error
        assert (result.structured["answers"], result.structured["cancelled"]) == ([], True)
    else:
        assert result.is_error
        assert result.structured == {
            "error": {"reason": "no_prompt_backend", "message": "Do not retry."}
        }


@pytest.mark.rule("ASK-4")
@pytest.mark.parametrize("dialect", CALLS)
def test_end_turn_gives_the_model_nothing(dialect: str) -> None:
    assert outcome(dialect, "turn_ended") is None
    assert registry.render_result(make_ask(dialect)) is None


@pytest.mark.rule("CONFIRM-12")
@pytest.mark.parametrize("dialect", CALLS)
def test_answers_that_nobody_confirmed_are_withheld_and_the_model_is_told_so(dialect: str) -> None:
    name, arguments = CALLS[dialect]
    for ended in end_unconfirmed({"name": name, "arguments": arguments}):
        assert UNCONFIRMED in json.dumps(ask_json(ended, to_people=True)["answers"])
        assert UNCONFIRMED not in json.dumps(ask_json(ended))
        result = registry.render_result(ended)
        if result is None:
            assert ended.status is Status.TURN_ENDED
        elif dialect != "elicitation":  # its format has no room for it
            assert re.search("not.confirmed", result.content), (ended.status, result)


@pytest.mark.rule("DIALECT-13")
def test_claude_gets_free_text_verbatim_and_a_text_for_nothing_chosen() -> None:
    other = registry.render_result(
        act(make_ask("claude"), Answer(value="A"), Other(text="my, own"))
    )
    nothing = registry.render_result(act(make_ask("claude"), Answer(value="A"), Answer(value=[])))
    assert other is not None
    assert nothing is not None
    assert other.content == "a?\nA\n\nb?\nmy, own"
    assert nothing.content == "a?\nA\n\nb?\n(none selected)"


@pytest.mark.rule("DIALECT-15")
def test_question_returns_one_line_per_answer() -> None:
    ask = act(make_ask("question"), Answer(value="A"), Other(text="mine"))
    assert ask.open
    cancelled = registry.render_result(act(ask, Reply(text="stop")))
    assert cancelled is not None
    assert (
        cancelled.content
        == "User cancelled the questions: stop\nQ1: user selected: 1. Ay\nQ2: user wrote: mine"
    )


@pytest.mark.rule("DIALECT-15")
@pytest.mark.parametrize("how", ["expired", "withdrawn"])
def test_question_says_why_nobody_answered(how: str) -> None:
    structured = outcome("question", how).structured
    assert (structured["cancelled"], structured["reason"]) == (True, how)
    assert [answer["id"] for answer in structured["answers"]] == ["a"]
    assert "reason" not in outcome("question", "cancelled").structured


@pytest.mark.rule("DIALECT-15", "ASK-6")
@pytest.mark.parametrize(
    ("answer", "text"),
    [(Answer(value="A"), "1. Ay"), (Other(text="mine"), "mine")],
    ids=["an option", "own text"],
)
def test_question_never_says_that_the_user_gave_a_machines_answer(
    answer: Answer | Other, text: str
) -> None:
    ask = act(make_ask("question"), answer)
    for source, remark in (
        (Source.DEFAULT, "default: nobody answered in time"),
        (Source.CONFIG, "set by the operator"),
        (Source.INQUIRY, "answered by a program"),
    ):
        filled = apply_action(ask, answer, at=1, by=None, source=source)
        assert isinstance(filled, Change)
        done = apply_action(filled.ask, Submit(), at=1, by=None)
        assert isinstance(done, Change)
        shown = registry.render_result(done.ask)
        assert shown is not None
        first, second = shown.content.splitlines()
        assert first.startswith("Q1: user ")
        assert second == f"Q2: {text} ({remark})"
