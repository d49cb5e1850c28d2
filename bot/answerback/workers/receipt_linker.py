"""Puts receipts into the store's one chain, soon after their outcomes, so that no commit waits for another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json

from answerback.core.canonical_json import canonical_of_texts, digest
from answerback.core.errors import StoreError
from answerback.ports.claims import SOLE_CLAIM, Claim, Fence
from answerback.ports.receipt_key import SigningKey
from answerback.ports.receipts import NewLink, StoredReceipt
from answerback.ports.store import Store
from answerback.service.notify import Hooks

logger = logging.getLogger(__name__)

LEASE: Final = "receipts"
"""The lease under which links are added."""
_LEASE_SECONDS: Final = 2.0
"""Seconds after which another process takes over from one that died."""
_GATHERING: Final = 0.2
"""Seconds in which outcomes gather, so that many are linked in one transaction."""
_POLL: Final = 0.5
"""Seconds after which processes that share a store look for what one that died left behind."""
_TRY_AGAIN: Final = 0.2
"""Seconds until the next try if another process is linking."""
_BATCH: Final = 200
"""Links in one transaction."""


class ReceiptLinker:
    """Links receipts of this store.

    Args:
        claim: this process's claim; any process may link any receipt.
    """

    def __init__(self, store: Store, key: SigningKey, claim: Claim, hooks: Hooks) -> None:
        self._store = store
        self._key = key
        self._shared = claim is not SOLE_CLAIM
        self._claim = Claim(claim.holder, _LEASE_SECONDS)
        self._ended = asyncio.Event()
        hooks.ended.listen(lambda _ask: self._ended.set())

    async def run(self) -> None:
        """Link whatever is not linked yet; runs until cancelled."""
        while True:
            try:
                done = await self.link_all()
            except StoreError as error:
                done = False
                extra = {"action": "unlinked"}
                logger.warning("Receipts could not be linked yet: %s", error, extra=extra)
            await self._wait(_TRY_AGAIN if not done else _POLL if self._shared else None)

    async def _wait(self, seconds: float | None) -> None:
        """Wait until an ask has ended here, or for some time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()
            await asyncio.sleep(_GATHERING)
        self._ended.clear()

    async def link_all(self) -> bool:
        """Link everything that is not linked yet; return False if another process is at it."""
        receipts = self._store.receipts
        while unlinked := await receipts.list_unlinked(_BATCH):
            epoch = await self._store.leases.take(LEASE, self._claim)
            if epoch is None:
                return False
            # What was read before the lease was taken may be linked by now.
            unlinked, last = await receipts.list_unlinked(_BATCH), await receipts.last_link()
            links = await asyncio.to_thread(build_links, last, unlinked, self._key)
            if links:
                await receipts.add_links(links, Fence(LEASE, epoch))
            if self._shared:
                await self._store.leases.release(LEASE, self._claim.holder)
        return True


def build_links(
    last: StoredReceipt | None, unlinked: Sequence[StoredReceipt], key: SigningKey
) -> list[NewLink]:
    """Return the links that put receipts at the end of the chain."""
    n, previous = 0, None
    if last is not None and last.n is not None and last.link is not None:
        n, previous = last.n, digest(canonical_of_texts(from_json(last.link)))
    links = []
    for number, stored in enumerate(unlinked, n + 1):
        signed: dict[str, JsonValue] = {
            "n": number,
            "digest": digest(stored.receipt.encode()),
            "previous": previous,
        }
        signature = key.sign(canonical_of_texts(signed))
        link = canonical_of_texts(signed | {"signature": signature, "kid": key.kid})
        links.append(NewLink(stored.ask_id, number, link.decode()))
        previous = digest(link)
    return links
