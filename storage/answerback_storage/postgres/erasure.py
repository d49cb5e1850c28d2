"""Erase what was written in ended asks, in PostgreSQL; see `answerback.ports.store.Erasure`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.erasure import erase_ask, erase_entry
from answerback.ports.store import Erasure
from answerback_storage import rows
from answerback_storage.base_store import Part
from answerback_storage.postgres import asks, grants, receipts, record_lines
from answerback_storage.postgres.connections import Connection
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.listen_notify import ChangeNotifier
from answerback_storage.postgres.sql import Parameters

_ERASABLE: Final = """SELECT id FROM asks WHERE settled_at < $1 AND erased_at IS NULL
    ORDER BY settled_at LIMIT $2"""
"""The asks that ended before a given time and are not erased, in the order in which they ended."""
_DELETE_RELATED: Final = (
    "DELETE FROM idempotency WHERE ask_id = $1",
    "DELETE FROM owed WHERE ask_id = $1",
    # Keys of drafts consist of ids, after a word for the kind of draft.
    "DELETE FROM drafts WHERE strpos(':' || key || ':', ':' || $1 || ':') > 0",
    receipts.ERASE,
    grants.ERASE,
)
"""What is deleted along with an ask's content, by the ask's id."""
_ERASE_DELIVERIES: Final = """UPDATE deliveries SET body = $1, url = $2, state = $3, next_at = $4, last_error = $5,
    updated_at = $6, holder = NULL, claimed_until = NULL WHERE ask_id = $7"""
_LINES: Final = "SELECT seq, at, entry FROM record WHERE ask_id = $1 ORDER BY seq"


class PostgresErasure(Part[PostgresDatabase], Erasure):
    """Erasure in a PostgreSQL database."""

    def __init__(self, db: PostgresDatabase, notifier: ChangeNotifier) -> None:
        super().__init__(db)
        self._notifier = notifier

    async def erase(self, ask_id: str, at: float, opaque: Collection[str]) -> Ask | None:
        """See `Erasure.erase`. Overwritten data leaves the files with the next VACUUM."""

        async def run() -> Ask | None:
            ask = await self._erase(ask_id, at, opaque)
            self._db.requests.drop(ask_id)
            self._notifier.notify([ask_id])
            return ask

        return await self._db.run(run)

    async def scrub(self) -> None:
        """Do nothing: the server's autovacuum does it."""

    async def list_erasable(self, before: float, limit: int) -> Sequence[str]:
        return [ask_id for (ask_id,) in await self._db.read(_ERASABLE, before, limit)]

    async def _erase(self, ask_id: str, at: float, opaque: Collection[str]) -> Ask | None:
        async with self._db.connections.transaction() as connection:
            statement = asks.load_statement("WHERE id = $1 FOR UPDATE OF asks")
            found = await (await connection.execute(statement.encode(), (ask_id,))).fetchone()
            old = asks.parse_row(self._db.requests, found).ask if found else None
            if old is None or old.open or old.erased_at is not None:
                return old
            new = erase_ask(old, at, opaque)
            await _update(connection, new)
            await connection.execute(
                _ERASE_DELIVERIES.encode(), (*rows.erased_delivery_columns(at), ask_id)
            )
            for names in rows.memory_keys(old.request):
                key = asks.unique_hash(*names)
                await connection.execute(b"DELETE FROM remembered WHERE hash = $1", (key,))
            join = asks.unique_hash(old.request.join or "")
            await connection.execute(b"DELETE FROM drafts WHERE hash = $1", (join,))
            for statement in _DELETE_RELATED:
                await connection.execute(statement.encode(), (ask_id,))
            lines = await connection.execute(_LINES.encode(), (ask_id,))
            for seq, written_at, text in await lines.fetchall():
                entry = rows.entry_from_json(ask_id, seq, written_at, text.encode())
                erased = rows.dump_entry(erase_entry(entry, opaque))
                await connection.execute(
                    b"UPDATE record SET entry = $1 WHERE seq = $2", (erased, seq)
                )
            params = Parameters()
            added = record_lines.insert(params, rows.entry_rows(ask_id, [rows.erasure_entry(at)]))
            await connection.execute(added.encode(), params.values)
            return new


async def _update(connection: Connection, new: Ask) -> None:
    params = Parameters()
    values = params.row(asks.ask_columns(new), asks.WRITE_COLUMN_TYPES)
    await connection.execute(
        f"""UPDATE asks SET (version, conversation, erased_at, {asks.WRITE_COLUMNS}) =
            ROW (version + 1, NULL, {params.add(new.erased_at, "float8")}, {values})
            WHERE id = {params.add(new.id)}""".encode(),
        params.values,
    )
    request = rows.dump_request(new.request)
    statement = b"UPDATE requests SET request = $1 WHERE seq = (SELECT seq FROM asks WHERE id = $2)"
    await connection.execute(statement, (request, new.id))
