"""Divide a text that is too long for one input among several, and join what was entered in them. Pure.

Inputs may lose blanks at their ends, and none of the text may be lost: a text is cut at a line end, which is put back
when the parts are joined, or between two characters that are not blank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from answerback.presentation.text_fitting import count_fitting, utf16_length

_ID: Final = re.compile(r"(\d{1,4})(?:\.(\d{1,4})(\.n)?)?", re.ASCII)


def divide_text(text: str, limit: int, *, blanks_are_layout: bool = False) -> dict[str, str]:
    """Divide a text into parts of at most ``limit`` units, by id: the part's number, with ``.n`` before a line end.

    Args:
        blanks_are_layout: whether blanks beside a line end mean nothing, as in JSON.
    """
    parts: dict[str, str] = {}
    while utf16_length(text) > limit:
        at, ending = _cut(text, limit, blanks_are_layout=blanks_are_layout)
        parts[f"{len(parts)}{ending and '.n'}"] = text[:at]
        text = text[at + len(ending) :]
    return parts | {str(len(parts)): text}


def join_texts(values: Mapping[str, object]) -> dict[int, str]:
    """Join the texts entered in a form's inputs, by the position that each input's id begins with."""
    parts: dict[tuple[int, int], str] = {}
    for name, value in values.items():
        if isinstance(value, str) and (match := _ID.fullmatch(name)):
            parts[int(match[1]), int(match[2] or 0)] = value + ("\n" if match[3] else "")
    joined: dict[int, str] = {}
    for position, number in sorted(parts):
        joined[position] = joined.get(position, "") + parts[position, number]
    return joined


def _cut(text: str, limit: int, *, blanks_are_layout: bool) -> tuple[int, str]:
    """Return the index at which to cut a text to leave at most ``limit`` units, and the line end to remove there."""
    most = count_fitting(text, limit)
    for at in range(most, most // 2, -1):
        beside = text[at - 1] + text[at + 1 : at + 2]
        if text[at] == "\n" and (blanks_are_layout or not any(map(str.isspace, beside))):
            return at, "\n"
    at = most
    while at > 1 and (text[at - 1].isspace() or text[at].isspace()):
        at -= 1
    return (at if at > 1 else most), ""
