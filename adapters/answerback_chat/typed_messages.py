"""Words that people type for asks: which ask they are meant for, what becomes of them, and that nobody is told twice.

The platform contributes where words may stand, and how their author is answered; see `Platform`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from answerback.core.ask import Ask
from answerback.core.errors import LeaseLostError, PlatformError, PlatformUnavailableError
from answerback.core.intents import Intent, TypedText
from answerback.ports.surface import Acted, Actor, Asks, Rejected, RejectReason
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.retry import retry

logger = logging.getLogger(__name__)


class Message(Protocol):
    """A message that somebody typed."""

    @property
    def actor(self) -> Actor:
        """Who typed it."""

    @property
    def delivery(self) -> str:
        """The id under which it counts once, however it came."""

    @property
    def at(self) -> float | None:
        """When it was typed, by the platform's clock."""


M = TypeVar("M", bound=Message)
M_contra = TypeVar("M_contra", bound=Message, contravariant=True)


class Platform(Protocol[M_contra]):
    """What one platform adds."""

    async def find_candidates(self, said: M_contra) -> Sequence[Ask]:
        """The open asks that a message may be meant for: it is taken where there is one alone."""

    def words(self, said: M_contra) -> str:
        """What was typed, as the person sees it, without what addresses it."""

    def disambiguation_note(self, said: M_contra, meant: Sequence[Ask]) -> str:
        """What the author of words is told that may be meant for none, or for several; empty: nothing."""

    def refusal(self, rejected: Rejected, said: M_contra) -> str:
        """Why words were not taken, in the platform's markup, and where the question stands."""

    async def mark_taken(self, said: M_contra) -> None:
        """Marks words as taken."""

    async def tell_author(self, said: M_contra, text: str) -> None:
        """Tells the author, and as few others as may be."""


class TypedMessageHandler(Generic[M]):
    """Takes in the messages that are meant for asks."""

    def __init__(self, asks: Asks, platform: Platform[M], background: BackgroundTasks) -> None:
        self._asks = asks
        self._platform = platform
        self._background = background

    async def handle(self, said: M) -> None:
        """One message: taken and marked, or its author is told why not.

        Raises:
            StoreError: nothing is known to be saved; the message is to be handed in again.
            PlatformError: what it is for cannot be told yet; neither.
        """
        if await self._asks.draft(_told(said)) is not None:
            return
        meant = await self._platform.find_candidates(said)
        if len(meant) != 1:
            if sentence := self._platform.disambiguation_note(said, meant):
                self.tell_author_once(said, sentence)
            return
        words = TypedText(self._platform.words(said))
        intent = Intent(meant[0].id, words, delivery=said.delivery, at=said.at)
        try:
            told = await self._asks.apply(intent, said.actor)
        except LeaseLostError:
            return  # another process hears what is typed now, and reads what it did not hear
        if isinstance(told, Acted):
            self._background.spawn("mark", retry(lambda: self._platform.mark_taken(said)))
        elif told.why is RejectReason.UNCHECKED:
            raise PlatformUnavailableError("Whether who typed this may answer is not known yet")
        else:
            self.tell_author_once(said, self._platform.refusal(told, said))

    def tell_author_once(self, said: M, text: str) -> None:
        """Tells the author why their words were not taken, once, in the background."""

        async def tell_author_once() -> None:
            try:
                await retry(lambda: self._platform.tell_author(said, text))
            except PlatformError as error:
                extra = {"action": "note_missing", "code": error.code}
                words = "Somebody could not be told about their words: %s"
                logger.warning(words, error, extra=extra)
                return
            await self._asks.save_draft(_told(said), value=True)

        self._background.spawn("note", tell_author_once())


def _told(said: Message) -> str:
    """The key under which it is kept that somebody was told why their words were not taken."""
    return f"told:{said.delivery}"
