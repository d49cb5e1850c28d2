"""Live messages and the places where they are: what surfaces tell the service of them, what stores find by them.

Parts of `answerback.ports.surface.Asks` and `answerback.ports.store.Store`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from answerback.core.ask import Ask


class LiveMessages(Protocol):
    """The service, as told of messages and places. Every method commits before it returns."""

    def each_open(
        self, surface: str, channel: str | None = None, thread: str | None = None
    ) -> AsyncIterator[Ask]:
        """Every open ask of a surface, or of a channel or thread there, newest first; read in pages."""

    def each_outdated(self, surface: str) -> AsyncIterator[Ask]:
        """Asks of a surface whose live message shows an older state, a thousand at the most."""

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        """The open ask whose reference to its live message has this ``id``."""

    async def show_again(self, ask_id: str, *, deleted: bool = False) -> None:
        """The live message is not as noted: somebody used an older copy, or the message was ``deleted``.

        It is shown at once, whatever pause showing is in. An older copy of a message that was brought up to date
        only a moment ago is no reason to.
        """

    async def change_channel_id(self, ask_id: str, old: str, new: str) -> None:
        """The channel that the ask is shown in, or is to be, has another id from now on."""

    async def fail_unreachable(self, ask: Ask, why: str) -> None:
        """Nobody can answer where the ask is shown any more: it fails, in words with ``why`` in them."""


class MessageQueries(Protocol):
    """The store, as asked where asks are shown. Every method may raise StoreError."""

    async def find_open(
        self, surface: str, channel: str, thread: str | None, limit: int, after: str | None = None
    ) -> Sequence[Ask]:
        """The open asks whose thread (or, with None, channel) this is, newest first, older than the ask ``after``."""

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        """The open ask whose reference to its live message has this ``id``, or None."""

    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        """Ids of asks whose live message shows an older revision, oldest change first, all places in turn.

        ``free_for``: a holder, for whom messages are left out that another has claimed.
        """
