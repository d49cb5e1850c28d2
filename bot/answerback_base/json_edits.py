"""Edits of JSON texts: what was not changed keeps its bytes, so that no number is rounded on its way through a program.

Numbers count as the same only if they are the same number in full: 1.5 and 1.50 are, and two that merely round to one
double are not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from answerback_base import strict_json


class Change(NamedTuple):
    """A place in a JSON text that was changed."""

    path: tuple[str, ...]
    """The keys that lead to it; empty: all of it was changed."""
    before: str | None
    """The value that was there, as it is written; None: nothing."""
    after: str | None
    """The value that is there now; None: nothing."""


def merge(before: str, after: str) -> str:
    """Return an edited JSON text in which everything that was not changed is written as it was before.

    Args:
        before: a text that `strict_json.parse` accepts.
        after: another one.
    """
    if is_same(before, after):
        return before
    if _are(before, after, "{"):
        old = strict_json.written_members(before)
        members = [
            f"{old[key][0]}: {merge(old[key][1], value)}" if key in old else f"{written}: {value}"
            for key, (written, value) in strict_json.written_members(after).items()
        ]
        return f"{{{', '.join(members)}}}"
    if _are(before, after, "["):
        items, earlier = strict_json.written_items(after), strict_json.written_items(before)
        merged = [merge(*each) for each in zip(earlier, items, strict=False)]
        return f"[{', '.join((*merged, *items[len(merged) :]))}]"
    return after.strip()


def changes(before: str, after: str) -> Iterator[Change]:
    """Yield what differs between two JSON texts, down to the members of objects."""
    yield from _changes((), before, after)


def _changes(path: tuple[str, ...], before: str, after: str) -> Iterator[Change]:
    if is_same(before, after):
        return
    if not _are(before, after, "{"):
        yield Change(path, before, after)
        return
    old, new = strict_json.members(before), strict_json.members(after)
    for key in dict.fromkeys((*old, *new)):
        if key in old and key in new:
            yield from _changes((*path, key), old[key], new[key])
        else:
            yield Change((*path, key), old.get(key), new.get(key))


def is_same(before: str, after: str) -> bool:
    """Return whether two JSON texts say the same, whatever the order of members."""
    return before == after or _exact(before) == _exact(after)


def _are(before: str, after: str, opening: str) -> bool:
    return before.lstrip().startswith(opening) and after.lstrip().startswith(opening)


class _Number(NamedTuple):
    """A number: never equal to true, nor to a text."""

    value: Decimal | str


def _exact(text: str) -> object:
    return json.loads(text, parse_int=_number, parse_float=_number)


def _number(digits: str) -> _Number:
    try:
        return _Number(Decimal(digits))
    except InvalidOperation:
        # An exponent beyond all that decimals can hold, such as 0e99999999999999999999.
        return _Number(digits)
