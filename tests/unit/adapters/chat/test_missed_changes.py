"""When missed changes are looked for, by whom, and what a failure in between leads to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from answerback.core.ask import Ask, Destination
from answerback.core.errors import (
    DestinationGoneError,
    ForbiddenError,
    PayloadRejectedError,
    StoreError,
    UnauthorizedError,
)
from answerback.core.form import AnswerType, Form, Question
from answerback_chat import missed_changes
from answerback_chat.missed_changes import MissedChangeFinder
from answerback_testing.example_asks import new_ask

FORM = Form(questions=(Question(id="go", text="Go?", answer_type=AnswerType.BOOLEAN),))


@dataclass
class World:
    """The asks of a service, and a platform with two messages to a page."""

    asks: list[Ask] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    failures: dict[str, list[Exception]] = field(default_factory=dict)
    store_failures: int = 0
    shown: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    reads: int = 0

    async def each_open(self, _surface: str) -> AsyncIterator[Ask]:
        if self.store_failures:
            self.store_failures -= 1
            raise StoreError("the disk")
        for ask in self.asks:
            yield ask

    async def show_again(self, ask_id: str, *, deleted: bool) -> None:
        assert deleted
        self.shown.append(ask_id)

    async def fail_unreachable(self, ask: Ask, why: str) -> None:
        self.failed[ask.id] = why

    def locate(self, ask: Ask) -> tuple[str, str] | None:
        return (
            None
            if ask.placement.message is None
            else (str(ask.placement.destination.channel), ask.id)
        )

    async def require_open(self, place: str) -> None:
        if failures := self.failures.get(place):
            raise failures.pop(0)

    async def look_up(self, _place: str, messages: Sequence[str]) -> Mapping[str, bool]:
        self.reads += 1
        return {each: each not in self.gone for each in messages[:2]}


def world(**counts: int) -> World:
    """Asks in places: the number of them in each."""
    made = [
        new_ask(f"{place}{n}", to=Destination(surface="x", channel=place), form=FORM, at=1.0)
        for place, count in counts.items()
        for n in range(count)
    ]
    return World([_posted(ask) for ask in made])


def _posted(ask: Ask) -> Ask:
    return replace(ask, placement=replace(ask.placement, message={"id": ask.id}))


async def look(of: World, *, responsible: bool = True) -> None:
    finder = MissedChangeFinder("x", cast("Any", of), of, lambda: responsible, 0.0)
    finder.start_looking()
    if finder._task is not None:
        await finder._task
    await finder.stop()


async def test_only_messages_that_are_gone_are_shown_again_page_by_page() -> None:
    here = world(a=5, b=1)
    here.asks.append(
        new_ask("pending", to=Destination(surface="x", channel="a"), form=FORM, at=1.0)
    )
    here.gone = {here.asks[3].id}
    await look(here)
    assert here.shown == [here.asks[3].id]
    assert here.reads == 4


async def test_asks_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missed_changes, "_ASKS_AT_ONCE", 2)
    here = world(a=5)
    here.gone = {ask.id for ask in here.asks}
    await look(here)
    assert here.shown == [ask.id for ask in here.asks]


async def test_a_process_that_is_not_responsible_reads_nothing() -> None:
    here = world(a=1)
    await look(here, responsible=False)
    assert here.reads == 0


async def test_requests_while_looking_lead_to_one_more_look() -> None:
    here = world(a=1)
    finder = MissedChangeFinder("x", cast("Any", here), here, lambda: True, 0.0)
    for _ in range(3):
        finder.start_looking()
    assert finder._task is not None
    await finder._task
    assert here.reads == 1
    await finder.stop()


@pytest.mark.parametrize(
    ("error", "failed", "shown"),
    [
        (DestinationGoneError("It is gone."), True, False),
        (ForbiddenError("Ask the operator."), False, True),
        (PayloadRejectedError("What?"), False, False),
        (RuntimeError("a defect"), False, False),
        (UnauthorizedError("The token was refused."), False, False),
    ],
)
async def test_a_place_that_cannot_be_read(
    error: Exception, failed: bool, shown: bool, caplog: pytest.LogCaptureFixture
) -> None:
    here = world(a=2)
    here.failures["a"] = [error]
    with caplog.at_level(logging.WARNING):
        await look(here)
    both = [ask.id for ask in here.asks]
    assert list(here.failed) == (both if failed else [])
    assert here.shown == (both if shown else [])
    assert bool(caplog.records) is not (failed or shown)


async def test_a_store_that_fails_is_read_again() -> None:
    here = world(a=1)
    here.store_failures, here.gone = 2, {here.asks[0].id}
    await asyncio.wait_for(look(here), 30)
    assert here.shown == [here.asks[0].id]
