"""The webhooks to send, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from answerback.core.ask import RecordEntry
from answerback.ports.claims import Claim
from answerback.ports.store_values import StoredDelivery
from answerback_postgres import asks
from answerback_postgres.database import PostgresDatabase
from answerback_postgres.sql import (
    Parameters,
    combine_statements,
    now_plus,
    unclaimed,
)
from answerback_storage import rows
from answerback_storage.outbox import SqlOutbox

_RESULT_TYPES: Final = ("text", "text", "bigint", "float8", "bigint", "text", "float8")
# A delivery waits for every earlier one of its ask that is still pending.
_FIRST_PENDING: Final = """FROM deliveries WHERE state = 'pending' AND NOT EXISTS (
    SELECT 1 FROM deliveries AS earlier WHERE earlier.state = 'pending'
    AND earlier.ask_id = deliveries.ask_id AND earlier.seq < deliveries.seq)"""
_CLAIM: Final = f"""WITH found AS (
        SELECT seq {_FIRST_PENDING} AND next_at <= $3 AND {unclaimed("holder", "claimed_until")}
        ORDER BY next_at, seq LIMIT $4 FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE deliveries SET holder = $1, claimed_until = {now_plus("$2")} FROM found
        WHERE deliveries.seq = found.seq RETURNING deliveries.*
    ) SELECT {rows.DELIVERY_COLUMNS} FROM taken ORDER BY next_at, seq"""
_RENEW: Final = f"""UPDATE deliveries SET claimed_until = {now_plus("$3")}
    WHERE id = $1 AND holder = $2 AND state = 'pending' RETURNING 1"""


class PostgresOutbox(SqlOutbox[PostgresDatabase]):
    _first_pending = _FIRST_PENDING
    _release = "UPDATE deliveries SET holder = NULL WHERE state = 'pending' AND holder = $1"

    async def claim(self, claim: Claim, now: float, limit: int) -> Sequence[StoredDelivery]:
        found = await self._db.execute(_CLAIM, claim.holder, claim.seconds, now, limit)
        return [stored for _, stored in self._parse_readable((0, row) for row in found)]

    async def renew(self, delivery_id: str, claim: Claim) -> bool:
        return bool(await self._db.execute(_RENEW, delivery_id, claim.holder, claim.seconds))

    async def save_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        params, parts = Parameters(), {}
        gone = [result.delivery.id for result in results if result.is_finished_push]
        kept = [result for result in results if not result.is_finished_push]
        holder_condition = "" if holder is None else f"AND holder = {params.add(holder)}"
        # A notification leaves nothing behind: who was notified, and when, is nobody's business afterwards.
        if gone:
            ids = params.table([(name,) for name in gone], ("text",))
            parts["removed"] = (
                f"""DELETE FROM deliveries USING {ids} WHERE deliveries.id = c0 {holder_condition}"""
            )
        if kept:
            changed = [(result.delivery.id, *rows.delivery_row(result)[7:]) for result in kept]
            values = params.table(changed, _RESULT_TYPES)
            parts[
                "attempted"
            ] = f"""UPDATE deliveries SET state = c1, tries = c2, next_at = c3, last_status = c4,
                last_error = c5, updated_at = c6, holder = NULL, claimed_until = NULL
                FROM {values}
                WHERE deliveries.id = c0 {holder_condition} RETURNING ask_id AS id"""
        if entries:
            lines = [row for ask_id, entry in entries for row in rows.entry_rows(ask_id, [entry])]
            # Who has lost the claim meanwhile stores no line, either: the new holder's attempt is recorded.
            claimed_asks = "(SELECT DISTINCT id FROM attempted) AS ours"
            parts["recorded"] = asks.insert_lines(
                params, lines, None if holder is None else claimed_asks
            )
        if parts:
            await self._db.execute(combine_statements(parts, "SELECT 1"), *params.values)

    async def _find(
        self, query: str, values: Sequence[object], limit: int
    ) -> Sequence[tuple[int, StoredDelivery]]:
        columns = f"seq, {rows.DELIVERY_COLUMNS}"
        statement = f"SELECT {columns} FROM deliveries {query} LIMIT {limit}"
        found = await self._db.fetch(statement, *values)
        return self._parse_readable([(row[0], row[1:]) for row in found])

    def _parse_readable(
        self, found: Iterable[tuple[int, rows.Row]]
    ) -> list[tuple[int, StoredDelivery]]:
        by_id = ((row[0], (seq, row)) for seq, row in found)
        return [
            *self._db.unreadable.skip(
                "deliveries", by_id, lambda each: (each[0], rows.delivery_from_row(each[1]))
            )
        ]
