"""Services that make receipts, and the receipts that they made."""

from __future__ import annotations

from typing import Any

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.ports.claims import SOLE_CLAIM, Claim
from answerback.ports.receipt_key import PublicKey, SigningKey, new_private_key
from answerback.ports.store import Store
from answerback.ports.surface import Acted
from answerback.service.service import Service
from answerback.service.submission_request import Submission
from answerback_receipts.bodies import ReceiptBody, receipt_body
from answerback_receipts.linker import ReceiptLinker
from answerback_receipts.receipts import Receipts
from answerback_receipts.stored_receipts import StoredReceipt, StoredReceipts
from tests.service_support import FakePage, FakeSurface, ManualClock, actor

SERVICE_ID = "svc_test"
APPROVAL: dict[str, Any] = {
    "name": "PermissionRequest",
    "dialect": "approval",
    "arguments": {"tool_name": "Bash", "tool_input": {"command": "make deploy", "retries": 2.5}},
    "to": "chat:C1",
    "responders": ["anyone"],
}


class Signed:
    """A service whose outcomes have receipts, and the linker."""

    def __init__(
        self, store: Store, claim: Claim = SOLE_CLAIM, key: SigningKey | None = None, **more: Any
    ) -> None:
        self.store = store
        self.key = key or SigningKey(new_private_key())
        surfaces = {"chat": FakeSurface(), "web": FakePage("web", responders=("anyone",))}
        self.receipts = Receipts(self.key, SERVICE_ID, surfaces)
        self.service = Service(
            store,
            ManualClock(),
            surfaces,
            known_surfaces=frozenset(),
            claim=claim,
            extensions=[self.receipts],
            **more,
        )
        self._claim = claim
        self.linker = self.another_linker()

    def another_linker(self, **more: Any) -> ReceiptLinker:
        """A linker of the same process, with other limits."""
        given = {"sharing": 0.0, **more}
        return ReceiptLinker(
            self.store, self.key, self._claim, self.service.hooks.ended.listen, **given
        )

    @property
    def keys(self) -> dict[str, PublicKey]:
        """The keys that check what it signs."""
        return {self.key.kid: self.key.public}

    async def submit(self, **more: Any) -> Ask:
        """Submit an approval."""
        submission = Submission.model_validate({**APPROVAL, **more})
        return (await self.service.submit(submission)).ask

    async def decided(self, value: str = "allow", who: Any = None, **more: Any) -> Ask:
        """Submit an approval and have it decided."""
        ask = await self.submit(**more)
        done = await self.service.act(ask.id, Answer(value=value), who or actor())
        assert isinstance(done, Acted)
        return done.ask

    async def stored(self, ask: Ask) -> StoredReceipt:
        """The stored receipt of an ask."""
        found = await StoredReceipts(self.store.rows).get(ask.id)
        assert found is not None
        return found

    async def receipt(self, ask: Ask) -> ReceiptBody:
        """The receipt of an ask, as it is read."""
        current = await self.service.get(ask.id)
        assert current is not None
        return receipt_body(await self.stored(ask), current)


async def chain_of(signed: Signed, length: int = 4) -> list[StoredReceipt]:
    """Fill the chain, and return its lines."""
    for number in range(length):
        await signed.decided("allow" if number % 2 else "deny")
    await signed.linker.link_all()
    return [*await StoredReceipts(signed.store.rows).list_linked(0, 99)]
