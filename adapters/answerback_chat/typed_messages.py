"""Handle messages that people type as answers: find their ask, apply them, and notify the author at most once.

The platform determines where such messages may appear and how their author is notified; see `Platform`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from answerback.core.ask import Ask
from answerback.core.errors import NotDoneError, PlatformError, PlatformUnavailableError
from answerback.core.escalation import as_still_open, is_left_behind
from answerback.core.intents import Intent, ShownRevision, TypedText
from answerback.ports.claims import Fence
from answerback.ports.surface import Acted, Actor, Asks, Rejected, RejectReason
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.retry import retry
from answerback_chat.sent_files import FileTaker, SentFile

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
        """When it was typed or, if it was edited, when that was done, by the platform's clock."""

    @property
    def is_edit(self) -> bool:
        """True if this is an earlier message with a new text."""

    @property
    def has_files(self) -> bool:
        """True if it has more than its text, such as a picture, a file or a voice message."""


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

    def edit_note(self, message: M_contra, *, is_known: bool) -> str:
        """Return the note to the author of an edit that is not read; empty: no note.

        Args:
            is_known: whether the message was taken as an answer, as far as this process remembers.
        """

    def sent_files(self, message: M_contra) -> Sequence[SentFile]:
        """Return the files of a message that can be passed on with its text."""
        return ()

    def leaves_out(self, message: M_contra) -> bool:
        """Return True if a message has more than its text and its `sent_files`."""
        return message.has_files and not self.sent_files(message)

    def files_note(self, message: M_contra) -> str:
        """Return the note to the author of a message whose text was taken without what came with it."""

    async def mark_taken(self, message: M_contra) -> None: ...

    async def tell_author(self, message: M_contra, text: str, *, is_refused: bool = True) -> None:
        """Notify the author, visible to as few others as possible; retries what can be repeated without doubling it.

        Args:
            is_refused: whether their message was not taken, which may also be marked.
        """


class Handled(NamedTuple):
    """A message that was meant for an ask, as it was read."""

    text: str
    is_taken: bool


MAX_REMEMBERED: Final = 1_000
"""Messages whose texts are remembered, so that an edit that mends one is taken. They are not stored."""


@dataclass(frozen=True, eq=False)
class TypedMessageHandler(Generic[M]):
    """Applies the messages that are meant for asks.

    Args:
        fence: returns the lease under which this process receives messages, if any.
        taker: takes in files; None: no files are passed on.
    """

    asks: Asks
    platform: Platform[M]
    background: BackgroundTasks
    fence: Callable[[], Fence | None] = lambda: None
    taker: FileTaker | None = None
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(
        default_factory=WeakValueDictionary, init=False, repr=False
    )
    """Those of messages with files, by their ids: one that arrives twice is read once."""
    _handled: dict[str, Handled] = field(default_factory=dict, init=False, repr=False)
    """The messages that were read last, by their ids."""

    async def handle(self, message: M) -> None:
        """Take and mark one message, or tell its author why it is not taken.

        Raises:
            StoreError: nothing is known to be saved; handle the message again.
            PlatformError: which ask it is for cannot be determined yet; handle the message again.
        """
        if self.taker is None or not message.has_files:
            await self._handle(message)
            return
        async with self._locks.setdefault(message.delivery, asyncio.Lock()):
            if message.is_edit or message.delivery not in self._handled:
                await self._handle(message)

    async def _handle(self, message: M) -> None:
        text = self.platform.typed_text(message)
        if await self._is_dealt_with(message, text):
            return
        candidates = await self.platform.find_candidates(message)
        if len(candidates) != 1:
            if note := self.platform.disambiguation_note(message, candidates):
                self.remember(message, text, is_taken=False)
                self.tell_author_once(message, note)
            return
        [ask] = candidates
        revision: int | None = None
        if is_left_behind(ask):
            latest = await self.asks.get(ask.id)
            still = as_still_open(latest) if latest else None
            if still is None or still.placement.destination != ask.placement.destination:
                self.tell_author_once(message, self._note_of_moved(latest, message))
                return
            ask, revision = still, still.revision  # it has yet to arrive at its new place
        shown = await self.platform.read_shown(ask) if ask.opening.shown is None else None
        intent = Intent(
            ask.id, TypedText(text), revision, delivery=message.delivery, at=message.at, shown=shown
        )
        sent = self.platform.sent_files(message) if message.has_files else ()
        result = await self.apply(intent, message.actor, sent)
        if isinstance(result, Acted) and result.repeated and message.is_edit:
            await self._tell_of_edit(message, is_known=True)
        elif isinstance(result, Acted):
            self._mark_taken(message, text, is_repeated=result.repeated)
        elif result.why is RejectReason.UNCHECKED:
            raise PlatformUnavailableError("It is not known yet whether the author may answer")
        else:
            self.remember(message, text, is_taken=False)
            self.tell_author_once(message, self.platform.refusal(result, message))

    def _mark_taken(self, message: M, text: str, *, is_repeated: bool) -> None:
        self.remember(message, text, is_taken=True)
        self.background.spawn("mark", retry(lambda: self.platform.mark_taken(message)))
        if message.has_files and not is_repeated and self.platform.leaves_out(message):
            note = self.platform.files_note(message)
            self.tell_author_once(message, note, is_refused=False)

    async def apply(
        self, intent: Intent, actor: Actor, sent: Sequence[SentFile]
    ) -> Acted | Rejected:
        """Apply a typed text with its files; see `FileTaker.apply`."""
        if not sent or self.taker is None:
            return await self.asks.apply(intent, actor, fence=self.fence())
        return await self.taker.apply(self.asks, intent, actor, sent, self.fence)

    def remember(self, message: M, text: str, *, is_taken: bool) -> None:
        """Remember a message that was read, for when it is edited."""
        while len(self._handled) >= MAX_REMEMBERED:
            del self._handled[next(iter(self._handled))]
        self._handled[message.delivery] = Handled(text, is_taken)

    async def _is_dealt_with(self, message: M, text: str) -> bool:
        """Return True if a message says nothing new. Of edits, only one that mends a refused message is read."""
        if not message.is_edit:
            return await self.asks.draft(dealt_with_key(message.delivery)) is not None
        before = self._handled.get(message.delivery)
        if before is None or before.is_taken:
            if before is None or before.text != text:  # platforms also report other changes
                await self._tell_of_edit(message, is_known=before is not None)
            return True
        return before.text == text

    async def _tell_of_edit(self, message: M, *, is_known: bool) -> None:
        note, key = (
            self.platform.edit_note(message, is_known=is_known),
            f"edited:{message.delivery}",
        )
        if note and await self.asks.draft(key) is None:
            await self.asks.save_draft(key, value=True)
            self.tell_author_once(message, note, is_refused=False)

    def _note_of_moved(self, ask: Ask | None, message: M) -> str:
        if ask is None or not ask.open:
            why = RejectReason.ENDED if ask else RejectReason.NOT_FOUND
            return self.platform.refusal(Rejected(why, ask), message)
        return self.platform.moved_note(ask)

    def tell_author_once(self, message: M, text: str, *, is_refused: bool = True) -> None:
        """Tell the author what became of their message, once, in the background."""

        async def tell_author_once() -> None:
            try:
                await self.platform.tell_author(message, text, is_refused=is_refused)
            except PlatformError as error:
                extra = {"action": "note_missing", "code": error.code}
                template = "The author of a message could not be told what became of it: %s"
                logger.warning(template, error, extra=extra)
                if isinstance(error, NotDoneError) or not isinstance(
                    error, PlatformUnavailableError
                ):
                    return
            # Also if the platform did not answer, since it may have shown the note.
            await self.asks.save_draft(dealt_with_key(message.delivery), value=True)

        self.background.spawn("note", tell_author_once())


def dealt_with_key(delivery: str) -> str:
    """The draft key that records that a message needs no answer any more: its author was told why it was not taken, or
    it was typed for one of several inputs."""
    return f"told:{delivery}"
