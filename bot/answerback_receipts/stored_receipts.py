"""Receipts as they are stored, and the store's one chain of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final, NamedTuple

from answerback.core.errors import StoreError
from answerback.ports.claims import Fence
from answerback.ports.extension_rows import RowStore, RowTransaction

_KEYS: Final = "SELECT x FROM receipt_keys ORDER BY seq"
_LAST: Final = "SELECT coalesce(max(n), 0) FROM receipts WHERE n IS NOT NULL"
"""The condition is that of the index: without it, SQLite reads all receipts."""
_LINK: Final = """UPDATE receipts SET n = new.column2, link = new.column3
    FROM (VALUES {}) AS new JOIN asks ON asks.id = new.column1
    WHERE receipts.n IS NULL AND receipts.seq = asks.seq RETURNING 1"""


class NewReceipt(NamedTuple):
    """A receipt to store with the outcome that it is about."""

    receipt: str
    """The signed payload, as JSON. It never changes."""
    beside: str
    """The JSON that stands beside the signature: the salt. The texts can be read from the ask."""


class StoredReceipt(NamedTuple):
    """A receipt with its place in the chain."""

    ask_id: str
    receipt: str
    beside: str | None
    """None once the ask was erased."""
    n: int | None
    """Its number in the chain, from 1; None until it is linked."""
    link: str | None
    """The link that puts it there, as JSON."""


class NewLink(NamedTuple):
    """A link to add at the end of the chain."""

    ask_id: str
    n: int
    link: str


class StoredReceipts:
    """Receipts, which are stored with the outcomes that they are about (`answerback.ports.store.Write.ask_rows`)."""

    def __init__(self, rows: RowStore) -> None:
        self._rows = rows

    async def get(self, ask_id: str) -> StoredReceipt | None:
        """Return the receipt of an ask; None if there is no such ask, or it has no receipt yet."""
        found = await self._select("WHERE id = $1", ask_id)
        return found[0] if found else None

    async def list_unlinked(self, limit: int) -> Sequence[StoredReceipt]:
        """Return receipts that are not in the chain yet."""
        return await self._select("WHERE n IS NULL ORDER BY receipts.seq LIMIT $1", limit)

    async def last_link(self) -> StoredReceipt | None:
        """Return the end of the chain, or None."""
        found = await self._select("WHERE n IS NOT NULL ORDER BY n DESC LIMIT 1")
        return found[0] if found else None

    async def list_linked(self, after: int, limit: int) -> Sequence[StoredReceipt]:
        """Return the chain after a number, in order."""
        return await self._select("WHERE n > $1 ORDER BY n LIMIT $2", after, limit)

    async def _select(self, where: str, *values: str | int) -> list[StoredReceipt]:
        columns = "id, receipt, beside, n, link"
        statement = f"SELECT {columns} FROM receipts JOIN asks USING (seq) {where}"
        return [StoredReceipt(*row) for row in await self._rows.read(statement, *values)]

    async def add_links(self, links: Sequence[NewLink], fence: Fence, within: float = 0.0) -> None:
        """Add links at the end of the chain, all or none.

        Args:
            within: how many seconds they may wait to be committed together with something else.

        Raises:
            LeaseLostError: the lease is no longer held in that epoch.
            StoreError: they do not continue the chain, as another process has added some.
        """
        places = (f"(${n}, ${n + 1}, ${n + 2})" for n in range(1, 3 * len(links), 3))
        statement = _LINK.format(", ".join(places))

        async def run(tx: RowTransaction) -> None:
            [(last,)] = await tx.execute(_LAST)
            if [link.n for link in links] != [*range(last + 1, last + 1 + len(links))]:
                raise _chain_broken_error()
            linked = await tx.execute(statement, *chain.from_iterable(links))
            if len(linked) != len(links):
                raise _chain_broken_error()

        await self._rows.transact(run, fence=fence, within=within)

    async def public_keys(self) -> Sequence[str]:
        """Return the public keys in base64url, oldest first. The last one is in use."""
        return [x for (x,) in await self._rows.read(_KEYS)]

    async def use_key(self, new: str, former: Collection[str], at: float) -> bool:
        """Use a public key from now on, if it is in use already, none is, or it replaces one of the former ones.

        Returns whether it is in use.
        """

        async def run(tx: RowTransaction) -> bool:
            used: list[str] = [x for (x,) in await tx.execute(_KEYS)]
            if not _is_next_key(used, new, former):
                return new == used[-1]
            await tx.execute("INSERT INTO receipt_keys (x, at) VALUES ($1, $2)", new, at)
            return True

        return await self._rows.transact(run, lock="receipt_keys")


def _is_next_key(used: Sequence[str], new: str, former: Collection[str]) -> bool:
    """Return whether a public key that is not in use yet may be: as the first one, or in place of a former one."""
    return not used or (used[-1] in former and new not in used)


def _chain_broken_error() -> StoreError:
    """Build the error for links that do not continue the chain."""
    return StoreError("These links do not continue the chain of receipts, so none was added.")
