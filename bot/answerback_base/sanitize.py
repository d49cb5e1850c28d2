"""Sanitise texts from agents and people for display: what people could not see is made visible. Pure.

Stored values keep every character as it was sent; only displayed text passes through here. Escaping markup is
left to each surface.
"""

from __future__ import annotations

import json
import re
from typing import Final

from answerback_base.invisible_characters import invisible_places, replace_invisible
from answerback_base.visible_text import (
    MAX_BLANKS,
    code_point_tag,
    one_line,
    show_blanks,
    show_invisible,
    spell_out,
    visible,
)

__all__ = [
    "MAX_BLANKS", "as_json", "glyphs", "one_line", "quoted", "show_blanks", "show_invisible", "unseen", "visible",
]  # fmt: skip

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def glyphs(line: str) -> list[str]:
    """Return how an edited line displays each of its characters; the edited value itself is unchanged."""
    shown = list(line)
    for place in invisible_places(line):
        shown[place] = spell_out(line[place])
    return [code_point_tag(line[i]) if each in "\r\n" else each for i, each in enumerate(shown)]


def unseen(text: str) -> str | None:
    """Return ``text`` as `visible` shows it, or None if an input field would already show all of it."""
    shown = visible(text)
    return shown if shown != text.replace("\r\n", "\n") else None


def as_json(value: object) -> str:
    """Format a JSON value for people to read or edit; invisible characters are escaped, so its value is the same."""
    return _escape_invisible(json.dumps(value, ensure_ascii=False, indent=2))


def quoted(value: object) -> str:
    """Format a JSON value on one line, for a sentence: so no text in it can look like a line of ours."""
    return _escape_invisible(json.dumps(value, ensure_ascii=False))


def _escape_invisible(text: str) -> str:
    escaped = replace_invisible(text, _escape)
    return _LONE_SURROGATE.sub(lambda match: _escape(match[0]), escaped)


def _escape(char: str) -> str:
    """Escape a character for JSON, which spells those beyond U+FFFF as two."""
    return json.dumps(char)[1:-1] if char > "\x7f" else f"\\u{ord(char):04x}"
