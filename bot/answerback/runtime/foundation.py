"""The foundation of the service: its addresses, its store, and the parts that observe it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiohttp

from answerback.api.metrics import Metrics
from answerback.api.operation import PendingChanges
from answerback.ports.claims import ClaimKind
from answerback.ports.surface import Surface
from answerback.runtime import person_keys
from answerback.runtime.config import Settings
from answerback.runtime.from_settings import build_routes
from answerback.runtime.machine import Machine
from answerback.runtime.open_store import OpenStore, open_configured_store
from answerback.runtime.sockets import BoundSockets, bind_sockets, chat_http_session
from answerback.service.notify import Hooks
from answerback.service.submission_request import Routes

if TYPE_CHECKING:
    from answerback.runtime.tracing import Tracing


@dataclass(frozen=True, slots=True)
class Foundation:
    """The parts that do not need the service. It is closed with the stack, after everything that was built on it."""

    settings: Settings
    stack: AsyncExitStack
    routes: Routes
    sockets: BoundSockets
    metrics: Metrics
    opened: OpenStore
    holders: person_keys.JoinedHolders
    http: aiohttp.ClientSession
    """The chats' session."""
    tracing: Tracing | None
    hooks: Hooks
    surfaces: dict[str, Surface] = field(default_factory=dict)
    """The surfaces by name. Empty at first: the service acts through them, and each of them is built with the
    service."""
    pending_changes: PendingChanges = field(default_factory=PendingChanges)
    cut_off: set[ClaimKind] = field(default_factory=set)
    """The kinds of work that did not stop in time, whose claims have to lapse."""


async def lay_foundation(settings: Settings, machine: Machine, stack: AsyncExitStack) -> Foundation:
    """Bind the addresses and open the store.

    Raises:
        ConfigError: an address cannot be bound, or a route is invalid.
        StoreError: the database cannot be opened.
    """
    routes = build_routes(settings)
    sockets = await bind_sockets(settings, stack, machine.bind)
    metrics = Metrics()
    observe_commit = metrics.commit_seconds.observe
    opened = await stack.enter_async_context(
        open_configured_store(settings.storage, observe_commit, machine.build_store)
    )
    holders = await person_keys.build_holders_reader(settings)
    http = await stack.enter_async_context(chat_http_session())
    tracing = await _build_tracing(settings, stack)
    hooks = Hooks() if tracing is None else tracing.hooks()
    metrics.listen(hooks)
    return Foundation(
        settings=settings,
        stack=stack,
        routes=routes,
        sockets=sockets,
        metrics=metrics,
        opened=opened,
        holders=holders,
        http=http,
        tracing=tracing,
        hooks=hooks,
    )


async def _build_tracing(settings: Settings, stack: AsyncExitStack) -> Tracing | None:
    if settings.tracing.endpoint is None:
        return None
    from answerback.runtime.tracing import Tracing  # an extra

    tracing = await asyncio.to_thread(Tracing, settings.tracing.endpoint)  # it starts a thread
    stack.push_async_callback(tracing.stop)
    return tracing
