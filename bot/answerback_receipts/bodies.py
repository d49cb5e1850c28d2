"""Receipts of outcomes, as agents and people read them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field, JsonValue
from pydantic_core import from_json
from typing_extensions import TypedDict

from answerback.core.ask import Ask
from answerback.ports.receipt_key import decode
from answerback.service.people_wire import strict
from answerback_receipts.payload import (
    VERSION,
    VERSIONS,
    JsonObject,
    payload_of,
    surfaces_in_the_clear,
)
from answerback_receipts.stored_receipts import StoredReceipt

Digest: TypeAlias = Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]


@strict
class SignedPayload(TypedDict):
    """The signed contents of a receipt, and its signature."""

    payload: dict[str, JsonValue]
    signature: str
    """Ed25519 over the RFC 8785 form of `payload`, in base64url without padding."""
    kid: str
    """The key at `/.well-known/answerback-receipts.json`."""


@strict
class LinkBody(TypedDict):
    """A receipt's place in the service's one chain."""

    n: int
    digest: Digest
    """The digest of the RFC 8785 form of `receipt`."""
    previous: Digest | None
    """The digest of the RFC 8785 form of the link before; null for the first."""
    signature: str
    """Over the RFC 8785 form of `n`, `digest` and `previous`."""
    kid: str


@strict
class ReceiptBody(TypedDict):
    """The receipt of an ask that has ended."""

    receipt: SignedPayload
    link: LinkBody | None
    """Null until it is in the chain, which takes less than a second."""
    disclosed: dict[str, list[JsonValue]]
    """For each digest in the payload: its salt and what it stands for. The digest is that of the RFC 8785 form of
    both, as an array. Empty once the ask was erased."""


def receipt_body(stored: StoredReceipt, ask: Ask) -> ReceiptBody:
    receipt: SignedPayload = from_json(stored.receipt)
    _, texts = payload_again(receipt["payload"], stored, ask)
    return {
        "receipt": receipt,
        "link": None if stored.link is None else from_json(stored.link),
        "disclosed": texts,
    }


def payload_again(
    payload: JsonObject, stored: StoredReceipt, ask: Ask
) -> tuple[JsonObject | None, dict[str, list[JsonValue]]]:
    """Return the payload as the stored ask gives it now, and by digest the texts beside it.

    Once the ask was erased, neither is there.
    """
    if stored.beside is None or ask.erased_at is not None:
        return None, {}
    salt = decode(from_json(stored.beside)["salt"])
    version = next((each for each in VERSIONS if each == payload["version"]), VERSION)
    opaque = surfaces_in_the_clear(payload)
    return payload_of(ask, salt, str(payload["service_id"]), opaque, version)
