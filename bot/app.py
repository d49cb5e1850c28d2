"""The one place where everything is wired: settings in, a running service out, and all of it taken down again."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import web
from pydantic import SecretStr

from adapters.discord.adapter import DiscordSurface
from adapters.slack.adapter import SlackSurface
from adapters.web.adapter import WebSurface
from bot.api.auth import Tokens
from bot.api.calls import Api
from bot.api.metrics import Metrics
from bot.api.server import application, public_application
from bot.callbacks import AddressRules, Callbacks, guarded_session
from bot.callers import Callers
from bot.clock import SystemClock
from bot.config import Settings, is_loopback
from bot.delivery import Deliverer
from bot.errors import ConfigError
from bot.hooks import ClaudeHook
from bot.inquiry import HttpInquiry
from bot.listening import address_of, bind, listen
from bot.mcp.http import McpEndpoint
from bot.metered import MeteredService, MeteredSqliteStore
from bot.ports import Surface
from bot.routing import Rules
from bot.sending import Sender
from bot.service import Service
from bot.showing import Shower
from bot.submission import Agent, Routes, destination_of
from bot.supervision import supervised
from bot.upkeep import Upkeep
from storage.sole_use import sole_use

SURFACES: Final = frozenset({"web", "slack", "discord"})
"""Every surface there is; an ask for one that is not configured fails in words for the model."""

logger = logging.getLogger(__name__)

Loop = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Running:
    """A service that is up: where it listens, and its inside for commands that live in the process."""

    api_url: str
    public_url: str | None
    inbox_url: str
    """Opens the page of open asks; where agents have tokens it holds the key, for the operator's eyes alone."""
    service: Service


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Running]:
    """The whole service, up for as long as the context lasts.

    Raises:
        ConfigError: an address or a route cannot be had; in words.
        StoreError: the database cannot be opened; in words.
    """
    async with AsyncExitStack() as stack:
        sockets = await _bind(settings, stack)
        metrics = Metrics()
        store = MeteredSqliteStore(database_of(settings), metrics)
        await store.open()
        stack.push_async_callback(store.close)
        stack.enter_context(sole_use(database_of(settings)))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        page = WebSurface(
            secret=await store.secret("web"),
            labels=settings.labels,
            local_url=lambda: sockets.api_url,
            public_url=lambda: sockets.public_url,
            key=(await store.secret("inbox")).hex() if settings.agents else None,
            now=time.time,
        )
        chats = chats_of(settings, http)
        surfaces: Mapping[str, Surface] = {each.name: each for each in (page, *chats)}
        callbacks = callbacks_of(settings)
        service = MeteredService(
            store,
            SystemClock(),
            surfaces,
            known_surfaces=SURFACES,
            routes=routes_of(settings),
            rules=Rules(tools=settings.tools),
            labels=settings.labels,
            has_inquiry=settings.inquiry.url is not None,
            check_callback=callbacks.check,
        )
        service.metrics = metrics
        for surface in surfaces.values():
            stack.push_async_callback(surface.stop)
            await surface.start(service)
        deliverer = await _deliverer(service, callbacks, stack)
        shower = await _background(settings, service, http, deliverer, stack)
        api = Api(
            service=service,
            store=store,
            surfaces=surfaces,
            tokens=tokens_of(settings),
            metrics=metrics,
            enabled=service.rules.enabled,
            shows=lambda: shower.outcomes,
        )
        loopback = is_loopback(settings.server.host)
        callers = Callers(api.tokens.agent_of, api.finish)
        mcp = McpEndpoint(service, callers, tokens=api.tokens.required)
        await stack.enter_async_context(mcp.running())
        routes = [*mcp.routes(), *ClaudeHook(service, callers).routes()]
        local = application(api, routes=routes, pages=page.routes(), loopback=loopback)
        await _listen(local, sockets.api, api, stack)
        if sockets.public is not None:
            opened = [route for each in (page, *chats) for route in each.public_routes()]
            public = public_application(api, opened)
            await _listen(public, sockets.public, api, stack)
        # Waiters first: a listener that closes waits for what it is answering.
        stack.callback(service.stop_waiting)
        yield Running(sockets.api_url, sockets.public_url, page.inbox_url(), service)


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


async def _listen(
    app: web.Application, bound: socket.socket, api: Api, stack: AsyncExitStack
) -> None:
    runner = await listen(app, bound)

    async def stop() -> None:
        await runner.cleanup()
        # Whoever asked for these has hung up; what they began is finished all the same.
        await asyncio.gather(*api.working, return_exceptions=True)

    stack.push_async_callback(stop)


async def _deliverer(service: Service, callbacks: Callbacks, stack: AsyncExitStack) -> Deliverer:
    http = await stack.enter_async_context(guarded_session(callbacks.rules))
    sender = Sender(http, callbacks.rules, callbacks.secrets_of)
    deliverer = Deliverer(service.store, service.clock, sender)
    stack.push_async_callback(deliverer.stop)
    service.hooks.deliver = deliverer.wake
    return deliverer


async def _background(
    settings: Settings,
    service: Service,
    http: aiohttp.ClientSession,
    deliverer: Deliverer,
    stack: AsyncExitStack,
) -> Shower:
    """Starts what goes on in the background; it ends with the stack."""
    inquiry = None
    if settings.inquiry.url is not None:
        inquiry = HttpInquiry(http, settings.inquiry.url, settings.inquiry.timeout)
    shower = Shower(service)
    stack.push_async_callback(shower.stop)
    upkeep = Upkeep(service, shower, inquiry)
    stack.push_async_callback(upkeep.stop)
    service.hooks.show = lambda ask: shower.poke(ask.id)
    service.hooks.due = upkeep.due
    loops: Sequence[tuple[str, Loop]] = (
        ("upkeep", upkeep.run),
        ("delivery", deliverer.run),
    )
    tasks = [asyncio.create_task(supervised(name, run), name=f"loop {name}") for name, run in loops]

    async def stop() -> None:
        # What is shown or sent from now on is left to the next start, which finds it in the store.
        service.hooks.show = lambda _ask: None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    stack.push_async_callback(stop)
    return shower


def chats_of(
    settings: Settings, http: aiohttp.ClientSession
) -> tuple[SlackSurface | DiscordSurface, ...]:
    """The configured chat surfaces.

    Raises:
        ConfigError: one's clicks are to come by HTTP, and there is no listener for them.
    """
    found: list[SlackSurface | DiscordSurface] = []
    slack, discord = settings.slack, settings.discord
    for key, on in (
        ("slack.signing_secret without slack.app_token", slack.bot_token and not slack.app_token),
        ("discord.public_key", discord.public_key),
    ):
        if on and settings.public.port is None:
            raise ConfigError(
                f"{key} means that clicks come by HTTP, and no listener takes them: set public.port."
            )
    if slack.bot_token is not None:
        made = SlackSurface(
            bot_token=slack.bot_token.get_secret_value(),
            app_token=_open(slack.app_token),
            signing_secret=_open(slack.signing_secret),
            responders=slack.responders,
            api_url=slack.api_url,
            labels=settings.labels,
            http=http,
        )
        found.append(made)
    if discord.bot_token is not None:
        other = DiscordSurface(
            bot_token=discord.bot_token.get_secret_value(),
            http=http,
            labels=settings.labels,
            public_key=discord.public_key,
            responders=discord.responders,
            api_url=discord.api_url,
            gateway=discord.gateway,
            content=discord.message_content,
            shards=discord.shards,
        )
        found.append(other)
    return tuple(found)


def _open(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def database_of(settings: Settings) -> Path:
    """The database file.

    Raises:
        ConfigError: another kind of database is configured.
    """
    path = settings.storage.sqlite_path
    if path is None:
        raise ConfigError(f"storage.url {settings.storage.url} is no database that is supported.")
    return path


def callbacks_of(settings: Settings) -> Callbacks:
    """Where webhooks may go, and what signs them.

    Raises:
        ConfigError: callbacks.allow holds what is no host, address or network.
    """
    named = {name: agent.callback_secret for name, agent in settings.agents.items()}
    secrets = named if settings.agents else {None: settings.callbacks.secret}
    return Callbacks(
        AddressRules(settings.callbacks.allow),
        {name: [one.get_secret_value() for one in many] for name, many in secrets.items()},
    )


def routes_of(settings: Settings) -> Routes:
    """The configured routes.

    Raises:
        ConfigError: one leads nowhere.
    """
    for name, route in settings.routes.items():
        places = [("to", route.to)]
        if route.escalate is not None and route.escalate.to is not None:
            places.append(("escalate.to", route.escalate.to))
        for key, to in places:
            if isinstance(wrong := destination_of(to, SURFACES), str):
                raise ConfigError(f"routes.{name}.{key}: {wrong}")
    default = settings.default_route
    if default not in settings.routes and isinstance(
        wrong := destination_of(default, SURFACES), str
    ):
        raise ConfigError(f"default_route: {wrong}")
    return Routes(default=default, by_name=settings.routes)


def tokens_of(settings: Settings) -> Tokens:
    """The tokens of the configured agents."""
    return Tokens(
        {
            agent.token_hash: Agent(name=name, role=agent.role, routes=agent.routes)
            for name, agent in settings.agents.items()
        }
    )


def summary(settings: Settings) -> list[str]:
    """What a configuration sets up, a line each, for the person who wrote it.

    Raises:
        ConfigError: a route leads nowhere, or another key holds what it cannot.
    """
    routes = routes_of(settings)
    callbacks_of(settings)
    server, public = settings.server, settings.public
    agents = ", ".join(f"{name} ({agent.role})" for name, agent in settings.agents.items())
    listener = "none"
    if public.port is not None:
        listener = f"{public.host}:{public.port}" + (
            f", known as {public.url}" if public.url else ""
        )
    return [
        "The configuration is valid.",
        f"agents' API: {server.host}:{server.port}",
        f"agents: {agents or 'no tokens: callers on this machine only'}",
        f"public listener: {listener}",
        f"database: {database_of(settings).absolute()}",
        f"surfaces: {', '.join(_surfaces(settings))}",
        f"routes: {', '.join(routes.by_name) or 'none'}; default {routes.default}",
        f"inquiry backend: {settings.inquiry.url or 'none'}",
    ]


def _surfaces(settings: Settings) -> list[str]:
    slack, discord = settings.slack, settings.discord
    found = ["web"]
    if slack.bot_token is not None:
        found.append("slack (Socket Mode)" if slack.app_token else "slack (HTTP)")
    if discord.bot_token is not None:
        found.append("discord (HTTP)" if discord.public_key else "discord (gateway)")
    return found
