"""The statements about webhook deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.claims import Claim
from answerback.ports.store_values import Delivery, Page, StoredDelivery
from answerback_storage import rows
from answerback_storage.postgres import asks, late_answer_statements
from answerback_storage.postgres.connections import Database
from answerback_storage.postgres.sql import (
    Parameters,
    column_list,
    combine_statements,
    equality_conditions,
    now_plus,
    unclaimed,
)

_TYPES: Final = (
    *("text", "text", "text", "text", "text", "text", "float8", "text"),
    *("bigint", "float8", "bigint", "text", "float8"),
)
_TRIED: Final = ("text", "text", "bigint", "float8", "bigint", "text", "float8")
# A delivery waits for every earlier one of its ask that is still pending.
_FIRST: Final = """FROM deliveries WHERE state = 'pending' AND NOT EXISTS (
    SELECT 1 FROM deliveries AS earlier WHERE earlier.state = 'pending'
    AND earlier.ask_id = deliveries.ask_id AND earlier.seq < deliveries.seq)"""


def insert(given: Parameters, deliveries: Sequence[tuple[str, Delivery]], moved: str) -> str:
    """The part of a statement that stores new deliveries, to be sent at once, of the asks in ``moved``."""
    found = [(name, *rows.delivery_row(rows.new_delivery(one))) for name, one in deliveries]
    return f"""INSERT INTO deliveries ({rows.DELIVERY_COLUMNS}) SELECT {column_list(1, len(_TYPES))}
        FROM ({given.rows(found, ("text", *_TYPES))}) AS new ({column_list(0, len(_TYPES))}, n)
        JOIN {moved} ON {moved}.id = c0 ORDER BY n"""


_CLAIM: Final = f"""WITH found AS (
        SELECT seq {_FIRST} AND next_at <= $3 AND {unclaimed("holder", "claimed_until")}
        ORDER BY next_at, seq LIMIT $4 FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE deliveries SET holder = $1, claimed_until = {now_plus("$2")} FROM found
        WHERE deliveries.seq = found.seq RETURNING deliveries.*
    ) SELECT {rows.DELIVERY_COLUMNS} FROM taken ORDER BY next_at, seq"""


class Outbox:
    """Deliveries on a database; those that cannot be read are left out of lists."""

    def __init__(self, database: Database, told: set[tuple[str, str]]) -> None:
        self._database = database
        self._told = told

    def _readable(self, found: Sequence[rows.Row]) -> list[StoredDelivery]:
        return asks.read_valid_rows(
            self._told, "deliveries", [(row[0], row) for row in found], rows.delivery_from_row
        )

    async def claim(self, claim: Claim, now: float, limit: int) -> list[StoredDelivery]:
        """The first pending delivery of each ask whose time has come and that nobody holds, oldest first, claimed."""
        found = await self._database.write(_CLAIM, (claim.holder, claim.seconds, now, limit))
        return self._readable(found)

    async def next_due(self, after: float) -> float | None:
        """When, later than ``after``, the next delivery may be sent."""
        found = await self._database.read(
            f"SELECT next_at {_FIRST} AND next_at > $1 ORDER BY next_at LIMIT 1", (after,)
        )
        return found[0][0] if found else None

    async def tried(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None,
    ) -> None:
        """Stores what became of deliveries that are the holder's (None: anybody's), and the record's lines about it."""
        given, parts = Parameters(), {}
        whose = "" if holder is None else f"AND holder = {given.add(holder)}"
        if results:
            changed = [(one.delivery.id, *rows.delivery_row(one)[7:]) for one in results]
            parts[
                "told"
            ] = f"""UPDATE deliveries SET state = c1, tries = c2, next_at = c3, last_status = c4,
                last_error = c5, updated_at = c6, holder = NULL, claimed_until = NULL
                FROM ({given.rows(changed, _TRIED)}) AS new ({column_list(0, len(_TRIED) - 1)}, n)
                WHERE deliveries.id = c0 {whose} RETURNING ask_id AS id, state, updated_at"""
            parts["heard"] = late_answer_statements.MARK_TOLD_BY_DELIVERY
        if entries:
            lines = [row for ask_id, entry in entries for row in rows.entry_rows(ask_id, [entry])]
            ours = "(SELECT DISTINCT id FROM told) AS ours"
            parts["noted"] = asks.record_lines(given, lines, None if holder is None else ours)
        if parts:
            await self._database.write(combine_statements(parts, "SELECT 1"), given.values)

    async def get(self, delivery_id: str) -> StoredDelivery | None:
        """One delivery."""
        found = await self._database.read(
            f"SELECT {rows.DELIVERY_COLUMNS} FROM deliveries WHERE id = $1", (delivery_id,)
        )
        return rows.delivery_from_row(found[0]) if found else None

    async def page(
        self, filters: dict[str, str | None], after: int, limit: int
    ) -> Page[StoredDelivery]:
        """Deliveries whose columns have these values (None: any), newest first, behind a row, so many."""
        given = Parameters()
        where = f"{equality_conditions(given, filters)} seq < {given.add(after, 'bigint')}"
        found = await self._database.read(
            f"SELECT seq, {rows.DELIVERY_COLUMNS} FROM deliveries WHERE {where}"
            f" ORDER BY seq DESC LIMIT {limit + 1}",
            given.values,
        )
        more = rows.cursor("deliveries", found[limit - 1][0]) if len(found) > limit else None
        return Page(tuple(self._readable([row[1:] for row in found[:limit]])), more)
