"""Keeps every live message in its ask's state: level-triggered, one show at a time per ask, no backlog of states.

Code that finds an ask whose shown revision is outdated calls `MessageSync.request_sync`, which then shows the latest
state until the two agree. A platform that fails is retried with increasing delays, which end when a person acts or
looks. If an ask can never be shown, it fails with an explanation.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.ask import AbandonedMessage, Ask, Thread
from answerback.core.confirmer_copies import outdated_copies
from answerback.core.errors import (
    DestinationGoneError,
    ForbiddenError,
    NotDoneError,
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    StoreError,
    UnauthorizedError,
    UnreadableRowError,
)
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.outage_log import Outage
from answerback.ports.surface import RetryLater, Shown, Surface
from answerback.service.claim_renewal import STOP_WITHIN, hold_claim
from answerback.service.live_messages import decide_outdated, decide_returned
from answerback.service.service import Service
from answerback.workers.confirmer_messages import show_copies
from answerback.workers.late_edits import CallLater, LateEdits
from answerback.workers.message_queues import (
    IMMEDIATELY,
    MAX_QUEUED,
    MessageQueues,
    Retry,
    place_key,
)
from answerback.workers.old_messages import retire_old_message
from answerback_base.backoff import Backoff

logger = logging.getLogger(__name__)

_REFILL_LIMIT: Final = 1_000
_SUSPEND_SECONDS: Final = 600.0
"""Seconds for which sweeps skip an ask whose problem only the operator can fix."""


class SyncPace(NamedTuple):
    """The number of messages that are shown at once, and the pauses in seconds."""

    concurrent: int = 32
    show_timeout: float = 45.0
    """Seconds until a show that hangs is abandoned and retried."""
    first_pause: float = 0.5
    max_pause: float = 60.0
    outrun: float = 1.0
    """For a message whose ask changed while it was edited: it is edited once a second, as often as Slack may allow
    (https://docs.slack.dev/reference/methods/chat.update), and no more often than people can read it."""
    second_look: float = 2.0
    """Before a message whose place seems to be gone is looked for again."""


@dataclass(eq=False)
class MessageSync:
    """Shows asks on their surfaces, in the background."""

    service: Service
    pace: SyncPace = field(default_factory=SyncPace, kw_only=True)
    call_later: CallLater | None = field(default=None, kw_only=True)
    """Sets the timers; by default, that of the event loop."""
    show_counts: Counter[tuple[str, str]] = field(default_factory=Counter, init=False)
    """Times that showing ended in each way, by surface: for the metrics."""
    _suspended: dict[str, float] = field(default_factory=dict)
    _updating_elsewhere: dict[str, Mapping[str, JsonValue] | None] = field(default_factory=dict)
    """The messages that are being updated by other means, for as long as this waits for it."""
    _doubted: set[str] = field(default_factory=set)
    """The asks whose place was gone at the latest attempt."""
    _outages: dict[str, Outage] = field(default_factory=dict)
    _stopping: bool = False

    def __post_init__(self) -> None:
        self._queues = MessageQueues(self._attempt, lambda: self.sweep(_REFILL_LIMIT))
        self._slots = asyncio.Semaphore(self.pace.concurrent)
        self._started = self.service.clock.now()
        self._late_edits = LateEdits(lambda ask_id: self._queues.add(ask_id, None), self.call_later)
        self.service.hooks.show.listen(self.request_sync)

    def request_sync(self, ask: Ask) -> None:
        """Show an ask's current state, whatever backoff it is in; a first post waits its turn at its place.

        A message that is being updated by other means is checked once the result can be known, and not before.
        """
        if self._stopping:
            return
        # The ask has changed, and the operator may have fixed the cause by now.
        self._suspended.pop(ask.id, None)
        was_outdated = (
            ask.updated_at < self._started or ask.placement.shown_revision < ask.revision - 1
        )
        if was_outdated and ask.id not in self._queues:
            self._expect_former_edit(ask)
        if (
            ask.id in self._updating_elsewhere
            and self._updating_elsewhere[ask.id] == ask.placement.message
        ):
            return
        # Platforms limit posts by channel, and edits hardly: only a message that has yet to be posted waits for others.
        self._queues.add(
            ask.id, place_key(ask.placement.destination) if ask.placement.message is None else None
        )

    @property
    def pending_count(self) -> int:
        """The number of asks that are waiting here to be shown, or are being shown."""
        return len(self._queues)

    def is_busy(self) -> bool:
        """Return True while at least half as many asks wait here to be shown as can be shown at once."""
        return self.pending_count >= self.pace.concurrent // 2

    def on_remote_change(self, ask_id: str) -> None:
        """Handle a change by another process: if the ask is waiting here to be shown, it waits no longer."""
        if ask_id in self._queues:
            self._queues.add(ask_id, None)

    async def sweep(self, limit: int) -> None:
        """Show up to ``limit`` asks whose outdated messages were never requested, or interrupted by a stop."""
        now = self.service.clock.monotonic()
        self._suspended = {
            ask_id: until for ask_id, until in self._suspended.items() if until > now
        }
        # The store lists these, too: without them in the limit, they could hide all others.
        known = len(self._suspended) + len(self._queues) + len(self._late_edits)
        holder = self.service.claim.holder
        for ask_id in await self.service.store.messages.list_outdated(limit + known, holder):
            if self._is_handled(ask_id):
                continue
            try:
                ask = await self.service.store.asks.get(ask_id)
            except StoreError as error:
                extra = {"action": "show_unreadable", "ask_id": ask_id}
                logger.warning("Could not read an ask to show it: %s", error, extra=extra)
                continue
            # While it was read, a show may have begun and failed for a reason that only the operator can fix.
            if ask is not None and not self._is_handled(ask_id):
                self._expect_former_edit(ask)
                self.request_sync(ask)

    def _expect_former_edit(self, ask: Ask) -> None:
        """Note that a post or an edit by another process, or by the one before this one, may be on its way."""
        if ask.placement.message is None:
            return
        is_early = self._started > self.service.clock.now() - self.pace.show_timeout
        if is_early or self.service.claim is not SOLE_CLAIM:
            self._late_edits.expect(ask)

    def _is_handled(self, ask_id: str) -> bool:
        """Return True if an ask is waiting here to be shown, now or once more, is being shown, or is suspended."""
        return ask_id in self._suspended or ask_id in self._queues or ask_id in self._late_edits

    async def wait_until_idle(self) -> None:
        """Return once nothing is being shown."""
        await self._queues.wait_until_idle()

    async def stop(self, grace: float = STOP_WITHIN) -> bool:
        """Start no more shows, and let running ones end for ``grace`` seconds; return whether all of them did.

        The next start finds the messages that are still outdated, and shows them.
        """
        self._stopping = True
        self._late_edits.stop()
        held = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                # Once all slots are taken, nothing is being shown.
                while held < self.pace.concurrent:
                    await self._slots.acquire()
                    held += 1
        await self._queues.stop()
        for _ in range(held):
            self._slots.release()
        return held == self.pace.concurrent

    async def _attempt(self, ask_id: str, failures: int) -> Retry | None:
        self._updating_elsewhere.pop(ask_id, None)
        try:
            async with self._slots:
                retry = None if self._stopping else await self._show_latest(ask_id)
                # The ask has changed since it was shown; other processes would show it only seconds later.
                while self._stopping and retry in (IMMEDIATELY, self._outrun):
                    await asyncio.sleep(retry.seconds)
                    retry = await self._show_latest(ask_id)
                return retry
        except RateLimitedError as error:
            return Retry(error.retry_after, limited=True)
        except (UnauthorizedError, UnreadableRowError) as error:
            # Nobody fixes that in a moment, and platforms count refused requests.
            self._warn(ask_id, error, _SUSPEND_SECONDS)
            self._suspend(ask_id)
            return None
        except (PlatformError, StoreError, TimeoutError) as error:
            wait = Backoff(self.pace.first_pause, self.pace.max_pause).delay_after(failures)
            if not isinstance(error, PlatformUnavailableError | TimeoutError):
                self._warn(ask_id, error, wait)
            return Retry(wait, failed=True)
        except Exception:  # a defect in rendering must not stop the other asks in a queue
            logger.exception("Showing failed", extra={"action": "show_failed", "ask_id": ask_id})
            return Retry(self.pace.max_pause, failed=True)

    @property
    def _outrun(self) -> Retry:
        return Retry(self.pace.outrun, firm=True)

    def _suspend(self, ask_id: str) -> None:
        """Make sweeps skip an ask; if there are very many, the oldest are retried sooner."""
        while len(self._suspended) >= MAX_QUEUED:
            del self._suspended[next(iter(self._suspended))]
        self._suspended[ask_id] = self.service.clock.monotonic() + _SUSPEND_SECONDS

    async def _show_latest(self, ask_id: str) -> Retry | None:
        """Show the ask once; None: nothing remains to be done, or another process is doing it."""
        if ask_id in self._late_edits.over:
            await self.service.store.asks.change(ask_id, decide_outdated)
            self._late_edits.over.discard(ask_id)
        # Before the call: the claim's lease may begin as soon as the store receives it.
        since = asyncio.get_running_loop().time()
        ask = await self.service.store.claims.claim_message(ask_id, self.service.claim)
        if ask is None:
            return None
        surface = self.service.surfaces.get(ask.placement.destination.surface)
        if surface is None:
            return None  # no longer configured: the ask waits until it is again
        if not (ask.may_have_copies and outdated_copies(ask)):
            return await self._show_where_it_is(ask, surface, since)
        shown, again = await asyncio.gather(
            self._show_where_it_is(ask, surface, since),
            show_copies(self.service, ask, self._hold_message_claim(ask, since)),
            return_exceptions=True,
        )
        if isinstance(shown, BaseException):
            raise shown
        if isinstance(again, BaseException):
            raise again
        return Retry(again) if again else shown

    async def _show_where_it_is(self, ask: Ask, surface: Surface, since: float) -> Retry | None:
        if ask.placement.place_before is not None:
            return await self._settle_move(ask, surface, since)
        if ask.to_retire is None:
            return await self._update_current_message(ask, surface, since)
        # Neither place waits for the other, which may be down.
        shown, retired = await asyncio.gather(
            self._update_current_message(ask, surface, since),
            self._retire(ask, ask.to_retire, since),
            return_exceptions=True,
        )
        self._updating_elsewhere.pop(ask.id, None)  # the old place is checked when a person acts
        if isinstance(shown, BaseException):
            raise shown
        if isinstance(retired, RateLimitedError):
            return Retry(retired.retry_after)  # the place where the ask is now is not limited
        if isinstance(retired, BaseException):
            raise retired
        if retired:
            return shown or IMMEDIATELY
        return None if shown == IMMEDIATELY else shown

    async def _settle_move(self, ask: Ask, surface: Surface, since: float) -> Retry | None:
        """Show a moved ask at its new place; only then does its old message become a note."""
        if not ask.is_to_post:  # it ended before anybody could see it there
            await self.service.store.asks.change(ask.id, decide_returned)
            return IMMEDIATELY
        shown = await self._update_current_message(ask, surface, since)
        # Read again, because showing it has told the store whether people can see it at the new place.
        latest = await self.service.store.asks.get(ask.id)
        if latest is None or latest.placement.place_before is not None or latest.to_retire is None:
            return shown
        with suppress(RateLimitedError):  # the next attempt waits for it
            await self._retire(latest, latest.to_retire, since)
        return shown or IMMEDIATELY

    async def _update_current_message(
        self, ask: Ask, surface: Surface, since: float
    ) -> Retry | None:
        """Update the message where the ask is now; None: that was no longer necessary."""
        if not _is_outdated(ask, surface):
            return None
        if ask.placement.message is None and (not ask.is_to_post or ask.schedule.awaits_inquiry):
            # Nobody has ever seen it, and nobody has to.
            shown = Shown(ask.revision, {}, ask.placement.thread or Thread())
            await self.service.store.asks.save_shown(ask.id, shown, ask)
            return None
        return await self._show(ask, surface, since)

    async def _show(self, ask: Ask, surface: Surface, since: float) -> Retry | None:
        bucket = place_key(ask.placement.destination) + (
            " edits" if ask.placement.was_visible else ""
        )
        if (wait := await self.service.store.rate_limits.get_retry_after(bucket)) > 0:
            raise RateLimitedError(f"{bucket}: the platform accepts nothing now", retry_after=wait)

        seen = _is_seen(ask)

        async def save(shown: Shown) -> None:
            nonlocal seen
            await self.service.store.asks.save_shown(ask.id, shown, ask)
            seen = seen or shown.is_visible

        try:
            async with self._hold_message_claim(ask, since):
                shown = await surface.show(ask, save)
        except DestinationGoneError as error:
            return await self._look_again_or_give_up(ask, error, surface)
        except PayloadRejectedError as error:
            self._count(surface, "refused")
            return await self._give_up(ask, error, surface)
        except UnauthorizedError as error:
            self._count(surface, "unauthorized")
            if seen and (ask.open or not isinstance(error, ForbiddenError)):
                raise  # the operator can fix that; people who see the message wait for it
            return await self._give_up(ask, error, surface)
        except RateLimitedError as error:
            self._count(surface, "limited")
            self._outage_of(surface).record_success(ask.id)
            pause = 0.0 if error.alone else error.retry_after  # the app's limit is every process's
            await self.service.store.rate_limits.set_retry_after(bucket, pause)
            raise
        except (PlatformError, TimeoutError) as error:
            self._record_unavailable(ask, surface, error)
            raise
        self._outage_of(surface).record_success(ask.id)
        self._doubted.discard(ask.id)
        if isinstance(shown, RetryLater):
            self._updating_elsewhere[ask.id] = ask.placement.message
            return Retry(shown.seconds)
        self._count(surface, "shown")
        return await self._save_shown(ask, shown, surface)

    def _record_unavailable(self, ask: Ask, surface: Surface, error: Exception) -> None:
        self._count(surface, "unavailable")
        self._outage_of(surface).record_failure(ask.id, str(error) or "it timed out")
        if not isinstance(error, NotDoneError):
            self._late_edits.expect(ask)

    async def _save_shown(self, ask: Ask, shown: Shown, surface: Surface) -> Retry | None:
        """Save what is shown. Whoever acts from now on may have seen it; earlier actions have outrun the platform."""
        outrun = self._queues.is_woken(ask.id)
        latest = await self.service.store.asks.save_shown(ask.id, shown, ask)
        if (
            latest is not None
            and latest.placement.was_visible
            and not ask.placement.was_visible
            and ask.placement.first_seen is None
        ):
            self.service.hooks.shown(
                ask, self.service.clock.now() - ask.created_at + ask.schedule.clock_set_back
            )
        if latest is None or not (_is_outdated(latest, surface) or latest.to_retire is not None):
            if ask.id in self._late_edits:  # also for the next process, if this one ends before
                await self.service.store.asks.change(ask.id, decide_outdated)
            return None
        return self._outrun if outrun else IMMEDIATELY

    def _hold_message_claim(self, ask: Ask, since: float) -> AbstractAsyncContextManager[None]:
        """Limit how long a show takes, also to the time for which the message's claim, made at ``since``, is held."""
        claim = self.service.claim

        async def renew() -> bool:
            return await self.service.store.claims.claim_message(ask.id, claim) is not None

        return hold_claim(renew, claim, self.pace.show_timeout, since)

    async def _look_again_or_give_up(
        self, ask: Ask, error: PlatformError, surface: Surface
    ) -> Retry:
        """Look twice for a message that people have seen: the platform may tell only later that its place has moved.

        A place that is gone concerns every ask in it: each is shown again, and so finds out.
        """
        self._count(surface, "gone")
        if _is_seen(ask) and ask.open and ask.id not in self._doubted:
            self._doubted.add(ask.id)
            return Retry(self.pace.second_look, firm=True)
        self._doubted.discard(ask.id)
        done = await self._give_up(ask, error, surface)
        channel = (
            ask.placement.thread and ask.placement.thread.channel
        ) or ask.placement.destination.channel
        if ask.placement.was_visible and channel is not None:
            async for other in self.service.each_open(surface.name, channel):
                if other.id not in self._queues:
                    await self.service.show_again(other.id, deleted=True)
        return done

    async def _give_up(self, ask: Ask, error: PlatformError, surface: Surface) -> Retry:
        """Fail an ask that cannot be shown (or whose last state cannot), and treat it as shown."""
        self._outage_of(surface).record_success(ask.id)
        await self.service.fail_unreachable(ask, str(error))
        latest = await self.service.store.asks.get(ask.id) or ask
        # If it is shown elsewhere now, the service has logged that.
        if latest.placement.destination == ask.placement.destination:
            extra = {"action": "show_given_up", "ask_id": ask.id, "code": error.code}
            logger.error("An ask cannot be shown: %s", error, extra=extra)
            shown = Shown(
                latest.revision, latest.placement.message or {}, latest.placement.thread or Thread()
            )
            await self.service.store.asks.save_shown(ask.id, shown, latest)
        return IMMEDIATELY

    def _retire(self, ask: Ask, left: AbandonedMessage, since: float) -> Awaitable[bool]:
        return retire_old_message(self.service, ask, left, self._hold_message_claim(ask, since))

    def _outage_of(self, surface: Surface) -> Outage:
        """The log of the asks that cannot be shown on a surface now, which is not a line for each."""
        return self._outages.setdefault(surface.name, Outage(logger, surface.name))

    def _count(self, surface: Surface, result: str) -> None:
        self.show_counts[surface.name, result] += 1

    def _warn(self, ask_id: str, error: Exception, wait: float) -> None:
        extra = {"action": "show_again", "ask_id": ask_id, "code": getattr(error, "code", None)}
        logger.warning("Showing an ask will be retried in %.1f s: %s", wait, error, extra=extra)


def _is_seen(ask: Ask) -> bool:
    """Return True if people see the ask where it is, or where it was before in the same group."""
    before = ask.placement.place_before
    return ask.placement.was_visible or (before is not None and before.is_closed)


def _is_outdated(ask: Ask, surface: Surface) -> bool:
    """Return True if the message does not show the ask's current state."""
    return ask.placement.shown_revision < ask.revision or not (
        surface.live or ask.placement.thread is not None
    )
