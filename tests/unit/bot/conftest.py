"""A service over a real SQLite file, with a chat surface, a page, and a clock that tests advance."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from answerback.core.person import Person
from answerback.ports.store import Store
from answerback.service.inbox import Hides, hide_nothing
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.service.submission_request import NO_ROUTES, Routes
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.manual_timers import ManualTimers
from tests.fakes.receiver import Receiver, receiving
from tests.service_support import STORES_WEBHOOKS, FakePage, FakeSurface, ManualClock
from tests.stores.shared_file import SharedFile, SharedStore
from tests.unit.bot.outbox_support import Outbox, outbox
from tests.unit.bot.receipt_support import Signed


@dataclass
class Parts:
    """The parts that a service is built from."""

    store: SqliteStore
    clock: ManualClock
    chat: FakeSurface
    web: FakePage
    timers: ManualTimers = field(default_factory=ManualTimers)
    """Those of the message sync."""

    def service(
        self,
        rules: Rules | None = None,
        *,
        inquiry: bool = False,
        routes: Routes = NO_ROUTES,
        surfaces: tuple[str, ...] = ("chat", "web"),
        hidden_from: Callable[[Person], Awaitable[Hides]] = hide_nothing,
    ) -> Service:
        """Return a service; another one on the same parts simulates a restart."""
        return Service(
            self.store,
            self.clock,
            {s.name: s for s in (self.chat, self.web) if s.name in surfaces},
            known_surfaces=frozenset({"pager"}),
            routes=routes,
            rules=rules,
            has_inquiry=inquiry,
            extensions=[STORES_WEBHOOKS],
            hidden_from=hidden_from,
        )


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Parts]:
    store = SqliteStore(tmp_path / "asks.db")
    await store.open()
    yield Parts(store, ManualClock(), FakeSurface(), FakePage("web", responders=("anyone",)))
    await store.close()


@pytest.fixture
def signals() -> Iterator[None]:
    """Restore the signal handlers after a test whose command runs its own loop and leaves some behind."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store, used by one process."""
    made = SqliteStore(tmp_path / "a.db")
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def service(parts: Parts) -> Service:
    return parts.service()


@pytest.fixture
async def open_store(tmp_path: Path) -> AsyncIterator[Callable[[], Any]]:
    """Open one more process's store on a file that all share."""
    file = SharedFile(tmp_path / "shared.db")
    async with AsyncExitStack() as opened:

        async def another() -> Store:
            store = SharedStore(file)
            await store.open()
            opened.push_async_callback(store.close)
            return store

        yield another


@pytest.fixture
async def signed(store: Store) -> Signed:
    return Signed(store)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """The receiver of webhooks and notifications."""
    async with receiving() as running:
        yield running


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Outbox]:
    """An outbox that sends webhooks."""
    async with outbox(tmp_path) as made:
        yield made
