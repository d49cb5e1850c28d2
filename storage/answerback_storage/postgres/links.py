"""Linked accounts, in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.people import AccountLink
from answerback.ports.store import AccountLinkStore
from answerback_storage import link_rows
from answerback_storage.base_store import Part
from answerback_storage.postgres.database import PostgresDatabase

TABLE: Final = """CREATE TABLE account_links (
    account text COLLATE "C" PRIMARY KEY, revision integer NOT NULL, value text NOT NULL)"""
_INSERT: Final = f"""INSERT INTO account_links ({link_rows.COLUMNS}) VALUES ($1, $2, $3)
    ON CONFLICT (account) DO NOTHING RETURNING 1"""
_UPDATE: Final = """UPDATE account_links SET revision = $2, value = $3
    WHERE account = $1 AND revision = $2 - 1 RETURNING 1"""


class PostgresAccountLinks(Part[PostgresDatabase], AccountLinkStore):
    """Linked accounts in a PostgreSQL database."""

    async def save(self, link: AccountLink) -> bool:
        statement = _INSERT if link.revision == 1 else _UPDATE
        return bool(await self._db.write(statement, *link_rows.row(link)))

    async def list(self) -> Sequence[AccountLink]:
        found = await self._db.read("SELECT value FROM account_links ORDER BY account")
        return link_rows.read(value.encode() for (value,) in found)
