"""Make texts fit: count them as the strictest platform may, and cut them where it hurts least. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from answerback_base.sanitize import one_line

if TYPE_CHECKING:
    import regex

ELLIPSIS: Final = "…"
_LOOK_BACK: Final = 40
"""Characters that a cut may move back to reach a space or the start of a grapheme cluster; at most half of them."""


def utf16_length(text: str) -> int:
    """Return the length in UTF-16 code units, the strictest unit that a platform may count in."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def fits_line(text: str, limit: int) -> bool:
    """Return True if a text is one line of at most ``limit`` units as displayed."""
    return "\n" not in text.strip() and utf16_length(one_line(text)) <= limit


def shorten(text: str, limit: int) -> str:
    """Return the text if it has at most ``limit`` units, else its beginning and an ellipsis; without room, nothing."""
    if limit <= 0:
        return ""
    # A character has at most two units.
    if 2 * len(text) <= limit or utf16_length(text) <= limit:
        return text
    return text[: _cut(text, limit - 1)].rstrip() + ELLIPSIS


def shorten_to_characters(text: str, limit: int) -> str:
    """Like `shorten`, but counts what people see as one character."""
    if len(text) <= limit:
        return text
    ends = [each.end() for each in islice(_grapheme_clusters().finditer(text), limit + 1)]
    return text if len(ends) <= limit else text[: ends[limit - 2]].rstrip() + ELLIPSIS


def split_text(text: str, limit: int) -> list[str]:
    """Split the text into pieces of at most ``limit`` units; joined, they are the text again."""
    pieces = []
    while utf16_length(text) > limit:
        at = _cut(text, limit)
        pieces.append(text[:at])
        text = text[at:]
    return [*pieces, text] if text else pieces


def _cut(text: str, limit: int) -> int:
    """Find where to cut to leave at most ``limit`` units: after a space if one is near, else between characters.

    More than half of what fits stays: after "1. " and a word without spaces, only the number would be left.
    """
    end = count_fitting(text, limit)
    least = max(end - _LOOK_BACK, end // 2, 1)
    for at in range(end, least - 1, -1):
        if text[at - 1].isspace():
            return at
    start = end - 1
    while start > 0 and not text[start].isascii():  # a cluster begins at an ASCII character
        start -= 1
    clusters = _grapheme_clusters().finditer(text, start)
    cut = next(each for each in clusters if each.end() >= end)
    return end if cut.end() == end or cut.start() < least else cut.start()


@cache
def _grapheme_clusters() -> regex.Pattern[str]:
    """Return the pattern of a grapheme, which people see as one character (https://www.unicode.org/reports/tr29/);
    imported at the first cut.

    Most texts fit, and a service that has cut none is ready sooner and takes 1.3 MB less.
    """
    import regex

    return regex.compile(r"\X")


def count_fitting(text: str, limit: int) -> int:
    """Count the code points in the first ``limit`` units; at least one."""
    start = text[: max(limit, 1)]
    if utf16_length(start) == len(start):
        return len(start)
    units = start.encode("utf-16-le", "surrogatepass")[: 2 * limit]
    return max(len(units.decode("utf-16-le", "ignore")), 1)  # without a last one of which half fits


def divide_budget(wanted: Sequence[int], total: int) -> list[int]:
    """Divide ``total`` among texts of the lengths ``wanted``: short ones get what they need, long ones equal shares."""
    shares = [0] * len(wanted)
    left, shortest_first = max(total, 0), sorted(range(len(wanted)), key=wanted.__getitem__)
    for done, i in enumerate(shortest_first):
        shares[i] = min(wanted[i], left // (len(shortest_first) - done))
        left -= shares[i]
    return shares
