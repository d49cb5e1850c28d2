"""Waits for commits end when their time is up, the long ones together."""

from __future__ import annotations

import asyncio

import pytest

from answerback.core.ask import Ask
from answerback.service.notify import Signals
from answerback_testing.example_asks import new_ask

SECONDS = 1.3


async def wait(signals: Signals, seconds: float = SECONDS) -> tuple[Ask | None, float]:
    """Wait for the commit of an ask; return the ask, and after how many seconds the wait ended."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    with signals.follow("ask_1") as follower:
        return await follower.wait_until(lambda _: True, seconds), loop.time() - began


@pytest.mark.rule("WAIT-1")
async def test_long_waits_end_together_and_at_most_a_second_early() -> None:
    signals = Signals(long_wait=SECONDS)
    short = asyncio.create_task(wait(signals, 0.01))
    together = [asyncio.create_task(wait(signals)) for _ in range(3)]
    await short
    assert not any(task.done() for task in together), "a wait ends when another's time is up"
    found = await asyncio.gather(*together)
    assert all(ask is None and took >= SECONDS - 1 for ask, took in found)


@pytest.mark.rule("WAIT-1")
async def test_a_wait_that_ended_earlier_leaves_the_others_of_its_second() -> None:
    signals = Signals(long_wait=SECONDS)
    first = asyncio.create_task(wait(signals))
    await asyncio.sleep(0)
    signals.notify(new_ask())
    assert (await first)[0] == new_ask()
    both = [asyncio.create_task(wait(signals)) for _ in range(2)]
    await asyncio.sleep(0)
    both.pop().cancel()
    assert (await both[0])[0] is None


@pytest.mark.rule("WAIT-1")
@pytest.mark.parametrize("is_over", [False, True])
async def test_waits_end_in_the_order_in_which_they_began(is_over: bool) -> None:
    signals, ended = Signals(long_wait=0.01), list[int]()

    async def note_end(number: int) -> None:
        await wait(signals, 0.01 if is_over else SECONDS)
        ended.append(number)

    waits = [asyncio.create_task(note_end(number)) for number in range(20)]
    await asyncio.sleep(0)
    if not is_over:
        signals.notify(new_ask())
    await asyncio.gather(*waits)
    assert ended == [*range(20)]
