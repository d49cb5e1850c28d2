"""Where words for an ask may stand on Discord, and what was typed there after a moment.

https://docs.discord.com/developers/resources/message#get-channel-messages
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.ports.surface import Asks
from answerback_chat.catch_up import MissedMessageReader
from answerback_discord import limits, parse
from answerback_discord.api_client import DiscordApi, query_after
from answerback_discord.components import Json
from answerback_discord.parse import SURFACE
from answerback_discord.typed_messages import TypedMessageListener

_PAGES: Final = 10
"""Pages that are read at one place, at the most."""


class Conversation(NamedTuple):
    """A channel, a thread, or (without ``guild``) direct messages."""

    channel: str
    guild: str | None = None


def create_missed_message_reader(
    asks: Asks, calls: DiscordApi, listener: TypedMessageListener, bot_id: Callable[[], str | None]
) -> MissedMessageReader[Conversation]:
    """Reads what was typed while no event came."""

    async def read(place: Conversation, after: float) -> float | None:
        last: float | None = None
        behind = str((int(after * 1_000) - limits.EPOCH_MS) << 22)
        for _ in range(_PAGES):
            page = await _page(calls, place, behind)
            for message in page:
                behind = str(message["id"])
                last = parse.snowflake_time(behind)
                if last is not None and last > after:
                    await listener.handle_message(_as_heard(message, place), bot_id() or "")
            if len(page) < limits.MESSAGES_PER_PAGE:
                break
        return last

    return MissedMessageReader(SURFACE, asks, _places, read)


def _places(ask: Ask) -> Sequence[Conversation]:
    """Where it stands, which takes replies and mentions, and its thread."""
    message = ask.message or {}
    if "id" not in message:
        return ()
    guild = message.get("guild")
    channels = [message.get("channel"), message.get("thread")]
    named = [str(channel) for channel in channels if isinstance(channel, str)]
    server = guild if isinstance(guild, str) else None
    return [Conversation(channel, server) for channel in dict.fromkeys(named)]


async def _page(calls: DiscordApi, place: Conversation, after: str) -> Sequence[Json]:
    """What was written behind a message, oldest first."""
    found = await calls.get(f"/channels/{place.channel}/messages", query_after(after))
    listed = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return sorted(listed, key=lambda each: int(str(each["id"])))


def _as_heard(message: Json, place: Conversation) -> Json:
    """A message as the gateway would have brought it, which says in which server it stands."""
    server: dict[str, JsonValue] = {} if place.guild is None else {"guild_id": place.guild}
    return {**message, **server}
