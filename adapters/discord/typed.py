"""Typed messages: which of them are meant for an ask, and what becomes of them.

Any message in a thread that the ask's own prompt started or in a direct message is; elsewhere only
one that mentions the bot or replies to the prompt. Everything else is left alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote
from weakref import WeakValueDictionary

from pydantic import JsonValue

from adapters.discord import parse
from adapters.discord.blocks import Json
from adapters.discord.calls import Calls
from adapters.discord.channels import Channels, Kind
from adapters.discord.parse import SURFACE, Typed
from bot.ask import Ask
from bot.errors import PlatformError, StoreError
from bot.ports import Acted, Asks, Rejected, Why

logger = logging.getLogger(__name__)

TAKEN: Final = "✅"
UNFIT: Final = "❌"


class Listener:
    """Takes in messages as the gateway brings them."""

    def __init__(self, asks: Asks, calls: Calls, channels: Channels) -> None:
        self._asks = asks
        self._calls = calls
        self._channels = channels
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def heard(self, body: Json, bot_id: str) -> None:
        """One message: taken where it is meant for an ask, and marked."""
        typed = parse.typed(body, bot_id)
        if typed is None:
            return
        turn = self._turns.setdefault(typed.channel_id, asyncio.Lock())
        async with turn:  # what is typed in one place counts in the order in which it was typed
            mark = await self._take(typed, bot_id)
        if mark is not None:
            await self._mark(typed, mark)

    async def _take(self, typed: Typed, bot_id: str) -> str | None:
        try:
            ask = await self._meant(typed, bot_id)
            if ask is None:
                return None
            told = await self._asks.typed(ask.id, typed.text, typed.actor, delivery=typed.delivery)
        except (PlatformError, StoreError) as error:
            extra = {"action": "typed_lost", "code": getattr(error, "code", None)}
            logger.warning("A typed message could not be taken: %s", error, extra=extra)
            return None
        if isinstance(told, Acted):
            return TAKEN
        return UNFIT if isinstance(told, Rejected) and told.why is Why.INVALID else None

    async def _meant(self, typed: Typed, bot_id: str) -> Ask | None:
        if typed.guild_id is None:
            found = await self._asks.open_in(SURFACE, typed.channel_id, None)
            return _replied_to(found, typed) or (found[0] if found else None)
        place = await self._channels.place(typed.channel_id)
        if place.kind is Kind.THREAD:
            found = await self._asks.open_in(SURFACE, place.parent or "", typed.channel_id)
        elif typed.reply_to is not None or bot_id in typed.mentioned:
            found = await self._asks.open_in(SURFACE, typed.channel_id, None)
        else:
            return None
        if (replied := _replied_to(found, typed)) is not None:
            return replied
        for ask in found:
            own = _message_id(ask) == typed.channel_id
            here = place.kind is Kind.THREAD or (ask.thread is not None and ask.thread.id is None)
            if own or (bot_id in typed.mentioned and here):
                return ask
        return None

    async def _mark(self, typed: Typed, emoji: str) -> None:
        path = f"/channels/{typed.channel_id}/messages/{typed.id}/reactions/{quote(emoji)}/@me"
        try:
            await self._calls.request("PUT", path)
        except PlatformError as error:
            extra = {"action": "mark_missing", "code": error.code}
            logger.info("A message that was taken could not be marked: %s", error, extra=extra)


def _replied_to(found: Sequence[Ask], typed: Typed) -> Ask | None:
    if typed.reply_to is None:
        return None
    return next((ask for ask in found if _message_id(ask) == typed.reply_to), None)


def _message_id(ask: Ask) -> JsonValue:
    return (ask.message or {}).get("id")
