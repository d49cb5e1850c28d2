"""The API operations about receipts: a part of the table in `answerback.api.routes`."""

from __future__ import annotations

from typing import Final

from answerback.api import receipts
from answerback.api.operation import AGENT_ONLY, Operation, ResponseSpec
from answerback.service.receipts import ReceiptBody
from answerback.service.wire import AskBody

KEYS: Final = Operation(
    "receiptKeys",
    "GET",
    "/.well-known/answerback-receipts.json",
    "Get the keys that check receipts",
    receipts.keys,
    {200: ResponseSpec("A JSON Web Key Set (RFC 7517).", receipts.KeysBody)},
    roles=None,
    description="Also on the public listener, as whoever has a receipt may check it.",
)
RECEIPT_OPERATIONS: Final = (
    Operation(
        "receipt",
        "GET",
        "/v1/asks/{id}/receipt",
        "Get the receipt of an ask",
        receipts.receipt,
        {
            200: ResponseSpec("The receipt, and its place in the chain.", ReceiptBody),
            404: ResponseSpec("There is no such ask, or (`no_receipt`) it has none."),
            409: ResponseSpec("The ask is open."),
        },
        description="Shows anybody, without this service, who decided what, when and after seeing what. `answerback "
        "verify` checks it; so can you, with the keys at `/.well-known/answerback-receipts.json`.",
    ),
    Operation(
        "consume",
        "POST",
        "/v1/asks/{id}/consume",
        "Consume an approval, once",
        receipts.consume,
        {
            200: ResponseSpec("The approval, which nobody had consumed before.", AskBody),
            409: ResponseSpec(
                "It was consumed before (`consumed`), or nobody has allowed it (`not_approved`)."
            ),
        },
        roles=AGENT_ONLY,
        description="For programs that make sure that one approval opens one door: of any number of calls, at any "
        "replicas, one gets 200.",
    ),
    KEYS,
)
