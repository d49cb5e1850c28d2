"""Puts receipts into the store's one chain, soon after their outcomes, so that no commit waits for another."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import JsonValue
from pydantic_core import from_json

from answerback.core.ask import Ask
from answerback.core.canonical_json import canonical, digest
from answerback.core.errors import LeaseLostError, StoreError
from answerback.ports.claims import SOLE_CLAIM, Claim, Fence
from answerback.ports.outage_log import Outage
from answerback.ports.receipt_key import SigningKey
from answerback.ports.store import Store
from answerback_base.backoff import Backoff
from answerback_receipts.stored_receipts import NewLink, StoredReceipt, StoredReceipts

logger = logging.getLogger(__name__)

LEASE: Final = "receipts"
"""The lease under which links are added."""
_LEASE_SECONDS: Final = 2.0
"""Seconds after which another process takes over from one that died."""
_GATHERING: Final = 0.4
"""Seconds after a transaction in which outcomes gather, so that the next one links many."""
_POLL: Final = 0.4
"""Seconds after which processes that share a store look for what others have ended, or left behind."""
_LONGEST_PAUSE: Final = 30.0
_SIGNED_AT_ONCE: Final = 25
"""Links that are signed before others get their turn: signing them takes about a millisecond."""


class _End(NamedTuple):
    """The end of the chain."""

    n: int
    digest: str | None


@dataclass(eq=False)
class ReceiptLinker:
    """Links receipts of this store."""

    store: Store
    key: SigningKey
    claim: Claim
    """This process's claim; any process may link any receipt."""
    on_ended: Callable[[Callable[[Ask], None]], None]
    """Has a function called with each ask that ends in this process."""
    batch: int = 100
    """Links in one transaction: a hundred take two thirds of the CPU time that they take by 25."""
    first_pause: float = 0.5
    sharing: float = 0.4
    """Seconds for which links wait for another commit, so that they take none of their own."""
    _fence: Fence | None = None
    _renew_at: float = 0.0

    def __post_init__(self) -> None:
        self._shared = self.claim is not SOLE_CLAIM
        if self._shared:
            self.claim = Claim(self.claim.holder, _LEASE_SECONDS)
        self.receipts = StoredReceipts(self.store.rows)
        self._end = _End(0, None)
        """No other process adds links in the epoch of the fence."""
        self._ended = asyncio.Event()
        self.on_ended(lambda _ask: self._ended.set())

    async def run(self) -> None:
        """Link whatever is not linked yet; runs until cancelled."""
        backoff = Backoff(self.first_pause, _LONGEST_PAUSE)
        outage = Outage(logger, "The chain of receipts")
        try:
            while True:
                self._ended.clear()
                try:
                    await self.link_all()
                except StoreError as error:
                    outage.record_failure(LEASE, error)
                    await backoff.wait()
                    continue
                outage.record_success(LEASE)
                backoff.reset()
                await self._wait()
        finally:
            if self._shared:  # also if this ends while it takes the lease, or adds links under it
                with suppress(StoreError):
                    await self.store.leases.release(LEASE, self.claim.holder)

    async def _wait(self) -> None:
        """Let outcomes gather, and wait until there is one, or perhaps one of another process."""
        await asyncio.sleep(_GATHERING)
        with suppress(TimeoutError):
            async with asyncio.timeout(_POLL if self._shared else None):
                await self._ended.wait()

    async def link_all(self) -> bool:
        """Link everything that is not linked yet; return False if another process is at it."""
        receipts = self.receipts
        while unlinked := await receipts.list_unlinked(self.batch):
            former = self._fence
            if not await self._hold_lease():
                return False
            if self._fence is None or self._fence != former:
                continue  # receipts read before the lease was taken may be linked by now
            links, end = await self._sign(unlinked)
            try:
                within = self.sharing if len(unlinked) < self.batch else 0.0
                await receipts.add_links(links, self._fence, within)
            except LeaseLostError:
                self._fence = None
            except BaseException:  # they may have been added nevertheless
                self._fence = None
                raise
            else:
                self._end = end
                if len(unlinked) < self.batch:
                    break  # receipts of asks that have ended meanwhile are linked next time
        return True

    async def _sign(self, unlinked: Sequence[StoredReceipt]) -> tuple[list[NewLink], _End]:
        """Build links as `build_links` does, letting others take their turn in between."""
        links: list[NewLink] = []
        end = self._end
        for first in range(0, len(unlinked), _SIGNED_AT_ONCE):
            signed, end = build_links(end, unlinked[first : first + _SIGNED_AT_ONCE], self.key)
            links += signed
            await asyncio.sleep(0)
        return links, end

    async def _hold_lease(self) -> bool:
        """Take or renew the lease if need be; return False if another process has it."""
        now = time.monotonic()
        if self._fence is not None and now < self._renew_at:
            return True
        epoch = await self.store.leases.take(LEASE, self.claim)
        if epoch is None:
            self._fence = None
            return False
        self._renew_at = now + self.claim.seconds / 2
        if self._fence != (fence := Fence(LEASE, epoch)):
            last = await self.receipts.last_link()
            self._fence, self._end = fence, _end_at(last)
        return True


def _end_at(last: StoredReceipt | None) -> _End:
    if last is None or last.n is None or last.link is None:
        return _End(0, None)
    return _End(last.n, digest(canonical(from_json(last.link))))


def build_links(
    end: _End, unlinked: Sequence[StoredReceipt], key: SigningKey
) -> tuple[list[NewLink], _End]:
    """Return the links that put receipts at the end of the chain, and its end then."""
    links = []
    for stored in unlinked:
        signed: dict[str, JsonValue] = {
            "n": end.n + 1,
            "digest": digest(stored.receipt.encode()),
            "previous": end.digest,
        }
        signature = key.sign(canonical(signed))
        link = canonical(signed | {"signature": signature, "kid": key.kid})
        end = _End(end.n + 1, digest(link))
        links.append(NewLink(stored.ask_id, end.n, link.decode()))
    return links, end
