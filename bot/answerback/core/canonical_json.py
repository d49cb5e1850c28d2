"""JSON in the one form that is signed and digested: RFC 8785.

The encoders are imported where they are used, because most commands use none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection
from functools import cache
from typing import Final, TypeGuard

from pydantic import JsonValue

_MAX_SAFE: Final = 2**53 - 1
"""The largest integer that every double holds exactly; RFC 8785 knows doubles only."""
_DIGEST: Final = re.compile("sha256:[0-9a-f]{64}")
_ALIKE: Final = {str, bool, type(None)}


def canonical(value: JsonValue) -> bytes:
    """Return the RFC 8785 form of any JSON. Integers that no double holds exactly are rounded, as every reader does."""
    if _is_written_alike(value):
        return _encoder()(value)  # many times as fast as `rfc8785`, which is written in Python
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_rounded(value))


@cache
def _encoder() -> Callable[[JsonValue], bytes]:
    import msgspec

    return msgspec.json.Encoder(order="sorted").encode


def _is_written_alike(value: JsonValue) -> bool:
    """Return whether `msgspec` certainly writes a value as RFC 8785 does.

    It writes floats otherwise, and sorts names otherwise if they have characters outside the basic plane.
    """
    unchecked: list[Collection[JsonValue]] = [(value,)]
    for values in unchecked:  # which grows
        for each in [each for each in values if type(each) not in _ALIKE]:
            if isinstance(each, dict) and "".join(each).isascii():
                unchecked.append(each.values())
            elif isinstance(each, list):
                unchecked.append(each)
            elif not (type(each) is int and abs(each) <= _MAX_SAFE):
                return False
    return True


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
