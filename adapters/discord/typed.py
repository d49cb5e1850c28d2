"""Typed messages: which of them are meant for an ask, and what becomes of them.

A reply to a live message or to a reminder is, and any message in a thread that the ask's own prompt
started or in a direct message; elsewhere only one that mentions the bot. Everything else is left alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote
from weakref import WeakValueDictionary

from discord.utils import snowflake_time

from adapters.discord import parse
from adapters.discord.blocks import Json
from adapters.discord.calls import Calls
from adapters.discord.channels import Channels, Kind
from adapters.discord.parse import SURFACE, Replied, Typed
from adapters.discord.text import inert
from adapters.insisting import insisting
from bot.ask import Ask
from bot.errors import PlatformError, StoreError
from bot.labels import Labels
from bot.ports import Acted, Asks, Rejected, Why

logger = logging.getLogger(__name__)

TAKEN: Final = "✅"
UNFIT: Final = "❌"


class Listener:
    """Takes in messages as the gateway brings them."""

    def __init__(self, asks: Asks, calls: Calls, channels: Channels, labels: Labels) -> None:
        self._asks = asks
        self._calls = calls
        self._channels = channels
        self._labels = labels
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
            return await insisting(lambda: self._taken(typed, bot_id))
        except (PlatformError, StoreError) as error:
            extra = {"action": "typed_lost", "code": getattr(error, "code", None)}
            logger.warning("A typed message could not be taken: %s", error, extra=extra)
        addressed = typed.guild_id is None or typed.replied or bot_id in typed.mentioned
        return UNFIT if addressed or typed.in_thread else None

    async def _taken(self, typed: Typed, bot_id: str) -> str | None:
        meant = await self._meant(typed, bot_id)
        if len(meant) > 1:
            await self._ask_which(typed)
            return None
        if not meant:
            # Who replies to the app alone with it means the app, and learns that it was in vain.
            return UNFIT if typed.replied and typed.guild_id is None else None
        told = await self._asks.typed(
            meant[0].id,
            typed.text,
            typed.actor,
            delivery=typed.delivery,
            at=snowflake_time(int(typed.id)).timestamp(),
        )
        if isinstance(told, Acted):
            return TAKEN
        unfit = {Why.INVALID, Why.UNCHECKED, Why.STALE}
        return UNFIT if isinstance(told, Rejected) and told.why in unfit else None

    async def _meant(self, typed: Typed, bot_id: str) -> Sequence[Ask]:
        """The asks that a message may be meant for: it is taken where there is one alone."""
        if typed.replied is not None:
            ask = await self._shown_at(typed.replied)
            return [ask] if ask else []
        if typed.guild_id is None:
            return await self._asks.open_in(SURFACE, typed.channel_id, None)
        called = bot_id in typed.mentioned
        place = await self._channels.place(typed.channel_id)
        if place.kind is Kind.THREAD:
            found = await self._asks.open_in(SURFACE, place.parent or "", typed.channel_id)
            return [ask for ask in found if called or _message_id(ask) == typed.channel_id]
        if not called:
            return []
        found = await self._asks.open_in(SURFACE, typed.channel_id, None)
        return [ask for ask in found if ask.thread is not None and ask.thread.id is None]

    async def _shown_at(self, replied: Replied) -> Ask | None:
        """The open ask whose live message somebody replied to, however many are open there."""
        ask_id = replied.ask_id
        if not replied.shown:
            path = f"/channels/{replied.channel_id}/messages/{replied.id}"
            message = await self._calls.get(path)
            ask_id = parse.shown_in(message) if isinstance(message, dict) else None
        ask = await self._asks.get(ask_id) if ask_id else None
        return ask if ask and ask.open and _message_id(ask) == replied.id else None

    async def _ask_which(self, typed: Typed) -> None:
        body: Json = {
            "content": inert(self._labels.which_one),
            "message_reference": {"message_id": typed.id, "fail_if_not_exists": False},
            "allowed_mentions": {"parse": []},
            "nonce": typed.id,
            "enforce_nonce": True,
        }
        await self._calls.request("POST", f"/channels/{typed.channel_id}/messages", body)

    async def _mark(self, typed: Typed, emoji: str) -> None:
        path = f"/channels/{typed.channel_id}/messages/{typed.id}/reactions/{quote(emoji)}/@me"
        try:
            await insisting(lambda: self._calls.request("PUT", path))
        except PlatformError as error:
            extra = {"action": "mark_missing", "code": error.code}
            logger.info("A message could not be marked: %s", error, extra=extra)


def _message_id(ask: Ask) -> object:
    return (ask.message or {}).get("id")
