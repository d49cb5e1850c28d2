"""Linked accounts, in an SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.people import AccountLink
from answerback.ports.store import AccountLinkStore
from answerback_storage import link_rows
from answerback_storage.base_store import Part
from answerback_storage.sqlite.runner import Runner

TABLE: Final = """CREATE TABLE account_links (
    account TEXT PRIMARY KEY, revision INTEGER NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID"""
_INSERT: Final = f"INSERT OR IGNORE INTO account_links ({link_rows.COLUMNS}) VALUES (?1, ?2, ?3)"
_UPDATE: Final = """UPDATE account_links SET revision = ?2, value = ?3
    WHERE account = ?1 AND revision = ?2 - 1"""


class SqliteAccountLinks(Part[Runner], AccountLinkStore):
    """Linked accounts in an SQLite file."""

    async def save(self, link: AccountLink) -> bool:
        statement, values = _INSERT if link.revision == 1 else _UPDATE, link_rows.row(link)
        return await self._db.write(lambda db: db.execute(statement, values).rowcount == 1)

    async def list(self) -> Sequence[AccountLink]:
        statement = "SELECT CAST(value AS BLOB) FROM account_links ORDER BY account"
        found = await self._db.read(lambda db: db.execute(statement).fetchall())
        return link_rows.read(value for (value,) in found)
