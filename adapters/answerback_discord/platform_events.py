"""Handle Discord's events about messages, channels, servers and roles, so that no ask waits where nobody can answer.

Owns what each event means for the asks concerned: they are shown again, or fail with an explanation. The events need
no intent that Discord has to approve; `answerback_discord.connection` requests them.
https://docs.discord.com/developers/events/gateway-events
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue, ValidationError

from answerback.core.ask import Ask
from answerback.core.errors import (
    DestinationGoneError,
    PlatformUnavailableError,
)
from answerback.ports.live_messages import LiveMessages
from answerback_chat.bot_identity import BotIdentity
from answerback_chat.control_codec import objects_of
from answerback_chat.retry import handle_event
from answerback_discord.api_client import DiscordApi
from answerback_discord.channels import THREADS, ChannelKind
from answerback_discord.components import Json
from answerback_discord.events import Event
from answerback_discord.parse import SURFACE, snowflake_time

logger = logging.getLogger(__name__)

_REMOVED: Final = "the app was removed from the server."
_RECORD_SECONDS: Final = 120.0
"""Seconds within which a post is recorded, with the difference between the clocks."""
_JOINED_SECONDS: Final = 600.0
"""Seconds after the app was added to a server within which Discord reports that, with the difference between clocks."""
_TRIES: Final = 6
"""Times that the handling of an event is tried: Discord does not send it again."""
_NO_RESPONDERS_LEFT: Final = (
    "all roles that may answer were deleted on Discord. Ask again, and name responders that exist."
)


@dataclass(frozen=True, eq=False)
class EventHandler:
    """Handles events from the gateway."""

    asks: LiveMessages
    calls: DiscordApi
    identity: BotIdentity
    now: Callable[[], float]

    async def handle_event(self, name: str, data: Json) -> None:
        try:
            event = Event.model_validate(data)
        except ValidationError as error:
            where = [each["loc"] for each in error.errors(include_input=False)]
            logger.info(
                "An event of an unknown shape was ignored: %s",
                where,
                extra={"action": "odd_event", "event": name},
            )
            return
        await handle_event("Discord", lambda: _HANDLERS[name](self, event), _TRIES)

    # --- deleted ---------------------------------------------------------------------------------

    async def _messages_deleted(self, data: Event) -> None:
        for message_id in filter(None, (data.id, *data.ids)):
            # First: it may be recorded meanwhile.
            await self._require_recorded(message_id, data.channel_id)
            ask = await self.asks.find_by_message(SURFACE, message_id)
            if ask is not None:
                await self.asks.show_again(ask.id, deleted=True)

    async def _require_recorded(self, message_id: str, channel: str | None) -> None:
        """Raise if a deleted message may be one whose post is not recorded yet."""
        posted = snowflake_time(message_id)
        if posted is None or posted < self.now() - _RECORD_SECONDS:
            return
        starts_post = channel == message_id  # the first message of a forum's post has the post's id
        async for ask in self.asks.each_outdated(SURFACE):
            ref = ask.placement.message or {"id": None}
            here = ref.get("channel") == channel
            if "id" not in ref and (here or (starts_post and ref["kind"] == ChannelKind.FORUM)):
                raise PlatformUnavailableError("It is not stored yet what was deleted")

    async def _channel_deleted(self, data: Event) -> None:
        """Fail the asks whose message was in it, once Discord confirms that it is not merely hidden from the app."""
        gone: DestinationGoneError | None = None
        async for ask in self._open_asks_in(data):
            if gone is None:
                try:
                    await self.calls.get(f"/channels/{data.id}")
                except DestinationGoneError as error:
                    gone = error
                else:
                    return
            await self.asks.fail_unreachable(ask, str(gone))
        if gone is None:
            await self._require_recorded(data.id or "", data.id)

    async def _guild_deleted(self, data: Event) -> None:
        if data.unavailable:
            return  # an outage: https://docs.discord.com/developers/events/gateway-events#guild-delete
        async for ask in self.asks.each_open(SURFACE):
            if _guild_of(ask) == data.id:
                await self.asks.fail_unreachable(ask, _REMOVED)

    async def _role_deleted(self, data: Event) -> None:
        """Fail the asks that only holders of deleted roles may answer."""
        guild, deleted = data.guild_id, f"@{data.role_id}"
        known: frozenset[str] | None = None
        async for ask in self.asks.each_open(SURFACE):
            others = [who for who in ask.waits_for if who != deleted]
            if len(others) == len(ask.waits_for) or any(who[:1] != "@" for who in others):
                continue
            if others and _guild_of(ask) != guild:
                continue  # in direct messages a role of any server counts
            if others and known is None:
                listed = await self.calls.get(f"/guilds/{guild}/roles")
                known = frozenset(str(role.get("id")) for role in objects_of(listed))
            if not known or known.isdisjoint(who[1:] for who in others):
                await self.asks.fail_unreachable(ask, _NO_RESPONDERS_LEFT)

    # --- reopened --------------------------------------------------------------------------------

    async def _channel_changed(self, data: Event) -> None:
        """Show asks that could not be shown there before: permissions were granted, or a thread was unlocked."""
        if data.thread_metadata is not None and data.thread_metadata.locked:
            async for ask in self._open_asks_in(data):
                extra = {"action": "thread_locked", "ask_id": ask.id}
                text = "Nobody can answer in a locked thread: a moderator has to unlock it"
                logger.warning(text, extra=extra)
            return
        async for ask in self.asks.each_outdated(SURFACE):
            message, to = ask.placement.message or {}, ask.placement.destination
            places = {message.get(each) for each in ("channel", "parent", "thread")}
            if data.id in places | {to.channel, to.thread}:
                await self.asks.show_again(ask.id)

    async def _guild_added(self, data: Event) -> None:
        """Show what could not be shown while the app was not in the server, or while we were not connected."""
        await self._guild_changed(data.model_copy(update={"guild_id": data.id}))
        joined = data.joined_at.timestamp() if data.joined_at else 0.0
        if joined > self.now() - _JOINED_SECONDS:
            await self.asks.show_reopened(SURFACE, [each.id for each in data.channels])

    async def _guild_changed(self, data: Event) -> None:
        async for ask in self.asks.each_outdated(SURFACE):
            if _guild_of(ask) == data.guild_id:
                await self.asks.show_again(ask.id)

    async def _member_changed(self, data: Event) -> None:
        """Handle a change of the bot's own roles, which Discord reports without the privileged intent."""
        if data.user is not None and data.user.id == self.identity.bot_user:
            await self._guild_changed(data)

    async def _open_asks_in(self, data: Event) -> AsyncIterator[Ask]:
        """Iterate over the open asks whose live message is in a channel or thread."""
        place, is_thread = data.id or "", data.type in THREADS
        channel, thread = (data.parent_id or "", place) if is_thread else (place, None)
        async for ask in self.asks.each_open(SURFACE, channel, thread):
            if not is_thread or (ask.placement.message or {}).get("channel") == place:
                yield ask


def _guild_of(ask: Ask) -> JsonValue:
    return (ask.placement.message or {}).get("guild")


_HANDLERS: Final[Mapping[str, Callable[[EventHandler, Event], Awaitable[None]]]] = {
    "MESSAGE_DELETE": EventHandler._messages_deleted,
    "MESSAGE_DELETE_BULK": EventHandler._messages_deleted,
    "CHANNEL_DELETE": EventHandler._channel_deleted,
    "THREAD_DELETE": EventHandler._channel_deleted,
    "GUILD_CREATE": EventHandler._guild_added,
    "GUILD_DELETE": EventHandler._guild_deleted,
    "GUILD_ROLE_DELETE": EventHandler._role_deleted,
    "CHANNEL_UPDATE": EventHandler._channel_changed,
    "THREAD_UPDATE": EventHandler._channel_changed,
    "GUILD_ROLE_UPDATE": EventHandler._guild_changed,
    "GUILD_MEMBER_UPDATE": EventHandler._member_changed,
}
HANDLED_EVENTS: Final = frozenset(_HANDLERS)
"""The names of the events that `EventHandler` handles."""
