"""What is done besides asks and deliveries: planning anew, forgetting, and what is to be shown again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from answerback.core.ask import RecordEntry
from answerback_storage import rows
from answerback_storage.postgres import asks
from answerback_storage.postgres.connections import Database
from answerback_storage.postgres.sql import Parameters, unclaimed

BEHIND: Final = f"""SELECT id FROM (SELECT id, updated_at, row_number() OVER (
        PARTITION BY surface, channel, message IS NULL ORDER BY updated_at
    ) AS turn FROM behind JOIN asks USING (seq)
        WHERE ($2::text IS NULL OR show_holder = $2 OR {unclaimed("show_holder", "show_until")})
    ) AS behind ORDER BY turn, updated_at LIMIT $1"""
"""The asks whose message is behind and, for a holder, not another's: oldest change first, all places in turn."""
_PRUNE_STEP: Final = 1_000
"""Rows that are forgotten in one transaction, so that nobody's click waits for all of them."""
_SAME_SETTING: Final = 600.0
"""Seconds within which every process has noticed that the database's clock was set back: it is told once."""
_NOTICED: Final = """INSERT INTO seen AS noticed VALUES ('clock', $1) ON CONFLICT (id)
    DO UPDATE SET at = excluded.at WHERE abs(noticed.at - excluded.at) > $2 RETURNING 1"""
_PRUNED: Final = (
    ("seen", "id", ""),
    # The key of an open ask is kept: a late repeat must not ask people a second time.
    (
        "idempotency",
        "hash",
        "AND NOT EXISTS (SELECT 1 FROM asks WHERE id = ask_id AND status = 'open')",
    ),
    ("remembered", "hash", ""),
    ("drafts", "hash", ""),
    # What an agent was not told is kept.
    ("owed", "seq", "AND told > 0"),
)
"""What is forgotten: the table, its key, and what is kept all the same."""


async def prune(database: Database, before: float) -> int:
    """Forgets what is older; returns how many rows."""
    forgotten = sum([await _forget(database, what, before) for what in _PRUNED])
    await database.write("DELETE FROM buckets WHERE not_before < clock_timestamp()")
    return forgotten


async def prune_audit(database: Database, before: float) -> int:
    """Forgets lines of the record that are of no ask; returns how many."""
    return await _forget(database, ("record", "seq", "AND ask_id IS NULL"), before)


async def _forget(database: Database, what: tuple[str, str, str], before: float) -> int:
    table, key, still = what
    forgotten, step = 0, _PRUNE_STEP
    while step == _PRUNE_STEP:
        found = await database.write(
            f"""DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table}
                WHERE at < $1 {still} ORDER BY at LIMIT {_PRUNE_STEP}) RETURNING 1""",
            (before,),
        )
        step = len(found)
        forgotten += step
    return forgotten


async def set_back(database: Database, cache: rows.RequestCache, seconds: float, at: float) -> None:
    """Has what was planned by a clock that was then set back to ``at`` come as soon as it would have come."""
    async with database.transaction() as connection:
        new = await connection.execute(_NOTICED.encode(), (at, _SAME_SETTING))
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
        for one in asks.read_valid_rows(
            set(), "asks", found, lambda row: asks.parse_row(cache, row).ask
        ):
            if at - rows.CLOCK_CHANGE_WINDOW <= one.created_at <= at:
                continue
            given = Parameters()
            values = given.row(
                asks.ask_columns(replace(one, set_back=one.set_back + seconds)),
                asks.WRITE_COLUMN_TYPES,
            )
            await connection.execute(
                f"""UPDATE asks SET (version, {asks.WRITE_COLUMNS}) = ROW (version + 1, {values})
                    WHERE id = {given.add(one.id)}""".encode(),
                given.values,
            )
        given = Parameters()
        entry = RecordEntry(at=at, kind="note", body={"clock_set_back": round(seconds, 3)})
        lines = asks.record_lines(given, rows.entry_rows(None, [entry]))
        await connection.execute(lines.encode(), given.values)
