"""Drains the outbox to webhooks: woken by commits, in order per ask, no receiver in another's way.

A receiver is what one agent calls one URL: whatever it answers, hangs on or asks for concerns that agent's deliveries
to that URL alone. Owns the queues, the pauses between tries and when to give up. What one try is, `sender` knows.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import RecordEntry
from answerback.core.errors import StoreError
from answerback.ports.claims import MIN_REMAINING_FRACTION, SOLE_CLAIM, Claim, ClaimKind
from answerback.ports.clock import Clock, ClockStepDetector
from answerback.ports.store import Store
from answerback.ports.store_values import DeliveryState, StoredDelivery
from answerback.service.claim_renewal import STOP_WITHIN, hold_claim
from answerback.webhooks.sender import FAILED, TIMED_OUT, SendResult, WebhookSender
from answerback_client.backoff import Backoff

logger = logging.getLogger(__name__)

_HOUR: Final = 3_600.0
RETRY_DELAYS: Final = (
    5.0, 30.0, 120.0, 600.0, 1_800.0, _HOUR, 2 * _HOUR, 4 * _HOUR, 6 * _HOUR, 8 * _HOUR,
    10 * _HOUR, 12 * _HOUR, 12 * _HOUR, 16 * _HOUR,
)  # fmt: skip
"""Seconds between tries: three days in all, and then the delivery is dead."""
_JITTER: Final = 0.1
_LONGEST_TRY: Final = 30.0
"""Seconds after which a try is given up that its own time limit did not end."""
_IN_FLIGHT: Final = 8
"""Tries under way to one endpoint."""
_QUEUED: Final = 500
"""Deliveries of one endpoint that wait in memory for their try; more wait in the store."""
_HELD: Final = 1_000
"""Deliveries of one agent in memory; past them an endpoint has room for what it is trying, and no more."""
_MOST_HELD: Final = 2_000
"""Deliveries of one agent in memory at the most."""
_BATCH: Final = 100
_LATER: Final = 2.0
"""Seconds until a delivery is looked at again for which there was no room."""
_LATER_A_SECOND: Final = 250.0
_LATEST: Final = 60.0
"""A long backlog is looked at again so many a second, and after so many seconds at the latest: looking at all of it
again and again would hold up the others."""
_FORGOTTEN: Final = 64
"""Idle endpoints that are kept before any is forgotten."""
_DATABASE_PAUSE: Final = 1.0
_LONGEST_DATABASE_PAUSE: Final = 30.0


_Receiver = tuple[str | None, str]
"""The agent and the URL."""


@dataclass(slots=True)
class _Endpoint:
    """A receiver: what waits for it, how many tries are under way, and until when it wants to be left alone."""

    waiting: deque[StoredDelivery] = field(default_factory=deque)
    running: int = 0
    put_off: int = 0
    """Deliveries for which there was no room since it was last idle."""
    closed_until: float = float("-inf")
    """By the monotonic clock: setting the machine's clock makes no pause longer."""


class WebhookDispatcher:
    """Sends what the outbox holds.

    Args:
        store: holds the outbox.
        clock: what pauses are measured with.
        sender: makes one try.
        jitter: a factor near 1 for every pause, so that receivers are not called in step.
        claim: what this process claims of the outbox that others with the same store could also send.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        sender: WebhookSender,
        *,
        jitter: Callable[[], float] = lambda: random.uniform(1 - _JITTER, 1 + _JITTER),
        claim: Claim = SOLE_CLAIM,
    ) -> None:
        self._store = store
        self._clock = clock
        self._sender = sender
        self._jitter = jitter
        self._claim = claim
        self._wake = asyncio.Event()
        self._endpoints: dict[_Receiver, _Endpoint] = {}
        self._most_endpoints = _FORGOTTEN
        self._held_by: Counter[str | None] = Counter()
        """How many deliveries of each agent are in memory."""
        self._held: dict[str, float] = {}
        """Ids of deliveries in memory, and from when on the claim is renewed before it is used."""
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def pending_count(self) -> int:
        """How many deliveries this process has claimed and is about to send."""
        return len(self._held)

    def wake(self) -> None:
        """The outbox has something new."""
        self._wake.set()

    async def run(self) -> None:
        """Runs until cancelled."""
        fresh = True
        while True:
            self._wake.clear()
            now = self._clock.now()
            try:
                if fresh:  # what an earlier run left
                    await self._store.release(ClaimKind.DELIVERY, self._claim.holder)
                    fresh = False
                more = await self._look(now)
                # What was due by then is in memory, and wakes us at its end.
                due = None if more else await self._store.next_delivery(now)
            except StoreError as error:
                extra = {"action": "delivery_waits"}
                logger.warning("Webhooks wait for the database: %s", error, extra=extra)
                more, due = False, now + _DATABASE_PAUSE
            if not more:
                await self._sleep(due)

    async def stop(self, grace: float = STOP_WITHIN) -> bool:
        """Lets the tries under way end for ``grace`` seconds; whether all did. The next start repeats the others."""
        for endpoint in self._endpoints.values():
            endpoint.waiting.clear()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        ended = not self._tasks
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return ended

    async def _sleep(self, due: float | None) -> None:
        """Until something new is committed, a try ends, or the next delivery in the store is due.

        Not for longer than half a lease: what a process that died had claimed is for others to send.
        """
        waiting: list[asyncio.Task[object]] = [asyncio.create_task(self._wake.wait())]
        if due is not None:
            waiting.append(asyncio.create_task(self._clock.sleep_until(due)))
        try:
            longest = self._claim.seconds / 2
            await asyncio.wait(waiting, timeout=longest, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    async def _look(self, now: float) -> bool:
        """Takes what is due into memory; whether there may be more."""
        used_by = self._clock.monotonic() + self._claim.seconds * (1 - MIN_REMAINING_FRACTION)
        found = await self._store.claim_deliveries(self._claim, now, _BATCH)
        # The clock may have been set until here, which `measure_set_back` has told the store.
        now = self._clock.now()
        postponed = [later for one in found if (later := self._take(one, now, used_by)) is not None]
        if postponed:
            await self._store.save_delivery_results(postponed, [], self._claim.holder)
        return len(found) == _BATCH

    def _take(self, stored: StoredDelivery, now: float, used_by: float) -> StoredDelivery | None:
        """Queues a delivery, unless it is; returns it with a later time where it cannot be sent now."""
        if stored.delivery.id in self._held:  # its claim was over, and has been renewed
            self._held[stored.delivery.id] = used_by
            return None
        receiver = (stored.delivery.agent, stored.delivery.url)
        endpoint = self._endpoint(receiver)
        if (pause := endpoint.closed_until - self._clock.monotonic()) > 0:
            return replace(stored, next_at=now + pause + _LATER * random.random())
        if not self._has_room(receiver, endpoint):
            endpoint.put_off += 1
            spread = min(max(endpoint.put_off / _LATER_A_SECOND, _LATER), _LATEST)
            return replace(stored, next_at=now + _LATER + spread * random.random())
        self._held[stored.delivery.id] = used_by
        self._held_by[stored.delivery.agent] += 1
        endpoint.waiting.append(stored)
        self._start(receiver, endpoint)
        return None

    def _endpoint(self, receiver: _Receiver) -> _Endpoint:
        """An endpoint; what was learnt of others is forgotten once it is of no use."""
        if receiver not in self._endpoints and len(self._endpoints) >= self._most_endpoints:
            now = self._clock.monotonic()
            self._endpoints = {
                one: endpoint
                for one, endpoint in self._endpoints.items()
                if endpoint.waiting or endpoint.running or endpoint.closed_until > now
            }
            self._most_endpoints = max(2 * len(self._endpoints), _FORGOTTEN)
        return self._endpoints.setdefault(receiver, _Endpoint())

    def _has_room(self, receiver: _Receiver, endpoint: _Endpoint) -> bool:
        """Whether one more may be held; an agent's other endpoints never take the room that a try needs."""
        held = self._held_by[receiver[0]]
        room = _QUEUED if held < _HELD else _IN_FLIGHT
        return len(endpoint.waiting) + endpoint.running < room and held < _MOST_HELD

    def _start(self, receiver: _Receiver, endpoint: _Endpoint) -> None:
        while endpoint.waiting and endpoint.running < _IN_FLIGHT:
            stored = endpoint.waiting.popleft()
            endpoint.running += 1
            task = asyncio.create_task(
                self._try(stored, receiver, endpoint), name=f"deliver {stored.delivery.id}"
            )
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake.set()

    async def _try(self, stored: StoredDelivery, receiver: _Receiver, endpoint: _Endpoint) -> None:
        since = asyncio.get_running_loop().time()
        try:
            if not await self._is_ours(stored):
                return
            now = self._clock.now()
            if (pause := endpoint.closed_until - self._clock.monotonic()) > 0:
                later = replace(stored, next_at=now + pause + _LATER * random.random())
                await self._mark(later, [])
                return
            sent = await self._send(stored, now, since)
            if sent is None:
                return
            at = self._clock.now()
            if sent.retry_after is not None:
                until = self._clock.monotonic() + sent.retry_after
                endpoint.closed_until = max(endpoint.closed_until, until)
            result = self._result(stored, sent, at)
            _log(result, sent)
            await self._mark(result, [_entry(result, sent, at)])
        finally:
            del self._held[stored.delivery.id]
            self._held_by -= Counter({stored.delivery.agent: 1})
            endpoint.running -= 1
            self._start(receiver, endpoint)
            if not endpoint.running:
                endpoint.put_off = 0

    async def _is_ours(self, stored: StoredDelivery) -> bool:
        """Whether the claim lasts until the try is over, renewed if need be; else another sends it."""
        if self._clock.monotonic() < self._held[stored.delivery.id]:
            return True
        try:
            return await self._store.renew_delivery(stored.delivery.id, self._claim)
        except StoreError as error:
            extra = {"action": "delivery_waits", "ask_id": stored.delivery.ask_id}
            logger.warning("A webhook waits for the database: %s", error, extra=extra)
            return False

    async def _send(self, stored: StoredDelivery, now: float, since: float) -> SendResult | None:
        """Makes one attempt at a delivery that has been ours ``since`` then; None: the claim ran out before it began.

        An attempt that crashes affects its own delivery alone.
        """
        began = False

        async def renew() -> bool:
            return await self._store.renew_delivery(stored.delivery.id, self._claim)

        try:
            async with hold_claim(renew, self._claim, _LONGEST_TRY, since):
                began = True
                return await self._sender.send(stored.delivery, now)
        except TimeoutError:
            # Another process has claimed it since, or the attempt hung where nothing has a timeout of its own.
            return SendResult(None, TIMED_OUT) if began else None
        except Exception:  # a defect with one delivery must not leave it pending for ever
            extra = {"action": "delivery_crashed", "ask_id": stored.delivery.ask_id}
            logger.exception("A webhook's try crashed", extra=extra)
            return SendResult(None, FAILED)

    def _result(self, stored: StoredDelivery, sent: SendResult, at: float) -> StoredDelivery:
        tries = stored.tries + 1
        tried = replace(
            stored,
            tries=tries,
            next_at=None,
            last_status=sent.status,
            last_error=sent.error,
            updated_at=at,
        )
        if sent.error is None:
            return replace(tried, state=DeliveryState.DELIVERED)
        if sent.gone or tries > len(RETRY_DELAYS):
            return replace(tried, state=DeliveryState.DEAD)
        pause = RETRY_DELAYS[tries - 1] * self._jitter()
        return replace(tried, next_at=at + max(pause, sent.retry_after or 0.0))

    async def _mark(self, result: StoredDelivery, entries: Iterable[RecordEntry]) -> None:
        """Stores what became of a try, however long the database takes: forgetting it would send it again and again."""
        lines = [(result.delivery.ask_id, entry) for entry in entries]
        extra = {"action": "delivery_unmarked", "ask_id": result.delivery.ask_id}
        backoff = Backoff(_DATABASE_PAUSE, _LONGEST_DATABASE_PAUSE)
        watch = ClockStepDetector(self._clock)
        while True:
            if (
                result.next_at is not None
            ):  # `measure_set_back` plans anew only what was stored before it
                result = replace(result, next_at=result.next_at - watch.measure_set_back())
            try:
                await self._store.save_delivery_results([result], lines, self._claim.holder)
                return
            except StoreError as error:
                logger.warning("A webhook's result is not stored yet: %s", error, extra=extra)
            except Exception:  # forgetting what was sent would send it again
                logger.exception("Storing a webhook's result crashed", extra=extra)
            await backoff.wait()


def _entry(result: StoredDelivery, sent: SendResult, at: float) -> RecordEntry:
    """The record's line about a try."""
    body: dict[str, JsonValue] = {
        "id": result.delivery.id,
        "type": result.delivery.type,
        "try": result.tries,
        "state": result.state.value,
        "status": sent.status,
        "error": sent.error,
        "next_try_in": None if result.next_at is None else round(result.next_at - at, 1),
    }
    return RecordEntry(at=at, kind="delivery", body=body)


def _log(result: StoredDelivery, sent: SendResult) -> None:
    """Tells the operator, with what the receiver's network said, which agents are not told."""
    extra = {
        "action": "delivery",
        "ask_id": result.delivery.ask_id,
        "delivery_id": result.delivery.id,
        "tries": result.tries,
    }
    if sent.detail:
        extra["detail"] = sent.detail
    if result.state is DeliveryState.DELIVERED:
        logger.info("A webhook was delivered", extra=extra)
    elif result.state is DeliveryState.DEAD:
        logger.error("A webhook was given up: %s", sent.error, extra=extra)
    else:
        logger.warning("A webhook is tried again: %s", sent.error, extra=extra)
