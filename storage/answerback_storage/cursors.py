"""Cursors: the row after which a page begins, and the line of the record that an export has reached."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, TypeVar

from answerback.core.ask import Ask
from answerback.core.urgency import PLACES
from answerback.ports.store_values import ChangedAsks, Page

T = TypeVar("T")

LAST: Final = 2**63 - 1
"""A position after every row."""
_BY_URGENCY: Final = "urgency"


def cursor(kind: str, *numbers: int) -> str:
    """Return the opaque cursor of the page that follows a row in a list of this kind."""
    text = ":".join((kind, *map(str, numbers)))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _parse(kind: str, text: str, count: int) -> Sequence[int]:
    """Return so many numbers of a cursor, or none if it is not such a cursor."""
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        numbers = [*map(int, decoded.split(":")[1:])]
    except ValueError:
        return ()
    is_valid = len(numbers) == count and numbers[-1] > 0 and all(0 <= n <= LAST for n in numbers)
    return numbers if is_valid and cursor(kind, *numbers) == text else ()


def page(kind: str, found: Iterable[tuple[int, T]], limit: int) -> Page[T]:
    """Return a page of what was found with its numbers; if that is more than ``limit``, there is another one."""
    first = [*islice(found, limit + 1)]
    after = cursor(kind, first[limit - 1][0]) if len(first) > limit else None
    return Page(tuple(item for _, item in first[:limit]), after)


def page_by_urgency(found: Iterable[tuple[int, Ask]], limit: int) -> Page[Ask]:
    """Return a page of open asks, of which the most urgent come first, and then those that were asked first."""
    first = [*islice(found, limit + 1)]
    after = None
    if len(first) > limit:
        seq, last = first[limit - 1]
        after = cursor(_BY_URGENCY, PLACES[last.request.urgency], seq)
    return Page(tuple(ask for _, ask in first[:limit]), after)


def parse_urgency_cursor(text: str | None) -> tuple[int, int]:
    """Return the place of the urgency, and the number, of the row that a cursor points to.

    Raises:
        ValueError: the cursor did not come from such a page.
    """
    if text is None:
        return 0, 0
    if found := _parse(_BY_URGENCY, text, 2):
        return found[0], found[1]
    raise _no_page(text)


def parse_cursor(kind: str, text: str | None, beginning: int = LAST) -> int:
    """Return the row that a cursor points to; without a cursor, the ``beginning`` of the list.

    Raises:
        ValueError: the cursor did not come from a page of this kind.
    """
    if text is None:
        return beginning
    for seq in _parse(kind, text, 1):
        return seq
    raise _no_page(text)


def _no_page(text: str) -> ValueError:
    return ValueError(f"There is no page behind {text!r}: pass the cursor that a page returned.")


def parse_change_cursor(text: str) -> tuple[int, int]:
    """Return the transaction and the line that a cursor points to; of an empty one, a position before every line.

    Raises:
        ValueError: it is not such a cursor.
    """
    if not text:
        return -1, 0
    if not (found := _parse("changes", text, 2)):
        raise ValueError(unknown_cursor(text))
    return found[0], found[1]


def changed_asks(lines: Sequence[tuple[int, int, str]], after: str, limit: int) -> ChangedAsks:
    """Build what `Record.list_changed` returns.

    Args:
        lines: the transaction, the number and the ask of each line after the cursor, up to ``limit``.
    """
    ids = tuple(dict.fromkeys(ask_id for _, _, ask_id in lines))
    after = cursor("changes", *lines[-1][:2]) if lines else after
    return ChangedAsks(ids, after, len(lines) < limit)


def unknown_cursor(text: str) -> str:
    """Say that a database has not issued a cursor."""
    return f"There is nothing behind {text!r}: pass the cursor that an export returned, or none to start over."
