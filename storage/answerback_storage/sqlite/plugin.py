"""SQLite as a store's plug-in: one file, which one service uses at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from answerback.core.errors import StoreError
from answerback.ports.plugin import Finding
from answerback.ports.store_plugin import StorePlugin

if TYPE_CHECKING:
    from answerback.ports.store import Store
    from answerback_storage.store_copy import CopyEndpoint


class SqlitePlugin(StorePlugin):
    """An SQLite file."""

    name = "sqlite"
    order = 10
    schemes = frozenset({"sqlite"})
    is_shared = False

    def problem(self, url: str, listen_url: str | None) -> str | None:
        rest = url.partition("://")[2]
        if not rest.startswith("/") or rest in {"/", "/:memory:"}:
            return (
                "a database is sqlite:///a/relative.db or sqlite:////an/absolute.db (a file, not :memory:), or"
                " postgresql://user@host/name"
            )
        if listen_url is not None:
            return "listen_url is for a postgresql:// url: the server behind a pooler. Remove it"
        return None

    def label(self, url: str) -> str:
        return str(self.file(url).absolute())

    def file(self, url: str) -> Path:
        return Path(unquote(url.removeprefix("sqlite:///")))

    def store(self, url: str, listen_url: str | None, timed: Callable[[float], None]) -> Store:
        from answerback_storage.sqlite.store import SqliteStore

        return SqliteStore(self.file(url), timed=timed)

    async def unapplied_migrations(self, url: str) -> Sequence[str] | None:
        from answerback_storage.sqlite.connections import unapplied_migrations

        return await asyncio.to_thread(unapplied_migrations, self.file(url))

    def lock(self, url: str) -> AbstractAsyncContextManager[object]:
        from answerback_storage.sqlite.exclusive_lock import hold_exclusive_lock

        return hold_exclusive_lock(self.file(url))

    def copy_endpoint(self, url: str) -> CopyEndpoint:
        from answerback_storage.sqlite.copy_endpoint import sqlite_endpoint

        return sqlite_endpoint(self.file(url))

    async def findings(self, url: str, listen_url: str | None) -> AsyncIterator[Finding]:
        path = await asyncio.to_thread(self.file(url).absolute)
        if not await asyncio.to_thread(path.exists):
            yield await asyncio.to_thread(_new_database, path)
            return
        yield await _existing_database(path)


async def _existing_database(path: Path) -> Finding:
    from answerback_storage.sqlite.connections import check_access, unapplied_migrations
    from answerback_storage.sqlite.store import SqliteStore

    store = SqliteStore(path)
    try:
        unapplied = await asyncio.to_thread(unapplied_migrations, path)
        await asyncio.to_thread(check_access, path)
        if unapplied is None:
            return Finding(f"database {path}, its tables to be created by `answerback serve`")
        if unapplied:
            return Finding(
                f"database {path}, to be upgraded by `answerback serve` ({', '.join(unapplied)})"
            )
        await store.open()
        try:
            await store.check()
        finally:
            await store.close()
    except StoreError as error:
        return Finding(
            "database", str(error), "Check storage.url, the folder's permissions and the disk."
        )
    return Finding(f"database {path}")


def _new_database(path: Path) -> Finding:
    """Check whether a database that does not exist yet can be created."""
    folder = path.parent
    if not folder.is_dir():
        return Finding(
            "database", f"the folder {folder} does not exist", "Create it, or change storage.url."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        return Finding(
            "database",
            f"the folder {folder} is not writable",
            "Change its owner or permissions, or run the service as the user who owns it.",
        )
    return Finding(f"database {path}, to be created by `answerback serve`")
