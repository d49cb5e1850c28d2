"""Grants in memory; see `answerback.ports.store.GrantStore`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from answerback.core.grants import Grant, GrantChange, GrantEnd, GrantUse
from answerback.ports.store import GrantStore
from answerback_storage.sql_database import Part
from tests.stores.memory.database import MemoryDatabase, Tables


def store(tables: Tables, change: GrantChange) -> bool:
    """Store what becomes of a grant; False if it is to be used, and cannot be any more."""
    if isinstance(change, Grant):
        tables.grants[change.id] = change
        return True
    grant = tables.grants.get(change.id)
    if isinstance(change, GrantEnd):
        if grant is not None and grant.ended_at is None:
            tables.grants[change.id] = replace(grant, ended_at=change.at)
        return True
    return grant is not None and _use(tables, grant, change)


def _use(tables: Tables, grant: Grant, use: GrantUse) -> bool:
    if grant.used != use.number - 1 or not grant.is_live(use.at):
        return False
    tables.grants[grant.id] = replace(grant, used=use.number)
    return True


def forget(tables: Tables, ask_id: str) -> None:
    """Delete the grant that was made with an ask."""
    for key in [key for key, grant in tables.grants.items() if grant.ask_id == ask_id]:
        del tables.grants[key]


class MemoryGrants(Part[MemoryDatabase], GrantStore):
    """Grants in memory."""

    async def find(self, scopes: Collection[str]) -> Sequence[Grant]:
        found = [each for each in self._db.tables().grants.values() if each.scope in scopes]
        usable = [each for each in found if each.used < each.uses and each.ended_at is None]
        return sorted(usable, key=lambda each: (each.until, each.id))

    async def get(self, grant_id: str) -> Grant | None:
        return self._db.tables().grants.get(grant_id)

    async def newest(self, limit: int) -> Sequence[Grant]:
        found = self._db.tables().grants.values()
        return sorted(found, key=lambda each: (-each.at, each.id))[:limit]
