"""Which store `storage.url` names, opened: an SQLite file for this process alone, or a PostgreSQL database."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from answerback.ports.claims import SOLE_CLAIM, Claim
from answerback.ports.clock import Clock
from answerback.ports.store import Store
from answerback.runtime.clock import SharedClock, SystemClock
from answerback.runtime.config import StorageSettings
from answerback_storage.sqlite.exclusive_lock import hold_exclusive_lock
from answerback_storage.sqlite.store import SqliteStore

_LEASE: Final = 8.0
"""Seconds for which a process of several claims work: what was in hand when it died, others have done in twice that."""


class OpenStore(NamedTuple):
    """An open store, what this process claims its work in it with, and the time that goes with it."""

    store: Store
    claim: Claim
    clock: Clock


@asynccontextmanager
async def open_configured_store(
    storage: StorageSettings, timed: Callable[[float], None] = lambda _seconds: None
) -> AsyncIterator[OpenStore]:
    """The store, open for as long as the context lasts.

    Args:
        timed: is told how many seconds a write took which somebody waited for.

    Raises:
        StoreError: it cannot be opened; in words.
    """
    if not storage.uses_postgres:
        async with (
            hold_exclusive_lock(storage.sqlite_path),
            _open(SqliteStore(storage.sqlite_path, timed=timed)) as store,
        ):
            yield OpenStore(store, SOLE_CLAIM, SystemClock())
        return
    from answerback_storage.postgres.store import PostgresStore

    shared = PostgresStore(storage.url, listen_url=storage.listen_url, timed=timed)
    async with _open(shared) as store:
        clock = SharedClock(shared.time)
        await clock.start()
        yield OpenStore(store, Claim(secrets.token_hex(8), _LEASE), clock)


@asynccontextmanager
async def _open(store: Store) -> AsyncIterator[Store]:
    await store.open()
    try:
        yield store
    finally:
        await store.close()
