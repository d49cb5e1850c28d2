"""The base of all chat surfaces: sign in with a bot's token, show and remind, and make up for what was missed."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final, Protocol

from aiohttp import web
from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.errors import PlatformError, RateLimitedError, StoreError
from answerback.core.walker import Person
from answerback.ports.outage_log import Outage
from answerback.ports.surface import (
    Asks,
    RetryLater,
    Shown,
    SupportsGroups,
    SupportsLeading,
    SupportsMoves,
    SupportsPeople,
    SupportsReminders,
    Surface,
)
from answerback_base.backoff import Backoff
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import BotIdentity
from answerback_chat.catch_up import MissedMessageReader
from answerback_chat.delays import Delays
from answerback_chat.leader_lease import LeaderLease
from answerback_chat.live_message import LiveMessages, Save
from answerback_chat.missed_changes import Messages, MissedChangeFinder
from answerback_chat.pending_deliveries import PendingDeliveries

logger = logging.getLogger(__name__)

STOP_TIMEOUT: Final = 5.0
"""Seconds that work in the background gets to finish."""
_LONGEST_PAUSE: Final = 60.0


class EventSource(Protocol):
    """A source of events, other than HTTP."""

    async def start(self) -> None:
        """Begin to receive events."""

    async def stop(self) -> None:
        """Return once no more of them come in."""

    def outage_reason(self) -> str | None:
        """Return why none arrive, or None if they do."""


class GroupMembership(Protocol):
    """Membership in the platform's groups."""

    async def find_person(self, user_id: str, ask: Ask) -> str | None:
        """Return the name of a person who can be asked where an ask is shown; None: nobody has the id, or a program.

        Raises:
            PlatformError: the platform does not say.
        """

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        """Return those of ``groups`` that a person is in now.

        Raises:
            PlatformError: the lookup failed or did not finish in time.
        """

    async def stop(self) -> None:
        """Cancel the lookups in progress."""


class ChatSurface(
    Surface, SupportsReminders, SupportsMoves, SupportsGroups, SupportsPeople, SupportsLeading
):
    """A chat surface. A subclass creates the parts, and handles what people do.

    Args:
        messages: looks up messages and places.
        identity: the bot's identity, once the platform has told us.
        leadership: in the work that only one of the processes with the same store does.
        responders: who may act if an ask names nobody.
        missed: reads what people typed during a gap; None: the platform itself keeps that.
        pending: what came with files; alone, the process that leads decides it.
    """

    live = True
    platform: ClassVar[str]
    """The platform's name, for people."""
    token_refused: ClassVar[str] = ""
    """The code of the platform's error for a token that is not valid."""

    def __init__(
        self,
        asks: Asks,
        posting: LiveMessages[Any, Any],
        groups: GroupMembership,
        messages: Messages[Any],
        identity: BotIdentity,
        leadership: LeaderLease,
        background: BackgroundTasks,
        responders: tuple[str, ...],
        delays: Delays,
        missed: MissedMessageReader[Any] | None = None,
        *,
        pending: PendingDeliveries,
    ) -> None:
        self._asks = asks
        self._posting = posting
        self._groups = groups
        self._missed = missed
        self._pending = pending
        self._changes = MissedChangeFinder(
            self.name, asks, messages, self._is_responsible, delays.settling
        )
        self._identity = identity
        self._leadership = leadership
        self._background = background
        self._responders = responders
        self._log = logging.getLogger(type(self).__module__)
        self._outage = Outage(self._log, self.platform)
        self._source: EventSource | None = None
        self.routes: list[web.RouteDef] = []
        """The routes on the public listener, if what people do comes by HTTP."""
        self._problem: str | None = f"{self.platform} has not been started."
        """Why the platform does not know us; None if it does."""
        self._first_pause = delays.first_pause
        self._identifying = BackgroundTasks()

    # --- the surface -----------------------------------------------------------------------------

    async def start(self) -> None:
        self._problem = None
        await self._start_identifying().wait()
        if self._problem is None:
            await self._leadership.start()

    async def stop(self) -> None:
        await self._identifying.stop(0.0)
        await self._leadership.stop()
        if self._missed is not None:
            await self._missed.stop()
        await self._changes.stop()
        await self._pending.stop()
        await self._background.stop(STOP_TIMEOUT)
        if self._source is not None:
            await self._source.stop()
        await self._groups.stop()

    def unready_reason(self) -> str | None:
        if self._problem is not None:
            return self._problem
        if self.routes or self._source is None or not self._leadership.is_held:
            return None  # clicks come by HTTP, or another process receives events
        return self._source.outage_reason()

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        return self._responders

    def is_leader(self) -> bool | None:
        return self._leadership.is_held if self._leadership.is_shared else None

    async def show(self, ask: Ask, save: Save) -> Shown | RetryLater:
        shown = await self._posting.show(ask, save)
        ref = self._posting.parse_ref(ask.placement.message)
        if ref is not None and not self._posting.is_posted(ref) and isinstance(shown, Shown):
            # It may have been posted before this was recorded, so replies under it were not read.
            await save(shown)
            if self._missed is not None and self._hears():
                self._missed.read_one(
                    replace(ask, placement=replace(ask.placement, message=dict(shown.message)))
                )
        return shown

    async def remind(self, ask: Ask, number: int) -> None:
        await self._posting.remind(ask, number)

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> float | None:
        return await self._posting.retire(ask, left, to)

    async def find_person(self, user_id: str, ask: Ask) -> str | None:
        return await self._groups.find_person(user_id, ask)

    async def groups_of(self, person: Person, groups: frozenset[str]) -> frozenset[str]:
        return await self._groups.groups_of_user(person.user_id, groups)

    # --- events ----------------------------------------------------------------------------------

    async def _lead(self) -> None:
        """Do what one of the processes with the same store does: receive events, and look for missed changes."""
        if self._source is not None:
            await self._source.start()
        self._changes.start_looking()
        self._resume_pending()

    async def _stand_by(self) -> None:
        """Leave that to another process."""
        if self._source is not None:
            await self._source.stop()
        await self._changes.stop()
        if self._pending.is_alone:
            await self._pending.stop()

    def _is_responsible(self) -> bool:
        """Return True if this process looks for what happened to messages; of those that share a store, one does."""
        return self._identity.bot_user is not None and self._leadership.is_held

    def _hears(self) -> bool:
        """Return True if the bot's identity is known and people's messages arrive."""
        return self._identity.bot_user is not None

    def _reconnected(self) -> None:
        """Make up for a gap, once the bot's identity is known and events arrive again."""
        if self._missed is not None and self._hears():
            self._missed.start_catching_up()
        self._changes.start_looking()
        self._background.spawn("show", self._show_outdated())
        self._resume_pending()

    def _resume_pending(self) -> None:
        """Decide what a process that has died had acknowledged, once the bot's identity is known."""
        decides = self._leadership.is_held or not self._pending.is_alone
        if decides and self._identity.bot_user is not None:
            self._pending.resume(self._take_pending)

    @abstractmethod
    def _take_pending(self, key: str, payload: JsonValue) -> None:
        """Begin to decide a delivery that is kept, as if it had just been acknowledged."""

    async def _show_outdated(self) -> None:
        """Show what could not be shown until now: the platform can be reached again."""
        try:
            await self._asks.show_outdated(self.name)
        except StoreError as error:  # the next sweep finds it
            extra = {"action": "show_later"}
            logger.warning("Messages are brought up to date later: %s", error, extra=extra)

    # --- the token -------------------------------------------------------------------------------

    @abstractmethod
    async def _ask_identity(self) -> None:
        """Ask the platform who the bot is, store that, and start what then can be done."""

    def _start_identifying(self) -> asyncio.Event:
        """Ask until the platform answers, which verifies the token; returns what is set after the first attempt."""
        tried = asyncio.Event()
        self._identifying.spawn(f"{self.name} identity", self._identify(tried))
        return tried

    async def _identify(self, tried: asyncio.Event) -> None:
        backoff = Backoff(self._first_pause, _LONGEST_PAUSE)
        while True:
            try:
                await self._ask_identity()
            except PlatformError as error:
                again = self._should_retry_identify(error)
                tried.set()
                if not again:
                    return
                limited = error.retry_after if isinstance(error, RateLimitedError) else 0.0
                await backoff.wait(limited)
                continue
            self._problem = None
            self._outage.record_success("api")
            self._reconnected()
            tried.set()
            return

    def _should_retry_identify(self, error: PlatformError) -> bool:
        """Return whether to try again: a token that was never valid will not become valid."""
        if error.code != self.token_refused:
            self._outage.record_failure("api", error)
            return True
        self._outage.record_success("api")
        return self._identity.bot_user is not None

    def _on_token_refused(self, error: PlatformError) -> None:
        if self._problem is None:
            extra = {"action": "token_refused"}
            self._log.warning("%s refuses the token: %s", self.platform, error, extra=extra)
        self._report_outage(str(error))

    def _report_outage(self, why: str) -> None:
        """Record that the platform is out of reach; a token that was valid before is tried until it is valid again."""
        if self._problem is None and self._identity.bot_user is not None:
            self._start_identifying()
        self._problem = why
