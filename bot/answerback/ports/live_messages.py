"""Live messages and where they are: what surfaces report to the service, and how stores look them up.

Parts of `answerback.ports.surface.Asks` and `answerback.ports.store.Store`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Protocol

from answerback.core.ask import Ask


class LiveMessages(Protocol):
    """The part of the service that handles messages and places. Every method commits before it returns."""

    def each_open(
        self, surface: str, channel: str | None = None, thread: str | None = None
    ) -> AsyncIterator[Ask]:
        """Every open ask of a surface, or of a channel or thread there, newest first; read in pages."""

    def each_outdated(self, surface: str) -> AsyncIterator[Ask]:
        """The asks of a surface whose live message shows an older state, a thousand at most."""

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        """The open ask whose reference to its live message has this ``id``."""

    async def show_again(self, ask_id: str, *, deleted: bool = False, found: bool = False) -> None:
        """Show the ask again: its live message is not as noted, because a person used an older copy, or it was
        ``deleted``, or it was ``found`` after a post of unknown outcome.

        It is shown immediately, whatever backoff is in effect. An older copy of a message that was updated only a
        moment ago is not a reason to show it again.
        """

    async def show_outdated(self, surface: str) -> None:
        """Show at once whatever waits to be shown on a surface: its platform can be reached again."""

    async def show_reopened(self, surface: str, channels: Sequence[str]) -> None:
        """Show what could not be shown in channels while the bot was out of them: what waits, and how asks ended."""

    async def note_seen(self, asks: Iterable[Ask]) -> None:
        """Note that people see these asks now, other than by their live messages."""

    async def change_channel_id(self, ask_id: str, old: str, new: str) -> None:
        """The channel in which the ask is shown, or is to be shown, has a new id."""

    async def follow_group(self, ask_id: str, old: str, new: str) -> None:
        """The group in which the open ask is shown has a new id, with which alone anything can be posted.

        The ask is posted with the new id, and its message becomes a note; until then, the message counts.
        """

    async def fail_unreachable(self, ask: Ask, why: str) -> None:
        """Fail the ask because nobody can answer it where it is shown any more; the message includes ``why``.

        If it was just being moved there, it returns to where it was instead, and stays open.
        """


class MessageQueries(Protocol):
    """The part of the store that finds asks by where they are shown. Every method may raise StoreError."""

    async def find_open(
        self, surface: str, channel: str, thread: str | None, limit: int, after: str | None = None
    ) -> Sequence[Ask]:
        """The open asks in this thread (or, with None, channel), newest first, older than the ask ``after``."""

    async def find_ended(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        """The asks in this thread (or, with None, channel) that ended since a time, latest end first, unless erased."""

    async def find_moved(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        """The asks that moved away from this thread (or, with None, channel), unless erased: those whose message there
        has yet to become a note, and then those whose message became one since a time, latest first."""

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        """The open ask whose reference to its live message has this ``id``, or None."""

    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        """Ids of asks whose live message shows an older revision, oldest change first, taking all places in turn.

        ``free_for``: a holder; messages that another holder has claimed are left out.
        """
