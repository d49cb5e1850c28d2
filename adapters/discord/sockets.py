"""The connection to Discord's gateway, by discord.py: kept up, resumed, sharded; events handed on raw.

No view, message or member is kept: what discord.py would parse and cache of interactions and
messages is handed on as the JSON that came.
https://docs.discord.com/developers/events/gateway
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from pydantic import JsonValue

from adapters.discord.blocks import Json
from adapters.discord.calls import Calls
from bot.errors import PlatformError

logger = logging.getLogger(__name__)

Shards: TypeAlias = int | Literal["auto"]
Handler: TypeAlias = Callable[[Json], None]

GRACE: Final = 60.0
"""Seconds of a lost connection before people count as out of reach: it mostly comes back within a few."""
FIRST_CONNECT: Final = 10.0
"""Seconds that a start waits for the first connection."""
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_FATAL_PAUSE: Final = 300.0


class Gateway:
    """Holds the connection and says how it stands.

    Args:
        content: whether to ask for the text of all messages (a privileged intent); where the
            application lacks it, the connection is made without.
        shards: how many connections share the servers; "auto" as Discord advises.
    """

    def __init__(
        self,
        calls: Calls,
        token: str,
        *,
        content: bool,
        shards: Shards,
        on_interaction: Handler,
        on_message: Handler,
    ) -> None:
        self._calls = calls
        self._token = token
        self._content = content
        self._shards = shards
        self._handlers = {"INTERACTION_CREATE": on_interaction, "MESSAGE_CREATE": on_message}
        self._task: asyncio.Task[None] | None = None
        self._client: discord.Client | None = None
        self._first = asyncio.Event()
        self._lost_at: float | None = time.monotonic() - GRACE
        self._trouble = "the gateway is not connected yet"

    async def start(self) -> None:
        """Begins to connect, and waits for it a little."""
        self._task = asyncio.create_task(self._run(), name="discord gateway")
        try:
            async with asyncio.timeout(FIRST_CONNECT):
                await self._first.wait()
        except TimeoutError:
            logger.warning(
                "The gateway is not connected yet: %s",
                self._trouble,
                extra={"action": "gateway_slow"},
            )

    async def stop(self) -> None:
        """Disconnects."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def trouble(self) -> str | None:
        """None while connected, or for so short a time not connected that nobody need know."""
        if self._lost_at is None or time.monotonic() - self._lost_at < GRACE:
            return None
        return self._trouble

    def connected(self) -> None:
        """The connection stands."""
        self._lost_at = None
        self._first.set()

    def lost(self) -> None:
        """The connection is gone; discord.py makes it again."""
        if self._lost_at is None:
            self._lost_at = time.monotonic()
            self._trouble = "the connection to Discord's gateway is lost and being made again"

    # --- connecting ------------------------------------------------------------------------------

    async def _run(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            wait = await self._connect_once()
            if self._lost_at is None:
                pause = _FIRST_PAUSE
            self.lost()
            await asyncio.sleep(pause if wait is None else wait)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _connect_once(self) -> float | None:
        """Connects until that ends; how long to wait before the next try, where the reason tells."""
        try:
            await self._point()
            self._client = self._make()
            async with self._client as client:
                await client.start(self._token, reconnect=True)
        except discord.PrivilegedIntentsRequired:
            self._content = False
            logger.warning(
                "The application lacks the Message Content intent: typed answers are read in direct messages, "
                "replies to the prompt and mentions only. `answerback doctor --fix` switches it on.",
                extra={"action": "message_content_missing"},
            )
            return 0.0
        except discord.LoginFailure:
            return self._fatal("the bot token is not valid: set discord.bot_token to the portal's")
        except discord.ConnectionClosed as closed:
            return self._fatal(
                f"Discord closed the gateway with {closed.code}: see `answerback doctor`"
            )
        except (PlatformError, discord.DiscordException, aiohttp.ClientError, OSError) as error:
            self._trouble = f"the gateway cannot be reached: {error}"
            logger.warning("The gateway failed: %s", error, extra={"action": "gateway_failed"})
        return None

    def _fatal(self, trouble: str) -> float:
        self._trouble = trouble
        self._first.set()
        logger.error(
            "Discord refuses the gateway: %s", trouble, extra={"action": "gateway_refused"}
        )
        return _FATAL_PAUSE

    async def _point(self) -> None:
        """Points discord.py at the API in use; it knows one for the whole process."""
        Route.BASE = self._calls.url
        found = await self._calls.get("/gateway")
        if isinstance(found, dict) and isinstance(found.get("url"), str):
            DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(str(found["url"]))

    def _make(self) -> discord.Client:
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
        intents.message_content = self._content
        options: dict[str, object] = {
            "intents": intents,
            "max_messages": None,
            "member_cache_flags": discord.MemberCacheFlags.none(),
            "chunk_guilds_at_startup": False,
            "guild_ready_timeout": 0.0,  # nothing here waits for the servers' caches to be full
            "allowed_mentions": discord.AllowedMentions.none(),
        }
        client: discord.Client
        if self._shards == 1:
            client = _Single(self, **options)
        else:
            client = _Sharded(
                self, shard_count=None if self._shards == "auto" else self._shards, **options
            )
        # discord.py keeps the handlers of raw events in this table, for every shard the same one.
        client._connection.parsers.update({name: self._raw(name) for name in self._handlers})
        return client

    def _raw(self, name: str) -> Callable[[JsonValue], None]:
        handler = self._handlers[name]

        def handed_on(data: JsonValue) -> None:
            if isinstance(data, dict):
                handler(data)

        return handed_on


class _Single(discord.Client):
    """One connection."""

    def __init__(self, gateway: Gateway, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # options of one table for both kinds of client
        self._gateway = gateway

    async def on_ready(self) -> None:
        """A new session stands."""
        self._gateway.connected()

    async def on_resumed(self) -> None:
        """The session goes on."""
        self._gateway.connected()

    async def on_disconnect(self) -> None:
        """The connection is gone."""
        self._gateway.lost()


class _Sharded(discord.AutoShardedClient):
    """Several connections, each with its part of the servers."""

    def __init__(self, gateway: Gateway, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # options of one table for both kinds of client
        self._gateway = gateway

    async def on_ready(self) -> None:
        """All shards stand."""
        self._gateway.connected()

    async def on_shard_resumed(self, _shard_id: int) -> None:
        """One shard's session goes on."""
        self._gateway.connected()

    async def on_shard_disconnect(self, _shard_id: int) -> None:
        """One shard's connection is gone."""
        self._gateway.lost()
