"""Look up Discord's channels and threads (their kind, parent and server), and unarchive threads.

https://docs.discord.com/developers/resources/channel
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from answerback.core.ask import Destination
from answerback.core.errors import PlatformUnavailableError
from answerback_chat.control_codec import object_of, text_of
from answerback_discord.api_client import DiscordApi
from answerback_discord.components import Json

THREADS: Final = frozenset({10, 11, 12})
_REMEMBERED: Final = 2_000


class ChannelKind(StrEnum):
    """The kind of a place, which decides how an ask is posted there."""

    CHANNEL = "channel"
    """The ask is a message, with a thread created from it."""
    THREAD = "thread"
    FORUM = "forum"
    """The ask is a post, which is a thread with its first message."""
    DIRECT = "direct"


_KINDS: Final = {
    **dict.fromkeys(THREADS, ChannelKind.THREAD),
    **dict.fromkeys((15, 16), ChannelKind.FORUM),
    1: ChannelKind.DIRECT,
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where messages go: ``parent`` is a thread's channel, ``guild`` the server (None for direct messages)."""

    id: str
    kind: ChannelKind
    parent: str | None = None
    guild: str | None = None


class ChannelDirectory:
    """Looks places up and remembers up to 2,000 of them; what is remembered about a place never changes."""

    def __init__(self, calls: DiscordApi) -> None:
        self._calls = calls
        self._known: OrderedDict[str, Place] = OrderedDict()

    async def get_place(self, channel_id: str) -> Place:
        """Look up a channel or thread.

        Raises:
            PlatformError: the lookup failed.
        """
        known = self._known.get(channel_id)
        if known is None:
            return self._remember(object_of(await self._calls.get(f"/channels/{channel_id}")))
        self._known.move_to_end(channel_id)
        return known

    async def resolve_destination(self, to: Destination) -> Place:
        """Look up the place that a destination names.

        Raises:
            PlatformError: the lookup failed, or the person does not accept direct messages.
        """
        if to.user is not None:
            body: Json = {"recipient_id": to.user}
            opened = await self._calls.request("POST", "/users/@me/channels", body)
            return self._remember(object_of(opened))
        return await self.get_place(to.thread or to.channel or "")

    def _remember(self, channel: Json) -> Place:
        """Remember a channel from Discord's description of it."""
        channel_id, number = channel.get("id"), channel.get("type")
        if not isinstance(channel_id, str) or not isinstance(number, int):
            raise PlatformUnavailableError("Discord's description of a channel has no id or type.")
        kind = _KINDS.get(number, ChannelKind.CHANNEL)
        parent = text_of(channel.get("parent_id")) if kind is ChannelKind.THREAD else ""
        guild = text_of(channel.get("guild_id"))
        place = Place(channel_id, kind, parent or None, guild or None)
        self._known[channel_id] = place
        self._known.move_to_end(channel_id)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)  # the least recently used
        return place

    async def unarchive(self, thread_id: str) -> None:
        """Reopen an archived thread: https://docs.discord.com/developers/topics/threads.

        Raises:
            PlatformError: the thread is locked, or the app lacks the permission.
        """
        await self._calls.request("PATCH", f"/channels/{thread_id}", {"archived": False})
