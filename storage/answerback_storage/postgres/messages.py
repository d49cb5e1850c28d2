"""Asks with outdated messages, in PostgreSQL."""

from __future__ import annotations

from typing import Final

from answerback_storage.messages import SqlMessageQueries
from answerback_storage.postgres.sql import unclaimed
from answerback_storage.rows import Row

_OUTDATED: Final = f"""SELECT id FROM (SELECT id, updated_at, row_number() OVER (
        PARTITION BY surface, channel, message IS NULL ORDER BY updated_at
    ) AS turn FROM behind JOIN asks USING (seq)
        WHERE ($2::text IS NULL OR show_holder = $2 OR {unclaimed("show_holder", "show_until")})
    ) AS behind ORDER BY turn, updated_at LIMIT $1"""


class PostgresMessageQueries(SqlMessageQueries):
    """Asks by where they are shown, in a PostgreSQL database."""

    async def _outdated(self, limit: int, free_for: str | None) -> list[Row]:
        return await self._db.fetch(_OUTDATED, limit, free_for)
