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
_RESULT_TYPES: Final = ("text", "text", "bigint", "float8", "bigint", "text", "float8")
# A delivery waits for every earlier one of its ask that is still pending.
_FIRST_PENDING: Final = """FROM deliveries WHERE state = 'pending' AND NOT EXISTS (
    SELECT 1 FROM deliveries AS earlier WHERE earlier.state = 'pending'
    AND earlier.ask_id = deliveries.ask_id AND earlier.seq < deliveries.seq)"""


def insert(params: Parameters, deliveries: Sequence[tuple[str, Delivery]], moved: str) -> str:
    """Build the part of a statement that stores new deliveries of the asks in ``moved``, to be sent at once."""
    found = [
        (name, *rows.delivery_row(rows.new_delivery(delivery))) for name, delivery in deliveries
    ]
    return f"""INSERT INTO deliveries ({rows.DELIVERY_COLUMNS}) SELECT {column_list(1, len(_TYPES))}
        FROM ({params.rows(found, ("text", *_TYPES))}) AS new ({column_list(0, len(_TYPES))}, n)
        JOIN {moved} ON {moved}.id = c0 ORDER BY n"""


_CLAIM: Final = f"""WITH found AS (
        SELECT seq {_FIRST_PENDING} AND next_at <= $3 AND {unclaimed("holder", "claimed_until")}
        ORDER BY next_at, seq LIMIT $4 FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE deliveries SET holder = $1, claimed_until = {now_plus("$2")} FROM found
        WHERE deliveries.seq = found.seq RETURNING deliveries.*
    ) SELECT {rows.DELIVERY_COLUMNS} FROM taken ORDER BY next_at, seq"""


class Outbox:
    """Reads and writes deliveries. Lists skip those that cannot be read."""

    def __init__(self, database: Database, logged_rows: set[tuple[str, str]]) -> None:
        self._database = database
        self._logged_rows = logged_rows

    def _parse_readable(self, found: Sequence[rows.Row]) -> list[StoredDelivery]:
        return asks.read_valid_rows(
            self._logged_rows,
            "deliveries",
            [(row[0], row) for row in found],
            rows.delivery_from_row,
        )

    async def claim(self, claim: Claim, now: float, limit: int) -> list[StoredDelivery]:
        """Claim the first pending delivery of each ask if it is due and unclaimed, and return them, oldest first."""
        found = await self._database.write(_CLAIM, (claim.holder, claim.seconds, now, limit))
        return self._parse_readable(found)

    async def next_due(self, after: float) -> float | None:
        """Return when, later than ``after``, the next delivery may be sent."""
        found = await self._database.read(
            f"SELECT next_at {_FIRST_PENDING} AND next_at > $1 ORDER BY next_at LIMIT 1", (after,)
        )
        return found[0][0] if found else None

    async def save_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None,
    ) -> None:
        """Store the results of deliveries that the holder has claimed (None: of all), and the entries about them."""
        params, parts = Parameters(), {}
        holder_condition = "" if holder is None else f"AND holder = {params.add(holder)}"
        if results:
            changed = [(result.delivery.id, *rows.delivery_row(result)[7:]) for result in results]
            parts[
                "told"
            ] = f"""UPDATE deliveries SET state = c1, tries = c2, next_at = c3, last_status = c4,
                last_error = c5, updated_at = c6, holder = NULL, claimed_until = NULL
                FROM ({params.rows(changed, _RESULT_TYPES)}) AS new ({column_list(0, len(_RESULT_TYPES) - 1)}, n)
                WHERE deliveries.id = c0 {holder_condition} RETURNING ask_id AS id, state, updated_at"""
            parts["heard"] = late_answer_statements.MARK_SEEN_BY_DELIVERY
        if entries:
            lines = [row for ask_id, entry in entries for row in rows.entry_rows(ask_id, [entry])]
            claimed_asks = "(SELECT DISTINCT id FROM told) AS ours"
            parts["noted"] = asks.record_lines(
                params, lines, None if holder is None else claimed_asks
            )
        if parts:
            await self._database.write(combine_statements(parts, "SELECT 1"), params.values)

    async def get(self, delivery_id: str) -> StoredDelivery | None:
        """Return one delivery, or None."""
        found = await self._database.read(
            f"SELECT {rows.DELIVERY_COLUMNS} FROM deliveries WHERE id = $1", (delivery_id,)
        )
        return rows.delivery_from_row(found[0]) if found else None

    async def page(
        self, filters: dict[str, str | None], after: int, limit: int
    ) -> Page[StoredDelivery]:
        """Return a page of deliveries with these column values (None: any), newest first, after row ``after``."""
        params = Parameters()
        where = f"{equality_conditions(params, filters)} seq < {params.add(after, 'bigint')}"
        found = await self._database.read(
            f"SELECT seq, {rows.DELIVERY_COLUMNS} FROM deliveries WHERE {where}"
            f" ORDER BY seq DESC LIMIT {limit + 1}",
            params.values,
        )
        cursor = rows.cursor("deliveries", found[limit - 1][0]) if len(found) > limit else None
        return Page(tuple(self._parse_readable([row[1:] for row in found[:limit]])), cursor)
