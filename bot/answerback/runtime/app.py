"""Wire up the whole service from its settings, run it, and shut it down again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web

from answerback.api.auth import Authenticator
from answerback.api.metrics import Metrics
from answerback.api.operation import Api
from answerback.api.problems import refuse_unsupported
from answerback.api.server import build_local_app, build_public_app
from answerback.hooks.endpoint import HookEndpoints
from answerback.http.unverified_connections import (
    UnverifiedConnections,
    public_connection_limit,
    unverified_agents_limit,
)
from answerback.mcp import mount
from answerback.outbox.attempts import DeliverySender
from answerback.outbox.dispatcher import OutboxDispatcher
from answerback.ports.agent_tokens import RulesInForce
from answerback.ports.claims import SOLE_CLAIM, ClaimKind, SharedLeases
from answerback.ports.extension import Configured, ServiceParts
from answerback.ports.person_key import KeyHolderSource
from answerback.ports.plugin import BuiltSurface, Host, OperatorPages
from answerback.ports.sender import Sender
from answerback.ports.surface import Surface
from answerback.runtime import person_keys
from answerback.runtime.clock import SharedClock
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.desks import (
    build_account_links,
    build_sign_ins,
    oauth_routes,
)
from answerback.runtime.extensions import (
    Extensions,
    check_extensions,
    find_notifying_surface,
    open_extensions,
    row_tables,
)
from answerback.runtime.from_settings import (
    build_agent_tokens,
    build_anonymous_limits,
    build_onboarding,
    build_routes,
    check_extras,
)
from answerback.runtime.machine import THIS_MACHINE, Machine
from answerback.runtime.open_store import OpenStore, open_configured_store
from answerback.runtime.plugins import installed_plugins
from answerback.runtime.reload import SettingsReloader
from answerback.runtime.replica_lifecycle import Replica, listen_for_changes, release_claims
from answerback.runtime.sockets import (
    BoundSockets,
    bind_sockets,
    chat_http_session,
    serve_app,
    serve_public,
)
from answerback.runtime.supervision import run_supervised
from answerback.service.agent_requests import Callers
from answerback.service.notify import Hooks
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.workers.inquiry import HttpInquiryBackend
from answerback.workers.message_sync import MessageSync
from answerback.workers.retention import RetentionPolicy
from answerback.workers.scheduler import Scheduler
from answerback_base.addresses import is_loopback

if TYPE_CHECKING:
    from answerback.runtime.tracing import Tracing
    from answerback.service.sign_ins import SignIns

Loop = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RunningService:
    """A running service: its addresses, and its parts for commands that run in the same process."""

    api_url: str
    public_url: str | None
    inbox_url: str
    """The inbox with the operator's key in the URL: only for the operator. Empty if no surface has an inbox."""
    entrances: OperatorPages | None
    """The pages that the operator may open, if a surface has any."""
    service: Service
    reloader: SettingsReloader
    """Applies changed settings."""
    extensions: Extensions


@asynccontextmanager
async def run_service(
    settings: Settings, machine: Machine = THIS_MACHINE
) -> AsyncIterator[RunningService]:
    """Run the whole service until the context exits.

    Raises:
        ConfigError: an address cannot be bound, or a route is invalid.
        StoreError: the database cannot be opened.
    """
    check_extras(settings)
    routes = build_routes(settings)
    check_extensions(settings)
    async with AsyncExitStack() as stack:
        sockets = await bind_sockets(settings, stack, machine.bind)
        metrics = Metrics()
        observe_commit = metrics.commit_seconds.observe
        opened = await stack.enter_async_context(
            open_configured_store(settings.storage, observe_commit, machine.build_store)
        )
        holders = await person_keys.build_holders_reader(settings)
        http = await stack.enter_async_context(chat_http_session())
        connected: dict[str, Surface] = {}
        links = await build_account_links(settings, opened, routes.people, holders)
        tracing = await _build_tracing(settings, stack)
        hooks = Hooks() if tracing is None else tracing.hooks()
        metrics.listen(hooks)

        def parts(configured: Configured) -> ServiceParts:
            return ServiceParts(
                configured=configured,
                store=opened.store,
                clock=opened.clock,
                claim=opened.claim,
                database_file=settings.storage.file,
                database_name=settings.storage.name,
                people=routes.people,
                surfaces=connected,
                holders=holders,
                address=sockets.address,
                wake_outbox=hooks.deliver,
                on_ended=hooks.ended.listen,
                trace_headers=dict if tracing is None else tracing.headers,
                notifying=find_notifying_surface(settings),
                stack=stack,
            )

        extensions = await open_extensions(settings, parts)
        tokens = build_agent_tokens(settings)
        credential_of = person_keys.build_credential_reader(settings, holders, tokens)
        in_force = RulesInForce(build_onboarding(settings))
        sign_ins, commands = build_sign_ins(
            settings, opened, routes, connected, tokens, in_force, credential_of
        )
        service = Service(
            opened.store,
            opened.clock,
            connected,
            known_surfaces=installed_plugins().names,
            routes=routes,
            rules=Rules(tools=settings.tools),
            labels=settings.labels,
            has_inquiry=settings.inquiry.url is not None,
            check_callback=extensions.callback_problem,
            limits=build_anonymous_limits(settings),
            claim=opened.claim,
            hooks=hooks,
            credential_of=credential_of,
            commands=[*commands, *([links.command] if links else []), *extensions.commands()],
            account_links=links,
            extensions=extensions.storing(),
        )
        surfaces = await _build_surfaces(
            settings,
            opened,
            sockets,
            holders,
            http=http,
            service=service,
            extensions=extensions,
            sign_ins=sign_ins,
        )
        # A cycle: the parts above act through the surfaces, and each surface is built with the service.
        connected.update((built.surface.name, built.surface) for built in surfaces)
        cut_off: set[ClaimKind] = set()
        if opened.claim is not SOLE_CLAIM:
            stack.push_async_callback(release_claims, service, cut_off)
        for surface in service.surfaces.values():
            stack.push_async_callback(surface.stop)
            await surface.start()
        dispatcher = _build_dispatcher(service, extensions, tracing)
        message_sync, replica = await _start_background(
            settings, service, dispatcher, cut_off, stack, extensions
        )
        api = Api(
            service=service,
            store=opened.store,
            surfaces=service.surfaces,
            tokens=Authenticator(tokens, sign_ins, holders),
            sign_ins=sign_ins,
            metrics=metrics,
            enabled=service.rules.enabled,
            show_counts=lambda: message_sync.show_counts,
            replica=None if replica is None else replica.status,
            exported_rows=[table.name for table in row_tables() if table.exported],
        )
        added = [*oauth_routes(settings, api, sockets.address), *extensions.routes()]
        local_app = await _build_local_app(settings, api, surfaces, added, stack)
        if tracing is not None:
            local_app.middlewares.insert(0, tracing.middleware)
        strangers = UnverifiedConnections(unverified_agents_limit(), counts_verified=False)
        listener = await serve_app(local_app, sockets.api, strangers, refuse_unsupported)
        stack.push_async_callback(_finish, api)
        stack.push_async_callback(listener.cleanup)
        if sockets.public:
            public_app = build_public_app(
                api,
                pages=[route for surface in surfaces for route in surface.public_pages],
                hooks=[route for surface in surfaces for route in surface.hooks],
            )
            connections = UnverifiedConnections(public_connection_limit())
            public = serve_public(public_app, sockets.public, refuse_unsupported, connections)
            stack.push_async_callback(_finish, api)
            await stack.enter_async_context(public)
        # Release the waiters first, because a closing listener waits for the requests in progress.
        stack.callback(service.stop_waiting)
        entrances = next(
            (surface.operator_pages for surface in surfaces if surface.operator_pages is not None),
            None,
        )
        yield RunningService(
            sockets.api_url,
            sockets.public_url,
            "" if entrances is None else await entrances.inbox_url(),
            entrances,
            service,
            SettingsReloader(settings, tokens, extensions, routes, in_force),
            extensions,
        )


async def _build_surfaces(
    settings: Settings,
    opened: OpenStore,
    sockets: BoundSockets,
    holders: KeyHolderSource,
    http: aiohttp.ClientSession,
    service: Service,
    extensions: Extensions,
    sign_ins: SignIns | None,
) -> list[BuiltSurface]:
    """Build the configured surfaces, without starting them."""
    (store, claim, clock), surfaces = opened, []
    for plugin in installed_plugins():
        plugin_config = plugin_settings(settings, plugin)
        if plugin_config.configured():
            host = Host(
                http=http,
                labels=settings.labels,
                secret=partial(store.secret, plugin.name),
                local_url=sockets.api_url,
                public_url=sockets.public_url,
                holders=holders,
                tokens=settings.uses_tokens,
                sign_ins=sign_ins,
                agents={
                    name: agent.label or name
                    for name, agent in settings.agents.items()
                    if agent.role == "agent"
                },
                now=clock.now,
                additions=extensions.for_page(plugin.name),
                shared=None if claim is SOLE_CLAIM else SharedLeases(store.leases, claim.holder),
            )
            await asyncio.to_thread(plugin.load)
            surfaces.append(await plugin.build(plugin_config, host, service))
    return surfaces


async def _build_local_app(
    settings: Settings,
    api: Api,
    surfaces: Iterable[BuiltSurface],
    added: Iterable[web.RouteDef],
    stack: AsyncExitStack,
) -> web.Application:
    """Build the agents' application: the API, MCP, the hooks, and the pages."""
    callers = Callers(api.tokens.authenticate_agent, api.run_to_completion)
    wait = settings.mcp.wait
    mcp = mount.routes(api.service, callers, tokens=api.tokens.required, wait=wait)
    hooks = HookEndpoints(api.service, callers).routes()
    routes = [*await stack.enter_async_context(mcp), *hooks, *added]
    loopback = is_loopback(settings.server.host)
    pages = [page for surface in surfaces for page in surface.pages]
    return build_local_app(api, routes=routes, pages=pages, loopback=loopback)


async def _finish(api: Api) -> None:
    """Finish the pending changes, whose callers have disconnected."""
    await asyncio.gather(*api.pending_changes, return_exceptions=True)


async def _build_tracing(settings: Settings, stack: AsyncExitStack) -> Tracing | None:
    if settings.tracing.endpoint is None:
        return None
    from answerback.runtime.tracing import Tracing  # an extra

    tracing = await asyncio.to_thread(Tracing, settings.tracing.endpoint)  # it starts a thread
    stack.push_async_callback(tracing.stop)
    return tracing


def _build_dispatcher(
    service: Service, extensions: Extensions, tracing: Tracing | None
) -> OutboxDispatcher:
    sender: Sender = DeliverySender([*extensions.running.values()])
    if tracing is not None:
        sender = tracing.traced(sender, service.store.asks)
    save_seen = service.late_answer_tracker.save_seen
    return OutboxDispatcher(
        service.store.outbox, service.clock, sender, service.hooks, save_seen, claim=service.claim
    )


async def _start_background(
    settings: Settings,
    service: Service,
    dispatcher: OutboxDispatcher,
    cut_off: set[ClaimKind],
    stack: AsyncExitStack,
    extensions: Extensions,
) -> tuple[MessageSync, Replica | None]:
    """Start the background loops. They stop with the stack; work that does not stop in time is added to ``cut_off``."""
    inquiry = None
    if settings.inquiry.url is not None:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        inquiry = HttpInquiryBackend(http, settings.inquiry.url, settings.inquiry.timeout).answer
    message_sync = MessageSync(service)
    retention_settings = settings.retention
    retention = RetentionPolicy(
        service, retention_settings.days, retention_settings.audit_days, row_tables()
    )
    scheduler = Scheduler(service, message_sync, inquiry, retention)
    loops: list[tuple[str, Loop]] = [
        ("scheduler", scheduler.run),
        ("delivery", dispatcher.run),
        ("presence", service.presence.run),
    ]
    loops += extensions.loops()
    if service.account_links is not None:
        loops.append(("account links", service.account_links.run))
    replica = None
    if service.claim is not SOLE_CLAIM:
        changes = listen_for_changes(service, message_sync)
        replica = Replica(service, changes, message_sync, scheduler, dispatcher)
        loops += [
            ("changes", changes.dispatch_changes),
            ("missed changes", changes.poll_missed_changes),
        ]
    if isinstance(service.clock, SharedClock):
        loops.append(("clock", service.clock.run))
    tasks = [
        asyncio.create_task(run_supervised(name, run), name=f"loop {name}") for name, run in loops
    ]

    async def stop() -> None:
        # What is still to be shown or sent is in the store, and the next start handles it.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        synced, scheduled, delivered = await asyncio.gather(
            message_sync.stop(), scheduler.stop(), dispatcher.stop()
        )
        ended = {
            ClaimKind.MESSAGE: synced,
            ClaimKind.TIMER: scheduled,
            ClaimKind.DELIVERY: delivered,
        }
        cut_off.update(work for work, in_time in ended.items() if not in_time)

    stack.push_async_callback(stop)
    return message_sync, replica
