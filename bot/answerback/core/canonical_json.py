"""JSON in the one form that is signed and digested: RFC 8785.

The encoders are imported where they are used, because most commands use none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from typing import Final, TypeGuard

from pydantic import JsonValue

from answerback_base.strict_json import nodes

_MAX_SAFE: Final = 2**53 - 1
"""The largest integer that every double holds exactly; RFC 8785 knows doubles only."""
_DIGEST: Final = re.compile("sha256:[0-9a-f]{64}")
_NO_NUMBER: Final = frozenset({str, bool, type(None)})


def canonical(value: JsonValue) -> bytes:
    """Return the RFC 8785 form of any JSON. Integers that no double holds exactly are rounded, as every reader does."""
    if _has_plain_numbers(value):
        # `msgspec` is many times as fast as `rfc8785`, which is written in Python. It writes all but floats alike, and
        # sorts all names alike that have no characters outside the basic plane.
        form = _encoder()(value)
        if form.isascii() or _has_ascii_names(value):
            return form
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_rounded(value))


@cache
def _encoder() -> Callable[[JsonValue], bytes]:
    import msgspec

    return msgspec.json.Encoder(order="sorted").encode


def _has_plain_numbers(value: JsonValue) -> bool:
    """Return whether all numbers in a value are certainly integers that a double holds exactly."""
    layer = [value]
    while layer:
        below: list[JsonValue] = []
        for each in layer:
            if type(each) in _NO_NUMBER:
                continue
            if type(each) is dict:
                below += each.values()
            elif type(each) is list:
                below += each
            elif not (type(each) is int and -_MAX_SAFE <= each <= _MAX_SAFE):
                return False
        layer = below
    return True


def _has_ascii_names(value: JsonValue) -> bool:
    return all("".join(each).isascii() for each in nodes(value) if isinstance(each, dict))


def digest(form: bytes) -> str:
    """Return ``sha256:`` and the digest of a canonical form in hexadecimal."""
    return f"sha256:{hashlib.sha256(form).hexdigest()}"


def is_digest(value: JsonValue) -> TypeGuard[str]:
    """Return whether a value looks like one of `digest`."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _rounded(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _rounded(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(value) if isinstance(value, int) and abs(value) > _MAX_SAFE else value
