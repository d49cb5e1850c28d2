"""Texts on one line of bounded length, as the headline of an ask is. Pure."""

from __future__ import annotations

from typing import Final

from answerback_base.visible_text import one_line

MAX_HEADLINE: Final = 150
"""Characters of a headline."""
SHORTENED: Final = " (shortened)"
"""Ends a headline that is not whole."""
CUT: Final = " … "
"""Stands for what was cut out."""


def fit(text: str) -> str:
    """Return a text as one line that fits into a headline, cut in the middle if it is too long."""
    line = show_line(text)
    if len(line) <= MAX_HEADLINE:
        return line
    room = MAX_HEADLINE - len(CUT) - len(SHORTENED)
    begin, end = room - room // 3, room // 3
    return f"{line[:begin].rstrip()}{CUT}{line[-end:].lstrip()}{SHORTENED}"


def show_line(text: str) -> str:
    """Return a text on one line, and an empty one as such."""
    return one_line(text) or '""'
