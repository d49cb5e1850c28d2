"""Responses and headers that several API operations share."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from answerback.api import asks
from answerback.api.operation import HeaderSpec, ResponseSpec

NEXT: Final = {"Link": "The next page, with rel=next, if there is one."}
KEY: Final = HeaderSpec(
    "Idempotency-Key",
    "A key you choose: repeating it with the same body returns the first ask again.",
    {"type": "string", "minLength": 1, "maxLength": asks.MAX_IDEMPOTENCY_KEY},
)
KEY_OF_ACTION: Final = replace(
    KEY,
    description="A key you choose: repeating it with the same body acts only once, and returns the ask again.",
)
NOT_FOUND: Final = ResponseSpec("There is none with this id, or it belongs to another agent.")
BAD: Final = ResponseSpec("The request is malformed; `detail` or `errors` says where.")
TOO_LARGE: Final = ResponseSpec("The body is over 256 KiB.")
NOT_JSON: Final = ResponseSpec("The body is not UTF-8 application/json.")
