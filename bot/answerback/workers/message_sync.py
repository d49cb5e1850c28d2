"""Keeps every live message at its ask's state: level-triggered, one show at a time an ask, nothing queued.

Whoever finds an ask whose shown revision is behind calls `MessageSync.request_sync`; the shower then shows the
latest state until the two agree. A platform that fails is tried again with growing pauses, which end
when somebody acts or looks; what can never be shown ends the ask in words.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import AbandonedMessage, Ask, Destination, Thread
from answerback.core.errors import (
    DestinationGoneError,
    ForbiddenError,
    PayloadRejectedError,
    PlatformError,
    RateLimitedError,
    StoreError,
    UnauthorizedError,
    UnreadableRowError,
)
from answerback.ports.surface import RetryLater, Shown, SupportsMoves, Surface
from answerback.service.claim_renewal import STOP_WITHIN, hold_claim
from answerback.service.service import Service
from answerback.workers.show_queues import MAX_QUEUED, Retry, ShowQueues
from answerback_client.backoff import Backoff

logger = logging.getLogger(__name__)

SHOW_TIMEOUT: Final = 45.0
"""Seconds after which a show that hangs is given up, and tried again."""
_AT_ONCE: Final = 32
_AT_ONCE_AGAIN: Final = Retry()
_OUTRUN: Final = Retry(1.0, firm=True)
"""For a message whose ask moved on while it was edited: it is edited once a second, as often as Slack may allow
(https://docs.slack.dev/reference/methods/chat.update), and no more often than it can be read."""
_NEWER: Final = (_AT_ONCE_AGAIN, _OUTRUN)
"""What says that the ask has moved on since it was shown."""
_REFILL: Final = 1_000
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 60.0
_REST: Final = 600.0
"""Seconds for which sweeps leave alone what only the operator can fix."""


class MessageSync:
    """Shows asks on their surfaces, in the background."""

    def __init__(self, service: Service, *, first_pause: float = _FIRST_PAUSE) -> None:
        self._service = service
        self._first_pause = first_pause
        self._lanes = ShowQueues(self._attend, lambda: self.sweep(_REFILL))
        self._resting: dict[str, float] = {}
        self._brought: dict[str, Mapping[str, JsonValue] | None] = {}
        """The messages that other means are bringing up to date, while that is waited for."""
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._stopping = False
        self.show_counts: dict[tuple[str, str], int] = {}
        """How often showing ended how, by surface: for the metrics."""

    def request_sync(self, ask: Ask) -> None:
        """Has an ask shown as it stands, whatever pause it is in; a first post takes its turn at its place.

        What other means bring up to date is looked at once that is to be known: looking before would tell the same.
        """
        self._resting.pop(ask.id, None)
        if ask.id in self._brought and self._brought[ask.id] == ask.message:
            return
        self._lanes.add(ask.id, place_key(ask.destination) if ask.message is None else None)

    @property
    def pending_count(self) -> int:
        """How many asks wait here to be shown, or are being shown."""
        return len(self._lanes)

    def on_remote_change(self, ask_id: str) -> None:
        """Another process changed an ask: if it waits here to be shown, it waits no longer."""
        if ask_id in self._lanes:
            self._lanes.add(ask_id, None)

    async def sweep(self, limit: int) -> None:
        """Has asks shown whose message is behind, and that nobody poked or a stop cut off; so many at the most."""
        now = self._service.clock.monotonic()
        self._resting = {ask_id: until for ask_id, until in self._resting.items() if until > now}
        known = len(self._resting) + len(self._lanes)
        holder = self._service.claim.holder
        for ask_id in await self._service.store.list_outdated(limit + known, holder):
            if self._is_cared_for(ask_id):
                continue
            try:
                ask = await self._service.store.get(ask_id)
            except StoreError as error:
                extra = {"action": "show_unreadable", "ask_id": ask_id}
                logger.warning("An ask cannot be shown now: %s", error, extra=extra)
                continue
            # While it was read, a show may have begun, and failed for a reason that only the operator can fix.
            if ask is not None and not self._is_cared_for(ask_id):
                self.request_sync(ask)

    def _is_cared_for(self, ask_id: str) -> bool:
        """Whether an ask waits here to be shown, is being shown, or rests."""
        return ask_id in self._resting or ask_id in self._lanes

    async def wait_until_idle(self) -> None:
        """Returns once nothing is being shown."""
        await self._lanes.wait_until_idle()

    async def stop(self, grace: float = STOP_WITHIN) -> bool:
        """Begins nothing more, and lets what is being shown end for ``grace`` seconds; whether all of it did.

        What waits, and what did not end, the next start finds behind, and shows.
        """
        self._stopping = True
        held = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while held < _AT_ONCE:  # who holds all slots knows that nothing is being shown
                    await self._slots.acquire()
                    held += 1
        await self._lanes.stop()
        for _ in range(held):
            self._slots.release()
        return held == _AT_ONCE

    async def _attend(self, ask_id: str, failures: int) -> Retry | None:
        self._brought.pop(ask_id, None)
        try:
            async with self._slots:
                again = None if self._stopping else await self._show_latest(ask_id)
                while self._stopping and again in _NEWER:  # others would come to it seconds later
                    await asyncio.sleep(again.seconds)
                    again = await self._show_latest(ask_id)
                return again
        except RateLimitedError as error:
            return Retry(error.retry_after, limited=True)
        except (UnauthorizedError, UnreadableRowError) as error:
            # Nobody fixes that in a moment, and platforms count what they refuse.
            self._warn(ask_id, error, _REST)
            self._rest(ask_id)
            return None
        except (PlatformError, StoreError, TimeoutError) as error:
            wait = Backoff(self._first_pause, _LONGEST_PAUSE).delay_after(failures)
            self._warn(ask_id, error, wait)
            return Retry(wait, failed=True)
        except Exception:  # a defect in rendering must not take the other asks of a lane down
            logger.exception("Showing failed", extra={"action": "show_failed", "ask_id": ask_id})
            return Retry(_LONGEST_PAUSE, failed=True)

    def _rest(self, ask_id: str) -> None:
        """Has sweeps leave an ask alone; of very many, those that came first are tried sooner."""
        while len(self._resting) >= MAX_QUEUED:
            del self._resting[next(iter(self._resting))]
        self._resting[ask_id] = self._service.clock.monotonic() + _REST

    async def _show_latest(self, ask_id: str) -> Retry | None:
        """Shows the ask once; None: that was all there was to do, or another process is at it."""
        since = asyncio.get_running_loop().time()
        ask = await self._service.store.claim_message(ask_id, self._service.claim)
        if ask is None:
            return None
        surface = self._service.surfaces.get(ask.destination.surface)
        if surface is None:
            return None  # configured no more: the ask waits until it is again
        if ask.left is None:
            return await self._bring_up(ask, surface, since)
        # Neither place waits for the other, which may be down.
        shown, left = await asyncio.gather(
            self._bring_up(ask, surface, since),
            self._leave(ask, ask.left, since),
            return_exceptions=True,
        )
        self._brought.pop(ask.id, None)  # what its old place needs is looked at when somebody acts
        if isinstance(shown, BaseException):
            raise shown
        if isinstance(left, BaseException):
            raise left
        if left:
            return shown or _AT_ONCE_AGAIN
        return None if shown == _AT_ONCE_AGAIN else shown

    async def _bring_up(self, ask: Ask, surface: Surface, since: float) -> Retry | None:
        """Brings the message where the ask is now up to date; None: that was not needed any more."""
        if not _is_behind(ask, surface):
            return None
        if ask.message is None and (not ask.open or ask.inquiring):
            # Nobody was ever shown it, and nobody has to be.
            shown = Shown(ask.revision, {}, ask.thread or Thread())
            await self._service.store.save_shown(ask.id, shown, ask)
            return None
        return await self._show(ask, surface, since)

    async def _show(self, ask: Ask, surface: Surface, since: float) -> Retry | None:
        bucket = place_key(ask.destination) + (" edits" if ask.seen else "")
        if (wait := await self._service.store.get_retry_after(bucket)) > 0:
            raise RateLimitedError(f"{bucket}: the platform takes nothing now", retry_after=wait)

        async def save(shown: Shown) -> None:
            await self._service.store.save_shown(ask.id, shown, ask)

        try:
            async with self._kept(ask, since):
                shown = await surface.show(ask, save)
        except (DestinationGoneError, PayloadRejectedError) as error:
            self._count(surface, "gone" if isinstance(error, DestinationGoneError) else "refused")
            await self._give_up(ask, error)
            return _AT_ONCE_AGAIN
        except UnauthorizedError as error:
            self._count(surface, "unauthorized")
            if ask.seen and (ask.open or not isinstance(error, ForbiddenError)):
                raise  # the operator can fix that; who sees the message waits for it
            await self._give_up(ask, error)
            return _AT_ONCE_AGAIN
        except RateLimitedError as error:
            self._count(surface, "limited")
            if not error.alone:  # the platform limits the app, and so every process
                await self._service.store.set_retry_after(bucket, error.retry_after)
            raise
        except (PlatformError, TimeoutError):
            self._count(surface, "unavailable")
            raise
        if isinstance(shown, RetryLater):
            self._brought[ask.id] = ask.message
            return Retry(shown.seconds)
        self._count(surface, "shown")
        return await self._noted(ask, shown, surface)

    async def _noted(self, ask: Ask, shown: Shown, surface: Surface) -> Retry | None:
        """Notes what is shown. Who acted since then may have seen it; who acted before has outrun the platform."""
        outrun = self._lanes.is_woken(ask.id)
        latest = await self._service.store.save_shown(ask.id, shown, ask)
        if latest is None or not (_is_behind(latest, surface) or latest.left is not None):
            return None
        return _OUTRUN if outrun else _AT_ONCE_AGAIN

    def _kept(self, ask: Ask, since: float) -> AbstractAsyncContextManager[None]:
        """Bounds a show, also to the time for which the message, claimed ``since`` then, is this process's to show."""
        claim = self._service.claim

        async def renew() -> bool:
            return await self._service.store.claim_message(ask.id, claim) is not None

        return hold_claim(renew, claim, SHOW_TIMEOUT, since)

    async def _give_up(self, ask: Ask, error: PlatformError) -> None:
        """Ends an ask that cannot be shown (or whose last state cannot), and calls it shown."""
        extra = {"action": "show_given_up", "ask_id": ask.id, "code": error.code}
        logger.error("An ask cannot be shown: %s", error, extra=extra)
        await self._service.fail_unreachable(ask, str(error))
        latest = await self._service.store.get(ask.id) or ask
        if latest.destination == ask.destination:
            shown = Shown(latest.revision, latest.message or {}, latest.thread or Thread())
            await self._service.store.save_shown(ask.id, shown, latest)

    async def _leave(self, ask: Ask, left: AbandonedMessage, since: float) -> bool:
        """Turns the message at a place that the ask has left into a note, as well as that can be done.

        False: it could not be done now. The ask then counts as behind, and the next sweep finds it.
        """
        old = self._service.surfaces.get(left.destination.surface)
        extra: dict[str, str | None] = {"action": "note_given_up", "ask_id": ask.id}
        try:
            if old is not None and isinstance(old, SupportsMoves):
                async with self._kept(ask, since):
                    await old.retire_message(ask, left.message, ask.destination)
        except (DestinationGoneError, PayloadRejectedError, UnauthorizedError) as error:
            extra["code"] = error.code
            logger.warning(
                "The message that an ask left behind stays as it is: %s", error, extra=extra
            )
        except (PlatformError, TimeoutError) as error:
            extra |= {"action": "note_again", "code": getattr(error, "code", None)}
            logger.warning(
                "The message that an ask left behind is tried again: %s",
                str(error) or "it hung",
                extra=extra,
            )
            return False
        await self._service.clear_left_message(ask.id)
        return True

    def _count(self, surface: Surface, how: str) -> None:
        key = (surface.name, how)
        self.show_counts[key] = self.show_counts.get(key, 0) + 1

    def _warn(self, ask_id: str, error: Exception, wait: float) -> None:
        extra = {"action": "show_again", "ask_id": ask_id, "code": getattr(error, "code", None)}
        logger.warning(
            "Showing is tried again in %.1f s: %s", wait, str(error) or "it hung", extra=extra
        )


def _is_behind(ask: Ask, surface: Surface) -> bool:
    """Whether the message does not show the ask as it stands."""
    return ask.shown_revision < ask.revision or not (surface.live or ask.thread is not None)


def place_key(destination: Destination) -> str:
    """Where posts take turns: a channel with its threads, or a person."""
    where = destination.channel or destination.user or destination.thread
    return f"{destination.surface}:{where}"
