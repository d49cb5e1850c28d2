"""Read the messages that were typed on Discord while no events arrived.

https://docs.discord.com/developers/resources/message#get-channel-messages
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from answerback.core.ask import Ask
from answerback.ports.surface import Asks
from answerback_chat.catch_up import MissedMessageReader, call_patiently
from answerback_chat.control_codec import objects_of, text_of, texts_of
from answerback_discord import limits, parse
from answerback_discord.api_client import DiscordApi, query_after
from answerback_discord.components import Json
from answerback_discord.parse import SURFACE
from answerback_discord.typed_messages import TypedMessageListener


class Conversation(NamedTuple):
    """A channel, a thread, or (without ``guild``) direct messages."""

    channel: str
    guild: str | None = None


def create_missed_message_reader(
    asks: Asks, calls: DiscordApi, listener: TypedMessageListener
) -> MissedMessageReader[Conversation]:
    """Create the reader of the messages that were typed while no events arrived."""

    async def read(place: Conversation, after: float) -> float | None:
        last: float | None = None
        after_id = str((int(after * 1_000) - limits.EPOCH_MS) << 22)
        while True:
            page = await call_patiently(partial(_page, calls, place, after_id))
            for message in page:
                after_id = str(message["id"])
                last = parse.snowflake_time(after_id)
                event = _as_gateway_event(message, place)
                await call_patiently(partial(listener.handle_message, event))
            if len(page) < limits.MESSAGES_PER_PAGE:
                return last

    return MissedMessageReader(SURFACE, asks, _conversations_of, read)


def _conversations_of(ask: Ask) -> Sequence[Conversation]:
    """The channel with the ask's message, where people may reply or mention the bot, and its thread."""
    message = ask.message or {}
    if "id" not in message:
        return ()
    server = text_of(message.get("guild")) or None
    ids = dict.fromkeys(texts_of([message.get("channel"), message.get("thread")]))
    return [Conversation(channel, server) for channel in ids]


async def _page(calls: DiscordApi, place: Conversation, after: str) -> Sequence[Json]:
    """The page of messages that follow a message, oldest first."""
    body = await calls.get(f"/channels/{place.channel}/messages", query_after(after))
    return sorted(objects_of(body), key=lambda each: int(str(each["id"])))


def _as_gateway_event(message: Json, place: Conversation) -> Json:
    """The message as the gateway would have delivered it, with the id of its server."""
    return message if place.guild is None else {**message, "guild_id": place.guild}
