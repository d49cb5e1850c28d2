"""A running surface for tests: the real service, a store, and the message sync that shows changed asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any, Self

from answerback.core.ask import ANYONE, Ask, Destination
from answerback.core.errors import RateLimitedError
from answerback.core.form import Form
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.store import Store, Write
from answerback.ports.surface import Asks, SupportsReminders, Surface
from answerback.runtime.config import StorageSettings
from answerback.runtime.open_store import OpenStore, open_configured_store
from answerback.runtime.replica_lifecycle import listen_for_changes, release_claims
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync, SyncPace
from answerback_testing.example_asks import new_ask
from answerback_testing.example_commands import EXAMPLE_COMMANDS
from answerback_testing.manual_timers import ManualTimers

_NUMBERS = count(1)
SWEEP = 100
"""The number of asks that are brought up to date after a start."""


@dataclass
class SurfaceHarness:
    """The service and message sync that a surface runs with."""

    service: Service
    message_sync: MessageSync
    other_replicas: Sequence[SurfaceHarness] = ()
    """The harnesses of other processes on the same store."""
    timers: ManualTimers = field(default_factory=ManualTimers)
    """The timers of the message sync."""
    patience: float = 120.0
    """Seconds for which a test waits for messages to be up to date."""

    @property
    def store(self) -> Store:
        """The store with the asks."""
        return self.service.store

    async def create_ask(
        self, form: Form, to: Destination, responders: tuple[str, ...] = (ANYONE,), **more: Any
    ) -> Ask:
        """Create an ask and return it once it is shown; ``more`` are further fields of the ask."""
        number, now = next(_NUMBERS), self.service.clock.now()
        ask = new_ask(f"{number:024x}", to=to, form=form, responders=responders, at=now, **more)
        replica = [self, *self.other_replicas][number % (1 + len(self.other_replicas))]
        await replica.store.asks.create(Write(ask), None)
        replica.message_sync.request_sync(ask)
        return await self.wait_until_shown(ask.id)

    async def wait_until_shown(self, ask_id: str) -> Ask:
        """Return the current ask once all messages are up to date; fail if they are not in time."""
        syncs = [each.message_sync for each in (self, *self.other_replicas)]
        try:
            async with asyncio.timeout(self.patience):
                while any(sync.pending_count for sync in syncs):
                    for sync in syncs:
                        await sync.wait_until_idle()
        except TimeoutError:
            stored = await self.store.asks.get(ask_id)
            state = [(sync.pending_count, {**sync.show_counts}) for sync in syncs]
            raise AssertionError(
                f"After {self.patience} s not all is shown: {state}, {stored}"
            ) from None
        return await self.read_stored(ask_id)

    async def read_stored(self, ask_id: str) -> Ask:
        """Return an ask as it is stored, whatever is shown."""
        stored = await self.store.asks.get(ask_id)
        assert stored is not None
        return stored

    async def remind(self, ask: Ask, number: int) -> None:
        """Remind once the platform accepts calls: earlier tests may have used up its limit."""
        [surface] = self.service.surfaces.values()
        assert isinstance(surface, SupportsReminders)
        while True:
            try:
                return await surface.remind(ask, number)
            except RateLimitedError as limited:
                await asyncio.sleep(limited.retry_after)

    def run_timers(self) -> None:
        """Let the time pass after which an edit of unknown outcome can no longer be carried out."""
        for each in (self, *self.other_replicas):
            each.timers.run_all()

    async def stop_showing(self) -> None:
        """Stop updating messages."""
        for each in (self, *self.other_replicas):
            await each.message_sync.stop()


def combine_replicas(harnesses: Collection[SurfaceHarness]) -> SurfaceHarness:
    """Combine replicas of a service into one harness: asks are created at each in turn."""
    first, *others = harnesses
    first.other_replicas = others
    return first


@asynccontextmanager
async def follow_other_replicas(service: Service, message_sync: MessageSync) -> AsyncIterator[None]:
    """Make a service follow what other replicas commit, and release its claims at the end."""
    if service.claim is SOLE_CLAIM:
        yield
        return
    changes = listen_for_changes(service, message_sync)
    listening = asyncio.create_task(changes.dispatch_changes())
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await release_claims(service)


@asynccontextmanager
async def run_surface(
    make: Callable[[Asks], Surface], opened: OpenStore
) -> AsyncIterator[SurfaceHarness]:
    """Build and start a surface with its own service on an open store."""
    store, claim, clock = opened
    async with AsyncExitStack() as stack:
        surfaces: dict[str, Surface] = {}
        service = Service(
            store,
            clock,
            surfaces,
            known_surfaces=frozenset(),
            claim=claim,
            commands=EXAMPLE_COMMANDS,
        )
        surface = make(service)
        surfaces[surface.name] = surface
        timers = ManualTimers()
        message_sync = MessageSync(
            service, pace=SyncPace(first_pause=0.02), call_later=timers.call_later
        )
        await stack.enter_async_context(follow_other_replicas(service, message_sync))
        stack.push_async_callback(message_sync.stop)
        stack.push_async_callback(surface.stop)
        await surface.start()
        await message_sync.sweep(SWEEP)
        yield SurfaceHarness(service, message_sync, timers=timers)


class HarnessStage:
    """The common part of a `answerback_testing.simulated_people.Stage` for platforms without a server of their own.

    Args:
        make: creates the surface with its service; called on each start.
        url: a ``storage.url`` of a PostgreSQL database; without it, the store is an SQLite file of the stage's own.
        replicas: how many services share that database, each with its own surface.
    """

    def __init__(
        self, make: Callable[[Asks], Surface], url: str | None = None, replicas: int = 1
    ) -> None:
        self._make, self._replicas = make, replicas
        self._folder = TemporaryDirectory()
        self._storage = StorageSettings(url=url or f"sqlite:///{self._folder.name}/answerback.db")
        self._up = AsyncExitStack()
        self.surface: Surface
        self.surfaces: Sequence[Surface]
        """One per service; `surface` is the first."""
        self.harness: SurfaceHarness

    async def __aenter__(self) -> Self:
        await self.restart()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._up.aclose()
        self._folder.cleanup()

    async def restart(self) -> None:
        """Stop everything and start it again."""
        await self._up.aclose()
        harnesses = [await self._start() for _ in range(self._replicas)]
        self.harness = combine_replicas(harnesses)
        self.surfaces = [
            surface for each in harnesses for surface in each.service.surfaces.values()
        ]
        self.surface = self.surfaces[0]

    async def _start(self) -> SurfaceHarness:
        enter = self._up.enter_async_context
        return await enter(
            run_surface(self._make, await enter(open_configured_store(self._storage)))
        )
