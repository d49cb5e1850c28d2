"""Grants, in a database, and their rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from answerback.core.grants import Grant
from answerback.ports.store import GrantStore
from answerback_storage.rows import Row
from answerback_storage.sql_database import Part, SqlDatabase, placeholders

_GRANT: Final = TypeAdapter(Grant)
_FIELDS: Final = ("id", "scope", "ask_id", "at", "until", "uses", "used", "ended_at")
"""The fields of a grant that have columns of their own."""
COLUMNS: Final = (*_FIELDS, "value")


def row(grant: Grant) -> Row:
    """Return a grant as `COLUMNS`."""
    value = to_json(_GRANT.dump_python(grant, exclude={*_FIELDS})).decode()
    return (*(getattr(grant, name) for name in _FIELDS), value)


class SqlGrants(Part[SqlDatabase], GrantStore):
    async def find(self, scopes: Collection[str]) -> Sequence[Grant]:
        where = f"""WHERE scope IN ({placeholders(len(scopes))}) AND used < uses AND ended_at IS NULL
            ORDER BY until, id"""
        return await self._select(where, *scopes)

    async def get(self, grant_id: str) -> Grant | None:
        found = await self._select("WHERE id = $1", grant_id)
        return found[0] if found else None

    async def newest(self, limit: int) -> Sequence[Grant]:
        return await self._select("ORDER BY at DESC, id LIMIT $1", limit)

    async def _select(self, where: str, *values: object) -> list[Grant]:
        found = await self._db.fetch(f"SELECT {', '.join(COLUMNS)} FROM grants {where}", *values)
        return [
            _GRANT.validate_python(from_json(value) | dict(zip(_FIELDS, fields, strict=True)))
            for *fields, value in found
        ]
