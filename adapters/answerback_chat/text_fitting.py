"""Making texts fit: counting them as the strictest platform may, and cutting them where it hurts least. Pure."""

from __future__ import annotations

import unicodedata
from typing import Final

from answerback_chat.sanitize import one_line

ELLIPSIS: Final = "…"
_LOOK_BACK: Final = 40
"""How many characters from the end a cut may move to reach a space or the start of a cluster."""


def utf16_length(text: str) -> int:
    """The length in UTF-16 code units, the strictest unit that a platform may count in."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def fits_line(text: str, limit: int) -> bool:
    """Whether a text has one line, and at most ``limit`` units as it is shown."""
    return "\n" not in text.strip() and utf16_length(one_line(text)) <= limit


def shorten(text: str, limit: int) -> str:
    """The text if it has at most ``limit`` units, else its beginning and an ellipsis."""
    if utf16_length(text) <= limit:
        return text
    return text[: _cut(text, limit - 1)].rstrip() + ELLIPSIS


def split_text(text: str, limit: int) -> list[str]:
    """The text in pieces of at most ``limit`` units; together they are the text, nothing is lost."""
    pieces = []
    while utf16_length(text) > limit:
        at = _cut(text, limit)
        pieces.append(text[:at])
        text = text[at:]
    return [*pieces, text] if text else pieces


def _cut(text: str, limit: int) -> int:
    """Where to cut to leave at most ``limit`` units: after a space if one is near, else between characters."""
    at = end = _index(text, limit)
    while at > max(1, end - _LOOK_BACK):
        if text[at - 1].isspace():
            return at
        at -= 1
    at = end
    while at > max(1, end - _LOOK_BACK) and _continues(text, at):
        at -= 1
    return at if not _continues(text, at) else end


def _index(text: str, limit: int) -> int:
    """How many code points the first ``limit`` units hold; at least one."""
    begin = text[: max(limit, 1)]
    if utf16_length(begin) == len(begin):
        return len(begin)
    at = count = 0
    for char in begin:
        count += 2 if char > "\uffff" else 1
        if count > limit:
            break
        at += 1
    return max(at, 1)


def _continues(text: str, at: int) -> bool:
    """Whether a cut here would part one visible character (combining marks, joined emoji)."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    joined = "\u200d" in {before, after} or "\ufe00" <= after <= "\ufe0f"
    skin = "\U0001f3fb" <= after <= "\U0001f3ff"
    return joined or skin or unicodedata.combining(after) != 0
