"""Ticks and notes in the terminal that are not sent yet: none is lost where a person moves to another question."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Destination
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.labels import Labels
from answerback.ports.store import Write
from answerback.service.submission_request import Route
from answerback_client import Ask
from answerback_testing.example_asks import new_ask
from tests.unit.bot.terminal_support import ESC, MANY, Terminal, open_terminal, question

LEFT, RIGHT, TAB, BACKTAB = "\x1b[D", "\x1b[C", "\t", "\x1b[Z"
UNSENT = Labels().answer_later_unsent


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with open_terminal(tmp_path) as made:
        yield made


async def reviewed(terminal: Terminal, *answered: Any) -> Ask:
    """An open ask of three multiple choices that ends in a review; the first ones are answered."""
    questions = tuple(
        Question(
            id=n,
            text=f"{n}?",
            answer_type=AnswerType.MULTI_SELECT,
            options=(Option(value="A", label="Alpha"), Option(value="B", label="Beta")),
            other=True,
            other_beside=True,
            notes=True,
        )
        for n in ("a", "b", "c")
    )
    service = terminal.service.running.service
    ask = new_ask(
        "0123456789abcdef",
        to=Destination(surface="web"),
        form=Form(questions=questions, review=True),
        responders=("anyone",),
        at=service.clock.now(),
    )
    await service.store.asks.create(Write(ask), None)
    for value in answered:
        await terminal.client.act(ask.id, {"action": "answer", "value": value})
    return await terminal.client.get(ask.id)


@pytest.mark.rule("WALK-10", "WALK-18")
@pytest.mark.parametrize("move", [RIGHT, TAB, LEFT, BACKTAB, "b\r", "l\r", f"{ESC}b\r"])
async def test_changed_ticks_keep_their_question(terminal: Terminal, move: str) -> None:
    ask = await reviewed(terminal, ["A"], ["A"])
    keys = [LEFT, "2\r", "1\r", *([ESC, "b\r"] if move.startswith(ESC) else [move]), "\r", "q\r"]
    done = await terminal.walked(ask, keys)
    assert UNSENT in terminal.screen.text
    assert done.answers == {"a": ["A"], "b": ["B"]}


@pytest.mark.rule("WALK-10", "WALK-18")
@pytest.mark.parametrize("move", [RIGHT, TAB, "l\r"])
async def test_new_ticks_and_own_text_keep_their_question(terminal: Terminal, move: str) -> None:
    ask = await reviewed(terminal)
    done = await terminal.walked(ask, ["2\r", move, "3\r", "mine\r", move, "\r", "q\r"])
    assert terminal.screen.text.count(UNSENT) == 2
    assert done.answers == {"a": ["B", "mine"]}


@pytest.mark.rule("WALK-18", "TERMINAL-5")
async def test_what_was_typed_for_the_next_question_does_not_answer_the_one_that_stays(
    terminal: Terminal,
) -> None:
    ask = await reviewed(terminal)
    done = await terminal.walked(ask, ["1\r", f"{RIGHT}2\r\r", "\r", "q\r"])
    assert done.answers == {"a": ["A"]}


@pytest.mark.rule("WALK-18", "TERMINAL-8")
@pytest.mark.parametrize("move", [RIGHT, LEFT, "l\r", "b\r"])
async def test_ticks_that_are_as_they_were_keep_no_question(terminal: Terminal, move: str) -> None:
    ask = await reviewed(terminal, ["A"])
    await terminal.walked(ask, ["1\r", "1\r", move, "q\r"])
    assert UNSENT not in terminal.screen.text


@pytest.mark.rule("WALK-10")
async def test_ticks_are_not_lost_by_going_back_without_a_review(terminal: Terminal) -> None:
    ask = await terminal.asked({**question("boolean"), "id": "a"}, {**MANY, "id": "b"})
    done = await terminal.walked(ask, "y\r1\rb\r1\rb\rn\r2\r\r")
    assert terminal.screen.text.count(UNSENT) == 1
    assert done.answers == {"a": False, "b": ["two"]}


@pytest.mark.rule("WALK-18")
@pytest.mark.parametrize("move", [RIGHT, LEFT, "l\r", "b\r"])
async def test_a_new_note_keeps_its_question(terminal: Terminal, move: str) -> None:
    ask = await reviewed(terminal, ["A"], ["A"])
    keys = [LEFT, "n\r", "why\r", move, "\r", "q\r"]
    done = await terminal.walked(ask, keys)
    assert UNSENT in terminal.screen.text
    assert done.json["answers"] == {"a": ["A"], "b": ["A"]}
    back = await terminal.client.act(done.id, {"action": "back"})
    assert (back.prompt or {})["prefill_note"] == "why"


@pytest.mark.rule("WALK-18")
async def test_a_note_that_was_taken_back_keeps_no_question(terminal: Terminal) -> None:
    ask = await reviewed(terminal)
    await terminal.walked(ask, ["n\r", "why\r", "n\r", "\x15\r", "l\r", "q\r"])
    assert UNSENT not in terminal.screen.text


@pytest.mark.rule("WALK-10", "HANDOVER-1")
@pytest.mark.parametrize("to", ["bob", "eve"])
async def test_ticks_are_kept_by_a_hand_over_also_if_it_is_refused(tmp_path: Path, to: str) -> None:
    route = Route.model_validate({"to": "web", "responders": ["ana", "bob"]})
    async with open_terminal(tmp_path, routes={"ops": route}) as terminal:
        ask = await terminal.asked(MANY, to="ops", responders=["ana"])
        done = await terminal.walked(ask, f"1 3\rh\r{to}\r\r")
        assert done.answers == {"q": ["one", "three"]}
