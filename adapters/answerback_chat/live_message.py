"""One live message per ask: posted once, edited in place, found again after a crash, replaced if it is gone.

Owns the order of the posts about an ask: the message, its reminders, and the note where the ask was before it moved.
Before posting, the store is marked; the mark is removed if the platform reports that nothing was posted. If there is
a mark and no message, the place is searched for our message before anything is posted again. The platform may carry out
the first post even after that search. So whoever posts again notes that, and the second message is removed once it is
found, or at the latest when somebody clicks on it.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

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
Json: TypeAlias = dict[str, JsonValue]
Save: TypeAlias = Callable[[Shown], Awaitable[None]]

SINCE: Final = "shows_since"
"""The key, in a reference that is not stored yet, of when a message began to show it, by the platform's clock."""
_MAX_UNSENT: Final = 1_000
_MAX_CLOSING: Final = 1_000


class Uneditable(Enum):
    """Why a message can no longer be edited."""

    DELETED = auto()
    FROZEN = auto()
    """It may still be visible; a new message replaces it."""


class HistoryTooLongError(PlatformUnavailableError):
    """A place has more messages than we read to find one of ours."""


@dataclass(slots=True)
class _Closing(Generic[Ref, Payload]):
    """The progress of showing that an ask has ended, so that an attempt after a rate limit does not begin anew.

    Else two asks with many reminders would edit their messages for ever: each edit takes what the limit leaves.
    """

    before: Ref
    payload: Payload
    edited: Ref
    """Refers to the message that shows the payload now."""
    reminders: set[str] = field(default_factory=set)
    """The reminders that are closed."""


@dataclass(eq=False)
class LiveMessages(ABC, Generic[Ref, Payload]):
    """Brings a platform's messages in line with the store. A subclass adds the platform's calls.

    ``Ref`` is the stored reference to a message: where it is, or where it is about to be posted.
    """

    platform: ClassVar[str]
    """The platform's name, for people."""
    _unsent: set[tuple[str, int]] = field(default_factory=set, init=False)
    """Reminders that were certainly not posted, so there is no need to search for them."""
    _closing: dict[str, _Closing[Ref, Payload]] = field(default_factory=dict, init=False)
    """By the ids of asks that have ended and whose reminders are not all closed yet."""

    async def show(self, ask: Ask, save: Save) -> Shown | RetryLater:
        ref, current = self.parse_ref(ask.placement.message), False
        if ref is None:
            ref = await self.choose_place(ask)
        elif self.is_posted(ref):
            checked = await self.is_current(ask, ref)
            if isinstance(checked, RetryLater):
                return checked
            current = checked
        else:
            ref = await self._find_and_note(ask, ref, save)
            if not self.is_posted(ref) and not ask.is_to_post:
                return self.shown(ref, ask.revision)
        if self.is_posted(ref) and not current:
            edited = await self._edit_or_report_gone(ask, ref)
            if edited is Uneditable.DELETED and not ask.open:
                await self._close_reminders(ask, ref)
                return self.shown(ref, ask.revision)  # a deleted record is left alone
            ref = await self.replacement_ref(ask, ref) if isinstance(edited, Uneditable) else edited
        was_posted = self.is_posted(ref)
        if not was_posted:
            ref = await self.post_recoverably(ask, ref, save)
        ref = await self.remove_replaced(ask, ref)
        ref = await self.complete(ask, ref, save)
        if was_posted:
            ref = await self.remove_doubles(ask, ref)
        if not ask.open:
            await self._close_reminders(ask, ref)
        return self.shown(ref, ask.revision)

    async def remind(self, ask: Ask, number: int) -> None:
        ref = self.parse_ref(ask.placement.message)
        if ref is None or not self.is_posted(ref):
            raise PlatformUnavailableError(
                "The question is not shown yet, so no reminder can be posted"
            )
        unsent = (ask.id, number) in self._unsent
        self._unsent.discard((ask.id, number))
        if not unsent:
            async for _, posted in self.reminders(ask, ref):
                if posted == number:
                    return
        try:
            await self.post_reminder(ask, ref, number)
        except PlatformError as error:
            if not may_have_succeeded(error) and len(self._unsent) < _MAX_UNSENT:
                self._unsent.add((ask.id, number))
            raise

    async def retire(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> float | None:
        ref = self.parse_ref(left)
        if ref is not None and not self.is_posted(ref):
            ref = await self.find(ask, ref)  # the result of the post is unknown
        if ref is None or not self.is_posted(ref):
            return None
        await self.remove_doubles(ask, ref)
        return await self.show_moved_note(ref, to)

    async def post_recoverably(self, ask: Ask, ref: Ref, save: Save) -> Ref:
        """Post the message at ``ref``. It is marked first, so that it is searched for if the result is unknown."""
        self.raise_if_limited(ref)
        stored = self.parse_ref(ask.placement.message)
        again = stored is not None and not self.is_posted(stored)
        ref = self.mark_pending(ref, again=again)
        await save(self.shown(ref, ask.placement.shown_revision))
        try:
            return await self._send(ask, lambda payload: self.post(ask, ref, payload))
        except PlatformError as error:
            if not (again or may_have_succeeded(error)):
                cleared = self.clear_pending(ref)
                await save(
                    Shown(ask.placement.shown_revision, cleared, ask.placement.thread or Thread())
                )
            raise

    async def _find_and_note(self, ask: Ask, ref: Ref, save: Save) -> Ref:
        """Search for the message of an interrupted post, and note that people can see it if it is there.

        They may act on it already, whatever becomes of the edit that follows.
        """
        ref = await self.find(ask, ref)
        if self.is_posted(ref):
            await save(replace(self.shown(ref, ask.placement.shown_revision), is_visible=True))
        return ref

    async def _edit_or_report_gone(self, ask: Ask, ref: Ref) -> Ref | Uneditable:
        self.raise_if_limited(ref)
        edited = await self._send(ask, lambda payload: self._edit_once(ask, ref, payload))
        if isinstance(edited, Uneditable):
            extra = {"action": "message_gone", "ask_id": ask.id, "how": edited.name.lower()}
            logger.info("The live message is gone", extra=extra)
        return edited

    async def _edit_once(self, ask: Ask, ref: Ref, payload: Payload) -> Ref | Uneditable:
        """Edit the message, unless an attempt that did not reach the last reminder has done so."""
        closing = self._closing.get(ask.id)
        if closing is not None and (closing.before, closing.payload) == (ref, payload):
            return closing.edited
        self._closing.pop(ask.id, None)
        edited = await self.edit(ask, ref, payload)
        if ask.schedule.reminders_done and not (ask.open or isinstance(edited, Uneditable)):
            if len(self._closing) == _MAX_CLOSING:
                del self._closing[next(iter(self._closing))]
            self._closing[ask.id] = _Closing(ref, payload, edited)
        return edited

    async def _send(self, ask: Ask, send: Callable[[Payload], Awaitable[T]]) -> T:
        """Send the ask's message, or the minimal one if the platform rejects what we rendered."""
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
            "%s rejected what we rendered; this is a bug. A minimal message is shown instead: %s",
            self.platform, error, extra=extra,
        )  # fmt: skip

    async def _close_reminders(self, ask: Ask, ref: Ref) -> None:
        """Edit the reminders of an ask that has ended, so that they no longer ask anyone to answer."""
        if not ask.schedule.reminders_done:
            return
        closing = self._closing.get(ask.id)
        closed = set() if closing is None else closing.reminders
        try:
            for reminder in [each async for each, _ in self.reminders(ask, ref)]:
                if reminder not in closed:
                    await self.close_reminder(ask, ref, reminder)
                    closed.add(reminder)
        except (
            DestinationGoneError,
            PayloadRejectedError,
            UnauthorizedError,
            HistoryTooLongError,
        ) as error:
            # The live message shows how it ended.
            extra = {"action": "reminders_stay", "ask_id": ask.id, "code": error.code}
            logger.warning(
                "Reminders of an ask that has ended cannot be edited: %s", error, extra=extra
            )
        self._closing.pop(ask.id, None)

    # --- stored references -----------------------------------------------------------------------

    @abstractmethod
    def parse_ref(self, stored: Mapping[str, JsonValue] | None) -> Ref | None:
        """Parse the reference stored with an ask."""

    @abstractmethod
    def is_posted(self, ref: Ref) -> bool:
        """Return True if this refers to a posted message, and not to a pending post."""

    def mark_pending(self, ref: Ref, *, again: bool) -> Ref:
        """Return ``ref`` with what is needed to search for the message that is about to be posted there.

        Args:
            again: whether an earlier post has an unknown result, so that there may be two messages.
        """
        return ref

    def clear_pending(self, ref: Ref) -> Mapping[str, JsonValue]:
        """Return what to store once it is certain that nothing was posted."""
        return {}

    @abstractmethod
    def shown(self, ref: Ref, revision: int) -> Shown:
        """Return what is stored about the message."""

    # --- the platform's calls --------------------------------------------------------------------

    @abstractmethod
    async def choose_place(self, ask: Ask) -> Ref:
        """Choose where to post; rejects responders that certainly do not exist there."""

    async def find(self, ask: Ask, ref: Ref) -> Ref:
        """Find the message that an interrupted post left behind; returns ``ref`` if none can be found."""
        return ref

    async def is_current(self, ask: Ask, ref: Ref) -> bool | RetryLater:
        """Return True if the message already shows the ask; `RetryLater` if something else may be updating it."""
        return False

    def raise_if_limited(self, ref: Ref) -> None:
        """Raise if a known rate limit would reject the call, before anything is stored or rendered for it."""

    @abstractmethod
    async def render(self, ask: Ask) -> Payload:
        """Render the message that shows the ask."""

    @abstractmethod
    def minimal_payload(self, ask: Ask) -> Payload: ...

    def is_defect(self, error: PayloadRejectedError) -> bool:
        """Return True if the platform rejected the payload because we rendered it wrongly."""
        return True

    @abstractmethod
    async def post(self, ask: Ask, ref: Ref, payload: Payload) -> Ref: ...

    @abstractmethod
    async def edit(self, ask: Ask, ref: Ref, payload: Payload) -> Ref | Uneditable: ...

    async def replacement_ref(self, ask: Ask, ref: Ref) -> Ref:
        """Return where to post the replacement of a message that cannot be edited."""
        return await self.choose_place(ask)

    async def remove_replaced(self, ask: Ask, ref: Ref) -> Ref:
        """Remove the message that this one replaces, if there is one and it can be removed."""
        return ref

    async def remove_doubles(self, ask: Ask, ref: Ref) -> Ref:
        """Remove the messages that earlier posts left, if the post was repeated and they can be found."""
        return ref

    async def complete(self, ask: Ask, ref: Ref, save: Save) -> Ref:
        """Add what a posted message still lacks, such as its thread or its link."""
        return ref

    @abstractmethod
    async def post_reminder(self, ask: Ask, ref: Ref, number: int) -> None:
        """Ping the responders."""

    @abstractmethod
    def reminders(self, ask: Ask, ref: Ref) -> AsyncIterator[tuple[str, int]]:
        """Yield the ask's posted reminders: their ids and numbers."""

    @abstractmethod
    async def close_reminder(self, ask: Ask, ref: Ref, reminder: str) -> None:
        """Edit a reminder to say how the ask ended."""

    @abstractmethod
    async def show_moved_note(self, ref: Ref, to: Destination) -> float | None:
        """Turn a message into a note that says where the ask is now; returns when it certainly was one, if known."""


class JsonMessages(LiveMessages[Json, Json]):
    """Live messages of a platform whose references and payloads are JSON; a posted message has an ``id``."""

    unstored: ClassVar[frozenset[str]] = frozenset({SINCE})
    """The keys of a reference that are not stored."""

    def parse_ref(self, stored: Mapping[str, JsonValue] | None) -> Json | None:
        return dict(stored) if stored else None

    def is_posted(self, ref: Json) -> bool:
        return isinstance(ref.get("id"), str)

    def shown(self, ref: Json, revision: int) -> Shown:
        at = ref.get(SINCE)
        stored = {key: value for key, value in ref.items() if key not in self.unstored}
        return Shown(revision, stored, self.thread(ref), at if isinstance(at, float) else None)

    @abstractmethod
    def thread(self, ref: Json) -> Thread:
        """Return the place where an ask reports to be shown."""


def known_messages(ask: Ask) -> tuple[Mapping[str, JsonValue], ...]:
    """Return the references to all messages of an ask: where it is and was, and its copies."""
    here = ask.placement
    places = (
        here,
        here.place_before and here.place_before.placement,
        here.old_message,
        *ask.copies,
    )
    messages = (place.message for place in places if place)
    return tuple(each for each in messages if each)


def may_have_succeeded(error: PlatformError) -> bool:
    """Return True if the platform may have carried out the call despite this error."""
    return isinstance(error, PlatformUnavailableError) and not isinstance(error, NotDoneError)
