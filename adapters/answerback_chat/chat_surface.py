"""The part of a chat surface that all platforms share: show, remind, retire a message, look up groups."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.errors import StoreError
from answerback.core.walker import Person
from answerback.ports.surface import Asks, RetryLater, Shown
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import BotIdentity
from answerback_chat.catch_up import MissedMessageReader
from answerback_chat.leader_lease import LeaderLease
from answerback_chat.live_message import LiveMessages, Save
from answerback_chat.missed_changes import MissedChangeFinder

logger = logging.getLogger(__name__)


class GroupMembership(Protocol):
    """Membership in the platform's groups."""

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        """Return those of ``groups`` that a person is in."""

    async def stop(self) -> None:
        """Cancel the lookups in progress."""


class ChatSurface(ABC):
    """What all chat surfaces do. A subclass creates the parts and handles what people do.

    Args:
        missed: reads what people typed during a gap.
        changes: finds what happened to messages during a gap.
        identity: the bot's identity, once the platform has told us.
        leadership: in the work that only one of the processes with the same store does.
    """

    name: str
    live = True

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
    ) -> None:
        self._asks = asks
        self._posting = posting
        self._groups = groups
        self._missed = missed
        self._changes = changes
        self._identity = identity
        self._leadership = leadership
        self._background = background

    async def show(self, ask: Ask, save: Save) -> Shown | RetryLater:
        """See `answerback.ports.surface.Surface.show`."""
        shown = await self._posting.show(ask, save)
        ref = self._posting.parse_ref(ask.message)
        if ref is not None and not self._posting.is_posted(ref) and isinstance(shown, Shown):
            # It may have been posted before this was recorded, so replies under it were not read.
            await save(shown)
            if self._hears():
                self._missed.read_one(replace(ask, message=dict(shown.message)))
        return shown

    async def remind(self, ask: Ask, number: int) -> None:
        """See `answerback.ports.surface.SupportsReminders.remind`."""
        await self._posting.remind(ask, number)

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> float | None:
        """See `answerback.ports.surface.SupportsMoves.retire_message`."""
        return await self._posting.retire(left, to)

    async def groups_of(self, person: Person, groups: frozenset[str]) -> frozenset[str]:
        """See `answerback.ports.surface.SupportsGroups.groups_of`."""
        return await self._groups.groups_of_user(person.user_id, groups)

    def _reconnected(self) -> None:
        """Make up for a gap, once the bot's identity is known and events arrive again."""
        if self._hears():
            self._missed.start_catching_up()
        self._changes.start_looking()
        self._background.spawn("show", self._show_outdated())

    async def _show_outdated(self) -> None:
        """Show what could not be shown until now: the platform can be reached again."""
        try:
            await self._asks.show_outdated(self.name)
        except StoreError as error:  # the next sweep finds it
            extra = {"action": "show_later"}
            logger.warning("Messages are brought up to date later: %s", error, extra=extra)

    def _is_responsible(self) -> bool:
        """Whether this process looks for what happened to messages; of those that share a store, one does."""
        return self._hears() and self._leadership.is_held

    @abstractmethod
    def _hears(self) -> bool:
        """Whether the bot's identity is known and what people type arrives."""
