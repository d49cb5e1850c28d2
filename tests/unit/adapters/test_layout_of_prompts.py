"""The layout of a chat surface's message, which is the same on all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from answerback.core import ask as asks
from answerback.core.actions import Answer, Back, EndTurn, Reply
from answerback.core.ask import Ask, Change, Reason, Status
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.core.walker import Person
from answerback.presentation import answer_summary
from answerback_discord import render as discord
from answerback_slack import render as slack
from tests.unit.adapters.slack.asks import ask_of

LABELS = Labels()
CLOSED = LABELS.closed_by.format(name="Ada")
ADA = Person(surface="slack", user_id="U0ADA", name="Ada")


@dataclass(frozen=True)
class Surface:
    """A surface that shows a view: its texts and controls from top to bottom."""

    name: str
    parts: Callable[[View], list[str]]


def _slack(view: View) -> list[str]:
    return [json.dumps(block, ensure_ascii=False) for block in slack.render(view, LABELS).blocks]


def _discord(view: View) -> list[str]:
    (container,) = _as_list(discord.message(view, LABELS)["components"])
    return [json.dumps(part, ensure_ascii=False) for part in _as_list(container["components"])]


def _as_list(value: Any) -> list[Any]:
    assert isinstance(value, list)
    return value


SURFACES = [Surface("slack", _slack), Surface("discord", _discord)]


@pytest.fixture(params=SURFACES, ids=lambda surface: surface.name)
def surface(request: pytest.FixtureRequest) -> Surface:
    surface: Surface = request.param
    return surface


def walked(ask: Ask, *actions: Any, by: Person = ADA) -> Ask:
    for action in actions:
        change = asks.apply_action(ask, action, at=1, by=by)
        assert isinstance(change, Change), change
        ask = change.ask
    return ask


def form(count: int) -> Form:
    return Form(
        questions=tuple(
            Question(
                id=f"q{n}",
                text=f"Question {n}?",
                context=f"Context {n}.",
                answer_type=AnswerType.BOOLEAN,
            )
            for n in range(count)
        )
    )


@pytest.mark.rule("SURFACE-2", "SURFACE-3")
def test_a_question_is_next_to_its_controls_with_earlier_answers_above_it(
    surface: Surface,
) -> None:
    ask = walked(ask_of(form(40)), *[Answer(value=True)] * 39)
    parts = surface.parts(view_of(ask))

    def place(text: str) -> int:
        return next(i for i, part in enumerate(parts) if text in part)

    assert place(LABELS.answered_so_far) < place("Context 39") < place("Question 39?")
    controls = next(i for i, part in enumerate(parts) if "action_id" in part or "custom_id" in part)
    assert controls == place("Question 39?") + 1
    shown = [n for n in range(39) if any(f"Question {n}?" in part for part in parts)]
    assert shown == list(range(39 - answer_summary.MAX_RECENT_ANSWERS, 39))
    assert any("34 earlier" in part for part in parts)
    assert any(LABELS.details in part for part in parts)


@pytest.mark.rule("SURFACE-4")
def test_a_record_says_that_somebody_asked_and_an_open_question_that_somebody_asks(
    surface: Surface,
) -> None:
    ask = ask_of(form(1))
    shown = "".join(surface.parts(view_of(ask)))
    assert "Assistant asks" in shown
    ended = "".join(surface.parts(view_of(walked(ask, Answer(value=True)))))
    assert "Assistant asked" in ended
    assert "Assistant asks" not in ended


@pytest.mark.rule("SURFACE-4")
@pytest.mark.parametrize(
    ("actions", "wording"),
    [
        ([Reply(text=None)], CLOSED),
        ([Answer(value=True), Reply(text=None)], CLOSED),
        ([Answer(value=True), Reply(text="later")], LABELS.cancelled),
        ([Answer(value=True), EndTurn()], LABELS.turn_ended),
        ([Answer(value=True), Back(), Reply(text=None)], CLOSED),
    ],
)
def test_each_way_to_end_an_ask_has_its_own_wording(
    surface: Surface, actions: list[Any], wording: str
) -> None:
    shown = "".join(surface.parts(view_of(walked(ask_of(form(2)), *actions))))
    assert wording in shown
    others = {CLOSED, LABELS.cancelled}
    assert [other for other in others - {wording} if other in shown] == []


@pytest.mark.rule("SURFACE-4")
def test_an_expired_ask_says_so_and_keeps_what_was_answered(surface: Surface) -> None:
    ask = walked(ask_of(form(2)), Answer(value=True))
    change = asks.end_ask(ask, Status.EXPIRED, at=2, reason=Reason.EXPIRED)
    shown = "".join(surface.parts(view_of(change.ask)))
    assert LABELS.expired in shown
    assert "Question 0?" in shown
