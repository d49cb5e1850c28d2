"""Makes receipts with outcomes, and has them linked."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from answerback.core.ask import Ask, Change
from answerback.core.canonical_json import canonical
from answerback.ports.extension import Running
from answerback.ports.extension_rows import NO_ROWS, AskRow, Rows
from answerback.ports.receipt_key import SigningKey, encode
from answerback.ports.surface import Surface
from answerback_receipts.linker import ReceiptLinker
from answerback_receipts.payload import payload_of
from answerback_receipts.stored_receipts import NewReceipt

_SALT_BYTES: Final = 32


@dataclass(frozen=True)
class Receipts(Running):
    """Makes the receipts of a service."""

    key: SigningKey
    service_id: str
    """Names the service in all its receipts."""
    surfaces: Mapping[str, Surface]
    """The configured surfaces by name."""
    linker: ReceiptLinker | None = None
    """The linker of the receipts; None: nothing links them."""
    kinds = frozenset({"ended"})

    def on_change(self, before: Ask | None, change: Change, at: float) -> Rows:
        if change.entries[-1].kind != "ended":
            return NO_ROWS
        return Rows(ask_rows=(AskRow("receipts", NewReceipt._fields, self.make(change.ask)),))

    def make(self, ask: Ask) -> NewReceipt:
        """Make the receipt of an ask that ends now."""
        salt = secrets.token_bytes(_SALT_BYTES)
        opaque = {name for name, surface in self.surfaces.items() if surface.live}
        payload, _ = payload_of(ask, salt, self.service_id, opaque)
        form = canonical(payload)
        kid, signature = self.key.kid, self.key.sign(form)
        receipt = f'{{"kid":"{kid}","payload":{form.decode()},"signature":"{signature}"}}'
        return NewReceipt(receipt, f'{{"salt":"{encode(salt)}"}}')

    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {} if self.linker is None else {"receipts": self.linker.run}
