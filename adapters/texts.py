"""Making texts fit and harmless, as every surface needs it. Owns counting, cutting and odd characters; no markup.

Markup differs from platform to platform: each surface neutralises its own.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

ELLIPSIS: Final = "…"
_NAMES: Final = {
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO",
    "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
}  # fmt: skip
_ODD: Final = re.compile(
    "\r\n?|[\u2028\u2029]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff"
    "\ud800-\udfff]"
)
_LOOK_BACK: Final = 40
"""How many characters from the end a cut may move to reach a space or the start of a cluster."""


def visible(text: str) -> str:
    """The text with what could hide, reorder or break made visible: controls, bidirectional overrides, half characters.

    Line ends of every kind become a newline; tabs and newlines stay.
    """
    return _ODD.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    char = match[0]
    if char in {"\r", "\r\n", "\u2028", "\u2029"}:
        return "\n"
    if char in _NAMES:
        return f"⟨{_NAMES[char]}⟩"
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def units(text: str) -> int:
    """The length in UTF-16 code units, the strictest unit that a platform may count in."""
    return len(text) + sum(char > "\uffff" for char in text)


def shorten(text: str, limit: int) -> str:
    """The text if it has at most ``limit`` units, else its beginning and an ellipsis."""
    if units(text) <= limit:
        return text
    return text[: _cut(text, limit - 1)].rstrip() + ELLIPSIS


def chunks(text: str, limit: int) -> list[str]:
    """The text in pieces of at most ``limit`` units; together they are the text, nothing is lost."""
    pieces = []
    while units(text) > limit:
        at = _cut(text, limit)
        pieces.append(text[:at])
        text = text[at:]
    return [*pieces, text] if text else pieces


def one_line(text: str) -> str:
    """The text with every run of white space made one space."""
    return " ".join(text.split())


def _cut(text: str, limit: int) -> int:
    """Where to cut so that the beginning has at most ``limit`` units: after a space if one is near, else between characters."""
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
    """How many code points the first ``limit`` units hold."""
    at = count = 0
    for char in text:
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
