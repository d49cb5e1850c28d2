"""Asks with outdated messages, in SQLite."""

from __future__ import annotations

import time
from typing import Final

from answerback_storage.messages import SqlMessageQueries
from answerback_storage.rows import Row
from answerback_storage.sqlite.claim_statements import unclaimed

_OUTDATED: Final = f"""SELECT id FROM (SELECT id, updated_at, row_number() OVER (
        PARTITION BY surface, channel, message IS NULL ORDER BY updated_at
    ) AS turn FROM asks INDEXED BY asks_behind WHERE shown_revision < revision
        AND ($1 IS NULL OR show_holder = $1 OR {unclaimed("show_holder", "show_until", "$2")})
    ) ORDER BY turn, updated_at LIMIT $3"""


class SqliteMessageQueries(SqlMessageQueries):
    """Asks by where they are shown, in an SQLite file."""

    async def _outdated(self, limit: int, free_for: str | None) -> list[Row]:
        return await self._db.fetch(_OUTDATED, free_for, time.monotonic(), limit)
