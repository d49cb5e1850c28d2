"""Make visible what people could not see in a text: invisible characters, and long runs of blanks. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from answerback_base.invisible_characters import replace_invisible

_CONTROL_PICTURES: Final = 0x2400
_LINE_ENDS: Final = frozenset("\x0b\x0c\x85\u2028\u2029")
MAX_BLANKS: Final = 40
"""The longest run of blanks that is shown as it is; a longer one could push what follows it out of sight."""
_BLANKS: Final = re.compile(rf"[\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000]{{{MAX_BLANKS + 1},}}")
_LONG_RUN: Final = " " * (MAX_BLANKS + 1)
_CACHED_LENGTH: Final = 200
"""Texts of up to this many characters are cached: 4 MB at most. Labels are shorter."""


def visible(text: str) -> str:
    """Make invisible characters and long runs of blanks in ``text`` visible; line ends become ``\\n``."""
    if text.isascii() and text.isprintable() and _LONG_RUN not in text:
        return text  # nearly every label takes this path
    return _make_visible_cached(text) if len(text) <= _CACHED_LENGTH else _make_visible(text)


@lru_cache(maxsize=2_048)
def _make_visible_cached(text: str) -> str:
    # The same labels appear on every message, often several times: 1 to 3 µs each, where they are not English.
    return _make_visible(text)


def _make_visible(text: str) -> str:
    return show_blanks(show_invisible(text))


def show_invisible(text: str) -> str:
    """Make invisible characters visible, but no runs of blanks: in a Markdown source, blanks may be only layout."""
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = replace_invisible(shown, spell_out)
    return (
        "".join(c if c.isspace() else code_point_tag(c) for c in shown)
        if _is_blank(shown)
        else shown
    )


def show_blanks(text: str) -> str:
    """Show each long run of blanks as their number."""
    if text.isascii() and "\t" not in text and _LONG_RUN not in text:
        return text  # faster than the search
    return _BLANKS.sub(lambda match: f"[{len(match[0])} spaces]", text)


def one_line(text: str) -> str:
    """Return ``text`` as `visible` shows it, on one line, with runs of whitespace collapsed."""
    return " ".join(visible(text).split())


def spell_out(char: str) -> str:
    """Return what stands for an invisible character."""
    if char in _LINE_ENDS:
        return "\n"
    code = ord(char)
    if code == 0x7F:
        return "␡"
    return chr(_CONTROL_PICTURES + code) if code < 0x20 else code_point_tag(char)


def code_point_tag(char: str) -> str:
    """Return a character's number in brackets."""
    return f"⟨U+{ord(char):04X}⟩"


def _is_blank(text: str) -> bool:
    return not any(unicodedata.category(c) not in {"Zs", "Cc", "Mn"} for c in text)
