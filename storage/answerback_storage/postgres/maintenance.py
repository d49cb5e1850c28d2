"""What is done from time to time in PostgreSQL: pruning, and rescheduling after a clock change."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from answerback.core.ask import RecordEntry
from answerback_storage import rows
from answerback_storage.base_store import BaseMaintenance
from answerback_storage.postgres import asks, grants, people, record_lines
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters

_SAME_CLOCK_CHANGE: Final = 600.0
"""Seconds within which every process has noticed that the database's clock was set back; only the first records it."""
_NOTE_CLOCK_CHANGE: Final = """INSERT INTO seen AS noticed VALUES ('clock', $1) ON CONFLICT (id)
    DO UPDATE SET at = excluded.at WHERE abs(noticed.at - excluded.at) > $2 RETURNING 1"""


class PostgresMaintenance(BaseMaintenance[PostgresDatabase]):
    """Maintenance of a PostgreSQL database."""

    _keys: ClassVar = {
        "seen": "id",
        "idempotency": "hash",
        "remembered": "hash",
        "drafts": "hash",
        "grants": "id",
        "sign_ins": "id",
        "agent_tokens": "token_hash",
        "owed": "seq",
        "record": "seq",
    }
    _value = "$1"

    async def prune(self, before: float) -> int:
        deleted = await super().prune(before)
        await self._db.write("DELETE FROM buckets WHERE not_before < clock_timestamp()")
        return deleted

    async def _delete(self, statement: str, value: float) -> int:
        return len(await self._db.write(f"{statement} RETURNING 1", value))

    async def shift_schedule(self, seconds: float, at: float) -> None:
        await self._db.run(lambda: self._shift_schedule(seconds, at))

    async def _shift_schedule(self, seconds: float, at: float) -> None:
        async with self._db.connections.transaction() as connection:
            new = await connection.execute(_NOTE_CLOCK_CHANGE.encode(), (at, _SAME_CLOCK_CHANGE))
            if await new.fetchone() is None:
                return
            await connection.execute(
                "UPDATE deliveries SET next_at = next_at - $1 WHERE state = 'pending' AND next_at > $2",
                (seconds, at),
            )
            await connection.execute(grants.END_ALL.encode(), (at,))
            await connection.execute(people.END_SIGN_INS.encode())
            await connection.execute(people.SHORTEN.encode(), (seconds,))
            due = await connection.execute(
                asks.load_statement("WHERE due IS NOT NULL ORDER BY id FOR UPDATE OF asks").encode()
            )
            found = [(row[1], row) for row in await due.fetchall()]
            for ask in asks.read_valid_rows(
                set(), "asks", found, lambda row: asks.parse_row(self._db.requests, row).ask
            ):
                if at - rows.CLOCK_CHANGE_WINDOW <= ask.created_at <= at:
                    continue
                params = Parameters()
                values = params.row(
                    asks.ask_columns(replace(ask, set_back=ask.set_back + seconds)),
                    asks.WRITE_COLUMN_TYPES,
                )
                await connection.execute(
                    f"""UPDATE asks SET (version, {asks.WRITE_COLUMNS}) = ROW (version + 1, {values})
                        WHERE id = {params.add(ask.id)}""".encode(),
                    params.values,
                )
            params = Parameters()
            entry = RecordEntry(at=at, kind="note", body={"clock_set_back": round(seconds, 3)})
            lines = record_lines.insert(params, rows.entry_rows(None, [entry]))
            await connection.execute(lines.encode(), params.values)
