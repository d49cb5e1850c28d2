"""One live message an ask: posted once, edited in place, found again after a crash, replaced when it is gone.

Owns the order of what is said to a platform about an ask unasked: the message, its reminders, and the note at a place
that the ask left. A post is preceded by a mark in the store, which is taken back where the platform says that nothing
was posted. With a mark and no message, the place is searched for our message before anything is posted again.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Final, Generic, TypeAlias, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination, Thread
from answerback.core.errors import (
    DestinationGoneError,
    NotDoneError,
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    UnauthorizedError,
)
from answerback.ports.surface import RetryLater, Shown

logger = logging.getLogger(__name__)

Ref = TypeVar("Ref")
Payload = TypeVar("Payload")
T = TypeVar("T")
Save: TypeAlias = Callable[[Shown], Awaitable[None]]

_MOST_UNSENT: Final = 1_000


class Uneditable(Enum):
    """Why a message cannot be edited any more."""

    DELETED = auto()
    FROZEN = auto()
    """It is still to be seen, perhaps: another one takes its place."""


class HistoryTooLongError(PlatformUnavailableError):
    """More was said at a place than is read to find a message."""


class LiveMessages(ABC, Generic[Ref, Payload]):
    """Says to a platform what is stored. A subclass brings the platform's calls.

    ``Ref`` is what the store keeps of a message: where it is, or where it is about to be posted.
    """

    def __init__(self, platform: str) -> None:
        self._platform = platform
        self._unsent: set[tuple[str, int]] = set()
        """Reminders of which it is certain that they were not posted: nothing is searched for them."""

    async def show(self, ask: Ask, save: Save) -> Shown | RetryLater:
        """See `answerback.ports.surface.Surface.show`."""
        ref, current = self.parse_ref(ask.message), False
        if ref is None:
            if not ask.open:  # nobody has seen it, and nobody has to
                return Shown(ask.revision, ask.message or {}, ask.thread or Thread())
            ref = await self.choose_place(ask)
        elif self.is_posted(ref):
            brought = await self.is_current(ask, ref)
            if isinstance(brought, RetryLater):
                return brought
            current = brought
        else:
            ref = await self.find(ask, ref)
            if not self.is_posted(ref) and not ask.open:
                return self.shown(ref, ask.revision)
        if self.is_posted(ref) and not current:
            edited = await self._edited(ask, ref)
            if edited is Uneditable.DELETED and not ask.open:
                return self.shown(ref, ask.revision)
            ref = await self.replacement_ref(ask, ref) if isinstance(edited, Uneditable) else edited
        if not self.is_posted(ref):
            ref = await self.post_recoverably(ask, ref, save)
        ref = await self.remove_replaced(ask, ref)
        ref = await self.complete(ask, ref, save)
        if ask.reminded and not ask.open:
            await self._settle_reminders(ask, ref)
        return self.shown(ref, ask.revision)

    async def remind(self, ask: Ask, number: int) -> None:
        """See `answerback.ports.surface.SupportsReminders.remind`."""
        ref = self.parse_ref(ask.message)
        if ref is None or not self.is_posted(ref):
            raise PlatformUnavailableError(
                "The question is not shown yet, so nobody can be reminded of it"
            )
        unsent = (ask.id, number) in self._unsent
        self._unsent.discard((ask.id, number))
        if not unsent:
            async for _, made in self.reminders(ask, ref):
                if made == number:
                    return
        try:
            await self.post_reminder(ask, ref, number)
        except PlatformError as error:
            if not may_have_succeeded(error) and len(self._unsent) < _MOST_UNSENT:
                self._unsent.add((ask.id, number))
            raise

    async def moved(self, left: Mapping[str, JsonValue], to: Destination) -> None:
        """See `answerback.ports.surface.SupportsMoves.retire_message`."""
        ref = self.parse_ref(left)
        if ref is not None and self.is_posted(ref):
            await self.show_moved_note(ref, to)

    async def post_recoverably(self, ask: Ask, ref: Ref, save: Save) -> Ref:
        """The message, posted where ``ref`` says. Marked before, so that it is looked for after an unknown result."""
        self.raise_if_limited(ref)
        ref = self.mark_pending(ref)
        await save(self.shown(ref, ask.shown_revision))
        try:
            return await self._sent(ask, lambda payload: self.post(ask, ref, payload))
        except PlatformError as error:
            if not may_have_succeeded(error):
                kept = self.clear_pending(ref)
                await save(Shown(ask.shown_revision, kept, ask.thread or Thread()))
            raise

    async def _edited(self, ask: Ask, ref: Ref) -> Ref | Uneditable:
        self.raise_if_limited(ref)
        edited = await self._sent(ask, lambda payload: self.edit(ask, ref, payload))
        if isinstance(edited, Uneditable):
            extra = {"action": "message_gone", "ask_id": ask.id, "how": edited.name.lower()}
            logger.info("The live message is gone", extra=extra)
        return edited

    async def _sent(self, ask: Ask, send: Callable[[Payload], Awaitable[T]]) -> T:
        """Sends the ask's message: the least that can be shown where the platform refuses what we rendered."""
        try:
            return await send(await self.render(ask))
        except PayloadRejectedError as error:
            if not self.is_defect(error):
                raise
            self._log_defect(ask, error)
            return await send(self.minimal_payload(ask))

    def _log_defect(self, ask: Ask, error: PayloadRejectedError) -> None:
        extra = {"action": "payload_refused", "ask_id": ask.id, "code": error.code}
        logger.error(
            "%s refuses what we rendered, a defect of ours; the least is shown instead: %s",
            self._platform, error, extra=extra,
        )  # fmt: skip

    async def _settle_reminders(self, ask: Ask, ref: Ref) -> None:
        """Edits the reminders of an ask that is over: nobody is waited for any more."""
        try:
            for reminder in [each async for each, _ in self.reminders(ask, ref)]:
                await self.close_reminder(ask, ref, reminder)
        except (
            DestinationGoneError,
            PayloadRejectedError,
            UnauthorizedError,
            HistoryTooLongError,
        ) as error:
            # The live message says how it ended.
            extra = {"action": "reminders_stay", "ask_id": ask.id, "code": error.code}
            logger.warning(
                "Reminders of an ask that is over stay as they are: %s", error, extra=extra
            )

    # --- what is kept ----------------------------------------------------------------------------

    @abstractmethod
    def parse_ref(self, stored: Mapping[str, JsonValue] | None) -> Ref | None:
        """What is kept with an ask."""

    @abstractmethod
    def is_posted(self, ref: Ref) -> bool:
        """Whether this is a message, and no mark of a post."""

    @abstractmethod
    def mark_pending(self, ref: Ref) -> Ref:
        """A place, with what a look for a message that is about to be posted there needs."""

    def clear_pending(self, ref: Ref) -> Mapping[str, JsonValue]:
        """What to keep once it is certain that nothing was posted."""
        return {}

    @abstractmethod
    def shown(self, ref: Ref, revision: int) -> Shown:
        """What the store is told."""

    # --- the platform's calls --------------------------------------------------------------------

    @abstractmethod
    async def choose_place(self, ask: Ask) -> Ref:
        """Where to post; refuses responders of whom it is certain that they are nobody there."""

    @abstractmethod
    async def find(self, ask: Ask, ref: Ref) -> Ref:
        """The message that an interrupted post has left behind; ``ref`` where there is none."""

    async def is_current(self, ask: Ask, ref: Ref) -> bool | RetryLater:
        """Whether the message shows the ask already; or it may by other means, and is looked at again later."""
        return False

    def raise_if_limited(self, ref: Ref) -> None:
        """Refuses what would be refused for a known limit, before anything is stored or rendered for it."""

    @abstractmethod
    async def render(self, ask: Ask) -> Payload:
        """The message that shows the ask."""

    @abstractmethod
    def minimal_payload(self, ask: Ask) -> Payload:
        """The least that can be shown of it."""

    def is_defect(self, error: PayloadRejectedError) -> bool:
        """Whether what was refused is how we rendered it."""
        return True

    @abstractmethod
    async def post(self, ask: Ask, ref: Ref, payload: Payload) -> Ref:
        """Posts the message."""

    @abstractmethod
    async def edit(self, ask: Ask, ref: Ref, payload: Payload) -> Ref | Uneditable:
        """Edits the message."""

    @abstractmethod
    async def replacement_ref(self, ask: Ask, ref: Ref) -> Ref:
        """Where to post the message that takes the place of one that cannot be edited."""

    async def remove_replaced(self, ask: Ask, ref: Ref) -> Ref:
        """A message that is posted, with the one that it replaces, if any, taken away where that can be done."""
        return ref

    @abstractmethod
    async def complete(self, ask: Ask, ref: Ref, save: Save) -> Ref:
        """A message that shows the ask, with what is still missing of it: its thread, its address."""

    @abstractmethod
    async def post_reminder(self, ask: Ask, ref: Ref, number: int) -> None:
        """Pings the responders."""

    @abstractmethod
    def reminders(self, ask: Ask, ref: Ref) -> AsyncIterator[tuple[str, int]]:
        """The reminders of an ask that stand there: their ids, and their numbers."""

    @abstractmethod
    async def close_reminder(self, ask: Ask, ref: Ref, reminder: str) -> None:
        """Makes a reminder say how it ended."""

    @abstractmethod
    async def show_moved_note(self, ref: Ref, to: Destination) -> None:
        """Turns a message into a note that says where the ask is now."""


def may_have_succeeded(error: PlatformError) -> bool:
    """Whether a platform may have done what it was asked for, although it answered like this or not at all."""
    return isinstance(error, PlatformUnavailableError) and not isinstance(error, NotDoneError)
