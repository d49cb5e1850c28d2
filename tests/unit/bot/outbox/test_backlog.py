"""When a backlog that does not fit into memory is claimed again: in step with its length, and soon if it is short."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast

import pytest

from answerback.outbox.dispatcher import DispatchLimits, OutboxDispatcher
from answerback.ports.claims import Claim
from answerback.ports.sender import SendResult
from answerback.ports.store import Outbox
from answerback.ports.store_values import Delivery, DeliveryState, StoredDelivery
from answerback.service.notify import Hooks
from tests.service_support import WAIT, ManualClock

NOW: Final = 1_800_000_000.0
BACKLOG: Final = 20_001
URL: Final = "https://agent.example/hook"
pytestmark = pytest.mark.rule("WEBHOOK-6")


def due(first: int, last: int) -> list[StoredDelivery]:
    return [
        StoredDelivery(
            delivery=Delivery(f"d{n}", f"ask_{n}", "ask.answered", URL, None, "{}", NOW),
            state=DeliveryState.PENDING,
            tries=0,
            next_at=NOW,
            last_status=None,
            last_error=None,
            updated_at=NOW,
        )
        for n in range(first, last)
    ]


class LongOutbox:
    """An outbox in memory, which notes when deliveries are due again. Real ones take long to fill."""

    def __init__(self) -> None:
        self.due: list[StoredDelivery] = []
        self.next_at: dict[str, float] = {}
        self.done: set[str] = set()
        self.changed = asyncio.Condition()

    async def release(self, holder: str) -> None:
        pass

    async def claim(self, claim: Claim, now: float, limit: int) -> Sequence[StoredDelivery]:
        found, self.due = self.due, []
        return found

    async def next_due(self, after: float = 0.0) -> float | None:
        return None

    async def save_results(
        self, results: Sequence[StoredDelivery], entries: object, holder: str | None = None
    ) -> None:
        async with self.changed:
            for each in results:
                if each.state is DeliveryState.DELIVERED:
                    self.done.add(each.delivery.id)
                elif each.next_at is not None:
                    self.next_at[each.delivery.id] = each.next_at - NOW
            self.changed.notify_all()

    async def until(self, *names: str) -> None:
        async with asyncio.timeout(WAIT), self.changed:
            await self.changed.wait_for(lambda: {*names} <= self.done | self.next_at.keys())


class HeldSender:
    """Sends one delivery for each time that it is let go."""

    def __init__(self) -> None:
        self.lets_go = asyncio.Semaphore(0)

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        await self.lets_go.acquire()
        return SendResult(200, None)


async def _save_seen(ask_ids: Sequence[str], state: object) -> None:
    pass


@asynccontextmanager
async def dispatching(
    outbox: LongOutbox, sender: HeldSender, in_flight: int = 1
) -> AsyncIterator[OutboxDispatcher]:
    limits = DispatchLimits(in_flight=in_flight, queued=in_flight, batch=2 * BACKLOG)
    stored = cast("Outbox", outbox)  # the tests need no more of it
    dispatcher = OutboxDispatcher(
        stored, ManualClock(NOW), sender, Hooks(), _save_seen, limits=limits
    )
    running = asyncio.create_task(dispatcher.run())
    try:
        yield dispatcher
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await dispatcher.stop(grace=0)


async def test_a_long_backlog_is_spread_by_its_length_and_within_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        random, "random", lambda: 1.0
    )  # each at the end of what it may be spread over
    outbox, sender = LongOutbox(), HeldSender()
    outbox.due = due(0, BACKLOG)
    async with dispatching(outbox, sender):
        await outbox.until("d1", f"d{BACKLOG - 1}")
    # Two seconds, and at 250 a second as many as were postponed before, from two seconds to a minute.
    expected = {1: 4.0, 500: 4.0, 501: 2.0 + 501 / 250, 1_000: 6.0, 15_000: 62.0, 20_000: 62.0}
    assert {n: outbox.next_at[f"d{n}"] for n in expected} == pytest.approx(expected)


async def test_once_a_receiver_is_idle_what_comes_next_waits_no_longer_for_the_backlog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(random, "random", lambda: 1.0)
    outbox, sender = LongOutbox(), HeldSender()
    outbox.due = due(0, 1_002)
    async with dispatching(outbox, sender, in_flight=2) as dispatcher:
        await outbox.until("d1001")
        assert outbox.next_at["d1001"] == pytest.approx(6.0)
        sender.lets_go.release()
        await outbox.until("d0")
        outbox.due = due(2_000, 2_003)
        dispatcher.wake()
        await outbox.until("d2001")
        assert outbox.next_at["d2001"] == pytest.approx(2.0 + 1_001 / 250), "one was still running"
        sender.lets_go.release()
        sender.lets_go.release()
        await outbox.until("d1", "d2000")
        outbox.due = due(3_000, 3_003)
        dispatcher.wake()
        await outbox.until("d3002")
        assert outbox.next_at["d3002"] == pytest.approx(4.0)
