"""Handle typed messages: decide which of them are meant for an ask, and what happens to them.

Direct messages are, as well as replies to one of our messages, and messages that mention the bot. Everything else is
people talking to each other, and with privacy mode on Telegram does not even send it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final
from weakref import WeakValueDictionary

from answerback.core.ask import Ask
from answerback.core.errors import (
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    StoreError,
)
from answerback.core.escalation import as_left_behind
from answerback.core.intents import ShownRevision
from answerback.core.labels import Labels
from answerback.ports.claims import Fence
from answerback.ports.surface import Asks, Rejected
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.retry import retry
from answerback_chat.typed_messages import TypedMessageHandler
from answerback_client.backoff import Backoff
from answerback_telegram import private_notes
from answerback_telegram.helper_messages import REFUSED, TAKEN, HelperMessages
from answerback_telegram.html_text import escape
from answerback_telegram.parse import SURFACE, Place, TypedMessage
from answerback_telegram.posting import about_key
from answerback_telegram.render import compose
from answerback_telegram.responder_names import ResponderNames

logger = logging.getLogger(__name__)

MESSAGE_ID_TIMEOUT: Final = 5.0
"""Seconds that each of the few attempts waits until the id of an ask's message is stored."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0


class TypedMessageListener:
    """Handles messages; see `answerback_chat.typed_messages.Platform`."""

    def __init__(
        self,
        asks: Asks,
        helpers: HelperMessages,
        names: ResponderNames,
        labels: Labels,
        background: BackgroundTasks,
        fence: Callable[[], Fence | None],
    ) -> None:
        self._asks = asks
        self._helpers = helpers
        self._names = names
        self._labels = labels
        self._typed = TypedMessageHandler(asks, self, background, fence)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def handle_message(self, typed: TypedMessage) -> None:
        """Handle one message, if it is meant for us; returns once it is taken or its author will be told why not."""
        if typed.place.is_group and typed.replied is None and not typed.called:
            return
        lock = self._locks.setdefault(typed.place.chat, asyncio.Lock())
        async with lock:  # messages in one place count in the order in which they were typed
            try:
                await retry(lambda: self._typed.handle(typed))
            except (PlatformError, StoreError) as error:
                extra = {"action": "typed_lost", "code": getattr(error, "code", None)}
                logger.warning("A typed message could not be handled: %s", error, extra=extra)
                self._typed.tell_author_once(typed, escape(self._labels.text_not_saved))

    def words(self, typed: TypedMessage) -> str:
        """See `answerback_chat.typed_messages.Platform.words`."""
        return typed.text

    def disambiguation_note(self, typed: TypedMessage, meant: Sequence[Ask]) -> str:
        """See `answerback_chat.typed_messages.Platform.disambiguation_note`.

        Empty for a reply in a group that does not mention the bot: it replies to a record or a note.
        """
        if not meant and typed.place.is_group and not typed.called:
            return ""
        return escape(self._labels.which_one_quote if meant else self._labels.nothing_open)

    def refusal(self, rejected: Rejected, typed: TypedMessage) -> str:
        """See `answerback_chat.typed_messages.Platform.refusal`."""
        responders = rejected.ask.waits_for if rejected.ask else ()
        names = self._names.known(responders)
        reader = typed.actor.person.user_id
        return private_notes.rejection_text(rejected, self._labels, reader, names)

    def moved_note(self, ask: Ask) -> str:
        """See `answerback_chat.typed_messages.Platform.moved_note`."""
        return private_notes.moved_text(ask, self._labels)

    async def find_candidates(self, typed: TypedMessage) -> Sequence[Ask]:
        """Return the ask that the message replies to, or without a reply, those that looked open in the same place."""
        if typed.replied is not None:
            ask = await self._ask_of_reply(typed, typed.replied)
            return [ask] if ask else []
        place = typed.place
        found = await self._asks.list_open_at(SURFACE, place.chat, place.thread, typed.at)
        return [ask for ask in found if (ask.message or {}).get("thread") == place.thread]

    async def read_shown(self, ask: Ask) -> ShownRevision | None:
        """See `answerback_chat.typed_messages.Platform.read_shown`: Telegram does not say."""
        return None

    async def _ask_of_reply(self, typed: TypedMessage, replied: str) -> Ask | None:
        """The open ask whose message or reminder somebody replied to, however many are open there, as they saw it."""
        if typed.shown is not None:
            control, _ = typed.shown
            ask = await self._wait_for_message_id(control.ask_id, replied)
            return ask if ask and ask.open and (ask.message or {}).get("id") == replied else None
        about = await self._asks.draft(about_key(replied))
        ask = await self._asks.get(about) if isinstance(about, str) else None
        return ask if ask and ask.open else None

    async def _wait_for_message_id(self, ask_id: str, replied: str) -> Ask | None:
        """Return an ask once the id of its live message is stored, or as it was where it left the replied message.

        Raises:
            PlatformError: the id was not stored in time.
        """
        began, backoff = time.monotonic(), Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while (ask := await self._asks.get(ask_id)) and ask.open:
            if ask.left is not None and ask.left.message.get("id") == replied:
                return as_left_behind(ask)
            if ask.seen:
                break
            if time.monotonic() - began > MESSAGE_ID_TIMEOUT:
                raise PlatformUnavailableError(
                    "it is not stored yet which message is the ask's own"
                )
            await backoff.wait()
        return ask

    async def mark_taken(self, typed: TypedMessage) -> None:
        """See `answerback_chat.typed_messages.Platform.mark_taken`."""
        await self._helpers.react(typed.id, TAKEN)

    async def tell_author(self, typed: TypedMessage, text: str) -> None:
        """Send the author a direct message, or if they have never written to the bot, reply in place."""
        await self._helpers.mark(typed.id, REFUSED)
        payload = compose([text], [])
        if typed.place.is_group:
            try:
                direct = Place(typed.actor.person.user_id)
                await self._helpers.send(direct, payload)
            except (RateLimitedError, PlatformUnavailableError):
                raise
            except PlatformError:
                pass  # they have not started a chat with the bot
            else:
                return
        await self._helpers.send(typed.place, payload, typed.id)
