"""The invariants of permissions in every simulation: of grants, their use, receipts, and erasure."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from typing import Any, Final

from tests.meta.project import ROOT
from tests.simulation.evidence import Evidence, GivenGrant, Json, seconds_of

_RECIPE: Final[dict[str, Any]] = runpy.run_path(
    str(ROOT / "docs" / "recipes" / "verify_receipt.py")
)
"""The documented program that checks receipts."""


def _granted(evidence: Evidence) -> Iterator[str]:
    """GRANT: a grant allows what somebody gave it for, as often as they said, and nothing once it is revoked."""
    allowed: dict[str, list[tuple[int, str]]] = {}
    for key, ask_id in evidence.by_plan():
        stored = evidence.asks.get(ask_id)
        if stored is None or (grant := stored["grant"]) is None:
            continue
        if grant["use"] is None:
            made = GivenGrant(grant["by"]["user_id"], grant["uses"])
            if made not in evidence.grants.get(ask_id, ()):
                yield f"GRANT: {key} made a grant that nobody gave: {made}"
            continue
        command = str(evidence.plans[key].body["arguments"])
        allowed.setdefault(grant["id"], []).append((grant["use"], command))
        yield from _used(evidence, key, stored)
    for grant_id, uses in allowed.items():
        if len({number for number, _ in uses}) < len(uses):
            yield f"GRANT: {grant_id} has uses {sorted(number for number, _ in uses)}"
        if len({command for _, command in uses}) > 1:
            yield f"GRANT: {grant_id} allowed different commands"


def _used(evidence: Evidence, key: str, stored: Json) -> Iterator[str]:
    """Judge one use of a grant."""
    grant = stored["grant"]
    if grant["use"] > grant["uses"]:
        yield f"GRANT: {key} is use {grant['use']} of {grant['uses']}"
    if stored["source"] != "grant":
        yield f"GRANT: {key} was allowed by a grant, and its source is {stored['source']}"
    revoked_at = evidence.revoked.get(grant["id"])
    asked_at = seconds_of(stored["created_at"])
    if revoked_at is not None and asked_at > revoked_at + evidence.tolerance:
        yield f"GRANT: {key} was allowed by a grant that was revoked before"


def _used_once(evidence: Evidence) -> Iterator[str]:
    """USE: an approval is used once, only what was allowed is used, and a call is changed only by people."""
    for key, ask_id in evidence.by_plan():
        stored = evidence.asks.get(ask_id)
        if stored is None or ask_id in evidence.erasures:
            continue
        used = evidence.consumed[ask_id]
        if used > 1:
            yield f"USE: {key} was used {used} times"
        if used and set(stored["answers"].values()) != {"allow"}:
            yield f"USE: {key} was used, and not allowed"
        edited = stored["edited"]
        written = None if edited is None else edited["arguments"].get("command")
        if edited is not None and written not in evidence.edits.get(ask_id, ()):
            yield f"USE: {key} was changed to {written!r}, and nobody wrote that"


def _proved(evidence: Evidence) -> Iterator[str]:
    """RECEIPT: each says what is stored, is signed, and stands in one chain."""
    links = {}
    for key, ask_id in evidence.by_plan():
        stored, body = evidence.asks.get(ask_id), evidence.receipts.get(ask_id)
        if stored is None or body is None:
            if stored is not None and stored["status"] in {"answered", "cancelled"}:
                yield f"RECEIPT: {key} is {stored['status']} and has none"
            continue
        for fault in _RECIPE["faults"](body, evidence.receipt_keys):
            yield f"RECEIPT: of {key}: {fault}"
        payload = body["receipt"]["payload"]
        if payload["ask_id"] != ask_id or payload["status"] != stored["status"]:
            yield f"RECEIPT: {key} is {stored['status']}, and its receipt says {payload['status']}"
        if (link := body["link"]) is None:
            yield f"RECEIPT: {key} is in no chain"
        elif link["n"] in links:
            yield f"RECEIPT: two stand at {link['n']} in the chain"
        else:
            links[link["n"]] = link
    for number, link in links.items():
        before = links.get(number - 1)
        if before is not None and link["previous"] != _RECIPE["digest"](before):
            yield f"RECEIPT: the chain is broken before {number}"


def _erased(evidence: Evidence) -> Iterator[str]:
    """ERASE: of what was erased, nothing that anybody wrote can be read."""
    texts = {each.text for each in evidence.attempts if each.text}
    texts |= {name for each in evidence.attempts for name in each.files}
    for key, ask_id in evidence.by_plan():
        stored = evidence.asks.get(ask_id)
        if stored is None or stored["erased_at"] is None:
            continue
        if ask_id not in evidence.erasures:
            yield f"ERASE: {key} was erased, and nobody wanted that"
        kept = json.dumps([stored, evidence.records.get(ask_id), evidence.receipts.get(ask_id)])
        number = key.removeprefix("call-")
        for text in (*texts, f"Ask {number}, question", f'# {number}"'):
            if text in kept:
                yield f"ERASE: {key} was erased, and {text!r} can still be read"


CHECKS: Final = (_granted, _used_once, _proved, _erased)
