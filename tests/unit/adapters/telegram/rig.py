"""The Telegram surface with a real store, service and message sync, connected to the fake Telegram in either mode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any, Literal, get_args

from aiohttp import web
from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.ports.claims import SOLE_CLAIM, SharedLeases
from answerback.ports.store import Store
from answerback.ports.surface import Surface
from answerback.runtime.sockets import bind_socket, chat_http_session, socket_url
from answerback.service.service import Service
from answerback.service.submission_request import NO_ROUTES, Submission
from answerback.workers.message_sync import MessageSync, SyncPace
from answerback_chat.delays import Delays
from answerback_telegram import adapter
from answerback_telegram.adapter import TelegramSurface
from answerback_telegram.http_endpoint import PATH
from answerback_telegram.plugin import TelegramSettings
from answerback_testing.example_commands import EXAMPLE_COMMANDS
from answerback_testing.manual_timers import ManualTimers
from answerback_testing.surface_harness import follow_other_replicas
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Chat, Message, User
from tests.service_support import WAIT
from tests.surface_setups import create_host, open_store

Mode = Literal["polling", "http"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass
class Rig:
    """The running service and a fake Telegram with one group, and Ann as a member."""

    telegram: FakeTelegram
    surface: TelegramSurface
    service: Service
    store: Store
    message_sync: MessageSync
    group: Chat
    ann: User

    async def submit(self, questions: list[dict[str, Any]], **fields: Any) -> Ask:
        """Submit an ``ask_user`` call to the group, for Ann unless ``fields`` say otherwise."""
        body = {
            "name": "ask_user",
            "arguments": {"questions": questions},
            "to": f"telegram:{self.group.id}",
            "responders": [str(self.ann.id)],
            **fields,
        }
        submitted = await self.service.submit(Submission.model_validate(body))
        return await self.shown(submitted.ask)

    async def shown(self, ask: Ask) -> Ask:
        """Return the stored ask, once all pending message updates are done."""
        await self.message_sync.wait_until_idle()
        stored = await self.store.asks.get(ask.id)
        assert stored is not None
        return stored

    async def prune(self) -> None:
        """Delete all that is deleted once it is old, as if that much time had passed."""
        await self.store.maintenance.prune(self.service.clock.now())

    async def until_stored(self, key: str, value: JsonValue) -> None:
        """Wait until a draft has a value, or has none any more: what is stored after a message tells nobody."""
        async with asyncio.timeout(WAIT):
            while await self.store.drafts.get(key) != value:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def until_awaited(self, request: Message | None, chat: Chat) -> None:
        """Wait until it is stored to which request what Ann types in a chat replies; None: to none any more."""
        sent = None if request is None else f"{chat.id}:{request.id}"
        await self.until_stored(f"telegram:awaited:{chat.id}:{self.ann.id}", sent)


@asynccontextmanager
async def run_surface(
    telegram: FakeTelegram,
    database: Path | str,
    mode: Mode,
    serves: Callable[[str], Awaitable[None]] | None = None,
    *,
    timers: ManualTimers | None = None,
    delays: Delays = PATIENT,
    **options: Any,
) -> AsyncIterator[tuple[TelegramSurface, Service, Store, MessageSync]]:
    """Run the service with its Telegram surface, as in one process.

    Args:
        database: an SQLite file, or a ``storage.url``.
        serves: called with the URL of its endpoint.
    """
    async with AsyncExitStack() as stack:
        store, claim, clock = await stack.enter_async_context(open_store(database))
        http = await stack.enter_async_context(chat_http_session())
        surfaces: dict[str, Surface] = {}
        names = frozenset({"telegram"})
        routes = options.pop("routes", NO_ROUTES)
        service = Service(
            store,
            clock,
            surfaces,
            known_surfaces=names,
            routes=routes,
            claim=claim,
            commands=EXAMPLE_COMMANDS,
        )
        bound = await bind_socket("127.0.0.1", 0, "public") if mode == "http" else None
        address = socket_url(bound) if bound else None
        settings = {"bot_token": telegram.token, "api_url": telegram.url, "webhook": mode == "http"}
        shared = None if claim is SOLE_CLAIM else SharedLeases(store.leases, claim.holder)
        host = create_host(http, public_url=address, shared=shared)
        surface = surfaces["telegram"] = await adapter.build(
            TelegramSettings.model_validate({**settings, **options}), host, service, delays
        )
        call_later = (timers or ManualTimers()).call_later
        pace = SyncPace(first_pause=0.02, second_look=0.05)
        message_sync = MessageSync(service, pace=pace, call_later=call_later)
        await stack.enter_async_context(follow_other_replicas(service, message_sync))
        stack.push_async_callback(message_sync.stop)
        if bound is not None:
            await _serve_endpoint(surface, bound, stack)
            if serves is not None:
                await serves(f"{address}{PATH}")
        stack.push_async_callback(surface.stop)
        await surface.start()
        if mode == "http":
            await telegram.until(lambda: telegram.webhook is not None)
        yield surface, service, store, message_sync


async def _serve_endpoint(surface: TelegramSurface, bound: socket, stack: AsyncExitStack) -> None:
    app = web.Application()
    app.add_routes(surface.routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2, auto_decompress=False)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.SockSite(runner, bound).start()


@asynccontextmanager
async def rig(tmp_path: Path, mode: Mode = "polling", **options: Any) -> AsyncIterator[Rig]:
    """Run the surface with a fresh world."""
    running: FakeTelegram | None = options.pop("telegram", None)
    async with nullcontext(running) if running else FakeTelegram() as telegram:
        group = options.pop("group", None) or telegram.add_group()
        ann = options.pop("ann", None) or telegram.add_user("Ann")
        group.members[ann.id] = "member"
        up = run_surface(telegram, tmp_path / "answerback.db", mode, **options)
        async with up as (surface, service, store, message_sync):
            yield Rig(telegram, surface, service, store, message_sync, group, ann)
