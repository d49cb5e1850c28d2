"""Checks receipts and the chain that they are in, and says in words what they prove. Needs no service."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json

from answerback.core.ask import Ask
from answerback.core.canonical_json import canonical, digest, is_digest
from answerback.ports.receipt_key import PublicKey
from answerback.ports.store import Store, get_readable
from answerback_base import strict_json
from answerback_base.sanitize import quoted
from answerback_receipts.bodies import LinkBody, ReceiptBody, SignedPayload, payload_again
from answerback_receipts.payload import VERSIONS
from answerback_receipts.stored_receipts import StoredReceipt, StoredReceipts

_T = TypeVar("_T")
Keys = Mapping[str, PublicKey]
"""The trusted keys by their ids."""
_RECEIPT: Final = TypeAdapter(ReceiptBody)
_SIGNED: Final = TypeAdapter(SignedPayload)
_LINK: Final = TypeAdapter(LinkBody)
_MAX_DEPTH: Final = strict_json.MAX_DEPTH + 8
"""A receipt has the arguments of a call within it."""
_BATCH: Final = 200
_ABSENT: Final = "(a text that is not here)"
_PLAIN: Final = re.compile(r"[\w.:@+-]{1,100}", re.ASCII)
_STRENGTHS: Final = {
    "accounts": "a chat platform, or a proxy that signs people in, said who they are; not that nobody else used their "
    "accounts",
    "links": "they had a personal link or the service's own key, and without tokens one person can make several",
    "vouched": "a front end said who they are, and nobody else did",
}


@dataclass(slots=True)
class Verdict:
    """The result of checking a receipt: the facts that it proves, or the reason why it proves nothing."""

    faults: list[str] = field(default_factory=list)
    proves: list[str] = field(default_factory=list)
    does_not_prove: list[str] = field(default_factory=list)


def parse(text: bytes) -> ReceiptBody | None:
    """Read a receipt as the API returns it; None if the text is not one."""
    return _parse(_RECEIPT, text)


def _parse(adapter: TypeAdapter[_T], text: str | bytes) -> _T | None:
    try:
        sent = text.decode() if isinstance(text, bytes) else text
        # Of two members of one name, other programs might read the one that was not signed.
        value = strict_json.parse(sent, _MAX_DEPTH)
        return adapter.validate_python(value) if strict_json.is_all_encodable(value) else None
    except ValueError:
        return None


def check(body: ReceiptBody, keys: Keys) -> Verdict:
    """Check a receipt, its texts and its link."""
    receipt, link = body["receipt"], body["link"]
    faults = [*_faults_of_signature(receipt, keys), *_faults_of_texts(body)]
    if link is not None:
        faults += _faults_of_link(link, receipt, keys)
    if faults:
        return Verdict(faults)
    texts = {key: beside[1] for key, beside in body["disclosed"].items()}
    return Verdict([], [*_proves(receipt["payload"], texts, link)], [*_does_not_prove(body)])


def _faults_of_signature(receipt: SignedPayload, keys: Keys) -> Iterator[str]:
    if (key := keys.get(receipt["kid"])) is None:
        yield f"It is signed with the key {_word(receipt['kid'])}, which is not among the keys given."
    elif not key.has_signed(canonical(receipt["payload"]), receipt["signature"]):
        yield "Its signature is wrong: it was changed after it was signed, or signed with another key."
    elif receipt["payload"].get("version") not in VERSIONS:
        yield "It was made by another version of Answerback. Use that version to check it."


def _faults_of_texts(body: ReceiptBody) -> Iterator[str]:
    for key, beside in body["disclosed"].items():
        if len(beside) != 2 or digest(canonical(beside)) != key:
            yield f"A text beside it was changed: {_word(key)} is not the digest of what is given for it."
        elif key not in _digests(body["receipt"]["payload"]):
            yield f"A text beside it does not belong to it: {_word(key)} is not in what was signed."


def _faults_of_link(link: LinkBody, receipt: SignedPayload, keys: Keys) -> Iterator[str]:
    number = link["n"]
    signed: JsonValue = {"n": number, "digest": link["digest"], "previous": link["previous"]}
    if link["digest"] != digest(canonical(_plain(receipt))):
        yield f"Its link, line {number} of the chain, is another receipt's."
    if (key := keys.get(link["kid"])) is None:
        yield f"Its link is signed with the key {_word(link['kid'])}, which is not among the keys given."
    elif not key.has_signed(canonical(signed), link["signature"]):
        yield "The signature of its link is wrong."


def _plain(body: SignedPayload | LinkBody) -> JsonValue:
    return cast("JsonValue", body)  # mypy does not know that it is plain JSON


def _digests(value: JsonValue) -> set[str]:
    if isinstance(value, str):
        return {value} if is_digest(value) else set()
    members = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return set().union(*map(_digests, members))


def _proves(
    payload: Mapping[str, JsonValue], texts: Mapping[str, JsonValue], link: LinkBody | None
) -> Iterator[str]:
    def read(value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [read(item) for item in value]
        return texts.get(value, _ABSENT) if is_digest(value) else value

    def quote(value: JsonValue) -> str:
        is_absent = is_digest(value) and value not in texts
        return _ABSENT if is_absent else quoted(read(value))

    agent = payload.get("agent")
    asker = "an agent without a name" if agent is None else _word(agent)
    service, at = _word(payload["service_id"]), _word(payload["asked_at"])
    yield f"The service {service} was asked by {asker} at {at}: {quote(payload['headline'])}"
    yield from _files(payload, quote)
    ended, by = _word(payload["ended_at"]), _name(payload["ended_by"], read)
    yield f"It ended as {_word(payload['status'])} at {ended}{by}."
    for question, value in _object(payload["answers"]).items():
        given = _object(_object(payload["answered_by"]).get(question))
        who = _name(given.get("by"), read) or f", by no person ({_word(given.get('source'))})"
        yield f"The answer to {quoted(question)} is {quote(value)}{who}, at {_word(given.get('at'))}."
    yield from _proves_edit(_object(payload.get("edited")), quote)
    if grant := _object(payload.get("grant")):
        by, until = _name(grant["by"], read), _word(grant["expires_at"])
        is_made = grant["use"] is None
        what = "With it goes" if is_made else f"It is use {_word(grant['use'])} of"
        yield f"{what} the grant {_word(grant['id'])}{by}: {_word(grant['uses'])} uses, until {until}."
    for vote in _list(payload["confirmed_by"]):
        yield f"It was confirmed{_name(_object(vote)['by'], read)}, at {_word(_object(vote)['at'])}."
    yield from (
        f"The note on {quoted(question)} is: {quote(note)}"
        for question, note in _object(payload["notes"]).items()
    )
    if payload["reply"] is not None:
        yield f"The reply is: {quote(payload['reply'])}"
    if (shown := _shown(payload))["digest"] in texts and _is_decided_where_shown(payload):
        where = f"revision {_word(shown['revision'])} on {_word(shown['surface'])}"
        yield f"What was shown when it was decided ({where}) is as given in this file."
    if link is not None:
        yield f"It is line {link['n']} of the service's chain."


def _proves_edit(
    edited: Mapping[str, JsonValue], quote: Callable[[JsonValue], str]
) -> Iterator[str]:
    """Say what a person changed in the call before they allowed it, if anything."""
    if edited:
        what, now = quote(edited["difference"]), quote(edited["arguments"])
        yield f"The call was changed before it was allowed: {what}. Its arguments were then {now}."


def _files(payload: Mapping[str, JsonValue], quote: Callable[[JsonValue], str]) -> Iterator[str]:
    for file in _list(payload.get("files")):
        yield f"It came with the file {quote(file)}"
    for file in _list(payload.get("answer_files")):
        yield f"With an answer came the file {quote(file)}"


def _does_not_prove(body: ReceiptBody) -> Iterator[str]:
    payload = body["receipt"]["payload"]
    if (strength := payload.get("strength")) in _STRENGTHS:
        yield f"That the people are who they seem: {_STRENGTHS[str(strength)]}."
    shown = _object(body["disclosed"].get(str(_shown(payload)["digest"]), [None, None])[1])
    if _is_decided_where_shown(payload) and (cut := shown.get("cut")):
        yield f"That they read all of it: a chat may show all of {quoted(cut)} only if a button is pressed."
    if _digests(payload) - body["disclosed"].keys():
        yield "What the texts were that are not here: they were erased or left out, and only their digests are signed."
    if body["link"] is None:
        yield "That it was made at that time: it is not in the chain yet."
    yield "That no other receipt was removed: only the store shows its whole chain (`answerback verify --store`)."
    yield "That the agent did what was allowed, or nothing else, or only once."
    yield "That the service told the truth: its clock set the times, and anyone with its private key can sign anything."


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _shown(payload: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    return _object(payload["view"])


def _is_decided_where_shown(payload: Mapping[str, JsonValue]) -> bool:
    """Return True if somebody decided where the receipt says that it was shown: the first version always named a
    place."""
    by = _object(payload["ended_by"])
    return by.get("surface") == _shown(payload)["surface"] and by.get("via") is None and bool(by)


def _name(person: JsonValue, read: Callable[[JsonValue], JsonValue]) -> str:
    if not isinstance(person, dict):
        return ""
    return f", by {_word(read(person['user_id']))} on {_word(person['surface'])}"


def _word(value: JsonValue) -> str:
    """Return what the service wrote, quoted where it is not a plain word, time or id after all."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if text == _ABSENT or _PLAIN.fullmatch(text) else quoted(value)


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


@dataclass(slots=True)
class ChainVerdict:
    """The result of checking a store's chain: what is wrong with it, or its end."""

    lines: int = 0
    digest: str | None = None
    """The digest of the last link, from which a later chain must go on."""
    unlinked: int = 0
    fault: str | None = None
    """The first line that was changed, removed or moved."""


async def check_store(store: Store, keys: Keys, kept: ReceiptBody | None = None) -> ChainVerdict:
    """Walk the chain of a store.

    Args:
        kept: a receipt that was kept elsewhere, which must be in the chain.
    """
    verdict = ChainVerdict()
    kept_link = None if kept is None else kept["link"]
    found = kept_link is None
    async for stored in _linked(store):
        number, ask = verdict.lines + 1, await get_readable(store.asks, stored.ask_id)
        fault = _fault_of_line(number, verdict.digest, stored, ask, keys)
        if fault is None and (why := await _fault_of_rows(store, ask)) is not None:
            fault = (
                f"Line {number} ({_word(stored.ask_id)}) is whole, but its ask was changed. {why}"
            )
        verdict.fault = fault
        if verdict.fault is not None:
            return verdict
        verdict.lines = number
        link = from_json(stored.link or "null")
        verdict.digest = digest(canonical(link))
        if kept_link is not None and kept_link["n"] == number:
            found = kept_link == link
    if not found and kept_link is not None:
        verdict.fault = (
            f"Line {kept_link['n']} of the chain is not the one in the receipt that was kept: the store was restored "
            "from an older backup, or its chain was rewritten from there or before."
        )
        return verdict
    if kept is not None and kept_link is None:
        verdict.fault = await _fault_of_kept(store, kept["receipt"])
        if verdict.fault is not None:
            return verdict
    for stored in await StoredReceipts(store.rows).list_unlinked(sys.maxsize):
        ask = await get_readable(store.asks, stored.ask_id)
        fault = _fault_of_receipt(stored, ask, keys) or await _fault_of_rows(store, ask)
        if fault is not None:
            name = _word(stored.ask_id)
            verdict.fault = f"The receipt of {name}, which is not in the chain yet: {fault}"
            return verdict
        verdict.unlinked += 1
    return verdict


async def _fault_of_kept(store: Store, kept: SignedPayload) -> str | None:
    """Return what is wrong if a receipt that was kept before it was linked is not the store's."""
    ask_id = str(kept["payload"].get("ask_id"))
    stored = await StoredReceipts(store.rows).get(ask_id)
    if stored is not None and _parse(_SIGNED, stored.receipt) == kept:
        return None
    return (
        f"The store does not have the receipt of {_word(ask_id)} that was kept: it was restored from an older backup, "
        "or the receipt was removed or replaced."
    )


async def _linked(store: Store) -> AsyncIterator[StoredReceipt]:
    after, receipts = 0, StoredReceipts(store.rows)
    while batch := await receipts.list_linked(after, _BATCH):
        for stored in batch:
            yield stored
        after = batch[-1].n or 0


async def _fault_of_rows(store: Store, ask: Ask | None) -> str | None:
    """Return what is wrong with the columns and lines that decide who finds an ask, and whether it can be consumed."""
    if ask is None:
        return None
    if changed := await store.asks.changed_columns(ask):
        return f"These columns say otherwise than what was signed: {', '.join(changed)}."
    if ask.collection.consumed_at is None and await _is_recorded_as_consumed(store, ask.id):
        return "It was consumed, as its record says, and could be consumed again."
    return None


async def _is_recorded_as_consumed(store: Store, ask_id: str) -> bool:
    after = 0
    while lines := await store.record.read(ask_id, after):
        if any(line.entry.body.get("consumed") is True for line in lines):
            return True
        after = lines[-1].seq
    return False


def _fault_of_line(
    number: int, previous: str | None, stored: StoredReceipt, ask: Ask | None, keys: Keys
) -> str | None:
    """Return what is wrong with a line of the chain, or None."""
    line, named = f"Line {number}", f"Line {number} ({_word(stored.ask_id)})"
    if stored.n != number:
        return f"{line} is missing: line {stored.n} comes after line {number - 1}."
    receipt, link = _parse(_SIGNED, stored.receipt), _parse(_LINK, stored.link or "")
    if receipt is None or link is None:
        return f"{named} was changed. It is no longer a receipt with a link."
    if link["n"] != number:
        return f"{named} was moved: it was signed as line {link['n']}."
    if link["previous"] != previous:
        return (
            f"{named} does not follow the line before: one of them was changed, removed or moved."
        )
    faults = [*_faults_of_link(link, receipt, keys)]
    fault = faults[0] if faults else _fault_of_receipt(stored, ask, keys)
    return None if fault is None else f"{named} was changed. {fault}"


def _fault_of_receipt(stored: StoredReceipt, ask: Ask | None, keys: Keys) -> str | None:
    receipt = _parse(_SIGNED, stored.receipt)
    if receipt is None:
        return "It is no longer a receipt."
    if faults := [*_faults_of_signature(receipt, keys)]:
        return faults[0]
    if ask is None:
        return "Its ask cannot be read."
    payload = receipt["payload"]
    try:
        again, _ = payload_again(payload, stored, ask)
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
        return "What is stored of the ask, or its salt, can no longer be what was signed."
    if again is None:
        return (
            None if ask.erased_at is not None else "Its salt is gone, but its ask was not erased."
        )
    names = sorted(name for name in payload if payload[name] != again.get(name))
    return (
        f"What is stored of the ask is not what was signed: {', '.join(names)}." if names else None
    )
