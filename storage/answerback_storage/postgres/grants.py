"""Grants, in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from answerback.core.grants import Grant, GrantEnd, GrantUse
from answerback.ports.store import GrantStore
from answerback_storage import grant_rows
from answerback_storage.base_store import Part
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters, column_list

TABLES: Final = (
    """CREATE TABLE grants (
        id text COLLATE "C" PRIMARY KEY,
        scope text COLLATE "C" NOT NULL,
        ask_id text COLLATE "C" NOT NULL,
        at double precision NOT NULL,
        until double precision NOT NULL,
        uses integer NOT NULL,
        used integer NOT NULL,
        ended_at double precision,
        value text NOT NULL)""",
    "CREATE INDEX grants_by_scope ON grants (scope)",
    "CREATE INDEX grants_by_time ON grants (at)",
)
ERASE: Final = "DELETE FROM grants WHERE ask_id = $1"
END_ALL: Final = "UPDATE grants SET ended_at = $1 WHERE ended_at IS NULL"
_SELECT: Final = f"SELECT {grant_rows.COLUMNS} FROM grants"
_TYPES: Final = (
    *("text", "text", "text", "float8", "float8"),
    *("int", "int", "float8", "text"),
)


def insert(params: Parameters, new: Sequence[Grant]) -> str:
    """Build the part that stores the grants made with asks in ``stored``."""
    made = params.rows([grant_rows.row(grant) for grant in new], _TYPES)
    columns = column_list(0, len(_TYPES) - 1)
    return f"""INSERT INTO grants ({grant_rows.COLUMNS}) SELECT {columns}
        FROM ({made}) AS new ({columns}, n) JOIN stored ON stored.id = c2"""


def end(params: Parameters, ended: Sequence[tuple[str, GrantEnd]]) -> str:
    """Build the part that revokes grants along with changes of asks in ``stored``."""
    values = params.rows([(ask_id, *each) for ask_id, each in ended], ("text", "text", "float8"))
    return f"""UPDATE grants SET ended_at = c2 FROM ({values}) AS new (c0, c1, c2, n)
        JOIN stored ON stored.id = c0 WHERE grants.id = c1 AND ended_at IS NULL"""


def use(params: Parameters, used: GrantUse, source: str) -> str:
    """Build the part that counts a use if ``source`` has a row; it returns one if the use still was the next."""
    number, at = params.add(used.number, "int"), params.add(used.at, "float8")
    return f"""UPDATE grants SET used = used + 1 FROM {source} AND id = {params.add(used.id)}
        AND used = {number} - 1 AND used < uses AND grants.at <= {at} AND until > {at} AND ended_at IS NULL
        RETURNING 1"""


class PostgresGrants(Part[PostgresDatabase], GrantStore):
    """Grants in a PostgreSQL database."""

    async def find(self, scopes: Collection[str]) -> Sequence[Grant]:
        where = "WHERE scope = ANY($1) AND used < uses AND ended_at IS NULL ORDER BY until, id"
        return await self._select(where, [*scopes])

    async def get(self, grant_id: str) -> Grant | None:
        found = await self._select("WHERE id = $1", grant_id)
        return found[0] if found else None

    async def newest(self, limit: int) -> Sequence[Grant]:
        return await self._select("ORDER BY at DESC, id LIMIT $1", limit)

    async def _select(self, where: str, value: object) -> list[Grant]:
        found = await self._db.read(f"{_SELECT} {where}", value)
        return [grant_rows.read(row) for row in found]
