"""The accounts that people have linked, in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import TypeAdapter

from answerback.core.people import AccountLink
from answerback.ports.extension_rows import RowStore

_LINK: Final = TypeAdapter(AccountLink)
_ADD: Final = """INSERT INTO account_links (account, revision, value) VALUES {values}
    ON CONFLICT (account) DO NOTHING RETURNING 1"""
_CHANGE: Final = """UPDATE account_links SET revision = $2, value = $3
    WHERE account = $1 AND revision = $2 - 1 RETURNING 1"""


class StoredLinks:
    """All links by account, including those that were removed."""

    def __init__(self, rows: RowStore) -> None:
        self._rows = rows

    async def save(self, link: AccountLink) -> bool:
        """Store a link as the next revision of its account's; False if what is stored is not the one before."""
        statement = _ADD if link.revision == 1 else _CHANGE
        row = (link.id, link.revision, _LINK.dump_python(link, mode="json"))
        return bool(await self._rows.write(statement, [row]))

    async def list(self) -> Sequence[AccountLink]:
        """All links in the order of their accounts."""
        found = await self._rows.read_values("account_links", order="account")
        return [_LINK.validate_python(value) for value in found]
