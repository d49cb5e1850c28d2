"""Typed messages: which of them are meant for an ask, and what becomes of them.

A direct message is, a reply to a live message or to a reminder, and a message that mentions the bot.
Everything else is people talking to each other, and left alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote
from weakref import WeakValueDictionary

from answerback.core.ask import Ask, Destination
from answerback.core.errors import PlatformError, RateLimitedError, StoreError, UnavailableError
from answerback.core.labels import Labels
from answerback.ports.surface import Acted, Asks, Why
from answerback_chat.retry import retry
from answerback_discord import notes, parse
from answerback_discord.blocks import Json
from answerback_discord.calls import Calls
from answerback_discord.channels import Channels, Kind
from answerback_discord.parse import SURFACE, Replied, Typed
from answerback_discord.text import escape

logger = logging.getLogger(__name__)

TAKEN: Final = "✅"
UNFIT: Final = "❌"


class Listener:
    """Takes in messages, however they come."""

    def __init__(self, asks: Asks, calls: Calls, channels: Channels, labels: Labels) -> None:
        self._asks = asks
        self._calls = calls
        self._channels = channels
        self._labels = labels
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def heard(self, body: Json, bot_id: str) -> None:
        """One message: taken and marked where it is meant for an ask, or its author is told why not."""
        typed = parse.typed(body, bot_id)
        if typed is None or not _is_addressed(typed, bot_id):
            return
        turn = self._turns.setdefault(typed.channel_id, asyncio.Lock())
        async with turn:  # what is typed in one place counts in the order in which it was typed
            refusal = await self._refusal(typed)
        if refusal is None:
            await self._mark(typed, TAKEN)
        elif refusal:
            await self._mark(typed, UNFIT)
            await self._told(typed, refusal)

    async def _refusal(self, typed: Typed) -> str | None:
        """Why the words were not taken, as markdown; None where they were, empty where nothing is to be told."""
        try:
            return await retry(lambda: self._taken(typed))
        except (PlatformError, StoreError) as error:
            extra = {"action": "typed_lost", "code": getattr(error, "code", None)}
            logger.warning("A typed message could not be taken: %s", error, extra=extra)
        return escape(self._labels.words_not_kept)

    async def _taken(self, typed: Typed) -> str | None:
        if await self._asks.draft(_told_key(typed)) is not None:
            return ""
        meant = await self._meant(typed)
        if not meant and typed.guild_id is not None and not typed.called:
            return ""  # somebody replied to a record, or to a note
        if len(meant) != 1:
            return escape(self._labels.which_one_reply if meant else self._labels.nothing_open)
        told = await self._asks.typed(
            meant[0].id, typed.text, typed.actor, at=typed.at, delivery=typed.delivery
        )
        if isinstance(told, Acted):
            return None
        if told.why is Why.UNCHECKED:
            raise UnavailableError("Whether who typed this may answer is not known yet")
        return notes.refusal(told, self._labels, typed.actor.person.user_id)

    async def _meant(self, typed: Typed) -> Sequence[Ask]:
        """The asks that a message may be meant for: it is taken where there is one alone."""
        if typed.replied is not None:
            ask = await self._shown_at(typed.replied)
            return [ask] if ask else []
        if typed.guild_id is None:
            return await self._asks.open_in(SURFACE, typed.channel_id, None)
        place = await self._channels.place(typed.channel_id)
        if place.kind is Kind.THREAD:
            return await self._asks.open_in(SURFACE, place.parent or "", typed.channel_id)
        found = await self._asks.open_in(SURFACE, typed.channel_id, None)
        return [ask for ask in found if (ask.message or {}).get("channel") == typed.channel_id]

    async def _shown_at(self, replied: Replied) -> Ask | None:
        """The open ask whose live message somebody replied to, however many are open there."""
        ask_id = replied.ask_id
        if not replied.shown:
            path = f"/channels/{replied.channel_id}/messages/{replied.id}"
            message = await self._calls.get(path)
            ask_id = parse.shown_in(message) if isinstance(message, dict) else None
        ask = await self._asks.get(ask_id) if ask_id else None
        return ask if ask and ask.open and _message_id(ask) == replied.id else None

    async def _told(self, typed: Typed, sentence: str) -> None:
        """Tells a person why their words were not taken: directly, and where they take no direct messages, in place.

        Discord shows something to one person alone only where they clicked, and a message is no click.
        """
        try:
            await retry(lambda: self._tell(typed, sentence))
        except PlatformError as error:
            extra = {"action": "note_missing", "code": error.code}
            logger.warning("Somebody could not be told about their words: %s", error, extra=extra)
            return
        await self._asks.save_draft(_told_key(typed), value=True)

    async def _tell(self, typed: Typed, sentence: str) -> None:
        if typed.guild_id is not None:
            try:
                direct = await self._channels.destination(
                    Destination(surface=SURFACE, user=typed.actor.person.user_id)
                )
                await self._say(direct.id, typed, f"{_address(typed)}\n{sentence}")
            except (RateLimitedError, UnavailableError):
                raise
            except PlatformError:
                pass  # they take no direct messages
            else:
                return
        await self._say(typed.channel_id, typed, sentence)

    async def _say(self, channel_id: str, typed: Typed, content: str) -> None:
        body: Json = {
            "content": content,
            "allowed_mentions": {"parse": []},
            "nonce": typed.id,
            "enforce_nonce": True,
        }
        if channel_id == typed.channel_id:
            body["message_reference"] = {"message_id": typed.id, "fail_if_not_exists": False}
        await self._calls.request("POST", f"/channels/{channel_id}/messages", body)

    async def _mark(self, typed: Typed, emoji: str) -> None:
        path = f"/channels/{typed.channel_id}/messages/{typed.id}/reactions/{quote(emoji)}/@me"
        try:
            await retry(lambda: self._calls.request("PUT", path))
        except PlatformError as error:
            extra = {"action": "mark_missing", "code": error.code}
            logger.info("A message could not be marked: %s", error, extra=extra)


def _message_id(ask: Ask) -> object:
    return (ask.message or {}).get("id")


def _address(typed: Typed) -> str:
    """Where the words stand."""
    place = {"guild": typed.guild_id, "channel": typed.channel_id, "id": typed.id}
    return notes.link(place)


def _told_key(typed: Typed) -> str:
    """The key under which it is kept that somebody was told why their words were not taken."""
    return f"told:{typed.delivery}"


def _is_addressed(typed: Typed, bot_id: str) -> bool:
    return typed.guild_id is None or typed.replied is not None or bot_id in typed.mentioned
