"""Erase what was written in ended asks, in a database; see `answerback.ports.store.Erasure`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.erasure import erase_ask, erase_entry
from answerback.ports.claims import RemoteChanges
from answerback.ports.store import Erasure
from answerback_storage import files, rows
from answerback_storage.extension_rows import schema_tables
from answerback_storage.files import SqlFiles
from answerback_storage.sql_database import Part, SqlDatabase, Transaction

_MAX_LINES: Final = 1_000
"""Record lines held in memory at once."""
_ERASE: Final = "UPDATE asks SET conversation = NULL, erased_at = $2 WHERE id = $1"
_ERASE_REQUEST: Final = """UPDATE requests SET request = $2
    WHERE seq = (SELECT seq FROM asks WHERE id = $1)"""
_ERASE_DELIVERIES: Final = """UPDATE deliveries SET body = $2, url = $3, state = $4, next_at = $5, last_error = $6,
    updated_at = $7, holder = NULL, claimed_until = NULL WHERE ask_id = $1"""
_ERASE_RELATED: Final = (
    "DELETE FROM idempotency WHERE ask_id = $1",
    "DELETE FROM owed WHERE ask_id = $1",
    "DELETE FROM grants WHERE ask_id = $1",
    # Pushes that have not been sent name people; see `push_queue`.
    "DELETE FROM deliveries WHERE ask_id > 'push ' || $1 || ' ' AND ask_id < 'push ' || $1 || '!'",
    "DELETE FROM extension_rows WHERE ask_id = $1",
    # See `rows.draft_ask_id`.
    """DELETE FROM drafts WHERE (ask_id = $1 OR ask_id IS NULL)
        AND {position}(':' || key || ':', ':' || $1 || ':') > 0""",
)
"""The statements that erase the rows that go with an ask's content, by the ask's id, besides the tables of
extensions."""


class SqlErasure(Part[SqlDatabase], Erasure):
    def __init__(self, db: SqlDatabase, changes: RemoteChanges, ask_files: SqlFiles) -> None:
        super().__init__(db)
        self._changes = changes
        self._files = ask_files

    async def erase(self, ask_id: str, at: float, opaque: Collection[str]) -> Ask | None:
        ask_files: list[str] = []

        # `scrub` then removes what remains in the database's files, or the server does.
        async def run(tx: Transaction) -> Ask | None:
            old = await tx.get(ask_id)
            if old is None or old.open or old.erased_at is not None:
                return old
            new = erase_ask(old, at, opaque)
            await tx.update(old, new)
            await tx.execute(_ERASE, ask_id, at)
            await tx.execute(_ERASE_REQUEST, ask_id, rows.dump_request(new.request))
            await tx.execute(_ERASE_DELIVERIES, ask_id, *rows.erased_delivery_columns(at))
            keys = [self._db.key("remembered", *names) for names in rows.memory_keys(old.request)]
            for condition, values in keys:
                await tx.execute(f"DELETE FROM remembered WHERE {condition}", *values)
            condition, values = self._db.key("drafts", old.request.repeat_key or "")
            await tx.execute(f"DELETE FROM drafts WHERE {condition}", *values)
            of_extensions = [table.erase for table in schema_tables() if table.erase]
            for statement in (*_ERASE_RELATED, *of_extensions):
                await tx.execute(statement.format(position=self._db.position), ask_id)
            ask_files[:] = [file_id for (file_id,) in await tx.execute(files.ERASE, ask_id)]
            await self._erase_lines(tx, ask_id, opaque)
            await tx.add_lines([(ask_id, rows.erasure_entry(at))])
            return new

        erased = await self._db.transact(run)
        await self._files.sweep(ask_files)
        self._db.requests.drop(ask_id)
        self._changes.announce(ask_id)
        return erased

    async def _erase_lines(self, tx: Transaction, ask_id: str, opaque: Collection[str]) -> None:
        after = 0
        while found := await tx.execute(self._db.lines, ask_id, after, _MAX_LINES):
            for seq, at, text in found:
                entry = rows.entry_from_json(ask_id, seq, at, text)
                erased = rows.dump_entry(erase_entry(entry, opaque))
                await tx.execute("UPDATE record SET entry = $1 WHERE seq = $2", erased, seq)
            after = found[-1][0]

    async def scrub(self) -> None:
        await self._db.scrub()

    async def list_erasable(self, before: float, limit: int) -> Sequence[str]:
        at = self._db.ended_at
        statement = f"SELECT id FROM asks {self._db.ended} AND {at} < $1 ORDER BY {at} LIMIT $2"
        return [ask_id for (ask_id,) in await self._db.fetch(statement, before, limit)]
