"""Texts as Telegram's HTML: escaped, shortened, and without anything that becomes live by itself. Pure.

Telegram makes names, commands and hashtags live wherever they stand, except in code; so they are shown as code.
https://core.telegram.org/bots/api#html-style
"""

from __future__ import annotations

import html
import re
from typing import Final

from answerback.presentation import text_fitting
from answerback_base.sanitize import one_line, visible

_LIVE: Final = re.compile(r"(?<!\w)(?:[@#$]|(?<!/)/)(?=\w)[\w/.@-]*")
_INERT: Final = re.compile(r"<(code|pre|a)\b.*?</\1>", re.DOTALL)
_TAG: Final = re.compile(r"<[^<>]*>")
_MAX_LIVE: Final = 3
"""Live words in one text; with more, the whole text is code, because the number of entities is limited."""


def escape(text: str, tag: str = "") -> str:
    """Escape a text so that it is shown literally and notifies nobody.

    Args:
        tag: the name of the element to put it in; code cannot be inside another element, so it ends around code.
    """
    return _escape_visible(visible(text), tag)


def _escape_visible(shown: str, tag: str) -> str:
    before, after = (f"<{tag}>", f"</{tag}>") if tag else ("", "")
    live = len(_LIVE.findall(shown)) if tag != "code" else 0
    if live > _MAX_LIVE:
        return code(shown)
    text = _quote(shown)
    if live:
        text = _LIVE.sub(lambda word: f"{after}<code>{word[0]}</code>{before}", text)
    return f"{before}{text}{after}".replace(f"{before}{after}", "") if tag else text


def is_live(markup: str) -> bool:
    """Return True if something in a text becomes live all the same, because a mark is between its characters."""
    return _LIVE.search(plain(_INERT.sub("·", markup))) is not None


def code(shown: str) -> str:
    """Format a text that has been through `visible` as code."""
    return f"<code>{_quote(shown)}</code>" if shown else ""


def preformatted(shown: str, language: str = "") -> str:
    """Format a text that has been through `visible` as a block of code."""
    inner = _quote(shown) or " "
    if language:
        inner = f'<code class="language-{_quote(language)}">{inner}</code>'
    return f"<pre>{inner}</pre>"


def _quote(text: str) -> str:
    return html.escape(text, quote=True)


def length(markup: str) -> int:
    """Return the units that a text counts: without its tags."""
    return text_fitting.utf16_length(plain(markup))


def plain(markup: str) -> str:
    """Return a text without its tags, as people read it."""
    return html.unescape(_TAG.sub("", markup))


def shorten(text: str, most: int, tag: str = "") -> tuple[str, bool]:
    """`escape` a text in at most ``most`` units; return it, and whether anything was left out."""
    stripped = visible(text).strip()
    kept = text_fitting.shorten(stripped, max(most, 1))
    return _escape_visible(kept, tag) if kept else "", kept != stripped


def shorten_line(text: str, most: int, tag: str = "") -> tuple[str, bool]:
    """Like `shorten`, with the text on one line."""
    return shorten(one_line(text), most, tag)


def fit_line(text: str, most: int) -> str:
    """Shorten a text to one line of at most ``most`` units for where Telegram reads no tags."""
    return text_fitting.shorten(one_line(text), most)


def split_into_pieces(text: str, most: int = 900, tag: str = "") -> list[str]:
    """Split a text of any length into escaped pieces; only blanks at the cuts are lost."""
    parts = text_fitting.split_text(visible(text), most)
    return [_escape_visible(part.strip(), tag) for part in parts if part.strip()]
