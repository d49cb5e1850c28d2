"""The connection to Discord's gateway, using discord.py: kept up, resumed, sharded; events are passed on raw.

discord.py parses and caches nothing: interactions and messages are passed on as the JSON that arrived, and events
without a handler are skipped unread.
https://docs.discord.com/developers/events/gateway
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from pydantic import JsonValue

from answerback.core.errors import PlatformError, PlatformUnavailableError
from answerback.ports.outage_log import Outage
from answerback_base.backoff import Backoff
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.control_codec import object_of, text_of
from answerback_discord.api_client import DiscordApi
from answerback_discord.components import Json

logger = logging.getLogger(__name__)

Shards: TypeAlias = int | Literal["auto"]
Handler: TypeAlias = Callable[[Json], None]

GRACE: Final = 60.0
"""Seconds that a connection may be lost before it is reported as an outage: most come back within a few seconds."""
CONNECT_TIMEOUT: Final = 10.0
"""Seconds that `GatewayClient.start` waits for the first connection."""
_LONGEST_PAUSE: Final = 120.0
"""Discord resets the token of an app that identifies 1,000 times a day."""
_FATAL_PAUSE: Final = 300.0
_PART: Final = "gateway"
_ATTEMPTS: Final = ("Attempting a reconnect", "Failed to connect for shard_id")
"""The beginnings of what discord.py logs of each attempt to connect that failed."""


def _log_as_information(record: logging.LogRecord) -> bool:
    """Log discord.py's failed attempts without a traceback, and as no errors: outages are logged here."""
    if not str(record.msg).startswith(_ATTEMPTS):
        return True
    error = record.exc_info[1] if record.exc_info else None
    record.msg, record.args = f"{record.getMessage()}: {error!r}", ()
    record.exc_info, record.levelno, record.levelname = None, logging.INFO, "INFO"
    return logging.getLogger(record.name).isEnabledFor(logging.INFO)


@dataclass(eq=False, repr=False)  # its token is in no log
class GatewayClient:
    """Holds the connection and reports its state.

    Args:
        content: whether to request the text of all messages (a privileged intent); if the application lacks the
            intent, the connection is made without it.
        shards: how many connections share the servers; "auto" for the number that Discord recommends.
        outage: logs while there is no connection.
        first_pause: the seconds after the first failure in a row.
        handlers: the handler of each event, by event name; `_create_client` requests the intents they need.
        on_lost: called when a connection is lost, after which events may be missed.
        on_connected: called when all shards are connected again, with whether any of them began a new session,
            for which Discord repeats no events.
    """

    calls: DiscordApi
    token: str
    content: bool
    shards: Shards
    outage: Outage
    handlers: Mapping[str, Handler]
    on_lost: Callable[[], None] = lambda: None
    on_connected: Callable[[bool], None] = lambda _new_session: None
    first_pause: float = 1.0

    def __post_init__(self) -> None:
        self._has_new_session = False
        self._connecting = BackgroundTasks()
        self._connected_once = asyncio.Event()
        self._shard_count = 1
        self._down_since: dict[int, float] = {0: time.monotonic() - GRACE}
        """When each shard that has no connection lost it."""
        self._failure: str | None = "the gateway is not connected yet"
        """Why there is no connection at all; None while shards are connected or being reconnected."""
        self._refused = False
        """True once Discord has refused the connection, which no reconnection changes."""

    async def start(self) -> None:
        """Begin to connect, and wait up to `CONNECT_TIMEOUT` for the connection."""
        self._connecting.spawn("discord gateway", self._run())
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await self._connected_once.wait()
        except TimeoutError:
            self.outage.record_failure(_PART, self.outage_reason())

    async def stop(self) -> None:
        await self._connecting.stop(0)
        self._connected_once.clear()

    def outage_reason(self) -> str | None:
        """Return why shards are disconnected, or None if all are connected or were until less than `GRACE` ago."""
        now = time.monotonic()
        out = sorted(shard for shard, since in self._down_since.items() if now - since >= GRACE)
        if self._refused or self._failure is not None:
            return self._failure if out or self._refused else None
        if not out:
            return None
        which = (
            f" (shard {', '.join(map(str, out))} of {self._shard_count})"
            if self._shard_count > 1
            else ""
        )
        return f"the connection to Discord's gateway was lost and is being restored{which}"

    def mark_connected(self, shard: int, of: int) -> None:
        """Record that one of ``of`` shards is connected."""
        if of != self._shard_count:
            since = min(self._down_since.values(), default=time.monotonic())
            self._shard_count, self._down_since = of, dict.fromkeys(range(of), since)
        self._down_since.pop(shard, None)
        self._failure, self._refused = None, False
        if not self._down_since:
            self.outage.record_success(_PART)
            self._connected_once.set()
            new_session, self._has_new_session = self._has_new_session, False
            self.on_connected(new_session)

    def mark_disconnected(self, shard: int) -> None:
        """Record that a shard's connection was lost; discord.py restores it."""
        self.on_lost()
        self._down_since.setdefault(shard, time.monotonic())

    async def on_disconnect(self) -> None:
        """Called by discord.py when the only connection is lost."""
        self.mark_disconnected(0)

    async def on_shard_disconnect(self, shard: int) -> None:
        """Called by discord.py when one of several connections is lost."""
        self.mark_disconnected(shard)

    # --- connecting ------------------------------------------------------------------------------

    async def _run(self) -> None:
        backoff = Backoff(self.first_pause, _LONGEST_PAUSE)
        while True:
            since = time.monotonic()
            try:
                wait = await self._connect_once()
            finally:
                for shard in range(self._shard_count):
                    self.mark_disconnected(shard)
            if time.monotonic() - since > _LONGEST_PAUSE:
                backoff.reset()
            pause = backoff.next_delay()
            await asyncio.sleep(pause if wait is None else wait)

    async def _connect_once(self) -> float | None:
        """Connect, and return once the connection has ended: the seconds to wait before the next try, if known."""
        try:
            await self._configure_library()
            async with self._create_client() as client:
                await client.start(self.token, reconnect=True)
        except discord.PrivilegedIntentsRequired:
            if not self.content:
                return self._fatal("Discord closed the gateway with 4014: it allows no intents")
            self.content = False
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
            self.outage.record_failure(_PART, error)
        except Exception as error:
            self._failure = f"the gateway failed: {error!r}"
            logger.exception("The gateway failed", extra={"action": "gateway_failed"})
        return None

    def _fatal(self, reason: str) -> float:
        self._failure, self._refused = reason, True
        self._connected_once.set()
        self.outage.record_failure(_PART, reason)
        return _FATAL_PAUSE

    async def _configure_library(self) -> None:
        """Point discord.py at the API in use, which it keeps once for the whole process, and calm its log."""
        for name in ("discord.client", "discord.shard"):
            logging.getLogger(name).addFilter(_log_as_information)
        Route.BASE = self.calls.url
        url = text_of(object_of(await self.calls.get("/gateway")).get("url"))
        if not url:
            raise PlatformUnavailableError("Discord's answer to GET /gateway has no URL")
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url)

    def _create_client(self) -> discord.Client:
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
        intents.message_content = self.content
        client: discord.Client
        if self.shards == 1:
            client = discord.Client(intents=intents)
            client.event(self.on_disconnect)
        else:
            count = None if self.shards == "auto" else self.shards
            client = discord.AutoShardedClient(intents=intents, shard_count=count)
            client.event(self.on_shard_disconnect)
        # Replaces discord.py's own event parsers, for every shard: none is needed, and one that meets an
        # unexpected event ends the connection.
        client._connection.parsers = _Parsers(
            READY=self._on_ready,
            RESUMED=self._on_resumed,
            **{name: self._raw_handler(name) for name in self.handlers},
        )
        return client

    def _on_ready(self, data: Json) -> None:
        self._has_new_session = True
        match data.get("shard"):
            case [int(shard), int(of)]:
                self.mark_connected(shard, of)
            case _:
                self.mark_connected(0, 1)

    def _on_resumed(self, data: Json) -> None:
        """Record that a session was resumed; discord.py adds the shard's id."""
        shard = data.get("__shard_id__")
        self.mark_connected(shard if isinstance(shard, int) else 0, self._shard_count)

    def _raw_handler(self, name: str) -> Callable[[JsonValue], None]:
        handler = self.handlers[name]

        def pass_on(data: JsonValue) -> None:
            if isinstance(data, dict):
                handler(data)

        return pass_on


class _Parsers(dict[str, Callable[[Any], None]]):
    """The handlers of events. An event whose name is of an odd type has none, like one that is unknown."""

    def __getitem__(self, name: object) -> Callable[[Any], None]:
        if not isinstance(name, str):
            raise KeyError(name)
        return super().__getitem__(name)
