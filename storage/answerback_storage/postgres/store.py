"""`PostgresStore`: asks in a PostgreSQL database that any number of processes share.

Every write is a single statement, and so a single transaction. The exceptions are erasure, late answers, the chain of
receipts, tokens of agents, clock changes and migrations.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from answerback.core.ask import Status
from answerback.core.errors import StoreError
from answerback.ports.store import Store
from answerback.ports.store_values import DeliveryState
from answerback_storage import rows
from answerback_storage.base_store import BaseDrafts
from answerback_storage.postgres.ask_store import PostgresAsks
from answerback_storage.postgres.asks import unique_hash
from answerback_storage.postgres.claims import (
    PostgresClaims,
    PostgresLeases,
    PostgresRateLimits,
    PostgresRemoteChanges,
)
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.erasure import PostgresErasure
from answerback_storage.postgres.grants import PostgresGrants
from answerback_storage.postgres.late_answers import PostgresLateAnswers
from answerback_storage.postgres.links import PostgresAccountLinks
from answerback_storage.postgres.listen_notify import ChangeNotifier
from answerback_storage.postgres.maintenance import PostgresMaintenance
from answerback_storage.postgres.messages import PostgresMessageQueries
from answerback_storage.postgres.migrations import migrate
from answerback_storage.postgres.outbox import PostgresOutbox
from answerback_storage.postgres.people import PostgresAgentTokens, PostgresPushSubscriptions
from answerback_storage.postgres.receipts import PostgresReceipts
from answerback_storage.postgres.record_lines import PostgresRecord
from answerback_storage.postgres.search import PostgresSearch


class PostgresStore(Store):
    """A store in a PostgreSQL database.

    Args:
        url: the database, in libpq's format. It must exist; its tables need not.
        listen_url: the server itself, if ``url`` is a pooler that reassigns connections between transactions.
        timed: called with the seconds that a caller waited for a write.
    """

    def __init__(
        self,
        url: str,
        *,
        listen_url: str | None = None,
        timed: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self.database = db = PostgresDatabase(url, pooled=listen_url is not None)
        self.notifier = ChangeNotifier(db.connections, listen_url or url)
        self.asks = PostgresAsks(db, timed, self.notifier)
        self.messages = PostgresMessageQueries(db)
        self.search = PostgresSearch(db)
        self.record = PostgresRecord(db)
        self.receipts = PostgresReceipts(db)
        self.grants = PostgresGrants(db)
        self.late_answers = PostgresLateAnswers(db)
        self.outbox = PostgresOutbox(db)
        self.claims = PostgresClaims(db)
        self.leases = PostgresLeases(db)
        self.rate_limits = PostgresRateLimits(db)
        self.changes = PostgresRemoteChanges(db, self.notifier)
        self.drafts = PostgresDrafts(db)
        self.push = PostgresPushSubscriptions(db)
        self.agent_tokens = PostgresAgentTokens(db)
        self.links = PostgresAccountLinks(db)
        self.erasure = PostgresErasure(db, self.notifier)
        self.maintenance = PostgresMaintenance(db)

    async def open(self) -> None:
        """Connect and migrate. Reads nothing else, so the time does not depend on the number of asks."""
        try:
            await migrate(self.database.connections)
            await self.notifier.open()
        except StoreError:
            await self.database.connections.close()
            raise
        self.database.is_open = True

    async def close(self) -> None:
        """Finish the submitted work and close the connections."""
        await self.database.finish()
        await self.asks.changes.finish()
        await self.notifier.close()
        await self.database.connections.close()

    async def check(self) -> None:
        """Durably write a row, and read it."""
        await self.database.write("UPDATE health SET checks = checks + 1")
        await self.database.read("SELECT checks FROM health")

    async def secret(self, name: str) -> bytes:
        await self.database.write(
            "INSERT INTO secrets VALUES ($1, $2) ON CONFLICT DO NOTHING",
            *(name, secrets.token_bytes(32)),
        )
        found = await self.database.read("SELECT value FROM secrets WHERE name = $1", name)
        return bytes(found[0][0])

    async def counts(self) -> Mapping[str, int]:
        found = await self.database.read("SELECT name, sum(n)::bigint FROM counters GROUP BY name")
        return dict.fromkeys([*Status, *DeliveryState], 0) | dict(found)

    async def oldest_open(self) -> Mapping[str, float]:
        # PostgreSQL's JSON operators refuse documents with texts that it cannot represent, even to read others. In a
        # document, a name between quotes is never part of a text: there the quotes are escaped.
        found = await self.database.read(
            r"""SELECT coalesce(substring(request from '.*"route":(null|"(?:[^"\\]|\\.)*")'), 'null'),
                    min(created_at
                        - coalesce(substring(split_part(state, '"walk":', 1) from '"set_back":([^,}]+)')::float, 0))
                FROM asks JOIN requests USING (seq) WHERE status = 'open' GROUP BY 1"""
        )
        return {str(rows.load(route.encode()) or ""): began for route, began in found}


class PostgresDrafts(BaseDrafts[PostgresDatabase]):
    """Drafts in a PostgreSQL database."""

    async def _read(self, key: str) -> bytes | None:
        statement = "SELECT value FROM drafts WHERE hash = $1"
        found = await self._db.read(statement, unique_hash(key))
        return found[0][0].encode() if found else None

    async def save(self, key: str, value: JsonValue, at: float) -> None:
        if value is None:
            await self._db.write("DELETE FROM drafts WHERE hash = $1", unique_hash(key))
            return
        await self._db.write(
            """INSERT INTO drafts (hash, key, value, at) VALUES ($1, $2, $3, $4)
                ON CONFLICT (hash) DO UPDATE SET value = excluded.value, at = excluded.at""",
            *(unique_hash(key), key, rows.dump(value), at),
        )
