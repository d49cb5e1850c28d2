"""JSON in the one form that is signed and digested: RFC 8785."""

from __future__ import annotations

import hashlib
import json
from typing import Final

import rfc8785
from pydantic import JsonValue

_MAX_SAFE: Final = 2**53 - 1
"""The largest integer that every double holds exactly; RFC 8785 knows doubles only."""
DIGEST: Final = "sha256:"
"""Begins a digest."""
_encode: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False
).encode


def canonical(value: JsonValue) -> bytes:
    """Return the RFC 8785 form of any JSON. Integers that no double holds exactly are rounded, as every reader does."""
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_rounded(value))


def canonical_of_texts(value: JsonValue) -> bytes:
    """Return the RFC 8785 form of JSON whose only numbers are small integers, five times as fast."""
    text = _encode(value)
    # Only names that are not ASCII can have another order there.
    return text.encode() if text.isascii() else rfc8785.dumps(value)


def digest(form: bytes) -> str:
    """Return ``sha256:`` and the digest of a canonical form in hexadecimal."""
    return f"{DIGEST}{hashlib.sha256(form).hexdigest()}"


def _rounded(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _rounded(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(value) if isinstance(value, int) and abs(value) > _MAX_SAFE else value
