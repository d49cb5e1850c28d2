"""Shorten texts to Discord's limits, and escape them so that they are not read as markdown. Pure.

Discord reads markdown in Text Displays only; labels, options and placeholders show it literally
(https://docs.discord.com/developers/components/reference#text-display). A backslash makes any ASCII punctuation mark
that follows it literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar, cast

from answerback.presentation import text_fitting
from answerback.presentation.text_blocks import BlockFitter, TextBlock
from answerback_base.sanitize import one_line, visible
from answerback_discord import limits

_Render = TypeVar("_Render", bound=Callable[..., object])

# `:` belongs to a scheme or an emoji's name only before a slash or a word; every mention begins with `@` or `<`.
_MARKS: Final = re.compile(r"[\\*_~|`<@\[\]]|:(?=[/\w+-])")
_FENCE: Final = "```"
_TWO_BACKTICKS: Final = re.compile("`(?=`)")
_LINE_STARTS: Final = re.compile(r"^([ \t]*(?:\d+(?=[.)]))?)([#>+.)-])", re.MULTILINE)
_CACHED_LENGTH: Final = 200
"""Maximum characters of a text whose rendering is cached; the caches hold about a megabyte at most."""
TEXT_BUDGET: Final = limits.MESSAGE_TEXT - 100
"""Units for all texts of a message, with some left for the marks around them."""
_PIECE: Final = 900
"""Units of a text that are kept together on a page; escaping at most doubles them."""


def _cached(render: _Render) -> _Render:
    """Cache the results for short texts: the same few are on every message. It saves a seventh of its calls."""
    cached = lru_cache(maxsize=2_048)(render)

    @wraps(render)
    def call(text: str, *most: int) -> object:
        return (cached if len(text) <= _CACHED_LENGTH else render)(text, *most)

    return cast("_Render", call)


@_cached
def fit_line(text: str, most: int) -> str:
    """Shorten a text to one line of at most ``most`` units, without escaping it."""
    return text_fitting.shorten(one_line(text), most)


@_cached
def fit_button(label: str) -> str:
    """Shorten a label to fit a button."""
    return text_fitting.shorten(one_line(label), limits.BUTTON_LABEL)


@_cached
def escape(text: str) -> str:
    """Escape a text as markdown that shows each character literally: no mention, link, list, heading or code."""
    return _escape_visible(visible(text))


@_cached
def _escape_visible(visible_text: str) -> str:
    """Like `escape`, for a text that has been through `visible`; a second pass might lengthen a shortened text."""
    escaped = _MARKS.sub(lambda mark: "\\" + mark[0], visible_text)  # faster than a template
    return _LINE_STARTS.sub(_escape_start, escaped)


def _escape_start(match: re.Match[str]) -> str:
    # A dot or bracket only matters after a number: "1." begins a list, "." does not.
    if match[2] in ".)" and not match[1].strip():
        return match[0]
    return f"{match[1]}\\{match[2]}"


@_cached
def shorten_line(text: str, most: int) -> tuple[str, bool]:
    """Like `shorten`, with the text on one line."""
    return shorten(one_line(text), most)


def shorten(text: str, most: int) -> tuple[str, bool]:
    """`escape` a text in at most ``most`` units; return it, and whether anything was left out."""
    stripped = visible(text).strip()
    kept = text_fitting.shorten(stripped, most)
    escaped = _escape_visible(kept)
    if text_fitting.utf16_length(escaped) <= most:
        return escaped, kept != stripped
    before = text_fitting.shorten(escaped, most).removesuffix(text_fitting.ELLIPSIS)
    if (len(before) - len(before.rstrip("\\"))) % 2:  # the cut went through an escape
        before = before[:-1]
    return before + text_fitting.ELLIPSIS, True


def shorten_code_block(text: str, most: int) -> tuple[str, bool]:
    """Format a text as a code block of at most ``most`` units; return it, and whether anything was left out."""
    body = separate_backticks(visible(text))
    kept = text_fitting.shorten(body, most - len(_in_fence("", "")))
    return _in_fence(kept, ""), kept != body


def to_code_block(text: str, language: str = "") -> str:
    """Format a text that has been through `visible` as a code block."""
    return _in_fence(separate_backticks(text), language)


def separate_backticks(text: str) -> str:
    """Separate adjacent backticks in a text, so that they cannot end the code that it is in."""
    return _TWO_BACKTICKS.sub("`\u200b", text)


def _in_fence(body: str, language: str) -> str:
    return f"{_FENCE}{language}\n{body}\n{_FENCE}"


def split_into_pieces(text: str) -> list[str]:
    """Split a text of any length into escaped pieces that each fit a page; only blanks at the cuts are lost."""
    parts = text_fitting.split_text(visible(text), _PIECE)
    return [_escape_visible(part.strip()) for part in parts if part.strip()]


def split_into_pages(text: str, most: int) -> list[str]:
    """Split a text of any length into escaped pages of at most ``most`` units; only blanks at the cuts are lost."""
    pages, rest = [], visible(text).strip()
    while rest:
        budget = most
        while True:
            piece = text_fitting.split_text(rest[: most + 1], budget)[0]
            page = escape(piece.strip())
            if (over := text_fitting.utf16_length(page) - most) <= 0:
                break
            budget -= max(over // 2, 1)
        pages.append(page)
        rest = rest[len(piece) :].lstrip()
    return pages


FITTER: Final = BlockFitter(
    lambda text, most, _: shorten(text, most),
    text_fitting.utf16_length,
    TextBlock("", "**{}**"),
    TextBlock("", "\n➜ {}"),
)
"""Fits texts into the space of one message, which they share."""
