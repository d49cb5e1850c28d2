"""The record, in a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from answerback.ports.store import Record
from answerback.ports.store_values import ChangedAsks, StoredEntry
from answerback_storage import cursors, rows
from answerback_storage.sql_database import Part, SqlDatabase

LATEST_TIME: Final = "latest time"
"""The name under which `answerback.ports.store.Maintenance.note_time` keeps it."""
_LAST_TIME: Final = """SELECT max(at) FROM (SELECT * FROM (SELECT at FROM record ORDER BY seq DESC LIMIT 1) AS line
    UNION ALL SELECT at FROM seen WHERE id = $1) AS times"""


class SqlRecord(Part[SqlDatabase], Record):
    _changed: ClassVar[str]
    """The statement that reads the transaction, the number and the ask of the lines after a transaction and a number,
    in the order of the commits."""
    _exists: ClassVar[str]
    """The statement that finds the line of an ask by its transaction and number."""

    async def read(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        found = await self._db.fetch(self._db.lines, ask_id, after, limit)
        return [StoredEntry(line[0], rows.entry_from_json(ask_id, *line)) for line in found]

    async def list_changed(self, after: str, limit: int) -> ChangedAsks:
        position = cursors.parse_change_cursor(after)
        if after and not await self._db.fetch(self._exists, *position):
            raise ValueError(cursors.unknown_cursor(after))
        lines = await self._db.fetch(self._changed, *position, limit)
        return cursors.changed_asks([(tx, seq, ask) for tx, seq, ask in lines], after, limit)

    async def last_time(self) -> float | None:
        found = await self._db.fetch(_LAST_TIME, LATEST_TIME)
        latest: float | None = found[0][0]
        return latest
