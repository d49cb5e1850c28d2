"""Backends for the surfaces' suites: a service on either store, or two services on one PostgreSQL behind a balancer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import aiohttp
import pytest

from answerback.core.labels import Labels
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.person_key import KeyHolder
from answerback.ports.plugin import DoctorContext, Finding, Host, SurfacePlugin
from answerback.runtime.clock import SystemClock
from answerback.runtime.config import StorageSettings
from answerback.runtime.open_store import OpenStore, open_configured_store
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.manual_timers import ManualTimers
from answerback_testing.surface_clicks import ClicksContract
from answerback_testing.surface_commands import CommandsContract
from answerback_testing.surface_contract import SharedSurfaceContract
from answerback_testing.surface_gaps import GapsContract
from answerback_testing.surface_grants import GrantsContract
from answerback_testing.surface_harness import SWEEP, SurfaceHarness, combine_replicas
from answerback_testing.surface_outages import OutagesContract
from answerback_testing.surface_people import PeopleContract
from answerback_testing.surface_too_late import TooLateContract
from answerback_testing.surface_typing import TypingContract
from tests import matrix
from tests.acceptance.replicas import Proxy
from tests.postgres import Server

SETUPS: Final = ("sqlite", "replicas")
"""Parameters for the suites' fixtures; see `create_setup`."""


class ReplicasContract(
    SharedSurfaceContract,
    PeopleContract,
    TooLateContract,
    GrantsContract,
    CommandsContract,
    OutagesContract,  # at the end for the reason that `SurfaceContract` gives
    GapsContract,
):
    """The tests that could depend on the store, on the number of services, or on the mode in which people's actions
    arrive.

    The rest of `SurfaceContract` is about what is shown, which is the same in each mode. Of the tests here, those about
    what arrives late, at the same moment, or while a service is down run in each mode, the others in one.
    """

    modes: ClassVar[tuple[str, ...]]
    """The modes in which people's actions arrive."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize as `parametrize_stage` does."""
        contract, _, name = metafunc.function.__qualname__.partition(".")
        modes = self.modes if contract in _IN_EACH_MODE else matrix.one_of(self.modes, name)
        stages = [(mode, "replicas") for mode in modes]
        metafunc.parametrize("stage", stages, indirect=True, scope="class", ids=":".join)


_IN_EACH_MODE: Final = {
    each.__name__
    for each in (ClicksContract, TypingContract, TooLateContract, OutagesContract, GapsContract)
}


def parametrize_stage(mode: str, setup: str) -> pytest.MarkDecorator:
    """Make the cases of a class share a ``stage`` for a mode of a platform with one of `SETUPS`."""
    return pytest.mark.parametrize(
        "stage", [(mode, setup)], indirect=True, scope="class", ids=":".join
    )


class Setup(NamedTuple):
    """Where asks are stored, and how many services use them."""

    database: Path | str
    """An SQLite file, or a ``storage.url``."""
    replicas: int = 1


@contextmanager
def create_setup(name: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Setup]:
    """Create one of `SETUPS`, and yield it until the context ends."""
    if name == "sqlite":
        yield Setup(folder / "answerback.db")
        return
    server: Server = request.getfixturevalue("postgres_server")
    with server.borrow_database() as database:
        yield Setup(server.url(database), replicas=2)


def create_host(http: aiohttp.ClientSession, **more: Any) -> Host:
    """Return what a process provides to a surface: nothing but calls and a secret of zeros, and ``more``."""

    async def secret() -> bytes:
        return bytes(32)

    async def holders() -> tuple[KeyHolder, ...]:
        return ()

    local = {"local_url": "http://127.0.0.1:1", "public_url": None}
    rest: dict[str, Any] = {"holders": holders, "tokens": False, "now": time.time}
    return Host(http, Labels(), secret, **{**local, **rest, **more})


async def run_doctor(plugin: SurfacePlugin[Any], setup: Mapping[str, Any]) -> list[Finding]:
    """Return what the doctor finds; ``setup`` has the surface's settings, and fields of `DoctorContext`."""
    checked = {each.name for each in fields(DoctorContext)} & setup.keys()
    settings = {key: value for key, value in setup.items() if key not in checked}
    async with aiohttp.ClientSession() as http:
        checkup = DoctorContext(http, **{key: setup[key] for key in checked})
        found = plugin.findings(plugin.settings.model_validate(settings), checkup)
        return [finding async for finding in found]


@asynccontextmanager
async def open_store(database: Path | str) -> AsyncIterator[OpenStore]:
    """Open a store in the way that a process does."""
    if isinstance(database, str):
        async with open_configured_store(StorageSettings(url=database)) as shared:
            yield shared
        return
    store = SqliteStore(database)
    await store.open()
    try:
        yield OpenStore(store, SOLE_CLAIM, SystemClock())
    finally:
        await store.close()


class LoadBalancer:
    """The endpoint to which a platform sends what people do: the only service, or several in turn.

    Args:
        path: the path of the address at which each service receives it.
    """

    def __init__(self, path: str, deliver_to: Callable[[str], None]) -> None:
        self._path = path
        self._deliver_to = deliver_to
        self._proxy = Proxy()
        self._up = AsyncExitStack()

    async def serve(self, url: str) -> None:
        """Add a service."""
        self._proxy.targets.append(url.removesuffix(self._path))
        if len(self._proxy.targets) == 2:
            await self._up.enter_async_context(self._proxy.up())
            url = self._proxy.url + self._path
        if len(self._proxy.targets) < 3:
            self._deliver_to(url)

    async def stop(self) -> None:
        """Remove all services."""
        await self._up.aclose()
        self._proxy.targets.clear()


async def start_replicas(
    up: AsyncExitStack, count: int, start: Callable[..., AbstractAsyncContextManager[Any]]
) -> SurfaceHarness:
    """Start so many services with one surface, each with timers of its own, until ``up`` is closed.

    Args:
        start: runs one; returns its parts, of which the second is the service and the fourth shows messages.
    """
    harnesses = []
    for _ in range(count):
        timers = ManualTimers()
        _, service, _, message_sync = await up.enter_async_context(start(timers=timers))
        await message_sync.sweep(SWEEP)
        harnesses.append(SurfaceHarness(service, message_sync, timers=timers))
    return combine_replicas(harnesses)


def cancel_tasks(*names: str) -> None:
    """End the tasks of these names wherever they are, as if their process were killed."""
    for task in asyncio.all_tasks():
        if task.get_name() in names:
            task.cancel()
