"""PostgreSQL as a store's plug-in: any number of services share one database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from answerback.ports.store_plugin import StorePlugin
from answerback_base.install_extras import POSTGRES

if TYPE_CHECKING:
    from answerback.ports.plugin import Finding
    from answerback.ports.store import Store
    from answerback_storage.store_copy import CopyEndpoint


class PostgresPlugin(StorePlugin):
    """A PostgreSQL database."""

    name = "postgresql"
    order = 20
    schemes = frozenset({"postgresql", "postgres"})
    extra = POSTGRES

    def problem(self, url: str, listen_url: str | None) -> str | None:
        if listen_url is not None and urlsplit(listen_url).scheme not in self.schemes:
            return "listen_url must be the postgresql:// address of the server behind a pooler"
        if not urlsplit(url).path.strip("/"):
            return "a PostgreSQL database must be postgresql://user@host:5432/name"
        return None

    def label(self, url: str) -> str:
        parts = urlsplit(url)
        return f"{parts.path.removeprefix('/')} on {parts.netloc.rpartition('@')[2]}"

    def store(self, url: str, listen_url: str | None, timed: Callable[[float], None]) -> Store:
        from answerback_postgres.store import PostgresStore

        return PostgresStore(url, listen_url=listen_url, timed=timed)

    async def unapplied_migrations(self, url: str) -> Sequence[str] | None:
        from answerback_postgres.connections import Database
        from answerback_postgres.migrations import unapplied

        database = Database(url, pooled=True)
        try:
            async with database.transaction() as connection:
                return await unapplied(connection, database.name)
        finally:
            await database.close()

    def copy_endpoint(self, url: str) -> CopyEndpoint:
        from answerback_postgres.copy_endpoint import postgres_endpoint

        return postgres_endpoint(url)

    async def findings(self, url: str, listen_url: str | None) -> AsyncIterator[Finding]:
        from answerback_postgres import health_checks

        async for finding in health_checks.findings(url, listen_url):
            yield finding
