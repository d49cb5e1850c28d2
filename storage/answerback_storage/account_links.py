"""Linked accounts, in a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import TypeAdapter

from answerback.core.people import AccountLink
from answerback.ports.store import AccountLinkStore
from answerback_storage import rows
from answerback_storage.sql_database import Part, SqlDatabase

COLUMNS: Final = ("account", "revision", "value")
_LINK: Final = TypeAdapter(AccountLink)
_INSERT: Final = f"""INSERT INTO account_links ({", ".join(COLUMNS)}) VALUES ($1, $2, $3)
    ON CONFLICT (account) DO NOTHING RETURNING 1"""
_UPDATE: Final = """UPDATE account_links SET revision = $2, value = $3
    WHERE account = $1 AND revision = $2 - 1 RETURNING 1"""


class SqlAccountLinks(Part[SqlDatabase], AccountLinkStore):
    async def save(self, link: AccountLink) -> bool:
        statement = _INSERT if link.revision == 1 else _UPDATE
        value = rows.dump(_LINK.dump_python(link, mode="json"))
        return bool(await self._db.execute(statement, link.id, link.revision, value))

    async def list(self) -> Sequence[AccountLink]:
        value = self._db.as_bytes.format("value")
        found = await self._db.fetch(f"SELECT {value} FROM account_links ORDER BY account")
        return rows.read_values(_LINK, "account_links", found)
