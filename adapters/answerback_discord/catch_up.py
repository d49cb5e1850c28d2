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
from answerback_chat.control_codec import text_of, texts_of
from answerback_discord import limits, parse
from answerback_discord.api_client import DiscordApi
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
    async def read(place: Conversation, after: float) -> float | None:
        last: float | None = None
        after_id = str((int(after * 1_000) - limits.EPOCH_MS) << 22)
        while True:
            page = await call_patiently(partial(calls.messages_after, place.channel, after_id))
            for message in sorted(page, key=lambda each: int(str(each["id"]))):
                after_id = str(message["id"])
                last = parse.snowflake_time(after_id)
                server: Json = {"guild_id": place.guild} if place.guild else {}
                await call_patiently(partial(listener.handle_message, message | server))
            if len(page) < limits.MESSAGES_PER_PAGE:
                return last

    return MissedMessageReader(SURFACE, asks, _conversations_of, read)


def _conversations_of(ask: Ask) -> Sequence[Conversation]:
    """The channel with the ask's message, where people may reply or mention the bot, and its thread."""
    message = ask.placement.message or {}
    if "id" not in message:
        return ()
    server = text_of(message.get("guild")) or None
    ids = dict.fromkeys(texts_of([message.get("channel"), message.get("thread")]))
    return [Conversation(channel, server) for channel in ids]
