"""Sanitise texts from agents and people for display: invisible characters are made visible. Pure.

Stored values keep every character as it was sent; only displayed text passes through here. Escaping markup is
left to each surface.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import Final

_CONTROL_PICTURES: Final = 0x2400
_LINE_ENDS: Final = {0x0B: "\n", 0x0C: "\n", 0x85: "\n", 0x2028: "\n", 0x2029: "\n"}
_DECEPTIVE: Final = (
    # Bidirectional marks, embeddings, overrides and isolates, which display text in a different order,
    # and zero-width characters, which hide inside a word: https://www.unicode.org/reports/tr36/
    *(0x061C, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, 0x180E),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0x206A, 0x2070),
    *range(0xFFF9, 0xFFFC),
)
_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters that render as blank."""


def _code_point_tag(code: int) -> str:
    return f"⟨U+{code:04X}⟩"


_TABLE: Final = {
    **{code: chr(_CONTROL_PICTURES + code) for code in range(0x20) if code not in (0x09, 0x0A)},
    0x7F: "␡",
    **{code: _code_point_tag(code) for code in range(0x80, 0xA0)},
    **{code: _code_point_tag(code) for code in _DECEPTIVE},
    **_LINE_ENDS,
}

_INVISIBLE: Final = re.compile("[" + "".join(map(re.escape, map(chr, sorted(_TABLE)))) + "]")
_CACHED_LENGTH: Final = 1_000
"""Texts of up to this many characters are cached: 16 MB at most."""
_JSON_INVISIBLE: Final = re.compile(
    "[" + "".join(map(re.escape, map(chr, sorted(_TABLE.keys() - {0x0A})))) + "\ud800-\udfff]"
)
"""Characters that JSON permits unescaped and people cannot see."""


def visible(text: str) -> str:
    """Make hidden, reordering and control characters in ``text`` visible; line ends become ``\\n``."""
    if text.isascii() and text.isprintable():
        return text  # nearly every label takes this path
    return _make_visible_cached(text) if len(text) <= _CACHED_LENGTH else _make_visible(text)


@lru_cache(maxsize=2_048)
def _make_visible_cached(text: str) -> str:
    # The same labels appear on every message, often several times.
    return _make_visible(text)


def _make_visible(text: str) -> str:
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = _INVISIBLE.sub(lambda match: _TABLE[ord(match[0])], shown)
    return (
        "".join(_code_point_tag(ord(c)) if not c.isspace() else c for c in shown)
        if _is_blank(shown)
        else shown
    )


def one_line(text: str) -> str:
    """Return ``text`` as `visible` shows it, on one line, with runs of whitespace collapsed."""
    return " ".join(visible(text).split())


def glyph(char: str) -> str:
    """Return how an edited line displays one character; the edited value itself is unchanged."""
    shown = char.translate(_TABLE)
    return _code_point_tag(ord(char)) if "\n" in shown else shown


def unseen(text: str) -> str | None:
    """Return ``text`` as `visible` shows it, or None if an input field would already show all of it."""
    shown = visible(text)
    return shown if shown != text.replace("\r\n", "\n") else None


def as_json(value: object) -> str:
    """Format a JSON value for people to read or edit; invisible characters are escaped, so its value is the same."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return _JSON_INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _is_blank(text: str) -> bool:
    return not any(
        unicodedata.category(c) not in {"Cf", "Zs", "Zl", "Zp", "Cc", "Mn"} and c not in _FILLERS
        for c in text
    )
