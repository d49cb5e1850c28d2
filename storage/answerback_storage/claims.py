"""Claims in a database; see `answerback.ports.claims`."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from answerback.ports.claims import Claims
from answerback_storage.sql_database import Part, SqlDatabase

D = TypeVar("D", bound=SqlDatabase)


class SqlClaims(Part[D], Claims):
    _release_messages: ClassVar[str]
    """The statement that ends a holder's claims on messages."""

    async def next_due(self, after: float) -> float | None:
        found = await self._db.fetch("SELECT min(due) FROM asks WHERE due > $1", after)
        when: float | None = found[0][0]
        return when

    async def release_messages(self, holder: str) -> None:
        await self._db.execute(self._release_messages, holder)

    async def release_timers(self, holder: str) -> None:
        await self._db.execute("UPDATE asks SET due_holder = NULL WHERE due_holder = $1", holder)
