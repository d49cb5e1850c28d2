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
from answerback.api.problems import refuse_unsupported
from answerback.api.server import build_local_app, build_public_app
from answerback.http.unverified_connections import UnverifiedConnections, connection_limit
from answerback.mcp import mount
from answerback.ports.claims import SOLE_CLAIM, ClaimKind, SharedClaims
from answerback.ports.person_key import KeyHolderSource
from answerback.ports.plugin import BuiltSurface, Host, OperatorPages
from answerback.runtime import person_keys
from answerback.runtime.clock import SharedClock
from answerback.runtime.config import Settings, is_loopback, plugin_settings
from answerback.runtime.from_settings import (
    build_agent_tokens,
    build_callback_policy,
    build_routes,
    check_extras,
)
from answerback.runtime.open_store import OpenStore, open_configured_store
from answerback.runtime.plugins import installed_plugins
from answerback.runtime.reload import SettingsReloader
from answerback.runtime.replica_lifecycle import Replica, release_claims
from answerback.runtime.sockets import bind_socket, serve_app, serve_public, socket_url
from answerback.runtime.supervision import run_supervised
from answerback.service.agent_requests import Callers
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.service.submission_request import Routes
from answerback.webhooks.address_policy import CallbackPolicy, guarded_session
from answerback.webhooks.outbox import WebhookDispatcher
from answerback.webhooks.sender import WebhookSender
from answerback.workers.inquiry import HttpInquiryBackend
from answerback.workers.message_sync import MessageSync
from answerback.workers.retention import RetentionPolicy
from answerback.workers.scheduler import Scheduler

Loop = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that is up: where it listens, and its inside for commands that live in the process."""

    api_url: str
    public_url: str | None
    inbox_url: str
    """Opens the page of open asks with the person's key: for the operator's eyes alone. Empty where there is none."""
    entrances: OperatorPages | None
    """The pages that the operator may open, where a surface has any."""
    service: Service
    reloader: SettingsReloader
    """Takes up changed settings."""


@asynccontextmanager
async def run_service(settings: Settings) -> AsyncIterator[RunningService]:
    """The whole service, up for as long as the context lasts.

    Raises:
        ConfigError: an address or a route cannot be had; in words.
        StoreError: the database cannot be opened; in words.
    """
    check_extras(settings)
    routes, callbacks = build_routes(settings), build_callback_policy(settings)
    async with AsyncExitStack() as stack:
        sockets = await _bind(settings, stack)
        metrics = Metrics()
        timed = metrics.commit_seconds.observe
        held = await stack.enter_async_context(open_configured_store(settings.storage, timed))
        holders = await person_keys.build_holders_reader(settings)
        http = await stack.enter_async_context(chat_http_session())
        built = await _built(settings, held, sockets, holders, http)
        service = _service(settings, held, built, routes, callbacks, metrics)
        cut_off: set[ClaimKind] = set()
        if held.claim is not SOLE_CLAIM:
            stack.push_async_callback(release_claims, service, cut_off)
        for surface in service.surfaces.values():
            stack.push_async_callback(surface.stop)
            await surface.start(service)
        deliverer = await _deliverer(service, callbacks, stack)
        shower, replica = await _background(settings, service, deliverer, cut_off, stack)
        tokens = build_agent_tokens(settings)
        api = Api(
            service=service,
            store=held.store,
            surfaces=service.surfaces,
            tokens=tokens,
            holders=holders,
            metrics=metrics,
            enabled=service.rules.enabled,
            show_counts=lambda: shower.show_counts,
            replica=None if replica is None else replica.status,
        )
        await _listen(await _local(settings, api, built, stack), sockets.api, api, stack)
        if sockets.public is not None:
            outside = build_public_app(
                api,
                pages=[route for one in built for route in one.public_pages],
                hooks=[route for one in built for route in one.hooks],
            )
            strangers = UnverifiedConnections(connection_limit())
            public = serve_public(outside, sockets.public, refuse_unsupported, strangers)
            stack.push_async_callback(_finish, api)
            await stack.enter_async_context(public)
        # Waiters first: a listener that closes waits for what it is answering.
        stack.callback(service.stop_waiting)
        entrances = next(
            (one.operator_pages for one in built if one.operator_pages is not None), None
        )
        yield RunningService(
            sockets.api_url,
            sockets.public_url,
            "" if entrances is None else await entrances.inbox_url(),
            entrances,
            service,
            SettingsReloader(settings, tokens, callbacks),
        )


@dataclass(frozen=True, slots=True)
class _Sockets:
    """The bound listeners, and their addresses as others see them."""

    api: socket.socket
    public: socket.socket | None
    api_url: str
    public_url: str | None


async def _bind(settings: Settings, stack: AsyncExitStack) -> _Sockets:
    api = await bind_socket(settings.server.host, settings.server.port, "server")
    stack.callback(api.close)
    if settings.public.port is None:
        return _Sockets(api, None, socket_url(api), None)
    public = await bind_socket(settings.public.host, settings.public.port, "public")
    stack.callback(public.close)
    return _Sockets(api, public, socket_url(api), settings.public.url or socket_url(public))


async def _built(
    settings: Settings,
    held: OpenStore,
    sockets: _Sockets,
    holders: KeyHolderSource,
    http: aiohttp.ClientSession,
) -> list[BuiltSurface]:
    """The surfaces that are configured, not started yet."""
    (store, claim, clock), made = held, []
    for plugin in installed_plugins():
        table = plugin_settings(settings, plugin)
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
                shared=None if claim is SOLE_CLAIM else SharedClaims(store, claim.holder),
            )
            await asyncio.to_thread(plugin.load)
            made.append(await plugin.build(table, host))
    return made


def _service(
    settings: Settings,
    held: OpenStore,
    built: Iterable[BuiltSurface],
    routes: Routes,
    callbacks: CallbackPolicy,
    metrics: Metrics,
) -> Service:
    store, claim, clock = held
    service = Service(
        store,
        clock,
        {one.surface.name: one.surface for one in built},
        known_surfaces=installed_plugins().names,
        routes=routes,
        rules=Rules(tools=settings.tools),
        labels=settings.labels,
        has_inquiry=settings.inquiry.url is not None,
        check_callback=callbacks.check,
        claim=claim,
    )
    service.hooks.acted = metrics.count_action
    return service


async def _local(
    settings: Settings, api: Api, built: Iterable[BuiltSurface], stack: AsyncExitStack
) -> web.Application:
    """The agents' listener: the API, MCP, Claude's hooks, and the pages."""
    callers = Callers(api.tokens.authenticate_agent, api.run_to_completion)
    mcp = mount.routes(api.service, callers, tokens=api.tokens.required)
    routes = [*await stack.enter_async_context(mcp), *ClaudeHook(api.service, callers).routes()]
    loopback = is_loopback(settings.server.host)
    pages = [page for one in built for page in one.pages]
    return build_local_app(api, routes=routes, pages=pages, loopback=loopback)


async def _listen(
    app: web.Application, bound: socket.socket, api: Api, stack: AsyncExitStack
) -> None:
    runner = await serve_app(app, bound, refuse_unsupported)
    stack.push_async_callback(_finish, api)
    stack.push_async_callback(runner.cleanup)


async def _finish(api: Api) -> None:
    """Whoever asked for these has hung up; what they began is finished all the same."""
    await asyncio.gather(*api.pending_changes, return_exceptions=True)


async def _deliverer(
    service: Service, callbacks: CallbackPolicy, stack: AsyncExitStack
) -> WebhookDispatcher:
    http = await stack.enter_async_context(guarded_session(callbacks.rules))
    sender = WebhookSender(http, callbacks.rules, callbacks.secrets_of)
    deliverer = WebhookDispatcher(service.store, service.clock, sender, claim=service.claim)
    service.hooks.deliver = deliverer.wake
    return deliverer


async def _background(
    settings: Settings,
    service: Service,
    deliverer: WebhookDispatcher,
    cut_off: set[ClaimKind],
    stack: AsyncExitStack,
) -> tuple[MessageSync, Replica | None]:
    """Starts what goes on in the background. It ends with the stack, and what did not end in time is ``cut_off``."""
    inquiry = None
    if settings.inquiry.url is not None:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        inquiry = HttpInquiryBackend(http, settings.inquiry.url, settings.inquiry.timeout)
    shower = MessageSync(service)
    kept = settings.retention
    retention = RetentionPolicy(service, kept.days, kept.audit_days)
    upkeep = Scheduler(service, shower, inquiry, retention)
    service.hooks.show = shower.request_sync
    service.hooks.due = upkeep.due
    loops: list[tuple[str, Loop]] = [
        ("upkeep", upkeep.run),
        ("delivery", deliverer.run),
        ("listening", service.presence.run),
    ]
    replica = None
    if service.claim is not SOLE_CLAIM:
        replica = Replica(service, shower, upkeep, deliverer)
        loops += [
            ("hearing", replica.change_listener.dispatch_changes),
            ("safety", replica.change_listener.poll_missed_changes),
        ]
    if isinstance(service.clock, SharedClock):
        loops.append(("clock", service.clock.run))
    tasks = [
        asyncio.create_task(run_supervised(name, run), name=f"loop {name}") for name, run in loops
    ]

    async def stop() -> None:
        # What is shown or sent from now on is left to the next start, which finds it in the store.
        service.hooks.show = lambda _ask: None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        shown, reminded, sent = await asyncio.gather(shower.stop(), upkeep.stop(), deliverer.stop())
        ended = {ClaimKind.MESSAGE: shown, ClaimKind.TIMER: reminded, ClaimKind.DELIVERY: sent}
        cut_off.update(work for work, in_time in ended.items() if not in_time)

    stack.push_async_callback(stop)
    return shower, replica


def chat_http_session() -> aiohttp.ClientSession:
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
