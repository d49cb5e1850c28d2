"""The periodic work in a database: pruning, and rescheduling after a clock change."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.message_state import keep_intervals
from answerback.ports.store import Maintenance
from answerback.ports.store_values import DeliveryState
from answerback_storage import rows
from answerback_storage.extension_rows import schema_tables
from answerback_storage.record import LATEST_TIME
from answerback_storage.sql_database import Part, SqlDatabase, Transaction

STEP: Final = 1_000
"""Rows deleted in one transaction, so that no click waits for all of them, and asks held in memory at once."""
_KEYS: Final = {
    "grants": "id",
    "owed": "seq",
    "record": "seq",
    "seen": "id",
}
"""The primary keys of further tables that are pruned."""
_PRUNED_IF: Final = {
    # Outcomes that an agent has not seen are kept.
    "owed": "AND told > 0",
    "record": "AND ask_id IS NULL",
}
"""Further conditions for the old rows of a table."""
_PRUNE_DELIVERIES: Final = f"""DELETE FROM deliveries WHERE seq IN (SELECT seq FROM (
    SELECT seq, updated_at FROM deliveries WHERE state = $1 ORDER BY seq LIMIT {STEP}) AS oldest
    WHERE updated_at < $2) RETURNING 1"""
"""Looks at the oldest only: those behind them wait until they are gone."""

_NOTE_TIME: Final = """INSERT INTO seen (id, at) SELECT $1, CAST($2 AS double precision)
    WHERE EXISTS (SELECT 1 FROM grants WHERE ended_at IS NULL AND used < uses
        AND until > coalesce((SELECT at FROM seen WHERE id = $1), 0))
    ON CONFLICT (id) DO UPDATE SET at = excluded.at WHERE excluded.at > seen.at RETURNING 1"""
"""Writes nothing any more once all grants are over at the time that is kept."""


class SqlMaintenance(Part[SqlDatabase], Maintenance):
    async def prune(self, before: float) -> int:
        own = [await self._prune_table(table, before) for table in ("remembered", "grants", "owed")]
        of_asks = [await self._prune_of_asks(table, before) for table in ("idempotency", "drafts")]
        of_extensions = [
            await self._prune_rows(table.name, *table.pruned, before)
            for table in schema_tables()
            if table.pruned is not None
        ]
        return sum(own + of_asks + of_extensions)

    async def prune_audit(self, before: float) -> int:
        return await self._prune_table("record", before)

    async def prune_deliveries(self, before: float) -> int:
        deleted = 0
        for state in (DeliveryState.DELIVERED, DeliveryState.DEAD):
            while step := len(await self._db.execute(_PRUNE_DELIVERIES, state.value, before)):
                deleted += step
        return deleted

    async def _prune_of_asks(self, table: str, before: float) -> int:
        """Delete what is old and belongs to no ask that is open or was changed since then.

        One transaction looks at a limited number of rows, as there may be many that are kept.
        """
        end = f"SELECT at FROM {table} WHERE at > $1 AND at < $2 ORDER BY at LIMIT 1 OFFSET {STEP}"
        delete = f"""DELETE FROM {table} WHERE at >= $1 AND at < $2 AND NOT EXISTS (SELECT 1 FROM asks
            WHERE id = ask_id AND (status = 'open' OR updated_at >= $3)) RETURNING 1"""
        deleted, since = 0, 0.0
        while since < before:
            found = await self._db.fetch(end, since, before)
            until = found[0][0] if found else before
            deleted += len(await self._db.execute(delete, since, until, before))
            since = until
        return deleted

    async def _prune_table(self, table: str, before: float) -> int:
        key = _KEYS.get(table) or self._db.primary_key(table)
        return await self._prune_rows(table, key, "at", before)

    async def _prune_rows(self, table: str, key: str, time_of: str, before: float) -> int:
        statement = f"""DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table}
            WHERE {time_of} < $1 {_PRUNED_IF.get(table, "")} ORDER BY {time_of} LIMIT {STEP}) RETURNING 1"""
        deleted, step = 0, STEP
        while step == STEP:
            step = len(await self._db.execute(statement, before))
            deleted += step
        return deleted

    async def note_time(self, at: float) -> None:
        await self._db.execute(_NOTE_TIME, LATEST_TIME, at)

    async def shift_schedule(self, seconds: float, at: float) -> None:
        async def run(tx: Transaction) -> None:
            # Also if another process has noticed it first: this one went by the former time until now.
            await tx.execute("UPDATE grants SET ended_at = $1 WHERE ended_at IS NULL", at)
            await tx.execute("UPDATE seen SET at = $1 WHERE id = $2", at, LATEST_TIME)
            if not await self._is_new_clock_change(tx, at):
                return
            pending = "state = 'pending' AND next_at > $2"
            await tx.execute(
                f"UPDATE deliveries SET next_at = next_at - $1 WHERE {pending}", seconds, at
            )
            for table in schema_tables():
                if table.clock_set_back:
                    given = (seconds,) if "$1" in table.clock_set_back else ()
                    await tx.execute(table.clock_set_back, *given)
            query = f"SELECT id FROM asks WHERE due IS NOT NULL ORDER BY id {self._db.for_update}"
            due = await tx.execute(query)
            for first in range(0, len(due), STEP):
                for old in await tx.get_readable(
                    [ask_id for (ask_id,) in due[first : first + STEP]]
                ):
                    if not at - rows.CLOCK_CHANGE_WINDOW <= old.created_at <= at:
                        await tx.update(old, keep_intervals(old, seconds))
            entry = RecordEntry(at=at, kind="note", body={"clock_set_back": round(seconds, 3)})
            await tx.add_lines([(None, entry)])

        await self._db.transact(run)

    @abstractmethod
    async def _is_new_clock_change(self, tx: Transaction, at: float) -> bool:
        """Note that the clock was set back; return whether that is news."""
