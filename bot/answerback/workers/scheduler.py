"""Does what is due: expiry, reminders, escalation, inquiries, and showing asks whose message is outdated.

One loop sleeps until the earliest deadline in the store, or until a commit brings an earlier one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Reason
from answerback.core.errors import (
    InquiryError,
    StoreError,
    UnreadableRowError,
)
from answerback.core.escalation import escalate, skip_escalation
from answerback.core.form import Question
from answerback.ports.claims import MIN_REMAINING_FRACTION
from answerback.ports.clock import MIN_CLOCK_STEP, ClockStepDetector, sleep_until_woken
from answerback.service import question_routing
from answerback.service.claim_renewal import STOP_WITHIN
from answerback.service.service import Service
from answerback.workers.crashes import MAX_DEADLINE_CRASHES, Crashes, Work
from answerback.workers.late_edits import LATE_SECONDS
from answerback.workers.message_sync import MessageSync
from answerback.workers.reminders import RETRY_DELAY, remind

logger = logging.getLogger(__name__)

_BATCH: Final = 100
_SWEEP_INTERVAL: Final = 60.0
"""Seconds between two sweeps for outdated messages that no process is showing."""
_CRASHED: Final = "Scheduled work for an ask crashed"
_UNREADABLE_DELAY: Final = 600.0
"""Seconds until an ask is tried again that cannot be read."""
_MAX_CONCURRENT_REMINDERS: Final = 8
"""Reminders that are sent at the same time."""

Inquiry = Callable[[Ask, Question], Awaitable[JsonValue]]
"""Returns the answer, not yet validated, of a backend to a question that no person has to answer; raises InquiryError
if none could be obtained."""


@dataclass(eq=False)
class Scheduler:
    """Does background work that no person and no agent requests."""

    service: Service
    message_sync: MessageSync
    inquiry: Inquiry | None = None
    reminder_timeout: float = 45.0
    """Seconds until a reminder that hangs is abandoned and retried."""
    _began_at: float = float("-inf")
    """When this process began to work, by the clock."""
    _settled_at: float = float("-inf")
    """When nothing that a process before it has begun can take effect any more, by the monotonic clock."""
    _sleeping_until: float | None = None
    _swept: float = float("-inf")
    _in_progress: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """Inquiries and reminders in progress: work on an ask that is slow because it depends on others."""
    _reminder_timeouts: dict[str, asyncio.Timeout] = field(default_factory=dict)
    """The timeout of each reminder that is being sent: it ends with the claim under which the reminder is sent."""
    _postponed: dict[str, float] = field(default_factory=dict)
    """When to retry an inquiry or a reminder that failed."""
    _set_aside: dict[str, float] = field(default_factory=dict)
    """When to retry an ask that cannot be read."""
    _crashes: Crashes = field(default_factory=Crashes)
    _set_backs: list[tuple[float, float]] = field(default_factory=list)
    """The steps by which the clock was set back, and when, that the store does not know of yet."""
    _next_deadline: float | None = None
    """The next deadline of asks in progress or postponed: the store knows only the one that was due first."""

    def __post_init__(self) -> None:
        self._wake = asyncio.Event()
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_REMINDERS)
        self._clock_steps = ClockStepDetector(self.service.clock)
        self.service.hooks.due.listen(self.due)

    @property
    def pending_count(self) -> int:
        """The number of asks for which an inquiry or a reminder is in progress."""
        return len(self._in_progress)

    def due(self, at: float) -> None:
        """Note that a commit brought a deadline at ``at`` (seconds since the epoch)."""
        if self._sleeping_until is None or at < self._sleeping_until:
            self._wake.set()

    async def run(self) -> None:
        started, clock = False, self.service.clock
        self._began_at, self._settled_at = clock.now(), clock.monotonic() + LATE_SECONDS
        while True:
            self._wake.clear()
            self._sleeping_until = None  # commits from now on wake the loop
            now = self.service.clock.now()
            try:
                if not started:
                    await self._check_clock_at_start(now)
                    started = True
                await self._reschedule()
                now = self.service.clock.now()  # the clock may have been set meanwhile
                await self._sweep_if_due(now)
                if await self.run_once():
                    continue
                due = await self.service.store.claims.next_due(now)
            except StoreError as error:
                logger.warning(
                    "Deadlines and reminders are waiting for the database: %s",
                    error,
                    extra={"action": "upkeep_failed"},
                )
                # Nobody could renew a lease meanwhile, in this process or another.
                self.service.approval_leases.run_since(clock.monotonic())
                due = now + 1.0
            crashed = [at for at in self._crashes.next_attempts() if at > now]
            postponed = (*self._postponed.values(), *self._set_aside.values(), *crashed)
            self._sleeping_until = min(
                [now + _SWEEP_INTERVAL, *postponed, *filter(None, (due, self._next_deadline))]
            )
            await self._sleep(self._sleeping_until)

    async def _check_clock_at_start(self, now: float) -> None:
        """Detect that the clock was set back while no service ran: the last line of the record is later than now."""
        latest = await self.service.store.record.last_time()
        if latest is not None and latest > now + MIN_CLOCK_STEP:
            self._set_backs.append((latest - now, now))

    async def _reschedule(self) -> None:
        """Reschedule if the clock was set back, so that nothing relative to the clock happens later because of that."""
        if set_back := self._clock_steps.measure_set_back():
            self._set_backs.append((set_back, self.service.clock.now()))
            self._postponed.clear()
            self._set_aside.clear()
            self._crashes.clear()
            self._swept = float("-inf")
        while self._set_backs:
            set_back, at = self._set_backs[0]
            await self.service.store.maintenance.shift_schedule(set_back, at)
            del self._set_backs[0]
            extra = {"action": "clock_set_back", "seconds": round(set_back, 1)}
            logger.warning(
                "The clock was set back; reminders and webhooks are rescheduled", extra=extra
            )
            self.service.hooks.deliver()

    async def _sweep_if_due(self, now: float) -> None:
        # Once a dead process's claims have expired, other processes show its asks.
        if now - self._swept >= min(_SWEEP_INTERVAL, self.service.claim.seconds):
            await self.sweep()
            await self.service.store.maintenance.note_time(now)
            self._swept = now

    async def _sleep(self, until: float) -> None:
        # Claims on work in progress are renewed, and expired claims of dead processes are taken over.
        longest = self.service.claim.seconds / 2
        await sleep_until_woken(self.service.clock, self._wake, until, longest)

    async def sweep(self) -> None:
        """Show every ask whose message is outdated: after a start, all that the last process left."""
        await self.message_sync.sweep(_BATCH * 10)

    async def run_once(self) -> bool:
        """Do or start what is due now, a batch at a time; return whether there was anything."""
        now = self.service.clock.now()
        self._postponed = {ask_id: at for ask_id, at in self._postponed.items() if at > now}
        self._set_aside = {ask_id: at for ask_id, at in self._set_aside.items() if at > now}
        waiting = self._postponed.keys() | self._in_progress.keys() | self._set_aside.keys()
        waiting |= self._crashes.ask_ids
        claim, since = self.service.claim, asyncio.get_running_loop().time()
        due_ids = await self.service.store.claims.claim_due(claim, now, _BATCH + len(waiting))
        until = since + claim.seconds * MIN_REMAINING_FRACTION
        done, self._next_deadline = 0, None
        for ask_id in due_ids:
            timeout = self._reminder_timeouts.get(ask_id)
            if timeout is not None and not timeout.expired():
                timeout.reschedule(until)
            if ask_id not in self._set_aside:
                done += await self._handle_safely(ask_id, now, until)
        return done > 0

    async def _handle_safely(self, ask_id: str, now: float, until: float) -> bool:
        """Handle a due ask and return whether there was anything to do; an ask that fails is set aside, alone."""
        extra = {"action": "upkeep_failed", "ask_id": ask_id}
        try:
            ask = await self.service.get(ask_id)
            if ask is None or not ask.open:
                self._crashes.forget(ask_id)
                return True  # it ended meanwhile, and is no longer due
            if await self._handle_due(ask, now, until):
                return True
            times = (
                self._next_deadline,
                ask.schedule.expires_at,
                ask.presence_lapses_at,
                _escalates_at(ask),
            )
            later = (at for at in times if at is not None and at > now)
            self._next_deadline = min(later, default=None)
        except UnreadableRowError as error:
            logger.error("The scheduler cannot read an ask: %s", error, extra=extra)  # noqa: TRY400 the trace quotes it
            self._set_aside[ask_id] = now + _UNREADABLE_DELAY
        return False

    async def _handle_due(self, ask: Ask, now: float, until: float) -> bool:
        """Do what is due for an ask; return whether anything was that is neither in progress nor postponed.

        Args:
            until: when the claim may expire, by the event loop's time.
        """
        escalates_at, lapses_at = _escalates_at(ask), ask.presence_lapses_at
        may_try = partial(self._crashes.may_try, ask.id, now=now)
        if ask.schedule.expires_at is not None and ask.schedule.expires_at <= now:
            is_allowed = may_try(Work.DEADLINE)
            return is_allowed and await self._attempt(ask, Work.DEADLINE, self._expire)
        if escalates_at is not None and escalates_at <= now and may_try(Work.ESCALATION):
            return await self._attempt(ask, Work.ESCALATION, self._escalate)
        if lapses_at is not None and lapses_at <= now and may_try(Work.PRESENCE):
            return await self._attempt(ask, Work.PRESENCE, self._handle_lapse)
        is_busy = ask.id in self._in_progress or ask.id in self._postponed
        slow_at = ask.slow_work_at
        if is_busy or slow_at is None or slow_at > now or not may_try(_slow_work_of(ask)):
            return False
        unsettled = self._settled_at - self.service.clock.monotonic()
        if slow_at < self._began_at and unsettled > 0 and not ask.schedule.awaits_inquiry:
            # A process that has died may have sent this reminder, and where it is looked for it is not yet.
            self._postponed[ask.id] = now + unsettled
            return False
        self._start_slow_work(ask, until)
        return True

    async def _attempt(self, ask: Ask, work: Work, do: Callable[[Ask], Awaitable[object]]) -> bool:
        """Do something for an ask; return whether that did not crash. A defect with one must not delay the others."""
        try:
            await do(ask)
        except StoreError:
            raise
        except Exception:
            logger.exception(_CRASHED, extra=self._record_crash(ask.id, work))
            return False
        return True

    def _record_crash(self, ask_id: str, work: Work) -> dict[str, object]:
        """Note a crash, and return what the log says of it."""
        times = self._crashes.record(ask_id, work, self.service.clock.now())
        return {"action": "upkeep_failed", "ask_id": ask_id, "work": work.value, "times": times}

    async def _expire(self, ask: Ask) -> None:
        """End an ask whose time is up; plainly, if what its end has to do crashes again and again."""
        times = self._crashes.count(ask.id, Work.DEADLINE)
        if times < MAX_DEADLINE_CRASHES:
            await self.service.expire(ask.id)
            return
        await self.service.expire_plainly(ask.id, times)
        extra = {"action": "expired_plainly", "ask_id": ask.id, "times": times}
        logger.error("An ask has ended without its defaults, because they crash", extra=extra)

    async def _escalate(self, ask: Ask) -> None:
        """Escalate an ask, unless that would take it to where nobody could ever be reached."""
        rule = ask.escalation
        to = None if rule is None else rule.to
        if to is None or to.surface in self.service.surfaces:
            await self.service.update(ask.id, escalate)
            return
        why = f"{to.surface} is not configured"
        await self.service.update(ask.id, partial(skip_escalation, why=why))
        extra = {"action": "not_escalated", "ask_id": ask.id, "surface": to.surface}
        logger.error("An ask cannot be escalated and stays where it is: %s", why, extra=extra)

    async def _handle_lapse(self, ask: Ask) -> None:
        """Find out whether the agent still waits; without that, an approval ends with its caller."""
        if ask.request.ends_with_caller:
            await self.service.approval_leases.end_lease(ask.id)
        else:
            waits = self.service.presence.has_waiter(ask.id)
            await self.service.set_attended(ask.id, attended=waits)

    def _start_slow_work(self, ask: Ask, until: float) -> None:
        """Start work that depends on others in the background."""
        task = asyncio.create_task(self._do_slow_work(ask, until), name=f"upkeep {ask.id}")
        self._in_progress[ask.id] = task

        def finished(_done: object) -> None:
            self._in_progress.pop(ask.id, None)
            self._wake.set()  # the ask may have become due again meanwhile

        task.add_done_callback(finished)

    async def _do_slow_work(self, ask: Ask, until: float) -> None:
        extra = {"action": "inquire" if ask.schedule.awaits_inquiry else "remind", "ask_id": ask.id}
        try:
            if ask.schedule.awaits_inquiry:
                await self._ask_backend(ask)
            else:
                await self._remind_while_claimed(ask.id, until)
            return
        except StoreError as error:
            logger.warning("Scheduled work for an ask will be retried: %s", error, extra=extra)
        except Exception:  # a defect with one ask must not delay the others
            logger.exception(_CRASHED, extra=self._record_crash(ask.id, _slow_work_of(ask)))
            return
        # By the clock as it is now: it may have been set meanwhile.
        self._postponed[ask.id] = self.service.clock.now() + RETRY_DELAY

    async def _remind_while_claimed(self, ask_id: str, until: float) -> None:
        """Send a reminder while its claim is held; `run_once` renews the claim."""
        timeout = self._reminder_timeouts[ask_id] = asyncio.timeout_at(until)
        try:
            async with timeout, self._slots:
                await self._remind(ask_id)
        except TimeoutError:
            # Another process may have it now. If none has, the next run finds it.
            extra = {"action": "remind", "ask_id": ask_id}
            logger.warning("A reminder was abandoned: its claim has expired", extra=extra)
        finally:
            del self._reminder_timeouts[ask_id]

    async def _remind(self, ask_id: str) -> None:
        again = await remind(self.service, ask_id, self.reminder_timeout)
        if again is not None:
            self._postponed[ask_id] = self.service.clock.now() + again

    async def _ask_backend(self, ask: Ask) -> None:
        question = ask.question
        if question is None:
            raise AssertionError(f"{ask.id} has no question to inquire about")
        if self.inquiry is None:
            trouble = "no inquiry backend is configured any more (inquiry.url)"
        else:
            try:
                value = await self.inquiry(ask, question)
                await self.service.answer_by_inquiry(ask.id, value)
                return
            except InquiryError as error:
                trouble = str(error)
        text = question_routing.no_retry_message(f"{ask.request.name}: {trouble}")
        await self.service.fail(ask.id, Reason.BACKEND_ERROR, text)

    async def wait_until_idle(self) -> None:
        """Return once no inquiry and no reminder is in progress."""
        while self._in_progress:
            await asyncio.wait(list(self._in_progress.values()))

    async def stop(self, grace: float = STOP_WITHIN) -> bool:
        """Let reminders in progress end for ``grace`` seconds; return whether all did.

        Inquiries are cancelled; the next start repeats them and the reminders that did not end.
        """
        for ask_id, task in self._in_progress.items():
            if ask_id not in self._reminder_timeouts:
                task.cancel()
        if in_progress := set(self._in_progress.values()):
            await asyncio.wait(in_progress, timeout=grace)
        ended = not self._reminder_timeouts
        for task in self._in_progress.values():
            task.cancel()
        await asyncio.gather(*self._in_progress.values(), return_exceptions=True)
        return ended


def _slow_work_of(ask: Ask) -> Work:
    """The work that depends on others: the inquiry backend, or the platform that reminds people."""
    return Work.INQUIRY if ask.schedule.awaits_inquiry else Work.REMINDER


def _escalates_at(ask: Ask) -> float | None:
    """Return when an ask escalates; None: never, or not while no person has to answer it."""
    return None if ask.schedule.awaits_inquiry else ask.escalates_at
