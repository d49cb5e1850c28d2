"""The one place where everything is wired: settings in, a running service out, and all of it taken down again."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import aiohttp
from aiohttp import web
from pydantic_core import to_json

from answerback.agents.claude_http.endpoint import ClaudeHook
from answerback.api.metrics import Metrics
from answerback.api.operation import Api
from answerback.api.problems import unmet
from answerback.api.server import application, public_application
from answerback.http.unverified_connections import Strangers, share
from answerback.mcp import mount
from answerback.ports.claims import SOLE, Shared, Work
from answerback.ports.person_key import Holders
from answerback.ports.plugin import Built, Entrances, Host
from answerback.runtime import person_keys
from answerback.runtime.clock import SharedClock
from answerback.runtime.config import Settings, is_loopback, table_of
from answerback.runtime.from_settings import callbacks_of, check_extras, routes_of, tokens_of
from answerback.runtime.open_store import Opened, opened
from answerback.runtime.plugins import installed
from answerback.runtime.reload import Reloading
from answerback.runtime.replica_lifecycle import Replica, release
from answerback.runtime.sockets import address_of, bind, listen, listen_to_strangers
from answerback.runtime.supervision import supervised
from answerback.service.agent_requests import Callers
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.service.submission_request import Routes
from answerback.webhooks.address_policy import Callbacks, guarded_session
from answerback.webhooks.outbox import Deliverer
from answerback.webhooks.sender import Sender
from answerback.workers.inquiry import HttpInquiry
from answerback.workers.message_sync import Shower
from answerback.workers.retention import Retention
from answerback.workers.scheduler import Upkeep

Loop = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Running:
    """A service that is up: where it listens, and its inside for commands that live in the process."""

    api_url: str
    public_url: str | None
    inbox_url: str
    """Opens the page of open asks with the person's key: for the operator's eyes alone. Empty where there is none."""
    entrances: Entrances | None
    """The pages that the operator may open, where a surface has any."""
    service: Service
    reloading: Reloading
    """Takes up changed settings."""


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Running]:
    """The whole service, up for as long as the context lasts.

    Raises:
        ConfigError: an address or a route cannot be had; in words.
        StoreError: the database cannot be opened; in words.
    """
    check_extras(settings)
    routes, callbacks = routes_of(settings), callbacks_of(settings)
    async with AsyncExitStack() as stack:
        sockets = await _bind(settings, stack)
        metrics = Metrics()
        timed = metrics.commit_seconds.observe
        held = await stack.enter_async_context(opened(settings.storage, timed))
        holders = await person_keys.holders(settings)
        http = await stack.enter_async_context(chat_session())
        built = await _built(settings, held, sockets, holders, http)
        service = _service(settings, held, built, routes, callbacks, metrics)
        cut_off: set[Work] = set()
        if held.claim is not SOLE:
            stack.push_async_callback(release, service, cut_off)
        for surface in service.surfaces.values():
            stack.push_async_callback(surface.stop)
            await surface.start(service)
        deliverer = await _deliverer(service, callbacks, stack)
        shower, replica = await _background(settings, service, deliverer, cut_off, stack)
        tokens = tokens_of(settings)
        api = Api(
            service=service,
            store=held.store,
            surfaces=service.surfaces,
            tokens=tokens,
            holders=holders,
            metrics=metrics,
            enabled=service.rules.enabled,
            shows=lambda: shower.outcomes,
            replica=None if replica is None else replica.status,
        )
        await _listen(await _local(settings, api, built, stack), sockets.api, api, stack)
        if sockets.public is not None:
            outside = public_application(
                api,
                pages=[route for one in built for route in one.public_pages],
                hooks=[route for one in built for route in one.hooks],
            )
            strangers = Strangers(share())
            public = listen_to_strangers(outside, sockets.public, unmet, strangers)
            stack.push_async_callback(_finish, api)
            await stack.enter_async_context(public)
        # Waiters first: a listener that closes waits for what it is answering.
        stack.callback(service.stop_waiting)
        entrances = next((one.entrances for one in built if one.entrances is not None), None)
        yield Running(
            sockets.api_url,
            sockets.public_url,
            "" if entrances is None else await entrances.inbox_url(),
            entrances,
            service,
            Reloading(settings, tokens, callbacks),
        )


@dataclass(frozen=True, slots=True)
class _Sockets:
    """The bound listeners, and their addresses as others see them."""

    api: socket.socket
    public: socket.socket | None
    api_url: str
    public_url: str | None


async def _bind(settings: Settings, stack: AsyncExitStack) -> _Sockets:
    api = await bind(settings.server.host, settings.server.port, "server")
    stack.callback(api.close)
    if settings.public.port is None:
        return _Sockets(api, None, address_of(api), None)
    public = await bind(settings.public.host, settings.public.port, "public")
    stack.callback(public.close)
    return _Sockets(api, public, address_of(api), settings.public.url or address_of(public))


async def _built(
    settings: Settings,
    held: Opened,
    sockets: _Sockets,
    holders: Holders,
    http: aiohttp.ClientSession,
) -> list[Built]:
    """The surfaces that are configured, not started yet."""
    (store, claim, clock), made = held, []
    for plugin in installed():
        table = table_of(settings, plugin)
        if table.configured():
            host = Host(
                http=http,
                labels=settings.labels,
                secret=partial(store.secret, plugin.name),
                local_url=lambda: sockets.api_url,
                public_url=lambda: sockets.public_url,
                holders=holders,
                tokens=bool(settings.agents),
                agents={
                    name: agent.label or name
                    for name, agent in settings.agents.items()
                    if agent.role == "agent"
                },
                now=clock.now,
                shared=None if claim is SOLE else Shared(store, claim.holder),
            )
            await asyncio.to_thread(plugin.load)
            made.append(await plugin.build(table, host))
    return made


def _service(
    settings: Settings,
    held: Opened,
    built: Iterable[Built],
    routes: Routes,
    callbacks: Callbacks,
    metrics: Metrics,
) -> Service:
    store, claim, clock = held
    service = Service(
        store,
        clock,
        {one.surface.name: one.surface for one in built},
        known_surfaces=installed().names,
        routes=routes,
        rules=Rules(tools=settings.tools),
        labels=settings.labels,
        has_inquiry=settings.inquiry.url is not None,
        check_callback=callbacks.check,
        claim=claim,
    )
    service.hooks.acted = metrics.acted
    return service


async def _local(
    settings: Settings, api: Api, built: Iterable[Built], stack: AsyncExitStack
) -> web.Application:
    """The agents' listener: the API, MCP, Claude's hooks, and the pages."""
    callers = Callers(api.tokens.agent_of, api.finish)
    mcp = mount.routes(api.service, callers, tokens=api.tokens.required)
    routes = [*await stack.enter_async_context(mcp), *ClaudeHook(api.service, callers).routes()]
    loopback = is_loopback(settings.server.host)
    pages = [page for one in built for page in one.pages]
    return application(api, routes=routes, pages=pages, loopback=loopback)


async def _listen(
    app: web.Application, bound: socket.socket, api: Api, stack: AsyncExitStack
) -> None:
    runner = await listen(app, bound, unmet)
    stack.push_async_callback(_finish, api)
    stack.push_async_callback(runner.cleanup)


async def _finish(api: Api) -> None:
    """Whoever asked for these has hung up; what they began is finished all the same."""
    await asyncio.gather(*api.working, return_exceptions=True)


async def _deliverer(service: Service, callbacks: Callbacks, stack: AsyncExitStack) -> Deliverer:
    http = await stack.enter_async_context(guarded_session(callbacks.rules))
    sender = Sender(http, callbacks.rules, callbacks.secrets_of)
    deliverer = Deliverer(service.store, service.clock, sender, claim=service.claim)
    service.hooks.deliver = deliverer.wake
    return deliverer


async def _background(
    settings: Settings,
    service: Service,
    deliverer: Deliverer,
    cut_off: set[Work],
    stack: AsyncExitStack,
) -> tuple[Shower, Replica | None]:
    """Starts what goes on in the background. It ends with the stack, and what did not end in time is ``cut_off``."""
    inquiry = None
    if settings.inquiry.url is not None:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        inquiry = HttpInquiry(http, settings.inquiry.url, settings.inquiry.timeout)
    shower = Shower(service)
    kept = settings.retention
    retention = Retention(service, kept.days, kept.audit_days)
    upkeep = Upkeep(service, shower, inquiry, retention)
    service.hooks.show = shower.poke
    service.hooks.due = upkeep.due
    loops: list[tuple[str, Loop]] = [
        ("upkeep", upkeep.run),
        ("delivery", deliverer.run),
        ("listening", service.listeners.run),
    ]
    replica = None
    if service.claim is not SOLE:
        replica = Replica(service, shower, upkeep, deliverer)
        loops += [("hearing", replica.hearing.pass_on), ("safety", replica.hearing.look)]
    if isinstance(service.clock, SharedClock):
        loops.append(("clock", service.clock.run))
    tasks = [asyncio.create_task(supervised(name, run), name=f"loop {name}") for name, run in loops]

    async def stop() -> None:
        # What is shown or sent from now on is left to the next start, which finds it in the store.
        service.hooks.show = lambda _ask: None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        shown, reminded, sent = await asyncio.gather(shower.stop(), upkeep.stop(), deliverer.stop())
        ended = {Work.MESSAGE: shown, Work.TIMER: reminded, Work.DELIVERY: sent}
        cut_off.update(work for work, in_time in ended.items() if not in_time)

    stack.push_async_callback(stop)
    return shower, replica


def chat_session() -> aiohttp.ClientSession:
    """What chat surfaces call their platforms with: however many calls hang, a click is answered at once."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        json_serialize=_as_json,
        cookie_jar=aiohttp.DummyCookieJar(),  # each call says by its token whose it is
    )


def _as_json(value: object) -> str:
    """Three times as fast as the standard library, which is left what is not text: half a surrogate pair."""
    try:
        return to_json(value).decode()
    except ValueError:
        return json.dumps(value)
