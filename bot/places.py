"""What a surface tells the service of live messages and the places where they are. A part of `bot.ports.Asks`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from bot.ask import Ask


class Places(Protocol):
    """The service, as told of messages and places. Every method commits before it returns."""

    def each_open(
        self, surface: str, channel: str | None = None, thread: str | None = None
    ) -> AsyncIterator[Ask]:
        """Every open ask of a surface, or of a channel or thread there, newest first; read in pages."""

    async def show_again(self, ask_id: str, *, deleted: bool = False) -> None:
        """The live message is not as noted: somebody used an older copy, or the message was ``deleted``.

        It is shown at once, whatever pause showing is in. An older copy of a message that was brought up to date
        only a moment ago is no reason to.
        """

    async def renumbered(self, ask_id: str, old: str, new: str) -> None:
        """The channel that the ask is shown in, or is to be, has another id from now on."""

    async def unreachable(self, ask: Ask, why: str) -> None:
        """Nobody can answer where the ask is shown any more: it fails, in words with ``why`` in them."""
