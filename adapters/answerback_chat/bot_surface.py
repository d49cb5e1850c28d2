"""A chat surface whose bot signs in with one token: it asks who it is, and says while the token is refused."""

from __future__ import annotations

import logging
from abc import abstractmethod
from typing import Any, Final, Protocol

from aiohttp import web

from answerback.core.ask import Destination
from answerback.core.errors import PlatformError
from answerback.ports.outage_log import Outage
from answerback.ports.surface import Asks
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import BotIdentity, IdentityResolver
from answerback_chat.catch_up import MissedMessageReader
from answerback_chat.chat_surface import ChatSurface, GroupMembership
from answerback_chat.leader_lease import LeaderLease
from answerback_chat.live_message import LiveMessages
from answerback_chat.missed_changes import MissedChangeFinder

_STOP_TIMEOUT: Final = 5.0
"""Seconds that work in the background gets to finish."""


class EventSource(Protocol):
    """What events come from while this process leads."""

    async def start(self) -> None:
        """Begin to receive events."""

    async def stop(self) -> None:
        """Return once no more of them come in."""

    def outage_reason(self) -> str | None:
        """Return why none arrive, or None if they do."""


class BotSurface(ChatSurface):
    """A chat surface with one bot token.

    Args:
        responders: who may act if an ask names nobody.
        platform: the platform's name, for people.
        token_refused: the code of the platform's error for a token that is not valid.
        log: the logger of the surface.
    """

    def __init__(
        self,
        asks: Asks,
        posting: LiveMessages[Any, Any],
        groups: GroupMembership,
        missed: MissedMessageReader[Any],
        changes: MissedChangeFinder[Any],
        identity: BotIdentity,
        leadership: LeaderLease,
        background: BackgroundTasks,
        *,
        responders: tuple[str, ...],
        platform: str,
        token_refused: str,
        log: logging.Logger,
    ) -> None:
        super().__init__(asks, posting, groups, missed, changes, identity, leadership, background)
        self._outage = Outage(log, platform)
        self._responders = responders
        self._source: EventSource | None = None
        self._routes: list[web.RouteDef] = []
        """The routes on the public listener, if what people do comes by HTTP."""
        self._log, self._platform, self._refusal = log, platform, token_refused
        self._token_problem: str | None = f"{platform} has not been started."
        self._identity_resolver = IdentityResolver(
            self.name, self._identify, self._should_retry_identify
        )

    async def start(self) -> None:
        """See `answerback.ports.surface.Surface.start`."""
        self._token_problem = None
        await self._identity_resolver.start().wait()
        if self._token_problem is None:
            await self._leadership.start()

    async def stop(self) -> None:
        """See `answerback.ports.surface.Surface.stop`."""
        await self._identity_resolver.stop()
        await self._leadership.stop()
        await self._missed.stop()
        await self._changes.stop()
        await self._background.stop(_STOP_TIMEOUT)
        await self._groups.stop()

    def unready_reason(self) -> str | None:
        """See `answerback.ports.surface.Surface.unready_reason`."""
        if self._token_problem is not None:
            return self._token_problem
        if self._routes or self._source is None or not self._leadership.is_held:
            return None  # clicks come by HTTP, or another process receives events
        return self._source.outage_reason()

    def public_routes(self) -> list[web.RouteDef]:
        """Return the routes that the public listener serves for the platform."""
        return self._routes

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """See `answerback.ports.surface.Surface.default_responders`."""
        return (destination.user,) if destination.user else self._responders

    def is_leader(self) -> bool | None:
        """See `answerback.ports.surface.SupportsLeading.is_leader`."""
        return self._leadership.is_held if self._leadership.is_shared else None

    async def _lead(self) -> None:
        """Do what one of the processes with the same store does: receive events, and look for missed changes."""
        if self._source is not None:
            await self._source.start()
        self._changes.start_looking()

    async def _stand_by(self) -> None:
        """Leave that to another process."""
        if self._source is not None:
            await self._source.stop()
        await self._changes.stop()

    def _is_responsible(self) -> bool:
        return self._identity.bot_user is not None and self._leadership.is_held

    @abstractmethod
    async def _ask_identity(self) -> None:
        """Ask the platform who the bot is, and store that."""

    async def _identify(self) -> None:
        await self._ask_identity()
        self._token_problem = None
        self._outage.record_success("api")
        self._reconnected()
        self._identified()

    @abstractmethod
    def _identified(self) -> None:
        """Start what can be done once the platform has accepted the token."""

    def _should_retry_identify(self, error: PlatformError) -> bool:
        """Return whether to try again: a token that was never valid will not become valid."""
        if error.code != self._refusal:
            self._outage.record_failure("api", error)
            return True
        self._outage.record_success("api")
        return self._identity.bot_user is not None

    def _token_refused(self, error: PlatformError) -> None:
        """Record that the platform is out of reach; a token that was valid before is tried until it is valid again."""
        if self._token_problem is None:
            extra = {"action": "token_refused"}
            self._log.warning("%s refuses the token: %s", self._platform, error, extra=extra)
            if self._identity.bot_user is not None:
                self._identity_resolver.start()
        self._token_problem = str(error)
