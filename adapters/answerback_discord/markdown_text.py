"""Texts within Discord's limits, and markdown that is none. Pure.

Discord reads markdown in Text Displays only; labels, options and placeholders show it as it is
(https://docs.discord.com/developers/components/reference#text-display). A backslash takes the
meaning from any ASCII mark that follows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from answerback_chat import text_fitting
from answerback_chat.sanitize import one_line, visible
from answerback_discord import limits

# `:` begins a scheme or an emoji's name only before a slash or a word; `@` and `<` begin every mention.
_MARKS: Final = re.compile(r"[\\*_~|`<@\[\]]|:(?=[/\w+-])")
_FENCE: Final = "```"
_TWO_BACKTICKS: Final = re.compile("`(?=`)")
_LINE_STARTS: Final = re.compile(r"^([ \t]*(?:\d+(?=[.)]))?)([#>+.)-])", re.MULTILINE)
_SHORT: Final = 200
"""Characters up to which a text's rendering is remembered: about a megabyte of them at the most."""
_PIECE: Final = 900
"""Units of a text that are kept together on a page; escaping at most doubles them."""


def fit_line(text: str, most: int) -> str:
    """A text on one line in at most ``most`` units, for where markdown is not read."""
    return (
        _fit_short(text, most)
        if len(text) <= _SHORT
        else text_fitting.shorten(one_line(text), most)
    )


@lru_cache(maxsize=2_048)
def _fit_short(text: str, most: int) -> str:
    # The same few labels stand on every message.
    return text_fitting.shorten(one_line(text), most)


@lru_cache(maxsize=2_048)
def fit_button(label: str) -> str:
    """What a button holds of a label, which no form lets be longer than a thousand characters."""
    return text_fitting.shorten(one_line(label), limits.BUTTON_LABEL)


def escape(text: str) -> str:
    """A text as markdown that shows every character as it is: no mention, link, list, heading or code."""
    return _escape_short(text) if len(text) <= _SHORT else _escape_shown(visible(text))


@lru_cache(maxsize=2_048)
def _escape_short(text: str) -> str:
    return _escape_shown(visible(text))


def _escaped(shown: str) -> str:
    """`escape`, of a text that is visible already: what was cut from one may show nothing, and is to stay short."""
    return _escaped_short(shown) if len(shown) <= _SHORT else _escape_shown(shown)


@lru_cache(maxsize=2_048)
def _escaped_short(shown: str) -> str:
    return _escape_shown(shown)


def _escape_shown(shown: str) -> str:
    escaped = _MARKS.sub(r"\\\g<0>", shown)
    return _LINE_STARTS.sub(_escape_start, escaped)


def _escape_start(found: re.Match[str]) -> str:
    # A dot or bracket matters behind a number only: "1." begins a list, "." does not.
    if found[2] in ".)" and not found[1].strip():
        return found[0]
    return f"{found[1]}\\{found[2]}"


def escape_stripped(text: str) -> str:
    """A text as `escape` markdown in full, without the blanks around it."""
    return _whole_short(text) if len(text) <= _SHORT else _escape_shown(visible(text).strip())


@lru_cache(maxsize=2_048)
def _whole_short(text: str) -> str:
    return _escape_shown(visible(text).strip())


def shorten_line(text: str, most: int) -> tuple[str, bool]:
    """`shorten`, of a text on one line."""
    return _in_a_line_short(text, most) if len(text) <= _SHORT else shorten(one_line(text), most)


@lru_cache(maxsize=2_048)
def _in_a_line_short(text: str, most: int) -> tuple[str, bool]:
    return shorten(one_line(text), most)


def shorten(text: str, most: int) -> tuple[str, bool]:
    """A text as `escape` markdown in at most ``most`` units, and whether something was left out."""
    stripped = visible(text).strip()
    kept = text_fitting.shorten(stripped, most)
    escaped = _escaped(kept)
    if text_fitting.utf16_length(escaped) <= most:
        return escaped, kept != stripped
    before = text_fitting.shorten(escaped, most).removesuffix(text_fitting.ELLIPSIS)
    if (len(before) - len(before.rstrip("\\"))) % 2:  # the cut went through an escape
        before = before[:-1]
    return before + text_fitting.ELLIPSIS, True


def shorten_code_block(text: str, most: int) -> tuple[str, bool]:
    """A text as a block of code in at most ``most`` units, and whether something was left out."""
    body = separate_backticks(visible(text))
    kept = text_fitting.shorten(body, most - len(_in_fence("", "")))
    return _in_fence(kept, ""), kept != body


def to_code_block(text: str, language: str = "") -> str:
    """A text that is visible already as a block of code."""
    return _in_fence(separate_backticks(text), language)


def separate_backticks(text: str) -> str:
    """A text in which no two backticks stand together, so that none of them ends the code that it is in."""
    return _TWO_BACKTICKS.sub("`\u200b", text)


def _in_fence(body: str, language: str) -> str:
    return f"{_FENCE}{language}\n{body}\n{_FENCE}"


def split_into_pieces(text: str) -> list[str]:
    """A text of any length as `escape` pieces that a page each holds; nothing but blanks at the cuts is lost."""
    parts = text_fitting.split_text(visible(text), _PIECE)
    return [_escape_shown(part.strip()) for part in parts if part.strip()]


def split_into_pages(text: str, most: int) -> list[str]:
    """A text of any length as `escape` pages of at most ``most`` units; nothing but blanks at the cuts is lost."""
    found, rest = [], visible(text).strip()
    while rest:
        room = most
        while True:
            piece = text_fitting.split_text(rest[: most + 1], room)[0]
            page = escape(piece.strip())
            if (over := text_fitting.utf16_length(page) - most) <= 0:
                break
            room -= max(over // 2, 1)
        found.append(page)
        rest = rest[len(piece) :].lstrip()
    return found


def divide_room(wanted: Sequence[int], total: int) -> list[int]:
    """Divides ``total`` among texts of the lengths ``wanted``: short ones get all, long ones equal parts."""
    given = [0] * len(wanted)
    left, waiting = total, sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, i in enumerate(waiting):
        given[i] = min(wanted[i], left // (len(waiting) - place))
        left -= given[i]
    return given
