"""Texts of agents and people made harmless to look at: what cannot be seen is made visible. Pure.

Values keep every character as it was sent; only what is shown passes through here. Markup is each
surface's own matter.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import Final

_CONTROL_PICTURES: Final = 0x2400
_LINE_ENDS: Final = {0x0B: "\n", 0x0C: "\n", 0x85: "\n", 0x2028: "\n", 0x2029: "\n"}
_DECEIVING: Final = (
    # Bidirectional marks, embeddings, overrides and isolates, which show text in another order than it has,
    # and characters without width, which hide in a word: https://www.unicode.org/reports/tr36/
    *(0x061C, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, 0x180E),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0x206A, 0x2070),
    *range(0xFFF9, 0xFFFC),
)
_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters that show nothing."""


def _named(code: int) -> str:
    return f"⟨U+{code:04X}⟩"


_TABLE: Final = {
    **{code: chr(_CONTROL_PICTURES + code) for code in range(0x20) if code not in (0x09, 0x0A)},
    0x7F: "␡",
    **{code: _named(code) for code in range(0x80, 0xA0)},
    **{code: _named(code) for code in _DECEIVING},
    **_LINE_ENDS,
}

_UNSEEN: Final = re.compile("[" + "".join(map(re.escape, map(chr, sorted(_TABLE)))) + "]")
_SHORT: Final = 1_000
"""Characters up to which it is remembered how a text is shown: 16 MB at the most."""
_ESCAPED: Final = re.compile(
    "[" + "".join(map(re.escape, map(chr, sorted(_TABLE.keys() - {0x0A})))) + "\ud800-\udfff]"
)
"""What JSON may hold as it is, and people cannot see."""


def visible(text: str) -> str:
    """``text`` with nothing in it that hides, reorders or controls; line ends are ``\\n``."""
    if text.isascii() and text.isprintable():
        return text  # as nearly every label is
    return _shown_short(text) if len(text) <= _SHORT else _shown(text)


@lru_cache(maxsize=2_048)
def _shown_short(text: str) -> str:
    # The same labels stand on every message, and in each more than once.
    return _shown(text)


def _shown(text: str) -> str:
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = _UNSEEN.sub(lambda found: _TABLE[ord(found[0])], shown)
    return (
        "".join(_named(ord(c)) if not c.isspace() else c for c in shown)
        if _shows_nothing(shown)
        else shown
    )


def one_line(text: str) -> str:
    """``text`` as `visible` shows it, on one line, with single blanks."""
    return " ".join(visible(text).split())


def glyph(char: str) -> str:
    """One character as a line that is edited shows it: what it stands for stays as it is."""
    shown = char.translate(_TABLE)
    return _named(ord(char)) if "\n" in shown else shown


def unseen(text: str) -> str | None:
    """``text`` as `visible` shows it, where an input would show it otherwise; None where it shows all of it."""
    shown = visible(text)
    return shown if shown != text.replace("\r\n", "\n") else None


def as_json(value: object) -> str:
    """A JSON value to be read or edited by people: what cannot be seen is escaped, so the value is the same."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _shows_nothing(text: str) -> bool:
    return not any(
        unicodedata.category(c) not in {"Cf", "Zs", "Zl", "Zp", "Cc", "Mn"} and c not in _FILLERS
        for c in text
    )
