"""Erase what was written in ended asks, in PostgreSQL; see `answerback.ports.store.Store.erase`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from answerback.core.ask import Ask
from answerback.core.erasure import erase_ask, erase_entry
from answerback_storage import rows
from answerback_storage.postgres import asks
from answerback_storage.postgres.connections import Connection, Database
from answerback_storage.postgres.sql import Parameters

ERASABLE: Final = """SELECT id FROM asks WHERE settled_at < $1 AND erased_at IS NULL
    ORDER BY settled_at LIMIT $2"""
"""The asks that ended before a given time and are not erased, in the order in which they ended."""
_DELETE_RELATED: Final = (
    "DELETE FROM idempotency WHERE ask_id = $1",
    "DELETE FROM owed WHERE ask_id = $1",
    # Keys of drafts consist of ids, after a word for the kind of draft.
    "DELETE FROM drafts WHERE strpos(':' || key || ':', ':' || $1 || ':') > 0",
)
"""What is deleted along with an ask's content, by the ask's id."""
_ERASE_DELIVERIES: Final = """UPDATE deliveries SET body = $1, url = $2, state = $3, next_at = $4, last_error = $5,
    updated_at = $6, holder = NULL, claimed_until = NULL WHERE ask_id = $7"""
_LINES: Final = "SELECT seq, at, entry FROM record WHERE ask_id = $1 ORDER BY seq"


async def erase(
    database: Database, cache: rows.RequestCache, wanted: tuple[str, float, Collection[str]]
) -> Ask | None:
    """Erase an ask in one transaction.

    ``wanted`` is its id, the time, and the surfaces whose user ids do not identify anybody.
    """
    ask_id, at, opaque = wanted
    async with database.transaction() as connection:
        statement = asks.load_statement("WHERE id = $1 FOR UPDATE OF asks")
        found = await (await connection.execute(statement.encode(), (ask_id,))).fetchone()
        old = asks.parse_row(cache, found).ask if found else None
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
            await connection.execute(b"UPDATE record SET entry = $1 WHERE seq = $2", (erased, seq))
        params = Parameters()
        added = asks.record_lines(params, rows.entry_rows(ask_id, [rows.erasure_entry(at)]))
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
