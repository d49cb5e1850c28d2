"""A surface at work, for its tests: the real service, a store in memory, and what shows asks again when they change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count

from answerback.core.ask import ANYONE, Ask, Destination
from answerback.core.form import Form
from answerback.ports.store import Store, Write
from answerback.ports.surface import Surface
from answerback.runtime.clock import SystemClock
from answerback.service.service import Service
from answerback.testing.store_examples import new_ask
from answerback.workers.message_sync import Shower
from answerback_storage.memory import MemoryStore

_NUMBERS = count(1)


@dataclass
class Bench:
    """What is up around a surface."""

    service: Service
    store: Store
    shower: Shower

    async def opens(
        self, form: Form, to: Destination, responders: tuple[str, ...] = (ANYONE,)
    ) -> Ask:
        """An ask of this form at a place, once it is shown."""
        ask = new_ask(f"{next(_NUMBERS):024x}", to=to, form=form, responders=responders)
        await self.store.create(Write(ask), None)
        self.shower.poke(ask)
        return await self.shown(ask.id)

    async def shown(self, ask_id: str) -> Ask:
        """The ask as it stands, once nothing is being shown any more."""
        await self.shower.idle()
        stored = await self.store.get(ask_id)
        assert stored is not None
        return stored


@asynccontextmanager
async def bench(surface: Surface, store: Store | None = None) -> AsyncIterator[Bench]:
    """A surface, started, with a service of its own."""
    async with AsyncExitStack() as stack:
        store = store or MemoryStore()
        await store.open()
        stack.push_async_callback(store.close)
        names = frozenset({surface.name})
        service = Service(store, SystemClock(), {surface.name: surface}, known_surfaces=names)
        shower = Shower(service, first_pause=0.02)
        stack.push_async_callback(shower.stop)
        service.hooks.show = shower.poke
        stack.push_async_callback(surface.stop)
        await surface.start(service)
        yield Bench(service, store, shower)
