"""Shorten a question's header to the tag that surfaces show next to the question. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple

from answerback.presentation.text_fitting import shorten_to_characters
from answerback_base.sanitize import one_line

MAX_CHARACTERS: Final = 12


class HeaderTag(NamedTuple):
    """A header as displayed: short next to the question, and whole on demand."""

    short: str
    whole: str

    @property
    def is_cut(self) -> bool:
        """True if the tag is cut, so that the surface has to offer the whole header."""
        return self.short != self.whole


def header_tag(header: str | None) -> HeaderTag | None:
    """Return the tag for a question's header; None if there is no header or it is blank."""
    text = (header or "").strip()
    if not text:
        return None
    return HeaderTag(one_line(shorten_to_characters(text, MAX_CHARACTERS)), one_line(text))
