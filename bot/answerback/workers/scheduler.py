"""What the clock asks for: expiry, reminders, escalation, inquiries, and asks whose message is behind.

One loop sleeps until the earliest deadline in the store, or until a commit brings an earlier one.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Final

from answerback.core.asides import UNOPENED
from answerback.core.ask import AbandonedMessage, Ask, Change, Destination, Reason, RecordEntry
from answerback.core.errors import (
    DestinationGoneError,
    InquiryError,
    PayloadRejectedError,
    PlatformError,
    StoreError,
    UnauthorizedError,
    UnreadableRowError,
)
from answerback.ports.claims import MIN_REMAINING_FRACTION
from answerback.ports.clock import MIN_CLOCK_STEP, ClockStepDetector
from answerback.ports.inquiry import Inquiry
from answerback.ports.surface import SupportsReminders
from answerback.service import question_routing
from answerback.service.claim_renewal import STOP_WITHIN
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync
from answerback.workers.retention import RetentionPolicy

logger = logging.getLogger(__name__)

_BATCH: Final = 100
_SWEEP: Final = 60.0
"""Seconds between two looks for messages that are behind although nobody is showing them."""
_PRUNE: Final = 3_600.0
_KEEP: Final = 7 * 86_400.0
"""Seconds for which delivery ids, idempotency keys, remembered answers and drafts are kept."""
_TRY_AGAIN: Final = 30.0
_REST: Final = 600.0
"""Seconds for which an ask is left alone that cannot be read."""
_AT_ONCE: Final = 8
"""Reminders that are being sent at the same time."""


class Scheduler:
    """Does in the background what no person and no agent asks for.

    Args:
        retention: how long what was said is kept; without it, for ever.
    """

    def __init__(
        self,
        service: Service,
        shower: MessageSync,
        inquiry: Inquiry | None = None,
        retention: RetentionPolicy | None = None,
    ) -> None:
        self._retention = retention or RetentionPolicy(service, None, None)
        self._service = service
        self._shower = shower
        self._inquiry = inquiry
        self._wake = asyncio.Event()
        self._sleeping_until: float | None = None
        self._swept = self._pruned = float("-inf")
        self._under_way: dict[str, asyncio.Task[None]] = {}
        """Inquiries and reminders: what others have to do for an ask, and nobody else waits for."""
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._bounds: dict[str, asyncio.Timeout] = {}
        """What ends a reminder that is being sent, with the claim that it is sent under."""
        self._postponed: dict[str, float] = {}
        """When an inquiry or a reminder that failed is tried again."""
        self._set_aside: dict[str, float] = {}
        """When an ask is looked at again that cannot be read, or whose upkeep crashed."""
        self._watch = ClockStepDetector(service.clock)
        self._backs: list[tuple[float, float]] = []
        """How far the clock was set back, and when: what the store is still to be told."""
        self._later: float | None = None
        """The earliest deadline of those asks: the store knows of each only what was due first."""

    @property
    def pending_count(self) -> int:
        """For how many asks others are doing something here that takes its time."""
        return len(self._under_way)

    def due(self, at: float) -> None:
        """Notes that a commit brought something to do at ``at`` (seconds since the epoch)."""
        if self._sleeping_until is None or at < self._sleeping_until:
            self._wake.set()

    async def run(self) -> None:
        """Runs until cancelled."""
        started = False
        while True:
            self._wake.clear()
            self._sleeping_until = None  # whatever a commit brings from now on is looked at
            now = self._service.clock.now()
            try:
                if not started:
                    await self._look_back(now)
                    started = True
                await self._plan_anew()
                now = self._service.clock.now()  # it may have been set until here
                await self._sweep_and_prune(now)
                if await self.run_once():
                    continue
                due = await self._service.store.next_due(now)
            except StoreError as error:
                logger.warning(
                    "Upkeep waits for the database: %s", error, extra={"action": "upkeep_failed"}
                )
                due = now + 1.0
            put_off = (*self._postponed.values(), *self._set_aside.values())
            self._sleeping_until = min([now + _SWEEP, *put_off, *filter(None, (due, self._later))])
            await self._sleep(self._sleeping_until)

    async def _look_back(self, now: float) -> None:
        """Notices that the clock was set back while no service ran: the record was written later than now."""
        latest = await self._service.store.last_entry_time()
        if latest is not None and latest > now + MIN_CLOCK_STEP:
            self._backs.append((latest - now, now))

    async def _plan_anew(self) -> None:
        """Where the clock was set back: what is to be done after a while is not done later for that."""
        if back := self._watch.measure_set_back():
            self._backs.append((back, self._service.clock.now()))
            self._postponed.clear()
            self._set_aside.clear()
            self._swept = self._pruned = float("-inf")
        while self._backs:
            back, at = self._backs[0]
            await self._service.store.shift_schedule(back, at)
            del self._backs[0]
            extra = {"action": "clock_set_back", "seconds": round(back, 1)}
            logger.warning(
                "The clock was set back; reminders and webhooks are planned anew", extra=extra
            )
            self._service.hooks.deliver()

    async def _sweep_and_prune(self, now: float) -> None:
        # What a process that died was to show, its claims over, is for others to show.
        if now - self._swept >= min(_SWEEP, self._service.claim.seconds):
            await self.sweep()
            self._swept = now
        if now - self._pruned >= _PRUNE:
            await self._service.store.prune(now - _KEEP)
            await self._retention.enforce(now)
            self._pruned = now

    async def _sleep(self, until: float) -> None:
        sleeping = asyncio.create_task(self._service.clock.sleep_until(until))
        waking = asyncio.create_task(self._wake.wait())
        try:
            # What is under way stays claimed, and what a process that died had claimed is for others to do.
            longest = self._service.claim.seconds / 2
            waits = {sleeping, waking}
            await asyncio.wait(waits, timeout=longest, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            waking.cancel()

    async def sweep(self) -> None:
        """Has every ask shown whose message is behind: after a start, all that the last process left."""
        await self._shower.sweep(_BATCH * 10)

    async def run_once(self) -> bool:
        """Does what is due now, or has it begun, a batch at a time; whether there was anything."""
        now = self._service.clock.now()
        self._postponed = {ask_id: at for ask_id, at in self._postponed.items() if at > now}
        self._set_aside = {ask_id: at for ask_id, at in self._set_aside.items() if at > now}
        waiting = self._postponed.keys() | self._under_way.keys() | self._set_aside.keys()
        claim, since = self._service.claim, asyncio.get_running_loop().time()
        found = await self._service.store.claim_due(claim, now, _BATCH + len(waiting))
        until = since + claim.seconds * MIN_REMAINING_FRACTION
        done, self._later = 0, None
        for ask_id in found:
            if (bound := self._bounds.get(ask_id)) is not None and not bound.expired():
                bound.reschedule(until)
            if ask_id not in self._set_aside:
                done += await self._attend_alone(ask_id, now, until)
        return done > 0

    async def _attend_alone(self, ask_id: str, now: float, until: float) -> bool:
        """Whether there was anything to do; an odd ask is set aside, and holds nobody up."""
        extra = {"action": "upkeep_failed", "ask_id": ask_id}
        try:
            ask = await self._service.get(ask_id)
            if ask is None or not ask.open:
                return True  # it ended meanwhile, and is due no more
            if await self._attend(ask, now, until):
                return True
            times = (self._later, ask.expires_at, ask.presence_lapses_at, _escalates_at(ask))
            self._later = min((at for at in times if at is not None), default=None)
        except UnreadableRowError as error:
            logger.error("Upkeep of an ask is not possible: %s", error, extra=extra)  # noqa: TRY400 the trace quotes it
            self._set_aside[ask_id] = now + _REST
        except StoreError:
            raise
        except Exception:  # a defect with one ask must not hold up the others
            logger.exception("Upkeep of an ask crashed", extra=extra)
            self._set_aside[ask_id] = now + _TRY_AGAIN
        return False

    async def _attend(self, ask: Ask, now: float, until: float) -> bool:
        """Whether there was anything to do for an ask that is not done already, or put off.

        Args:
            until: when the claim may be over, by the event loop's time.
        """
        handed_on = _escalates_at(ask)
        if ask.expires_at is not None and ask.expires_at <= now:
            await self._service.expire(ask.id)
        elif handed_on is not None and handed_on <= now:
            await self._service.update(ask.id, _escalated)
        elif ask.presence_lapses_at is not None and ask.presence_lapses_at <= now:
            await self._service.set_attended(
                ask.id, attended=self._service.presence.has_waiter(ask.id)
            )
        elif ask.id not in self._under_way and ask.id not in self._postponed:
            self._begin(ask, until)
        else:
            return False
        return True

    def _begin(self, ask: Ask, until: float) -> None:
        """Has others do what takes its time, while everything else goes on."""
        task = asyncio.create_task(self._have_done(ask, until), name=f"upkeep {ask.id}")
        self._under_way[ask.id] = task
        task.add_done_callback(lambda _done: self._under_way.pop(ask.id, None))

    async def _have_done(self, ask: Ask, until: float) -> None:
        extra = {"action": "inquire" if ask.inquiring else "remind", "ask_id": ask.id}
        try:
            if ask.inquiring:
                await self._ask_backend(ask)
            else:
                await self._remind_while_claimed(ask.id, until)
            return
        except StoreError as error:
            logger.warning("Upkeep of an ask is tried again: %s", error, extra=extra)
        except Exception:  # a defect with one ask must not hold up the others
            logger.exception("Upkeep of an ask failed", extra=extra)
        self._postpone(ask)

    async def _remind_while_claimed(self, ask_id: str, until: float) -> None:
        """Reminds, within the time for which the claim is held; whoever looks for what is due renews that."""
        bound = self._bounds[ask_id] = asyncio.timeout_at(until)
        try:
            async with bound, self._slots:
                await self._remind(ask_id)
        except TimeoutError:
            if not bound.expired():
                raise  # it is the surface's own
            # Another process may have it now. If none has, the next look finds it.
            extra = {"action": "remind", "ask_id": ask_id}
            logger.warning("A reminder was given up: its claim is over", extra=extra)
        finally:
            del self._bounds[ask_id]

    def _postpone(self, ask: Ask, seconds: float = _TRY_AGAIN) -> None:
        """Has it tried again so long from now, by the clock as it is set now: it may have been set meanwhile."""
        self._postponed[ask.id] = self._service.clock.now() + seconds

    async def _remind(self, ask_id: str) -> None:
        """Pings the responders once for the latest entry that is due: what a stop of ours missed is not made up for."""
        now, ask = self._service.clock.now(), await self._service.get(ask_id)
        if ask is None or not ask.open:
            return
        past = sum(1 for after in ask.request.remind_after if _began(ask) + after <= now)
        if past <= ask.reminded:
            return
        surface = self._service.surfaces.get(ask.destination.surface)
        extra = {"action": "remind", "ask_id": ask.id}
        if surface is None or (surface.live and ask.message is None):
            self._postpone(ask)
            return
        try:
            if isinstance(surface, SupportsReminders):
                await surface.remind(ask, past - 1)
        except (DestinationGoneError, PayloadRejectedError, UnauthorizedError) as error:
            logger.warning("A reminder was given up: %s", error, extra=extra)
        except PlatformError as error:
            logger.warning("A reminder is tried again: %s", error, extra=extra)
            self._postpone(ask, getattr(error, "retry_after", _TRY_AGAIN))
            return

        def reminded(latest: Ask, at: float) -> Change | None:
            entry = RecordEntry(at=at, kind="note", body={"reminded": past})
            return Change(replace(latest, reminded=max(past, latest.reminded)), (entry,))

        await self._service.update(ask.id, reminded)

    async def _ask_backend(self, ask: Ask) -> None:
        question = ask.question
        if question is None:
            raise AssertionError(f"{ask.id} has no question to inquire about")
        if self._inquiry is None:
            words = f"{ask.request.name}: no inquiry backend is configured any more (inquiry.url)"
            await self._service.fail(
                ask.id, Reason.BACKEND_ERROR, question_routing.no_retry_message(words)
            )
            return
        try:
            value = await self._inquiry.answer(ask, question)
            await self._service.answer_by_inquiry(ask.id, value)
        except InquiryError as error:
            words = f"{ask.request.name}: {error}"
            await self._service.fail(
                ask.id, Reason.BACKEND_ERROR, question_routing.no_retry_message(words)
            )

    async def wait_until_idle(self) -> None:
        """Returns once no inquiry and no reminder is under way."""
        while self._under_way:
            await asyncio.wait(list(self._under_way.values()))

    async def stop(self, grace: float = STOP_WITHIN) -> bool:
        """Lets the reminders under way end for ``grace`` seconds; whether all did.

        Inquiries are given up: the next start begins them again, and what did not end.
        """
        for ask_id, task in self._under_way.items():
            if ask_id not in self._bounds:
                task.cancel()
        if under_way := set(self._under_way.values()):
            await asyncio.wait(under_way, timeout=grace)
        ended = not self._bounds
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        return ended


def _began(ask: Ask) -> float:
    """When an ask was created, by the clock as it is set now."""
    return ask.created_at - ask.set_back


def _escalates_at(ask: Ask) -> float | None:
    """When an ask is handed on; None: never, or not while it is no person's to answer."""
    escalation = ask.request.escalation
    if escalation is None or ask.escalated or ask.inquiring:
        return None
    return _began(ask) + escalation.after


def _escalated(ask: Ask, at: float) -> Change | None:
    """The ask handed on: to another place, to more people, or both. Its old message becomes a note."""
    escalation = ask.request.escalation
    if escalation is None or ask.escalated:
        return None
    responders = tuple(dict.fromkeys((*ask.responders, *escalation.responders)))
    after = replace(
        ask, responders=responders, escalated=True, revision=ask.revision + 1, updated_at=at
    )
    if escalation.to is not None and escalation.to != ask.destination:
        after = replace(
            after,
            destination=escalation.to,
            message=None,
            thread=None,
            shown_revision=0,
            seen=False,
            opened=UNOPENED,
            left=AbandonedMessage(destination=ask.destination, message=ask.message)
            if ask.message
            else None,
            responders=escalation.responders or _persons(escalation.to) or responders,
        )
    entry = RecordEntry(
        at=at,
        kind="note",
        body={"escalated": escalation.model_dump(mode="json", exclude_none=True)},
    )
    return Change(after, (entry,))


def _persons(destination: Destination) -> tuple[str, ...]:
    """Whose a direct message is; nobody's in a shared place."""
    return () if destination.user is None else (destination.user,)
