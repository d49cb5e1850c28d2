"""An SQLite file that several processes use at once, for tests of what one of them learns from another.

The product opens a file in one process only: those that share a database use PostgreSQL, where this takes longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from answerback.ports.store import Write
from answerback.ports.store_values import Created, CreateResult
from answerback_storage.sqlite.claims import SqliteRemoteChanges
from answerback_storage.sqlite.database import SqliteAsks
from answerback_storage.sqlite.store import SqliteStore


class SharedFile:
    """The file, and who wants to learn of changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.listeners: list[tuple[SharedStore, Callable[[str | None], None]]] = []

    def notify_others(self, store: SharedStore, name: str) -> None:
        """Call the listeners of the other stores."""
        for listening, callback in self.listeners:
            if listening is not store:
                callback(name)


class SharedStore(SqliteStore):
    """One process's store on the file."""

    def __init__(self, file: SharedFile) -> None:
        super().__init__(file.path)
        self.file = file
        self.changes = SharedChanges(self)
        self.asks = _SharedAsks(self)


class SharedChanges(SqliteRemoteChanges):
    """The changes of the other processes."""

    def __init__(self, store: SharedStore) -> None:
        super().__init__(store.database)
        self._store = store

    def listen(self, callback: Callable[[str | None], None]) -> None:
        self._store.file.listeners.append((self._store, callback))

    def announce(self, name: str) -> None:
        self._store.file.notify_others(self._store, name)


class _SharedAsks(SqliteAsks):
    def __init__(self, store: SharedStore) -> None:
        super().__init__(store.database, lambda _seconds: None)
        self._changes = store.changes

    async def create(self, write: Write, *args: Any, **more: Any) -> CreateResult:
        result = await super().create(write, *args, **more)
        if isinstance(result, Created):
            self._changes.announce(write.ask.id)
        return result

    def _change(self, ask_id: str, *args: Any, **more: Any) -> asyncio.Future[tuple[Any, bool]]:
        def announce(done: asyncio.Future[tuple[Any, bool]]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._changes.announce(ask_id)

        changing = super()._change(ask_id, *args, **more)
        changing.add_done_callback(announce)
        return changing
