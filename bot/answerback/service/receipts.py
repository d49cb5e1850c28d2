"""Receipts of outcomes, as agents and people read them, and approvals that deploy scripts consume.

The extension `answerback_receipts` makes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final, TypeAlias

from pydantic import Field, JsonValue
from pydantic_core import from_json
from typing_extensions import TypedDict

from answerback.core import refusals
from answerback.core.ask import Ask, Change, RecordEntry, Status
from answerback.core.errors import Problem
from answerback.core.form import OptionKind
from answerback.core.too_late import APPROVAL
from answerback.core.walker import Refused, Source
from answerback.ports.receipt_key import decode
from answerback.ports.receipts import StoredReceipt
from answerback.ports.store import Decision, Store, Write
from answerback.service.people_wire import strict
from answerback.service.receipt_payload import (
    VERSION,
    VERSIONS,
    JsonObject,
    payload_of,
    surfaces_in_the_clear,
)

_ALLOWING: Final = {OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS}
Digest: TypeAlias = Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]


@strict
class SignedPayload(TypedDict):
    """What a receipt says, and its signature."""

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
    """Of the RFC 8785 form of `receipt`."""
    previous: Digest | None
    """Of the RFC 8785 form of the link before; null for the first."""
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


def is_allowed(ask: Ask) -> bool:
    """Return whether people allowed everything that an approval asked for, or had granted it."""
    ended = ask.outcome
    if ended is None or ended.status is not Status.ANSWERED or ask.request.dialect != APPROVAL:
        return False
    kinds = {*ask.form.kinds_of(ask.walk.values).values()}
    by_people = ended.source in {Source.HUMAN, Source.GRANT}
    return by_people and bool(kinds) and kinds <= _ALLOWING


def _consume(ask: Ask, *, at: float) -> Change | Refused:
    if ask.collection.consumed_at is not None:
        return Refused((refusals.CONSUMED.problem(),))
    if not is_allowed(ask):
        return Refused((refusals.NOT_APPROVED.problem(),))
    entry = RecordEntry(at=at, kind="note", body={"consumed": True})
    return Change(replace(ask, collection=replace(ask.collection, consumed_at=at)), (entry,))


async def consume(store: Store, ask_id: str, at: float) -> Ask | tuple[Problem, ...]:
    """Consume an approval once, over all processes; return the ask, or why it was not consumed."""

    def decide(ask: Ask | None) -> Decision[Ask | tuple[Problem, ...]]:
        if ask is None:
            raise AssertionError(f"{ask_id} was read before")
        change = _consume(ask, at=at)
        if isinstance(change, Refused):
            return Decision(None, change.problems)
        return Decision(Write(change.ask, change.entries), change.ask)

    done, _ = await store.asks.change(ask_id, decide)
    return done
