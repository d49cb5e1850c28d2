"""What is done from time to time in SQLite: pruning, and rescheduling after a clock change."""

from __future__ import annotations

import sqlite3
from typing import ClassVar, Final

from answerback.core.ask import RecordEntry
from answerback_storage import rows
from answerback_storage.base_store import PRUNE_STEP, BaseMaintenance
from answerback_storage.sqlite import asks, grants, outbox, people
from answerback_storage.sqlite.database import SqliteDatabase

_SEEN: Final = "SELECT id, at FROM seen WHERE id > ? ORDER BY id LIMIT ?"
_DELETE_SEEN: Final = "DELETE FROM seen WHERE id IN (SELECT value FROM json_each(?))"


class SqliteMaintenance(BaseMaintenance[SqliteDatabase]):
    """Maintenance of an SQLite file."""

    _keys: ClassVar = {
        "idempotency": "agent, key",
        "remembered": "agent, conversation, turn, tool, question_id",
        "drafts": "key",
        "grants": "id",
        "sign_ins": "id",
        "agent_tokens": "token_hash",
        "owed": "seq",
        "record": "seq",
    }
    _value = "?"

    async def prune(self, before: float) -> int:
        return await super().prune(before) + await self._prune_seen(before)

    async def _delete(self, statement: str, value: float | str) -> int:
        return await self._db.write(lambda db: db.execute(statement, (value,)).rowcount)

    async def _prune_seen(self, before: float) -> int:
        """Delete old delivery ids. This scans all of them in key order, because no index says which are old."""
        deleted, last = 0, ""
        while found := await self._seen_after(last):
            if old := [key for key, at in found if at < before]:
                deleted += await self._delete(_DELETE_SEEN, rows.dump([*old]))
            last = found[-1][0]
        return deleted

    async def _seen_after(self, last: str) -> list[tuple[str, float]]:
        values = (last, PRUNE_STEP)
        return await self._db.read(lambda db: db.execute(_SEEN, values).fetchall())

    async def shift_schedule(self, seconds: float, at: float) -> None:
        def run(db: sqlite3.Connection) -> None:
            inserted = db.execute(
                "INSERT OR IGNORE INTO seen (id, at) VALUES (?, ?)", (f"clock:{at!r}", at)
            )
            if inserted.rowcount:
                outbox.shift_schedule(db, seconds, at)
                asks.shift_schedule(db, self._db.requests, seconds, at)
                db.execute(grants.END_ALL, (at,))
                people.set_back(db, seconds)
                entry = RecordEntry(at=at, kind="note", body={"clock_set_back": round(seconds, 3)})
                asks.add_lines(db, [(None, entry)])
                self._db.batch.forget()

        await self._db.write(run)
