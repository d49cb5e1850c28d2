"""The Discord surface with a real store, service and message sync, connected to the fake Discord in either mode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from aiohttp import web

from answerback.core.ask import Ask
from answerback.ports.claims import SOLE_CLAIM, SharedLeases
from answerback.ports.clock import Clock
from answerback.ports.store import Store
from answerback.ports.surface import Surface
from answerback.runtime.sockets import chat_http_session
from answerback.service.service import Service
from answerback.service.submission_request import Submission
from answerback.workers.message_sync import MessageSync, SyncPace
from answerback_chat.delays import Delays
from answerback_discord.adapter import DiscordSurface
from answerback_discord.plugin import DiscordSettings
from answerback_testing.example_commands import EXAMPLE_COMMANDS
from answerback_testing.manual_timers import ManualTimers
from answerback_testing.surface_harness import follow_other_replicas
from tests.fakes.discord.person import Person
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.world import Channel, Guild
from tests.fakes.long_timeouts import PATIENT
from tests.service_support import WAIT
from tests.surface_setups import create_host, open_store

Mode = Literal["gateway", "http"]
MODES: tuple[Mode, ...] = ("gateway", "http")


@dataclass
class Rig:
    """The running service and a fake Discord with one server, one channel, and Ann as a member."""

    discord: FakeDiscord
    surface: DiscordSurface
    service: Service
    store: Store
    message_sync: MessageSync
    guild: Guild
    channel: Channel
    ann: Person
    timers: ManualTimers = field(default_factory=ManualTimers)
    """Those of the message sync."""

    async def submit(self, questions: list[dict[str, Any]], **fields: Any) -> Ask:
        """Submit an ``ask_user`` call to the channel, for Ann unless ``fields`` say otherwise."""
        body = {
            "name": "ask_user",
            "arguments": {"questions": questions},
            "to": f"discord:{self.channel.id}",
            "responders": [str(self.ann.id)],
            **fields,
        }
        submitted = await self.service.submit(Submission.model_validate(body))
        return submitted.ask

    async def shown(self, ask: Ask | str) -> Ask:
        """Return the stored ask, once all pending message updates are done."""
        await self.message_sync.wait_until_idle()
        stored = await self.store.asks.get(ask if isinstance(ask, str) else ask.id)
        assert stored is not None
        return stored

    async def until_current(self, ask: Ask) -> Ask:
        """Return the stored ask, once its message shows it and no edit can arrive late."""
        async with asyncio.timeout(WAIT):
            while (stored := await self.shown(ask)).placement.shown_revision < stored.revision:
                self.timers.run_all()
                self.message_sync.request_sync(ask)
        return stored


@asynccontextmanager
async def run_surface(
    discord: FakeDiscord,
    database: Path | str,
    mode: Mode,
    serves: Callable[[str], Awaitable[None]] | None = None,
    *,
    clock: Clock | None = None,
    timers: ManualTimers | None = None,
    delays: Delays = PATIENT,
    **options: Any,
) -> AsyncIterator[tuple[DiscordSurface, Service, Store, MessageSync]]:
    """Run the service with its Discord surface, as in one process.

    Args:
        database: an SQLite file, or a ``storage.url``.
        serves: called with the URL of its interactions endpoint; by default the application's endpoint is set to it.
        clock: instead of the store's.
        timers: those of the message sync; without them, they never end.
    """
    async with AsyncExitStack() as stack:
        store, claim, store_clock = await stack.enter_async_context(open_store(database))
        http = await stack.enter_async_context(chat_http_session())
        surfaces: dict[str, Surface] = {}
        names = frozenset({"discord"})
        service = Service(
            store,
            clock or store_clock,
            surfaces,
            known_surfaces=names,
            claim=claim,
            commands=EXAMPLE_COMMANDS,
        )
        shared = None if claim is SOLE_CLAIM else SharedLeases(store.leases, claim.holder)
        confirm_after = options.pop("confirm_after", 0.05)
        settings = {"bot_token": discord.application.token, "api_url": discord.api_url, **options}
        if mode == "http":
            settings["public_key"] = discord.application.public_key
        surface = surfaces["discord"] = DiscordSurface(
            service,
            DiscordSettings.model_validate(settings),
            create_host(http, shared=shared),
            confirm_after=confirm_after,
            delays=delays,
        )
        call_later = (timers or ManualTimers()).call_later
        message_sync = MessageSync(service, pace=SyncPace(first_pause=0.02), call_later=call_later)
        await stack.enter_async_context(follow_other_replicas(service, message_sync))
        stack.push_async_callback(message_sync.stop)
        if mode == "http":
            url = await _serve_endpoint(surface, stack)
            if serves is None:
                discord.application.interactions_endpoint_url = url
            else:
                await serves(url)
        stack.push_async_callback(surface.stop)
        await surface.start()
        yield surface, service, store, message_sync


async def _serve_endpoint(surface: DiscordSurface, stack: AsyncExitStack) -> str:
    app = web.Application()
    app.add_routes(surface.routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2, auto_decompress=False)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    return f"http://{host}:{port}/discord/interactions"


@asynccontextmanager
async def rig(
    tmp_path: Path, mode: Mode = "gateway", discord: FakeDiscord | None = None, **options: Any
) -> AsyncIterator[Rig]:
    """Run the surface with a fresh world.

    Args:
        discord: a fake Discord that is running already, and keeps running.
    """
    async with nullcontext(discord) if discord else FakeDiscord() as discord:
        guild = discord.add_guild()
        channel = discord.add_channel(guild)
        ann = discord.person("ann", guild)
        timers = ManualTimers()
        up = run_surface(discord, tmp_path / "answerback.db", mode, timers=timers, **options)
        async with up as (surface, service, store, message_sync):
            yield Rig(discord, surface, service, store, message_sync, guild, channel, ann, timers)
