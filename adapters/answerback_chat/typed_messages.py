"""Handle messages that people type as answers: find their ask, apply them, and notify the author at most once.

The platform determines where such messages may appear and how their author is notified; see `Platform`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from answerback.core.ask import Ask
from answerback.core.errors import NotDoneError, PlatformError, PlatformUnavailableError
from answerback.core.escalation import is_left_behind
from answerback.core.intents import Intent, ShownRevision, TypedText
from answerback.ports.claims import Fence
from answerback.ports.surface import Acted, Actor, Asks, Rejected, RejectReason
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.retry import retry

logger = logging.getLogger(__name__)


class Message(Protocol):
    """A message that a person typed."""

    @property
    def actor(self) -> Actor:
        """Who typed it."""

    @property
    def delivery(self) -> str:
        """The id by which it counts once, whichever way it arrived."""

    @property
    def at(self) -> float | None:
        """When it was typed, by the platform's clock."""


M = TypeVar("M", bound=Message)
M_contra = TypeVar("M_contra", bound=Message, contravariant=True)


class Platform(Protocol[M_contra]):
    """The platform-specific part."""

    async def find_candidates(self, message: M_contra) -> Sequence[Ask]:
        """Return the asks that looked open where and when it was typed; it is applied if there is exactly one.

        An ask that has moved away is as people saw it there: its text counts only where it is now.
        """

    async def read_shown(self, ask: Ask) -> ShownRevision | None:
        """Ask the platform what the ask's message shows, if it is not recorded yet and the platform can say."""
        return None

    def typed_text(self, message: M_contra) -> str:
        """Return the typed text as the person sees it, without the mention that addresses the bot."""

    def disambiguation_note(self, message: M_contra, candidates: Sequence[Ask]) -> str:
        """Return the note to the author of a message that may be for no ask or for several; empty: no note."""

    def refusal(self, rejected: Rejected, message: M_contra) -> str:
        """Say why a message was not taken, in the platform's markup, and where the question is."""

    def moved_note(self, ask: Ask) -> str:
        """Return the note to the author of a message that was meant for an open ask where it no longer is."""

    async def mark_taken(self, message: M_contra) -> None: ...

    async def tell_author(self, message: M_contra, text: str) -> None:
        """Notify the author, visible to as few others as possible; retries what can be repeated without doubling it."""


@dataclass(frozen=True, eq=False)
class TypedMessageHandler(Generic[M]):
    """Applies the messages that are meant for asks.

    Args:
        fence: returns the lease under which this process receives messages, if any.
    """

    asks: Asks
    platform: Platform[M]
    background: BackgroundTasks
    fence: Callable[[], Fence | None] = lambda: None

    async def handle(self, message: M) -> None:
        """Take and mark one message, or tell its author why it is not taken.

        Raises:
            StoreError: nothing is known to be saved; handle the message again.
            PlatformError: which ask it is for cannot be determined yet; handle the message again.
        """
        if await self.asks.draft(_notified_key(message)) is not None:
            return
        candidates = await self.platform.find_candidates(message)
        if len(candidates) != 1:
            if note := self.platform.disambiguation_note(message, candidates):
                self.tell_author_once(message, note)
            return
        [ask] = candidates
        if is_left_behind(ask):
            self.tell_author_once(message, await self._note_of_moved(ask, message))
            return
        typed = TypedText(self.platform.typed_text(message))
        shown = await self.platform.read_shown(ask) if ask.opened.shown is None else None
        intent = Intent(ask.id, typed, delivery=message.delivery, at=message.at, shown=shown)
        result = await self.asks.apply(intent, message.actor, fence=self.fence())
        if isinstance(result, Acted):
            self.background.spawn("mark", retry(lambda: self.platform.mark_taken(message)))
        elif result.why is RejectReason.UNCHECKED:
            raise PlatformUnavailableError("It is not known yet whether the author may answer")
        else:
            self.tell_author_once(message, self.platform.refusal(result, message))

    async def _note_of_moved(self, left_behind: Ask, message: M) -> str:
        ask = await self.asks.get(left_behind.id)
        if ask is None or not ask.open:
            why = RejectReason.ENDED if ask else RejectReason.NOT_FOUND
            return self.platform.refusal(Rejected(why, ask), message)
        return self.platform.moved_note(ask)

    def tell_author_once(self, message: M, text: str) -> None:
        """Tell the author why their message was not taken, once, in the background."""

        async def tell_author_once() -> None:
            try:
                await self.platform.tell_author(message, text)
            except PlatformError as error:
                extra = {"action": "note_missing", "code": error.code}
                template = "The author of a message could not be told why it was not taken: %s"
                logger.warning(template, error, extra=extra)
                if isinstance(error, NotDoneError) or not isinstance(
                    error, PlatformUnavailableError
                ):
                    return
            # Also if the platform did not answer, since it may have shown the note.
            await self.asks.save_draft(_notified_key(message), value=True)

        self.background.spawn("note", tell_author_once())


def _notified_key(message: Message) -> str:
    """The draft key that records that the author was told why their message was not taken."""
    return f"told:{message.delivery}"
