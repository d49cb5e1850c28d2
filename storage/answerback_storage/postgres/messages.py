"""Asks by where they are shown, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.live_messages import MessageQueries
from answerback_storage import rows
from answerback_storage.base_store import Part
from answerback_storage.postgres import asks
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters, equality_conditions, unclaimed

_OUTDATED: Final = f"""SELECT id FROM (SELECT id, updated_at, row_number() OVER (
        PARTITION BY surface, channel, message IS NULL ORDER BY updated_at
    ) AS turn FROM behind JOIN asks USING (seq)
        WHERE ($2::text IS NULL OR show_holder = $2 OR {unclaimed("show_holder", "show_until")})
    ) AS behind ORDER BY turn, updated_at LIMIT $1"""
"""The asks with outdated messages (given a holder, not claimed by others), oldest change first, places in turn."""


class PostgresMessageQueries(Part[PostgresDatabase], MessageQueries):
    """Asks by where they are shown, in a PostgreSQL database."""

    async def find_open(
        self, surface: str, channel: str, thread: str | None, limit: int, after: str | None = None
    ) -> Sequence[Ask]:
        filters = _place_filters(surface, channel, thread)

        async def run() -> list[Ask]:
            before = 2**63 - 1
            if after is not None:
                statement = "SELECT seq FROM asks WHERE id = $1"
                found = await self._db.connections.read(statement, (after,))
                before = found[0][0] if found else 0
            result: list[Ask] = []
            while before and len(result) < limit:
                span = (before, limit - len(result))
                part, before = await asks.read_newest_first(
                    self._db, filters, span, "status = 'open' AND"
                )
                result += part
            return result

        return await self._db.run(run)

    async def find_ended(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        params = Parameters()
        where = (
            f"WHERE {equality_conditions(params, _place_filters(surface, channel, thread))} erased_at IS NULL"
            f" AND settled_at >= {params.add(since, 'float8')} ORDER BY settled_at DESC LIMIT {limit}"
        )
        found = await self._db.read(asks.load_statement(where), *params.values)
        return asks.read_valid(self._db, found)

    async def find_moved(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        params = Parameters()
        here = equality_conditions(
            params, {"left_channel": rows.left_channel_key(surface, channel)}
        )
        where = (
            f"WHERE {here} left_channel IS NOT NULL AND erased_at IS NULL"
            f" AND left_until >= {params.add(since, 'float8')} ORDER BY left_until DESC"
        )
        found = await self._db.read(asks.load_statement(where), *params.values)
        return rows.moved_from(asks.read_valid(self._db, found), thread, limit)

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        params = Parameters()
        terms = equality_conditions(params, {"surface": surface, "message_id": message_id})
        where = f"WHERE {terms} status = 'open' AND message_id IS NOT NULL LIMIT 1"
        found = await self._db.read(asks.load_statement(where), *params.values)
        return asks.parse_row(self._db.requests, found[0]).ask if found else None

    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        return [ask_id for (ask_id,) in await self._db.read(_OUTDATED, limit, free_for)]


def _place_filters(surface: str, channel: str, thread: str | None) -> dict[str, str | None]:
    return {"surface": surface, "channel": channel, "thread_id": thread}
