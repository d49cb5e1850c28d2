"""Handle typed messages: decide which of them are meant for an ask, and what happens to them.

Direct messages are, as well as replies to a live message or a reminder, and messages that mention the bot. Everything
else is people talking to each other, and is ignored.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote
from weakref import WeakValueDictionary

from answerback.core.ask import Ask, Destination
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
from answerback.presentation.attribution import fill
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.bot_identity import BotIdentity
from answerback_chat.retry import retry
from answerback_chat.typed_messages import TypedMessageHandler
from answerback_client.backoff import Backoff
from answerback_discord import parse, private_notes
from answerback_discord.api_client import DiscordApi
from answerback_discord.channels import ChannelDirectory, ChannelKind
from answerback_discord.components import Json
from answerback_discord.markdown_text import escape
from answerback_discord.parse import SURFACE, ReferencedMessage, TypedMessage

logger = logging.getLogger(__name__)

MESSAGE_ID_TIMEOUT: Final = 5.0
"""Seconds that each of the few attempts waits until the id of an ask's message is stored: together more than two of
the leases with which processes claim a message."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_TAKEN_MARK: Final = "✅"
_REFUSED_MARK: Final = "❌"


class TypedMessageListener:
    """Handles messages from any source; see `answerback_chat.typed_messages.Platform`."""

    def __init__(
        self,
        asks: Asks,
        calls: DiscordApi,
        channels: ChannelDirectory,
        labels: Labels,
        identity: BotIdentity,
        background: BackgroundTasks,
        fence: Callable[[], Fence | None],
    ) -> None:
        self._asks = asks
        self._calls = calls
        self._channels = channels
        self._labels = labels
        self._identity = identity
        self._typed = TypedMessageHandler(asks, self, background, fence)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def handle_message(self, body: Json) -> None:
        """Handle one message, if it is meant for us. Discord never resends a message, so failures are retried here."""
        bot_id = self._identity.bot_user or ""
        typed = parse.parse_typed_message(body, bot_id)
        if typed is None or not _is_addressed(typed, bot_id):
            return
        lock = self._locks.setdefault(typed.channel_id, asyncio.Lock())
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

        Empty for a reply in a server whose text does not mention the bot: it replies to a record or a note.
        """
        if not meant and typed.guild_id is not None and not typed.called:
            return ""
        return escape(self._labels.which_one_quote if meant else self._labels.nothing_open)

    def refusal(self, rejected: Rejected, typed: TypedMessage) -> str:
        """See `answerback_chat.typed_messages.Platform.refusal`."""
        return private_notes.rejection_text(rejected, self._labels, typed.actor.person.user_id)

    def moved_note(self, ask: Ask) -> str:
        """See `answerback_chat.typed_messages.Platform.moved_note`."""
        return private_notes.moved_text(ask, self._labels)

    async def find_candidates(self, typed: TypedMessage) -> Sequence[Ask]:
        """Return the ask that the message replies to, or without a reply, those that looked open in the same place."""
        if typed.replied is not None:
            ask = await self._ask_of_reply(typed.replied)
            return [ask] if ask else []
        if typed.guild_id is None:
            return await self._asks.list_open_at(SURFACE, typed.channel_id, None, typed.at)
        place = await self._channels.get_place(typed.channel_id)
        if place.kind is ChannelKind.THREAD:
            parent = place.parent or ""
            return await self._asks.list_open_at(SURFACE, parent, typed.channel_id, typed.at)
        open_asks = await self._asks.list_open_at(SURFACE, typed.channel_id, None, typed.at)
        return [ask for ask in open_asks if (ask.message or {}).get("channel") == typed.channel_id]

    async def read_shown(self, ask: Ask) -> ShownRevision | None:
        """See `answerback_chat.typed_messages.Platform.read_shown`: the response to a click may have updated it."""
        channel = (ask.message or {}).get("channel")
        body = await self._calls.get(f"/channels/{channel}/messages/{_message_id(ask)}")
        message = body if isinstance(body, dict) else {}
        control, since = parse.live_message_control(message), parse.changed_at(message)
        if control is None or control.ask_id != ask.id or since is None:
            return None
        return ShownRevision(control.revision, since)

    async def _ask_of_reply(self, replied: ReferencedMessage) -> Ask | None:
        """The open ask whose message somebody replied to, however many asks are open there, as they saw it."""
        ask_id = replied.ask_id
        if not replied.shown:
            path = f"/channels/{replied.channel_id}/messages/{replied.id}"
            message = await self._calls.get(path)
            control = parse.live_message_control(message) if isinstance(message, dict) else None
            ask_id = control.ask_id if control else None
        ask = await self._wait_for_message_id(ask_id, replied.id) if ask_id else None
        return ask if ask and ask.open and _message_id(ask) == replied.id else None

    async def _wait_for_message_id(self, ask_id: str, replied: str) -> Ask | None:
        """Return an ask once the id of its live message is stored, or as it was where it left the replied message.

        If a process died after posting the message, another process finds it and stores its id once the claim's lease
        has expired.

        Raises:
            PlatformError: the id was not stored in time.
        """
        began, backoff = time.monotonic(), Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        # The message's id is stored before its thread is created, and only then the time from which it is visible.
        while (ask := await self._asks.get(ask_id)) and ask.open:
            if ask.left is not None and ask.left.message.get("id") == replied:
                return as_left_behind(ask)
            if ask.seen:
                break
            if time.monotonic() - began > MESSAGE_ID_TIMEOUT:
                raise PlatformUnavailableError(
                    "it is not stored yet whether this message is the ask's own"
                )
            await backoff.wait()
        return ask

    async def tell_author(self, typed: TypedMessage, text: str) -> None:
        """Send the author a direct message, or if they do not accept any, reply in place.

        Discord can show something to one person only in response to a click, and a message is not a click.
        """
        try:
            await retry(lambda: self._react(typed, _REFUSED_MARK))
        except PlatformError as error:
            extra = {"action": "mark_missing", "code": error.code}
            logger.info("A message could not be marked: %s", error, extra=extra)
        if typed.guild_id is not None:
            try:
                to = Destination(surface=SURFACE, user=typed.actor.person.user_id)
                direct = await retry(lambda: self._channels.resolve_destination(to))
                await self._send(direct.id, typed, self._about(typed, text))
            except (RateLimitedError, PlatformUnavailableError):
                raise
            except PlatformError:
                pass  # they do not accept direct messages
            else:
                return
        await self._send(typed.channel_id, typed, text)

    def _about(self, typed: TypedMessage, text: str) -> str:
        """Return a note for a direct message, which must say what it is about: with one link."""
        if parse.linked_message(text) is not None:
            return text  # it is about a question, and says which one
        about = fill(self._labels.about_message, escape, link=_url_of(typed))
        return f"{about}\n{text}"

    async def _send(self, channel_id: str, typed: TypedMessage, content: str) -> None:
        body: Json = {
            "content": content,
            "allowed_mentions": {"parse": []},
            "nonce": typed.id,
            "enforce_nonce": True,
        }
        if channel_id == typed.channel_id:
            body["message_reference"] = {"message_id": typed.id, "fail_if_not_exists": False}
        path = f"/channels/{channel_id}/messages"
        await retry(lambda: self._calls.request("POST", path, body))

    async def mark_taken(self, typed: TypedMessage) -> None:
        """See `answerback_chat.typed_messages.Platform.mark_taken`."""
        await self._react(typed, _TAKEN_MARK)

    async def _react(self, typed: TypedMessage, emoji: str) -> None:
        path = f"/channels/{typed.channel_id}/messages/{typed.id}/reactions/{quote(emoji)}/@me"
        await self._calls.request("PUT", path)


def _message_id(ask: Ask) -> object:
    return (ask.message or {}).get("id")


def _url_of(typed: TypedMessage) -> str:
    """The URL of a typed message."""
    place = {"guild": typed.guild_id, "channel": typed.channel_id, "id": typed.id}
    return private_notes.message_url(place)


def _is_addressed(typed: TypedMessage, bot_id: str) -> bool:
    return typed.guild_id is None or typed.replied is not None or bot_id in typed.mentioned
