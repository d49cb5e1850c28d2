"""Drains the outbox: woken by commits, in order per ask, with receivers isolated from each other.

A receiver is one agent and one URL: what it responds, where it hangs and what it asks for affects only that agent's
deliveries to that URL. This module owns the queues, the delays between attempts and the decision to give up; `attempts`
makes a single attempt.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.ask import RecordEntry
from answerback.core.errors import StoreError
from answerback.outbox.attempts import FAILED, TIMED_OUT
from answerback.ports.claims import MIN_REMAINING_FRACTION, SOLE_CLAIM, Claim
from answerback.ports.clock import Clock, ClockStepDetector, sleep_until_woken
from answerback.ports.late_answers import SeenState
from answerback.ports.sender import Sender, SendResult
from answerback.ports.store import Outbox
from answerback.ports.store_values import DeliveryState, StoredDelivery
from answerback.service.claim_renewal import STOP_WITHIN, hold_claim
from answerback.service.notify import Hooks
from answerback_base.backoff import Backoff

logger = logging.getLogger(__name__)

_HOUR: Final = 3_600.0
RETRY_DELAYS: Final = (
    5.0, 30.0, 120.0, 600.0, 1_800.0, _HOUR, 2 * _HOUR, 4 * _HOUR, 6 * _HOUR, 8 * _HOUR,
    10 * _HOUR, 12 * _HOUR, 12 * _HOUR, 16 * _HOUR,
)  # fmt: skip
"""Seconds between attempts: three days in all, after which the delivery is dead."""
_JITTER: Final = 0.1
_MAX_TRY_SECONDS: Final = 30.0
"""Seconds after which an attempt is abandoned that its own time limit did not end."""
_REQUEUE_DELAY: Final = 2.0
"""Seconds until a delivery is claimed again that did not fit into memory."""
_REQUEUES_PER_SECOND: Final = 250.0
_MAX_REQUEUE_SPREAD: Final = 60.0
"""A long backlog is claimed again at this many deliveries a second, and within this many seconds at most: claiming all
of it again and again would delay the others."""
_MAX_DATABASE_PAUSE: Final = 30.0


class DispatchLimits(NamedTuple):
    """The most that is sent and held in memory at once."""

    in_flight: int = 8
    """Concurrent attempts to one endpoint."""
    queued: int = 500
    """Deliveries of one endpoint that are queued in memory; the others wait in the store."""
    agent_soft: int = 1_000
    """Deliveries of one agent in memory, above which each of its endpoints holds no more than it can try at once."""
    agent_hard: int = 2_000
    """Deliveries of one agent in memory, at most."""
    batch: int = 100
    """Deliveries that are claimed at once."""
    endpoints_kept: int = 64
    """Endpoints that are kept before idle ones are forgotten."""
    database_pause: float = 1.0
    """Seconds until a database that failed is used again."""


class _Held(NamedTuple):
    """A delivery in memory, as it was last claimed, and the time after which its claim must be renewed before use."""

    stored: StoredDelivery
    used_by: float


_Receiver = tuple[str | None, str]
"""An agent's name and a URL."""


@dataclass(slots=True)
class _Endpoint:
    """The state of a receiver: its queue, how many attempts are running, and until when it must not be called."""

    waiting: deque[StoredDelivery] = field(default_factory=deque)
    running: int = 0
    postponed_count: int = 0
    """Deliveries that were postponed for lack of capacity since it was last idle."""
    closed_until: float = float("-inf")
    """By the monotonic clock: setting the machine's clock makes no delay longer."""


@dataclass(eq=False)
class OutboxDispatcher:
    outbox: Outbox
    """The deliveries in the store."""
    clock: Clock
    sender: Sender
    hooks: Hooks
    """Call when the outbox has something new."""
    save_seen: Callable[[Sequence[str], SeenState], Awaitable[object]]
    """Marks outcomes as seen by their agents."""
    jitter: Callable[[], float] = lambda: random.uniform(1 - _JITTER, 1 + _JITTER)
    """Returns a factor near 1 for each delay, so that receivers are not called in step."""
    claim: Claim = SOLE_CLAIM
    """This process's claim on deliveries that others with the same store could also send."""
    limits: DispatchLimits = field(default_factory=DispatchLimits)
    _endpoints: dict[_Receiver, _Endpoint] = field(default_factory=dict)
    _held_by: Counter[str | None] = field(default_factory=Counter)
    """The number of each agent's deliveries in memory."""
    _held: dict[str, _Held] = field(default_factory=dict)
    """The deliveries in memory, by id."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._wake = asyncio.Event()
        self._max_endpoints = self.limits.endpoints_kept
        self.hooks.deliver.listen(self.wake)

    @property
    def pending_count(self) -> int:
        """The number of deliveries that this process has claimed and is about to send."""
        return len(self._held)

    def wake(self) -> None:
        """Note that the outbox has something new."""
        self._wake.set()

    async def run(self) -> None:
        fresh = True
        while True:
            # Before the store is read, so that no row added meanwhile is missed.
            self._wake.clear()
            now = self.clock.now()
            try:
                if fresh:  # claims that an earlier run left behind
                    await self.outbox.release(self.claim.holder)
                    fresh = False
                more = await self._claim_due(now)
                # Whatever was due by then is in memory; when its attempt ends, the loop is woken.
                due = None if more else await self.outbox.next_due(now)
            except StoreError as error:
                extra = {"action": "delivery_waits"}
                logger.warning("Webhooks are waiting for the database: %s", error, extra=extra)
                more, due = False, now + self.limits.database_pause
            if not more:
                # At most half a lease: deliveries that a dead process had claimed must be sent by the others.
                await sleep_until_woken(self.clock, self._wake, due, self.claim.seconds / 2)

    async def stop(self, grace: float = STOP_WITHIN) -> bool:
        """Let running attempts end for ``grace`` seconds; return whether all did. The next start repeats the others."""
        for endpoint in self._endpoints.values():
            endpoint.waiting.clear()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        all_ended = not self._tasks
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return all_ended

    async def _claim_due(self, now: float) -> bool:
        """Load due deliveries into memory; return whether there may be more."""
        # Measured from before the claim, whose lease begins at some time during the call.
        used_by = self.clock.monotonic() + self.claim.seconds * (1 - MIN_REMAINING_FRACTION)
        claimed = await self.outbox.claim(self.claim, now, self.limits.batch)
        # The clock may have been set since then; `measure_set_back` has already adjusted the store.
        now = self.clock.now()
        postponed = [
            later
            for stored in claimed
            if (later := self._enqueue(stored, now, used_by)) is not None
        ]
        if postponed:
            await self.outbox.save_results(postponed, [], self.claim.holder)
        return len(claimed) == self.limits.batch

    def _enqueue(self, stored: StoredDelivery, now: float, used_by: float) -> StoredDelivery | None:
        """Queue a delivery unless it is queued; if it cannot be sent now, return it with a later time."""
        if stored.delivery.id in self._held:  # its claim had expired, or it is to be sent again
            self._held[stored.delivery.id] = _Held(stored, used_by)
            return None
        receiver = (stored.delivery.agent, stored.delivery.url)
        endpoint = self._endpoint(receiver)
        if (pause := endpoint.closed_until - self.clock.monotonic()) > 0:
            return replace(stored, next_at=now + pause + _REQUEUE_DELAY * random.random())
        if not self._has_capacity(receiver, endpoint):
            # Each is postponed for longer than the one before, so that they do not all come back at once.
            endpoint.postponed_count += 1
            spread = min(
                max(endpoint.postponed_count / _REQUEUES_PER_SECOND, _REQUEUE_DELAY),
                _MAX_REQUEUE_SPREAD,
            )
            return replace(stored, next_at=now + _REQUEUE_DELAY + spread * random.random())
        self._held[stored.delivery.id] = _Held(stored, used_by)
        self._held_by[stored.delivery.agent] += 1
        endpoint.waiting.append(stored)
        self._start(receiver, endpoint)
        return None

    def _endpoint(self, receiver: _Receiver) -> _Endpoint:
        """The state of a receiver; when there are many, those that are idle are forgotten."""
        if receiver not in self._endpoints and len(self._endpoints) >= self._max_endpoints:
            now = self.clock.monotonic()
            self._endpoints = {
                key: endpoint
                for key, endpoint in self._endpoints.items()
                if endpoint.waiting or endpoint.running or endpoint.closed_until > now
            }
            # Twice as many as are in use, so that this search is rare however many receivers there are.
            self._max_endpoints = max(2 * len(self._endpoints), self.limits.endpoints_kept)
        return self._endpoints.setdefault(receiver, _Endpoint())

    def _has_capacity(self, receiver: _Receiver, endpoint: _Endpoint) -> bool:
        """Return True if one more delivery fits. An agent's other endpoints never use up the capacity for an
        attempt."""
        held = self._held_by[receiver[0]]
        limits = self.limits
        capacity = limits.queued if held < limits.agent_soft else limits.in_flight
        return len(endpoint.waiting) + endpoint.running < capacity and held < limits.agent_hard

    def _start(self, receiver: _Receiver, endpoint: _Endpoint) -> None:
        while endpoint.waiting and endpoint.running < self.limits.in_flight:
            stored = endpoint.waiting.popleft()
            endpoint.running += 1
            task = asyncio.create_task(
                self._try(stored, receiver, endpoint), name=f"deliver {stored.delivery.id}"
            )
            self._tasks.add(task)
            task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake.set()

    async def _try(self, stored: StoredDelivery, receiver: _Receiver, endpoint: _Endpoint) -> None:
        delivery, tried = stored.delivery, False
        try:
            while not tried or self._is_to_be_sent_again(stored):
                stored, tried = self._held[delivery.id].stored, True
                await self._attempt(stored, endpoint)
        finally:
            del self._held[delivery.id]
            self._held_by -= Counter({delivery.agent: 1})
            endpoint.running -= 1
            self._start(receiver, endpoint)
            if not endpoint.running:
                endpoint.postponed_count = 0

    def _is_to_be_sent_again(self, stored: StoredDelivery) -> bool:
        """True if this delivery was claimed again since it was claimed here: a caller waits for it, or it was due again
        before the result of this attempt was known to be stored."""
        now = self._held[stored.delivery.id].stored
        return (now.updated_at, now.tries) != (stored.updated_at, stored.tries)

    async def _attempt(self, stored: StoredDelivery, endpoint: _Endpoint) -> None:
        since = asyncio.get_running_loop().time()
        if not await self._still_claimed(stored):
            return
        now = self.clock.now()
        if (pause := endpoint.closed_until - self.clock.monotonic()) > 0:
            later = replace(stored, next_at=now + pause + _REQUEUE_DELAY * random.random())
            await self._save_result(stored, later, [])
            return
        sent = await self._send(stored, now, since)
        if sent is None:
            return
        at = self.clock.now()
        # A receiver that asks for a pause means all that is sent to it, not this delivery alone.
        if sent.retry_after is not None:
            until = self.clock.monotonic() + sent.retry_after
            endpoint.closed_until = max(endpoint.closed_until, until)
        result = self._delivery_after(stored, sent, at)
        _log(result, sent)
        # A notification is not an event of the ask.
        lines = [] if stored.delivery.is_push else [_entry(result, sent, at)]
        saving: list[Awaitable[object]] = [self._save_result(stored, result, lines)]
        if result.state is DeliveryState.DELIVERED and stored.delivery.brings_outcome:
            # First: it submits its change a step later, and a store commits simultaneous changes together.
            saving.insert(0, self.save_seen([stored.delivery.ask_id], SeenState.SEEN))
        await asyncio.gather(*saving)

    async def _still_claimed(self, stored: StoredDelivery) -> bool:
        """Return True if the claim, renewed if necessary, lasts until the attempt ends; if not, another process sends
        it."""
        if self.clock.monotonic() < self._held[stored.delivery.id].used_by:
            return True
        try:
            return await self.outbox.renew(stored.delivery.id, self.claim)
        except StoreError as error:
            extra = {"action": "delivery_waits", "ask_id": stored.delivery.ask_id}
            logger.warning("A webhook is waiting for the database: %s", error, extra=extra)
            return False

    async def _send(self, stored: StoredDelivery, now: float, since: float) -> SendResult | None:
        """Attempt a delivery that was claimed at ``since``; None if the claim expired before the attempt began.

        An attempt that crashes affects only its own delivery.
        """
        started = False

        async def renew() -> bool:
            return await self.outbox.renew(stored.delivery.id, self.claim)

        try:
            async with hold_claim(renew, self.claim, _MAX_TRY_SECONDS, since):
                started = True
                return await self.sender.send(stored.delivery, now)
        except TimeoutError:
            # Another process has claimed it since, or the attempt hung in something that has no timeout.
            return SendResult(None, TIMED_OUT) if started else None
        except Exception:  # a defect with one delivery must not leave it pending for ever
            extra = {"action": "delivery_crashed", "ask_id": stored.delivery.ask_id}
            logger.exception("Sending a webhook crashed", extra=extra)
            return SendResult(None, FAILED)

    def _delivery_after(
        self, stored: StoredDelivery, sent: SendResult, at: float
    ) -> StoredDelivery:
        tries = stored.tries + 1
        attempted = replace(
            stored,
            tries=tries,
            next_at=None,
            last_status=sent.status,
            last_error=sent.error,
            updated_at=at,
        )
        if sent.error is None:
            return replace(attempted, state=DeliveryState.DELIVERED)
        if sent.gone or tries > len(RETRY_DELAYS):
            return replace(attempted, state=DeliveryState.DEAD)
        pause = RETRY_DELAYS[tries - 1] * self.jitter()
        return replace(attempted, next_at=at + max(pause, sent.retry_after or 0.0))

    async def _save_result(
        self, stored: StoredDelivery, result: StoredDelivery, entries: Iterable[RecordEntry]
    ) -> None:
        """Store a result, however long the database takes: losing it would send the webhook again and again."""
        lines = [(result.delivery.ask_id, entry) for entry in entries]
        extra = {"action": "delivery_unmarked", "ask_id": result.delivery.ask_id}
        backoff = Backoff(self.limits.database_pause, _MAX_DATABASE_PAUSE)
        clock_steps = ClockStepDetector(self.clock)
        while True:
            # `measure_set_back` adjusts only what was stored before it.
            if result.next_at is not None:
                result = replace(result, next_at=result.next_at - clock_steps.measure_set_back())
            try:
                if self._is_to_be_sent_again(stored):
                    await self.outbox.save_results([], lines)
                else:
                    await self.outbox.save_results([result], lines, self.claim.holder)
                return
            except StoreError as error:
                logger.warning("A webhook's result is not stored yet: %s", error, extra=extra)
            except Exception:  # losing the result would send the webhook again
                logger.exception("Storing a webhook's result crashed", extra=extra)
            await backoff.wait()


def _entry(result: StoredDelivery, sent: SendResult, at: float) -> RecordEntry:
    """The record's line about an attempt."""
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
    """Log the result for the operator, with details from the receiver's network that agents do not see."""
    extra = {
        "action": "delivery",
        "ask_id": result.delivery.ask_id,
        "delivery_id": result.delivery.id,
        "tries": result.tries,
    }
    if sent.detail:
        extra["detail"] = sent.detail
    what = "push" if result.delivery.is_push else "webhook"
    if result.state is DeliveryState.DELIVERED:
        logger.info("A %s was delivered", what, extra=extra)
    elif result.delivery.is_push and sent.gone:
        logger.info("A browser is notified no more: %s", sent.error, extra=extra)
    elif result.state is DeliveryState.DEAD:
        logger.error("Gave up on a %s: %s", what, sent.error, extra=extra)
    else:
        logger.warning("A %s will be retried: %s", what, sent.error, extra=extra)
