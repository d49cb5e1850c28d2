"""The API operations for receipts of ended asks, and for the keys that check them."""

from __future__ import annotations

from typing import Final

from aiohttp import web
from pydantic import JsonValue
from typing_extensions import TypedDict

from answerback.api.operation import json_response
from answerback.core.errors import Problem, ProblemError
from answerback.core.secrecy import keeps_secret
from answerback.ports.operation import ApiCall, ResponseSpec, get
from answerback.ports.receipt_key import PublicKey
from answerback_receipts.bodies import ReceiptBody, receipt_body
from answerback_receipts.stored_receipts import StoredReceipts


class KeysBody(TypedDict):
    """The keys that check receipts, as a JSON Web Key Set; the last one is in use."""

    keys: list[dict[str, JsonValue]]


async def receipt(call: ApiCall) -> web.Response:
    """``GET /v1/asks/{id}/receipt``."""
    ask = await call.ask()
    if ask.open:
        message = "The ask is open. Its receipt is made when it ends."
        raise _problem(409, "Not ended", "open", message)
    if call.is_from_agent and keeps_secret(ask):
        message = "Only people may read it: the answers were not confirmed."
        raise _problem(404, "No receipt", "no_receipt", message)
    stored = await StoredReceipts(call.store.rows).get(ask.id)
    if stored is None:
        message = "This ask has no receipt: none was made when it ended."
        raise _problem(404, "No receipt", "no_receipt", message)
    return json_response(receipt_body(stored, ask))


async def keys(call: ApiCall) -> web.Response:
    """``GET /.well-known/answerback-receipts.json``."""
    found = await StoredReceipts(call.store.rows).public_keys()
    body: KeysBody = {"keys": [PublicKey(x).jwk() for x in found]}
    return json_response(body, headers={"Cache-Control": "public, max-age=300"})


def _problem(status: int, title: str, code: str, message: str) -> ProblemError:
    return ProblemError(status, title, message, [Problem(pointer="", code=code, message=message)])


OPERATIONS: Final = (
    get(
        "receipt",
        "/v1/asks/{id}/receipt",
        "Get the receipt of an ask",
        receipt,
        {
            200: ResponseSpec("The receipt, and its place in the chain.", ReceiptBody),
            404: ResponseSpec("There is no such ask, or (`no_receipt`) it has none."),
            409: ResponseSpec("The ask is open."),
        },
        description="Shows anyone, without this service, who decided what, when and after seeing what. `answerback "
        "verify` checks it; so can you, with the keys at `/.well-known/answerback-receipts.json`.",
        after="record",
    ),
    get(
        "receiptKeys",
        "/.well-known/answerback-receipts.json",
        "Get the keys that check receipts",
        keys,
        {200: ResponseSpec("A JSON Web Key Set (RFC 7517).", KeysBody)},
        roles=None,
        description="Also on the public listener, as whoever has a receipt may check it.",
        public=True,
        after="consume",
    ),
)
