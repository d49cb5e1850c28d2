"""When missed messages are read: again after each connection, and never once reading was stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from answerback.core.ask import Ask
from answerback_chat.catch_up import MissedMessageReader
from answerback_testing.example_asks import new_ask
from tests.service_support import WAIT

LAST_MESSAGE = 1_000_000.0
"""When the last message was sent that can be read."""


@dataclass
class World:
    """One ask whose message may be posted, but is not recorded as such."""

    saved: list[float] = field(default_factory=list)
    read_after: list[float] = field(default_factory=list)
    readable: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def draft(self, _key: str) -> float | None:
        return self.saved[-1] if self.saved else None

    async def save_draft(self, _key: str, value: float) -> None:
        self.saved.append(value)

    async def each_open(self, _surface: str) -> AsyncIterator[Ask]:
        yield new_ask(message={"id": "1"})

    async def read(self, _place: str, after: float) -> float:
        async with self.changed:
            self.read_after.append(after)
            self.changed.notify_all()
        await self.readable.wait()
        return LAST_MESSAGE

    async def until_read(self, times: int) -> None:
        async with asyncio.timeout(WAIT), self.changed:
            await self.changed.wait_for(lambda: len(self.read_after) == times)


@pytest.fixture
async def world() -> World:
    return World()


@pytest.fixture
async def reader(world: World) -> AsyncIterator[MissedMessageReader[str]]:
    made = MissedMessageReader("x", cast("Any", world), lambda _ask: ["C1"], world.read)
    yield made
    await made.stop()


async def _until_done() -> None:
    """Wait until the reader has read everything."""
    running = [each for each in asyncio.all_tasks() if each.get_name() == "x missed messages"]
    async with asyncio.timeout(WAIT):
        await asyncio.gather(*running)


@pytest.mark.rule("TYPED-8")
async def test_what_is_typed_after_a_connection_was_lost_during_reading_is_read_after_the_next(
    world: World, reader: MissedMessageReader[str]
) -> None:
    reader.start_catching_up()
    await world.until_read(1)
    reader.mark_disconnected()
    world.readable.set()
    await _until_done()
    reader.start_catching_up()
    await world.until_read(2)
    assert world.read_after[0] == world.read_after[1]
    await _until_done()
    assert world.saved == [LAST_MESSAGE]


async def test_nothing_is_read_after_a_stop(
    world: World, reader: MissedMessageReader[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, timers = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
    call_later = loop.call_later

    def recorded(*args: Any, **kwargs: Any) -> asyncio.TimerHandle:
        timers.append(call_later(*args, **kwargs))
        return timers[-1]

    monkeypatch.setattr(loop, "call_later", recorded)
    world.readable.set()
    for _ in range(2):  # each arranges that everything is read once more
        reader.start_catching_up()
        await _until_done()
    await reader.stop()
    assert [timer.cancelled() for timer in timers] == [True, True]
