"""What is done from time to time in PostgreSQL."""

from __future__ import annotations

from typing import ClassVar, Final

from answerback_storage.maintenance import SqlMaintenance
from answerback_storage.sql_database import Transaction

_SAME_CLOCK_CHANGE: Final = 600.0
"""Seconds within which every process has noticed that the database's clock was set back; only the first records it."""
_NOTE_CLOCK_CHANGE: Final = """INSERT INTO seen AS noticed VALUES ('clock', $1) ON CONFLICT (id)
    DO UPDATE SET at = excluded.at WHERE abs(noticed.at - excluded.at) > $2 RETURNING 1"""


class PostgresMaintenance(SqlMaintenance):
    """Maintenance of a PostgreSQL database."""

    _keys: ClassVar = {
        "seen": "id",
        "idempotency": "hash",
        "remembered": "hash",
        "drafts": "hash",
        "grants": "id",
        "sign_ins": "id",
        "agent_tokens": "token_hash",
        "owed": "seq",
        "record": "seq",
    }

    async def prune(self, before: float) -> int:
        deleted = await super().prune(before)
        await self._db.execute("DELETE FROM buckets WHERE not_before < clock_timestamp()")
        return deleted

    async def _is_new_clock_change(self, tx: Transaction, at: float) -> bool:
        return bool(await tx.execute(_NOTE_CLOCK_CHANGE, at, _SAME_CLOCK_CHANGE))
