"""Every outcome has a receipt that proves who decided what, in a chain that shows what was changed or removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from answerback.ports.extension import Extension, Running, ServiceParts
from answerback.ports.extension_rows import SchemaTable
from answerback_receipts.settings import ReceiptSettings

if TYPE_CHECKING:
    from answerback.ports.operation import ApiCall, Operation


class ReceiptsExtension(Extension):
    name = "receipts"
    order = 30
    table = "receipts"
    settings = ReceiptSettings
    schema_tables = (
        SchemaTable(
            "receipts",
            ("seq", "receipt", "beside", "n", "link"),
            # The signed payload has only digests of the erased texts.
            erase="UPDATE receipts SET beside = NULL WHERE seq = (SELECT seq FROM asks WHERE id = $1)",
        ),
        SchemaTable("receipt_keys", ("seq", "x", "at"), given_number=True),
    )

    def operations(self) -> Sequence[Operation[ApiCall]]:
        from answerback_receipts.operations import OPERATIONS

        return OPERATIONS

    async def open(self, parts: ServiceParts) -> Running | None:
        from answerback_receipts.keys import KeyPlace, open_signing_key, read_service_id
        from answerback_receipts.linker import ReceiptLinker
        from answerback_receipts.receipts import Receipts

        place = KeyPlace(parts.configured.table, parts.database_file, parts.database_name)
        key = await open_signing_key(place, parts.store, parts.clock.now())
        if key is None:
            return None
        linker = ReceiptLinker(parts.store, key, parts.claim, parts.on_ended)
        return Receipts(key, await read_service_id(parts.store), parts.surfaces, linker)
