"""Open the store that `storage.url` names, with what a process needs to share it or to have it alone."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, NamedTuple

from answerback.core.errors import StoreError
from answerback.ports.claims import SOLE_CLAIM, Claim
from answerback.ports.clock import Clock
from answerback.ports.store import Store
from answerback.runtime.clock import SharedClock, SystemClock
from answerback.runtime.config import StorageSettings

_LEASE: Final = 8.0
"""Seconds for which one of several processes claims work; if it dies, others finish the work within twice that."""


class OpenStore(NamedTuple):
    """An open store, with the claim that this process uses for its work and the store's clock."""

    store: Store
    claim: Claim
    clock: Clock


def build_store(storage: StorageSettings, timed: Callable[[float], None]) -> Store:
    """Return the store that the configuration names, not yet open; see `StorePlugin.store`."""
    return storage.plugin.store(storage.url, storage.listen_url, timed)


BuildStore = Callable[[StorageSettings, Callable[[float], None]], Store]
"""`build_store`, or what takes its place."""


@asynccontextmanager
async def open_configured_store(
    storage: StorageSettings,
    timed: Callable[[float], None] = lambda _seconds: None,
    build: BuildStore = build_store,
) -> AsyncIterator[OpenStore]:
    """Open the store until the context exits.

    Args:
        timed: called with the seconds that each write took, from the caller's point of view.

    Raises:
        StoreError: the store cannot be opened.
    """
    plugin = storage.plugin
    async with plugin.lock(storage.url), _open(build(storage, timed)) as store:
        if not plugin.is_shared:
            yield OpenStore(store, SOLE_CLAIM, SystemClock())
            return
        clock = SharedClock(partial(_database_time, store))
        await clock.start()
        yield OpenStore(store, Claim(secrets.token_hex(8), _LEASE), clock)


async def check_schema(storage: StorageSettings, hint: str) -> None:
    """Check that a database has the schema of this version, and change nothing.

    Args:
        hint: what to do if there is none of Answerback's.

    Raises:
        StoreError: it has another one or none, or it cannot be used. The message says what to do.
    """
    unapplied = await storage.plugin.unapplied_migrations(storage.url)
    if unapplied is None:
        raise StoreError(
            f"The database {storage.name} does not exist, or no Answerback has used it. {hint}"
        )
    if unapplied:
        raise StoreError(
            f"The database {storage.name} was written by an older Answerback than this one (it lacks"
            f" {', '.join(unapplied)}). Nothing in it was changed. Use that version, or start `answerback serve` of"
            " this version first, which upgrades it."
        )


@asynccontextmanager
async def open_to_read(storage: StorageSettings) -> AsyncIterator[Store]:
    """Open the store next to a running service, to read from it. Its schema is not upgraded.

    Raises:
        StoreError: there is none, its schema is another version's, or it cannot be opened.
    """
    hint = "Run this in the service's folder, or name its configuration file with --config."
    await check_schema(storage, hint)
    if storage.plugin.is_shared:
        async with open_configured_store(storage) as opened:
            yield opened.store
        return
    async with _open(build_store(storage, lambda _seconds: None)) as store:
        yield store


async def _database_time(store: Store) -> float:
    at = await store.changes.time()
    if at is None:
        raise AssertionError("a store that services share has a clock of its own")
    return at


@asynccontextmanager
async def _open(store: Store) -> AsyncIterator[Store]:
    await store.open()
    try:
        yield store
    finally:
        await store.close()
