"""The messages beside an ask's own: full texts, confirmations, and requests to type. Each replies to another message.

None of them counts as shown: they may be deleted, doubled or lost, and nothing but convenience is lost with them.
"""

from __future__ import annotations

import logging
from typing import Final

from answerback.core.errors import DestinationGoneError, PayloadRejectedError, PlatformError
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.errors import MESSAGE_GONE, NOT_MODIFIED, GroupMigratedError
from answerback_telegram.html_text import escape
from answerback_telegram.keyboards import Json
from answerback_telegram.parse import INBOX, Place, chat_id, id_of_sent, message_id
from answerback_telegram.render import compose

logger = logging.getLogger(__name__)

TAKEN: Final = "👍"
REFUSED: Final = "👎"


def address(full: str) -> Json:
    """Return the parameters that name a message."""
    return {"chat_id": chat_id(full), "message_id": message_id(full)}


def place_params(place: Place) -> Json:
    """Return the parameters that name a place to send to."""
    topic: Json = {"message_thread_id": int(place.thread)} if place.thread else {}
    return {"chat_id": place.chat, **topic}


class HelperMessages:
    """Sends, edits and deletes such messages."""

    def __init__(self, calls: TelegramApi) -> None:
        self._calls = calls
        self.bot_name = ""
        """Once Telegram has reported it."""

    async def send(self, place: Place, payload: Json, reply_to: str | None = None) -> str:
        """Send a message, as a reply if the other message is still there; return its full id."""
        params = place_params(place) | payload
        if reply_to is not None and chat_id(reply_to) == place.chat:
            replied: Json = {"message_id": message_id(reply_to)}
            params |= {"reply_parameters": replied | {"allow_sending_without_reply": True}}
        return id_of_sent(await self._calls.call_object("sendMessage", params), place.chat)

    async def send_privately(
        self, user_id: str, payload: Json, place: Place, reply_to: str | None
    ) -> None:
        """Send a message that only one person sees; tell those who cannot be written to how to change that."""
        try:
            await self.send(Place(user_id), payload)
        except DestinationGoneError:
            start = f"https://t.me/{self.bot_name}?start={INBOX}"
            await self.send(place, compose([escape(start)], []), reply_to)

    async def edit(self, full: str, payload: Json) -> None:
        await self._calls.call("editMessageText", address(full) | payload)

    async def replace(self, full: str, payload: Json) -> bool:
        """Let a message show something else, or the same; return whether it is still there."""
        try:
            await self.edit(full, payload)
        except PayloadRejectedError as error:
            if error.code in MESSAGE_GONE:
                return False
            if error.code != NOT_MODIFIED:
                raise
        return True

    async def delete(self, full: str) -> None:
        """Delete a message, or take its buttons away if it is too old, or in a group that has become a supergroup."""
        try:
            await self._calls.call("deleteMessage", address(full))
        except (PayloadRejectedError, GroupMigratedError):
            empty: Json = {"reply_markup": {"inline_keyboard": []}}
            await self._calls.call("editMessageReplyMarkup", address(full) | empty)

    async def react(self, full: str, emoji: str) -> None:
        reaction: Json = {"reaction": [{"type": "emoji", "emoji": emoji}]}
        await self._calls.call("setMessageReaction", address(full) | reaction)

    async def mark(self, full: str, emoji: str) -> None:
        """Mark a person's message where the chat allows it."""
        try:
            await self.react(full, emoji)
        except PlatformError as error:
            extra = {"action": "mark_missing", "code": error.code}
            logger.info("A message could not be marked: %s", error, extra=extra)
