"""The connection to Discord's gateway, by discord.py: kept up, resumed, sharded; events handed on raw.

Nothing is parsed or cached by discord.py: interactions and messages are handed on as the JSON that
came, and events that mean nothing here are passed over unread.
https://docs.discord.com/developers/events/gateway
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from pydantic import JsonValue

from answerback.core.errors import PlatformError
from answerback_chat.outage_log import Outage
from answerback_client.backoff import Backoff
from answerback_discord.api_client import DiscordApi
from answerback_discord.components import Json

logger = logging.getLogger(__name__)

Shards: TypeAlias = int | Literal["auto"]
Handler: TypeAlias = Callable[[Json], None]

GRACE: Final = 60.0
"""Seconds of a lost connection before people count as out of reach: it mostly comes back within a few."""
CONNECT_TIMEOUT: Final = 10.0
"""Seconds that a start waits for the first connection."""
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_FATAL_PAUSE: Final = 300.0
_PART: Final = "gateway"


class GatewayClient:
    """Holds the connection and says how it stands.

    Args:
        content: whether to ask for the text of all messages (a privileged intent); where the
            application lacks it, the connection is made without.
        shards: how many connections share the servers; "auto" as Discord advises.
        outage: tells the log while there is no connection.
        handlers: what takes in which event; what they need of intents is asked for in `_make`.
        lost: called when a connection is gone, and events may pass by.
        back: called when all stand again, and whether one began anew: then Discord repeats nothing.
    """

    def __init__(
        self,
        calls: DiscordApi,
        token: str,
        *,
        content: bool,
        shards: Shards,
        outage: Outage,
        handlers: Mapping[str, Handler],
        lost: Callable[[], None] = lambda: None,
        back: Callable[[bool], None] = lambda _anew: None,
    ) -> None:
        self._calls = calls
        self._token = token
        self._content = content
        self._shards = shards
        self._outage = outage
        self._handlers = handlers
        self._lost = lost
        self._back = back
        self._anew = False
        self._task: asyncio.Task[None] | None = None
        self._client: discord.Client | None = None
        self._first = asyncio.Event()
        self._of = 1
        self._down: dict[int, float] = {0: time.monotonic() - GRACE}
        """The shards without a connection, and since when."""
        self._failure: str | None = "the gateway is not connected yet"
        """Why there is no connection at all."""

    async def start(self) -> None:
        """Begins to connect, and waits for it a little."""
        self._task = asyncio.create_task(self._run(), name="discord gateway")
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await self._first.wait()
        except TimeoutError:
            self._outage.record_failure(_PART, self.outage_reason())

    async def stop(self) -> None:
        """Disconnects."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
            self._first.clear()
            for shard in range(self._of):
                self.mark_disconnected(shard)

    def outage_reason(self) -> str | None:
        """None while all shards are connected, or for so short a time not connected that nobody need know."""
        now = time.monotonic()
        out = sorted(shard for shard, since in self._down.items() if now - since >= GRACE)
        if not out or self._failure is not None:
            return self._failure if out else None
        which = f" (shard {', '.join(map(str, out))} of {self._of})" if self._of > 1 else ""
        return f"the connection to Discord's gateway is lost and being made again{which}"

    def mark_connected(self, shard: int, of: int) -> None:
        """One of so many shards is connected."""
        if of != self._of:
            since = min(self._down.values(), default=time.monotonic())
            self._of, self._down = of, dict.fromkeys(range(of), since)
        self._down.pop(shard, None)
        self._failure = None
        if not self._down:
            self._outage.record_success(_PART)
            self._first.set()
            anew, self._anew = self._anew, False
            self._back(anew)

    def mark_disconnected(self, shard: int) -> None:
        """A shard's connection is gone; discord.py makes it again."""
        self._lost()
        self._down.setdefault(shard, time.monotonic())

    # --- connecting ------------------------------------------------------------------------------

    async def _run(self) -> None:
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            since = time.monotonic()
            wait = await self._connect_once()
            for shard in range(self._of):
                self.mark_disconnected(shard)
            if time.monotonic() - since > _LONGEST_PAUSE:
                backoff.reset()
            pause = backoff.next_delay()
            await asyncio.sleep(pause if wait is None else wait)

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
            self._failure = f"the gateway cannot be reached: {error}"
            self._outage.record_failure(_PART, error)
        except Exception as error:
            self._failure = f"the gateway failed: {error!r}"
            logger.exception("The gateway failed", extra={"action": "gateway_failed"})
        return None

    def _fatal(self, trouble: str) -> float:
        self._failure = trouble
        self._first.set()
        self._outage.record_failure(_PART, trouble)
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
        client: discord.Client
        if self._shards == 1:
            client = _Single(self, intents)
        else:
            client = _Sharded(self, intents, None if self._shards == "auto" else self._shards)
        # What discord.py would do with each event, for every shard: a parser of it that meets an odd
        # event ends the connection, and none is needed.
        client._connection.parsers = {
            "READY": self._ready,
            "RESUMED": self._resumed,
            **{name: self._raw(name) for name in self._handlers},
        }
        return client

    def _ready(self, data: Json) -> None:
        """A new session stands."""
        self._anew = True
        match data.get("shard"):
            case [int(shard), int(of)]:
                self.mark_connected(shard, of)
            case _:
                self.mark_connected(0, 1)

    def _resumed(self, data: Json) -> None:
        """A session goes on; discord.py notes whose."""
        shard = data.get("__shard_id__")
        self.mark_connected(shard if isinstance(shard, int) else 0, self._of)

    def _raw(self, name: str) -> Callable[[JsonValue], None]:
        handler = self._handlers[name]

        def handed_on(data: JsonValue) -> None:
            if isinstance(data, dict):
                handler(data)

        return handed_on


class _Single(discord.Client):
    """One connection."""

    def __init__(self, gateway: GatewayClient, intents: discord.Intents) -> None:
        super().__init__(intents=intents)
        self._gateway = gateway

    async def on_disconnect(self) -> None:
        """The connection is gone."""
        self._gateway.mark_disconnected(0)


class _Sharded(discord.AutoShardedClient):
    """Several connections, each with its part of the servers."""

    def __init__(self, gateway: GatewayClient, intents: discord.Intents, count: int | None) -> None:
        super().__init__(intents=intents, shard_count=count)
        self._gateway = gateway

    async def on_shard_disconnect(self, shard: int) -> None:
        """One shard's connection is gone."""
        self._gateway.mark_disconnected(shard)
