"""What is done from time to time in SQLite."""

from __future__ import annotations

from typing import ClassVar, Final

from answerback_storage.maintenance import STEP, SqlMaintenance
from answerback_storage.sql_database import Transaction, placeholders

_SEEN: Final = "SELECT id, at FROM seen WHERE id > $1 ORDER BY id LIMIT $2"


class SqliteMaintenance(SqlMaintenance):
    """Maintenance of an SQLite file."""

    _keys: ClassVar = {
        "idempotency": "agent, key",
        "remembered": "agent, conversation, turn, tool, question_id",
        "drafts": "key",
        "grants": "id",
        "sign_ins": "id",
        "agent_tokens": "token_hash",
        "owed": "seq",
        "record": "seq",
    }

    async def prune(self, before: float) -> int:
        return await super().prune(before) + await self._prune_seen(before)

    async def _prune_seen(self, before: float) -> int:
        """Delete old delivery ids. This scans all of them in key order, because no index says which are old."""
        deleted, last = 0, ""
        while found := await self._db.fetch(_SEEN, last, STEP):
            if old := [key for key, at in found if at < before]:
                statement = f"DELETE FROM seen WHERE id IN ({placeholders(len(old))}) RETURNING 1"
                deleted += len(await self._db.execute(statement, *old))
            last = found[-1][0]
        return deleted

    async def _is_new_clock_change(self, tx: Transaction, at: float) -> bool:
        statement = "INSERT INTO seen (id, at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1"
        return bool(await tx.execute(statement, f"clock:{at!r}", at))
