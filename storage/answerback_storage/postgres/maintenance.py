"""Maintenance in PostgreSQL: rescheduling after a clock change, pruning, and finding outdated messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from answerback.core.ask import RecordEntry
from answerback_storage import rows
from answerback_storage.postgres import asks
from answerback_storage.postgres.connections import Database
from answerback_storage.postgres.sql import Parameters, unclaimed

OUTDATED: Final = f"""SELECT id FROM (SELECT id, updated_at, row_number() OVER (
        PARTITION BY surface, channel, message IS NULL ORDER BY updated_at
    ) AS turn FROM behind JOIN asks USING (seq)
        WHERE ($2::text IS NULL OR show_holder = $2 OR {unclaimed("show_holder", "show_until")})
    ) AS behind ORDER BY turn, updated_at LIMIT $1"""
"""The asks with outdated messages (given a holder, not claimed by others), oldest change first, places in turn."""
_PRUNE_STEP: Final = 1_000
"""Rows deleted in one transaction, so that no click waits for all of them."""
_SAME_CLOCK_CHANGE: Final = 600.0
"""Seconds within which every process has noticed that the database's clock was set back; only the first records it."""
_NOTE_CLOCK_CHANGE: Final = """INSERT INTO seen AS noticed VALUES ('clock', $1) ON CONFLICT (id)
    DO UPDATE SET at = excluded.at WHERE abs(noticed.at - excluded.at) > $2 RETURNING 1"""
_PRUNED: Final = (
    ("seen", "id", ""),
    # The key of an open ask is kept: a late retry must not ask people a second time.
    (
        "idempotency",
        "hash",
        "AND NOT EXISTS (SELECT 1 FROM asks WHERE id = ask_id AND status = 'open')",
    ),
    ("remembered", "hash", ""),
    ("drafts", "hash", ""),
    # Outcomes that an agent has not seen are kept.
    ("owed", "seq", "AND told > 0"),
)
"""What is pruned: the table, its key, and a further condition for its old rows."""


async def prune(database: Database, before: float) -> int:
    """Delete old rows, and return how many."""
    deleted = sum([await _prune_table(database, pruned_table, before) for pruned_table in _PRUNED])
    await database.write("DELETE FROM buckets WHERE not_before < clock_timestamp()")
    return deleted


async def prune_audit(database: Database, before: float) -> int:
    """Delete old lines of the record that belong to no ask, and return how many."""
    return await _prune_table(database, ("record", "seq", "AND ask_id IS NULL"), before)


async def _prune_table(
    database: Database, pruned_table: tuple[str, str, str], before: float
) -> int:
    table, key, condition = pruned_table
    deleted, step = 0, _PRUNE_STEP
    while step == _PRUNE_STEP:
        found = await database.write(
            f"""DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table}
                WHERE at < $1 {condition} ORDER BY at LIMIT {_PRUNE_STEP}) RETURNING 1""",
            (before,),
        )
        step = len(found)
        deleted += step
    return deleted


async def shift_schedule(
    database: Database, cache: rows.RequestCache, seconds: float, at: float
) -> None:
    """Make what was planned due earlier, by as much as the clock was set back to ``at``."""
    async with database.transaction() as connection:
        new = await connection.execute(_NOTE_CLOCK_CHANGE.encode(), (at, _SAME_CLOCK_CHANGE))
        if await new.fetchone() is None:
            return
        await connection.execute(
            "UPDATE deliveries SET next_at = next_at - $1 WHERE state = 'pending' AND next_at > $2",
            (seconds, at),
        )
        due = await connection.execute(
            asks.load_statement("WHERE due IS NOT NULL ORDER BY id FOR UPDATE OF asks").encode()
        )
        found = [(row[1], row) for row in await due.fetchall()]
        for ask in asks.read_valid_rows(
            set(), "asks", found, lambda row: asks.parse_row(cache, row).ask
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
        lines = asks.record_lines(params, rows.entry_rows(None, [entry]))
        await connection.execute(lines.encode(), params.values)
