"""Receipts as they are stored, and the store's one chain of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.claims import Fence


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


class ReceiptStore(Protocol):
    """Receipts, which are stored with the outcomes that they are about (`answerback.ports.store.Write.ask_rows`)."""

    async def get(self, ask_id: str) -> StoredReceipt | None:
        """The receipt of an ask; None if there is no such ask, or it has no receipt yet."""

    async def list_unlinked(self, limit: int) -> Sequence[StoredReceipt]:
        """Receipts that are not in the chain yet."""

    async def last_link(self) -> StoredReceipt | None:
        """The end of the chain, or None."""

    async def list_linked(self, after: int, limit: int) -> Sequence[StoredReceipt]:
        """The chain after a number, in order."""

    async def changed_columns(self, ask: Ask) -> Sequence[str]:
        """The columns that say otherwise than an ask, of those that decide who finds it and its answer."""

    async def add_links(self, links: Sequence[NewLink], fence: Fence, within: float = 0.0) -> None:
        """Add links at the end of the chain, all or none.

        Args:
            within: how many seconds they may wait to be committed together with something else.

        Raises:
            LeaseLostError: the lease is no longer held in that epoch.
            StoreError: they do not continue the chain, as another process has added some.
        """

    async def public_keys(self) -> Sequence[str]:
        """The public keys in base64url, oldest first. The last one is in use."""

    async def use_key(self, new: str, former: Collection[str], at: float) -> bool:
        """Use a public key from now on, if it is in use already, none is, or it replaces one of the former ones.

        Returns whether it is in use.
        """


def is_next_key(used: Sequence[str], new: str, former: Collection[str]) -> bool:
    """Return whether a public key that is not in use yet may be: as the first one, or in place of a former one."""
    return not used or (used[-1] in former and new not in used)


def chain_broken_error() -> StoreError:
    """Build the error for links that do not continue the chain."""
    return StoreError("These links do not continue the chain of receipts, so none was added.")
