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
from answerback_chat.catch_up import MissedMessageReader
from answerback_chat.live_message import LiveMessages, Save

logger = logging.getLogger(__name__)


class GroupMembership(Protocol):
    """Membership in the platform's groups."""

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        """Return those of ``groups`` that a person is in."""

    async def stop(self) -> None:
        """Cancel the lookups in progress."""


class ChatSurface(ABC):
    """The outgoing half of a chat surface. A subclass creates the parts and handles what people do."""

    name: str
    live = True

    _posting: LiveMessages[Any, Any]
    _groups: GroupMembership
    _missed: MissedMessageReader[Any] | None

    async def show(self, ask: Ask, save: Save) -> Shown | RetryLater:
        """See `answerback.ports.surface.Surface.show`."""
        shown = await self._posting.show(ask, save)
        ref = self._posting.parse_ref(ask.message)
        if ref is not None and not self._posting.is_posted(ref) and isinstance(shown, Shown):
            # It may have been posted before this was recorded, so replies under it were not read.
            await save(shown)
            if self._missed is not None and self._hears():
                self._missed.read_one(replace(ask, message=dict(shown.message)))
        return shown

    async def remind(self, ask: Ask, number: int) -> None:
        """See `answerback.ports.surface.SupportsReminders.remind`."""
        await self._posting.remind(ask, number)

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> None:
        """See `answerback.ports.surface.SupportsMoves.retire_message`."""
        await self._posting.retire(left, to)

    async def groups_of(self, person: Person, groups: frozenset[str]) -> frozenset[str]:
        """See `answerback.ports.surface.SupportsGroups.groups_of`."""
        return await self._groups.groups_of_user(person.user_id, groups)

    async def _show_outdated(self, asks: Asks) -> None:
        """Show what could not be shown until now: the platform can be reached again."""
        try:
            await asks.show_outdated(self.name)
        except StoreError as error:  # the next sweep finds it
            extra = {"action": "show_later"}
            logger.warning("Messages are brought up to date later: %s", error, extra=extra)

    def _catch_up(self) -> None:
        """Read the messages typed during a gap, once the bot's identity is known and messages arrive again."""
        if self._missed is not None and self._hears():
            self._missed.start_catching_up()

    @abstractmethod
    def _hears(self) -> bool:
        """Whether the bot's identity is known and what people type arrives."""
