"""The webhooks to send, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.claims import Claim
from answerback.ports.store_values import Delivery, Page, StoredDelivery
from answerback_storage import rows
from answerback_storage.base_store import BaseOutbox, Filters
from answerback_storage.postgres import asks, record_lines
from answerback_storage.postgres.database import PostgresDatabase
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


def insert(params: Parameters, deliveries: Sequence[tuple[str, Delivery]]) -> str:
    """Build the part of a statement that stores new deliveries of the asks in ``stored``, to be sent at once."""
    found = [
        (name, *rows.delivery_row(rows.new_delivery(delivery))) for name, delivery in deliveries
    ]
    return f"""INSERT INTO deliveries ({rows.DELIVERY_COLUMNS}) SELECT {column_list(1, len(_TYPES))}
        FROM ({params.rows(found, ("text", *_TYPES))}) AS new ({column_list(0, len(_TYPES))}, n)
        JOIN stored ON stored.id = c0 ORDER BY n"""


_CLAIM: Final = f"""WITH found AS (
        SELECT seq {_FIRST_PENDING} AND next_at <= $3 AND {unclaimed("holder", "claimed_until")}
        ORDER BY next_at, seq LIMIT $4 FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE deliveries SET holder = $1, claimed_until = {now_plus("$2")} FROM found
        WHERE deliveries.seq = found.seq RETURNING deliveries.*
    ) SELECT {rows.DELIVERY_COLUMNS} FROM taken ORDER BY next_at, seq"""
_RENEW: Final = f"""UPDATE deliveries SET claimed_until = {now_plus("$3")}
    WHERE id = $1 AND holder = $2 AND state = 'pending' RETURNING 1"""
_RELEASE: Final = "UPDATE deliveries SET holder = NULL WHERE state = 'pending' AND holder = $1"
_NEXT_DUE: Final = f"SELECT next_at {_FIRST_PENDING} AND next_at > $1 ORDER BY next_at LIMIT 1"
_GET: Final = f"SELECT {rows.DELIVERY_COLUMNS} FROM deliveries WHERE id = $1"


class PostgresOutbox(BaseOutbox[PostgresDatabase]):
    """The outbox in a PostgreSQL database."""

    async def claim(self, claim: Claim, now: float, limit: int) -> Sequence[StoredDelivery]:
        found = await self._db.write(_CLAIM, claim.holder, claim.seconds, now, limit)
        return self._parse_readable(found)

    async def renew(self, delivery_id: str, claim: Claim) -> bool:
        return bool(await self._db.write(_RENEW, delivery_id, claim.holder, claim.seconds))

    async def release(self, holder: str) -> None:
        await self._db.write(_RELEASE, holder)

    async def next_due(self, after: float = 0.0) -> float | None:
        found = await self._db.read(_NEXT_DUE, after)
        return found[0][0] if found else None

    async def save_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        params, parts = Parameters(), {}
        gone = [result.delivery.id for result in results if result.is_settled_push]
        kept = [result for result in results if not result.is_settled_push]
        holder_condition = "" if holder is None else f"AND holder = {params.add(holder)}"
        if gone:
            ids = params.rows([(name,) for name in gone], ("text",))
            parts["removed"] = f"""DELETE FROM deliveries USING ({ids}) AS gone (c0, n)
                WHERE deliveries.id = c0 {holder_condition}"""
        if kept:
            changed = [(result.delivery.id, *rows.delivery_row(result)[7:]) for result in kept]
            values = params.rows(changed, _RESULT_TYPES)
            parts[
                "attempted"
            ] = f"""UPDATE deliveries SET state = c1, tries = c2, next_at = c3, last_status = c4,
                last_error = c5, updated_at = c6, holder = NULL, claimed_until = NULL
                FROM ({values}) AS new ({column_list(0, len(_RESULT_TYPES) - 1)}, n)
                WHERE deliveries.id = c0 {holder_condition} RETURNING ask_id AS id"""
        if entries:
            lines = [row for ask_id, entry in entries for row in rows.entry_rows(ask_id, [entry])]
            claimed_asks = "(SELECT DISTINCT id FROM attempted) AS ours"
            parts["recorded"] = record_lines.insert(
                params, lines, None if holder is None else claimed_asks
            )
        if parts:
            await self._db.write(combine_statements(parts, "SELECT 1"), *params.values)

    async def get(self, delivery_id: str) -> StoredDelivery | None:
        found = await self._db.read(_GET, delivery_id)
        return rows.delivery_from_row(found[0]) if found else None

    async def _page(self, filters: Filters, behind: int, limit: int) -> Page[StoredDelivery]:
        params = Parameters()
        where = f"{equality_conditions(params, filters)} seq < {params.add(behind, 'bigint')}"
        found = await self._db.read(
            f"SELECT seq, {rows.DELIVERY_COLUMNS} FROM deliveries WHERE {where}"
            f" ORDER BY seq DESC LIMIT {limit + 1}",
            *params.values,
        )
        cursor = rows.cursor("deliveries", found[limit - 1][0]) if len(found) > limit else None
        return Page(tuple(self._parse_readable([row[1:] for row in found[:limit]])), cursor)

    def _parse_readable(self, found: Sequence[rows.Row]) -> list[StoredDelivery]:
        named = [(row[0], row) for row in found]
        return asks.read_valid_rows(
            self._db.logged_rows, "deliveries", named, rows.delivery_from_row
        )
