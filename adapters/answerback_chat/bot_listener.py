"""Listen to typed messages as a bot that can answer them only with a reaction or a message of its own.

Owns the order in which messages count, and how their authors are told. A platform says which ask a message is for.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Protocol, TypeVar
from weakref import WeakValueDictionary

from answerback.core.ask import Ask
from answerback.core.confirmer_copies import copy_at
from answerback.core.errors import (
    LeaseLostError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    StoreError,
    UnreadableRowError,
)
from answerback.core.escalation import as_left_behind
from answerback.core.labels import Labels
from answerback.ports.claims import Fence
from answerback.ports.surface import Asks
from answerback_base.backoff import Backoff
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.retry import min_retry_delay, retry
from answerback_chat.sent_files import FileTaker
from answerback_chat.typed_messages import Message, Platform, TypedMessageHandler

logger = logging.getLogger(__name__)

MESSAGE_ID_TIMEOUT: Final = 5.0
"""Seconds that each of the few attempts waits until the id of an ask's message is stored: together more than two of
the leases with which processes claim a message."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0


def is_resent(error: Exception) -> bool:
    """Return True if the platform should send an update again: not if a row is damaged, because that would go on for
    ever."""
    return isinstance(error, StoreError) and not isinstance(error, UnreadableRowError)


class BotMessage(Message, Protocol):
    """A message that a person typed where a bot reads it."""

    @property
    def text(self) -> str:
        """The text without the mention that addresses the bot."""

    @property
    def chat(self) -> str:
        """Where it was typed: messages there count in the order in which they were typed."""

    @property
    def in_group(self) -> bool:
        """True if other people read it, too."""

    @property
    def called(self) -> bool:
        """True if the text mentions the bot."""


B = TypeVar("B", bound=BotMessage)


@dataclass(eq=False)
class BotMessageListener(Platform[B]):
    """Handles typed messages; see `answerback_chat.typed_messages.Platform`."""

    resends: ClassVar[bool] = False
    """True if the platform sends a message again if `take` raises StoreError."""
    shows_once: ClassVar[bool] = False
    """True if the platform shows a note once, however often it is sent."""
    taken_mark: ClassVar[str]
    refused_mark: ClassVar[str]

    asks: Asks
    labels: Labels
    background: BackgroundTasks
    fence: Callable[[], Fence | None]
    taker: FileTaker | None = field(default=None, kw_only=True)
    """Takes in files; None: no files are passed on."""

    def __post_init__(self) -> None:
        self._typed: TypedMessageHandler[B] = TypedMessageHandler(
            self.asks, self, self.background, self.fence, self.taker
        )
        # A lock exists for as long as something holds it or waits for it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def take(self, typed: B) -> None:
        """Handle one message; returns once it is taken or its author will be told why not.

        Raises:
            StoreError: it is not taken, and the platform sends it again.
        """
        lock = self._locks.setdefault(typed.chat, asyncio.Lock())
        async with lock:
            try:
                await retry(lambda: self._typed.handle(typed))
            except (PlatformError, StoreError) as error:
                if self.resends and is_resent(error):
                    raise
                if isinstance(error, LeaseLostError):
                    return  # the new holder receives messages from now on, and reads those it missed
                extra = {"action": "typed_lost", "code": getattr(error, "code", None)}
                logger.warning("A typed message could not be handled: %s", error, extra=extra)
                self._typed.tell_author_once(typed, self._escape(self.labels.text_not_saved))

    def tell(self, typed: B, sentence: str, *, is_refused: bool = True) -> None:
        """Tell the author of a message what became of it."""
        self._typed.tell_author_once(typed, self._escape(sentence), is_refused=is_refused)

    def typed_text(self, typed: B) -> str:
        return typed.text

    def disambiguation_note(self, typed: B, meant: Sequence[Ask]) -> str:
        """Empty for a reply in a group whose text does not mention the bot: it replies to a record or a note."""
        if not meant and typed.in_group and not typed.called:
            return ""
        return self._escape(self.labels.which_one_quote if meant else self.labels.nothing_open)

    def edit_note(self, typed: B, *, is_known: bool) -> str:
        """Empty for what people may have written to each other, as in `disambiguation_note`."""
        is_meant = is_known or typed.called or not typed.in_group
        return self._escape(self.labels.edit_not_read) if is_meant else ""

    def files_note(self, typed: B) -> str:
        return self._escape(self.labels.files_left_out)

    async def mark_taken(self, typed: B) -> None:
        await self._react(typed, self.taken_mark)

    async def tell_author(self, typed: B, text: str, *, is_refused: bool = True) -> None:
        """Send the author a direct message, or if they cannot get one, reply in place."""
        if is_refused:
            await self._mark_refused(typed)
        if typed.in_group:
            try:
                await self._tell(self._send_direct, typed, text)
            except (RateLimitedError, PlatformUnavailableError):
                raise  # it may have been sent: a reply in place would be a second one
            except PlatformError:
                pass  # they accept no message from the bot
            else:
                return
        await self._tell(self._send_in_place, typed, text)

    async def _mark_refused(self, typed: B) -> None:
        try:
            await retry(lambda: self._react(typed, self.refused_mark))
        except PlatformError as error:
            extra = {"action": "mark_missing", "code": error.code}
            logger.info("A message could not be marked: %s", error, extra=extra)

    async def _tell(self, send: Callable[[B, str], Awaitable[None]], typed: B, text: str) -> None:
        """Send a note, and again if that cannot show it twice."""
        passing = min_retry_delay if self.shows_once else _delay_if_limited
        await retry(lambda: send(typed, text), passing=passing)

    @abstractmethod
    def _escape(self, text: str, /) -> str:
        """Return a text as it is shown literally."""

    @abstractmethod
    async def _react(self, typed: B, mark: str) -> None: ...

    @abstractmethod
    async def _send_direct(self, typed: B, text: str) -> None:
        """Send its author a direct message about it."""

    @abstractmethod
    async def _send_in_place(self, typed: B, text: str) -> None:
        """Reply to it."""

    async def _wait_for_message_id(self, ask_id: str, replied: str) -> Ask | None:
        """Return the open ask that a message of ours shows, as it was there; None if it shows none.

        If a process died after posting the message, another one finds it, or posts it again, and stores its id once
        the claim's lease has expired.

        Raises:
            PlatformError: the id was not stored in time.
        """
        began, backoff = time.monotonic(), Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        # The message's id is stored before the time from which it is visible.
        while (ask := await self.asks.get(ask_id)) and ask.open:
            if (
                ask.placement.old_message is not None
                and ask.placement.old_message.message.get("id") == replied
            ):
                return as_left_behind(ask)
            if (copy := copy_at(ask, "id", replied)) is not None:
                return copy
            if ask.placement.was_visible:
                return ask if (ask.placement.message or {}).get("id") == replied else None
            if time.monotonic() - began > MESSAGE_ID_TIMEOUT:
                message = "it is not stored yet whether this message is the ask's own"
                raise PlatformUnavailableError(message)
            await backoff.wait()
        return None


def _delay_if_limited(error: Exception) -> float | None:
    # Not posted again after any other failure: the note may be there.
    return min_retry_delay(error) if isinstance(error, RateLimitedError) else None
