"""A surface at work, for its tests: the real service, a store, and what shows asks again when they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

from answerback.core.ask import ANYONE, Ask, Destination
from answerback.core.form import Form
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.store import Store, Write
from answerback.ports.surface import Surface
from answerback.runtime.clock import SystemClock
from answerback.runtime.config import StorageSettings
from answerback.runtime.open_store import OpenStore, open_configured_store
from answerback.runtime.replica_lifecycle import release_claims
from answerback.service.remote_changes import RemoteChangeListener
from answerback.service.service import Service
from answerback.testing.store_examples import new_ask
from answerback.workers.message_sync import MessageSync
from answerback_storage.memory.store import MemoryStore, Tables

_NUMBERS = count(1)
SWEEP = 100
"""Asks that are brought up to date after a start."""


@dataclass
class SurfaceHarness:
    """What is up around a surface."""

    service: Service
    shower: MessageSync
    other_replicas: Sequence[SurfaceHarness] = ()
    """What other processes on the same store have up."""

    @property
    def store(self) -> Store:
        """Where the asks are."""
        return self.service.store

    async def create_ask(
        self, form: Form, to: Destination, responders: tuple[str, ...] = (ANYONE,), **more: Any
    ) -> Ask:
        """An ask of this form at a place, once it is shown; ``more`` are its other fields."""
        number, now = next(_NUMBERS), self.service.clock.now()
        ask = new_ask(f"{number:024x}", to=to, form=form, responders=responders, at=now, **more)
        at = [self, *self.other_replicas][number % (1 + len(self.other_replicas))]
        await at.store.create(Write(ask), None)
        at.shower.request_sync(ask)
        return await self.wait_until_shown(ask.id)

    async def wait_until_shown(self, ask_id: str) -> Ask:
        """The ask as it stands, once nothing is being shown any more."""
        showers = [one.shower for one in (self, *self.other_replicas)]
        while any(shower.pending_count for shower in showers):
            for shower in showers:
                await shower.wait_until_idle()
        stored = await self.store.get(ask_id)
        assert stored is not None
        return stored

    async def stop_showing(self) -> None:
        """Nothing is shown any more."""
        for one in (self, *self.other_replicas):
            await one.shower.stop()


def combine_replicas(benches: Collection[SurfaceHarness]) -> SurfaceHarness:
    """Several services at work as one: asks come in at each in turn."""
    first, *others = benches
    first.other_replicas = others
    return first


@asynccontextmanager
async def follow_other_replicas(service: Service, shower: MessageSync) -> AsyncIterator[None]:
    """Has a service hear what others commit, and give back at its end what it has claimed."""
    if service.claim is SOLE_CLAIM:
        yield
        return
    hearing = RemoteChangeListener(
        service.store,
        service.signals,
        service.presence,
        service.surfaces.keys(),
        on_remote_change=shower.on_remote_change,
    )
    service.store.listen(hearing.handle_notification)
    listening = asyncio.create_task(hearing.dispatch_changes())
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await release_claims(service)


@asynccontextmanager
async def run_surface(surface: Surface, opened: OpenStore) -> AsyncIterator[SurfaceHarness]:
    """A surface, started, with a service of its own on an open store."""
    store, claim, clock = opened
    async with AsyncExitStack() as stack:
        names = frozenset({surface.name})
        service = Service(store, clock, {surface.name: surface}, known_surfaces=names, claim=claim)
        shower = MessageSync(service, first_pause=0.02)
        await stack.enter_async_context(follow_other_replicas(service, shower))
        stack.push_async_callback(shower.stop)
        service.hooks.show = shower.request_sync
        stack.push_async_callback(surface.stop)
        await surface.start(service)
        await shower.sweep(SWEEP)
        yield SurfaceHarness(service, shower)


class HarnessStage:
    """What a `answerback.testing.simulated_people.Stage` does for every platform without a server of its own.

    Args:
        make: makes the surface, anew for each start.
        url: a ``storage.url`` of a PostgreSQL database; without it, everything is in memory.
        replicas: how many services share that database, each with a surface of its own.
    """

    def __init__(
        self, make: Callable[[], Surface], url: str | None = None, replicas: int = 1
    ) -> None:
        self._make, self._url, self._replicas = make, url, replicas
        self._tables = Tables()
        self._up = AsyncExitStack()
        self.surface: Surface
        self.surfaces: Sequence[Surface]
        """One for each service; `surface` is the first."""
        self.harness: SurfaceHarness

    async def __aenter__(self) -> Self:
        await self.restart()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._up.aclose()

    async def restart(self) -> None:
        """Stops what is up, and starts it anew."""
        await self._up.aclose()
        self.surfaces = [self._make() for _ in range(self._replicas)]
        self.surface = self.surfaces[0]
        self.harness = combine_replicas([await self._started(surface) for surface in self.surfaces])

    async def _started(self, surface: Surface) -> SurfaceHarness:
        enter = self._up.enter_async_context
        if self._url is not None:
            return await enter(
                run_surface(
                    surface, await enter(open_configured_store(StorageSettings(url=self._url)))
                )
            )
        store = MemoryStore(self._tables)
        await store.open()
        self._up.push_async_callback(store.close)
        return await enter(run_surface(surface, OpenStore(store, SOLE_CLAIM, SystemClock())))
