"""Render a context's blocks as Discord's Markdown, from escaped text: an agent's own text is never markup. Pure.

https://support.discord.com/hc/en-us/articles/210298617
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from answerback.core.markdown import List, Span, Spans, append_link_addresses
from answerback.presentation.context_layout import has_plain_numbering
from answerback.presentation.context_markup import ContextMarkup
from answerback.presentation.text_fitting import utf16_length
from answerback_discord.markdown_text import escape, separate_backticks, to_code_block

_LANGUAGE: Final = re.compile(r"[a-z0-9+-]{1,20}")
_SEPARATOR: Final = "\u200b"
"""Separates two marks that would be read as one."""
_BARE_URL: Final = re.compile(r"https?://[!-;=?-~]+")
"""A URL that is shown as a bare link, in the angle brackets that keep Discord from previewing it."""


class MarkdownContext(ContextMarkup):
    rule = "————————"
    quote = "> "

    _length = staticmethod(utf16_length)
    _escape = staticmethod(escape)

    def _text(self, spans: Spans) -> str:
        text, before = "", ""
        for span in append_link_addresses(spans):
            piece = _span(span)
            if before and piece[:1] in "*_~`" and text[-1:] in "*_~`":
                text += _SEPARATOR
            text += piece
            before = piece
        return text

    def _code(self, text: str, info: str, *, nested: bool) -> Iterator[str]:
        is_name = _LANGUAGE.fullmatch(info) is not None
        if info:
            yield f"-# {escape(info)}"
        yield from to_code_block(text, info if is_name else "").split("\n")

    def _list(self, block: List) -> Iterator[str]:
        is_plain = has_plain_numbering(block)
        for number, blocks in block.items:
            mark = "- " if number is None else f"{number}. " if is_plain else f"{number}\\. "
            lines = [*self.lines(blocks)] or [""]
            yield mark + lines[0]
            # A code block starts at the margin: an indented fence would be shown as text.
            in_code = lines[0].startswith("```")
            for line in lines[1:]:
                fence = line.startswith("```")
                yield line if in_code or fence else f"  {line}"
                in_code ^= fence


CONTEXT: Final = MarkdownContext()


def _span(span: Span) -> str:
    """A piece of text in its marks; blanks at its ends stay outside, because marks must touch a word."""
    inner = span.text.strip()
    if not inner:
        return span.text
    start = span.text.index(inner)
    before, after = span.text[:start], span.text[start + len(inner) :]
    return before + _apply_marks(inner, span) + after


def _apply_marks(text: str, span: Span) -> str:
    if span.link is not None and text == span.link and _BARE_URL.fullmatch(text):
        return f"<{text}>"
    if span.code and "\n" not in text:
        return _inline_code(text)
    shown = escape(text)
    for mark, has in (("~~", span.strike), ("*", span.italic), ("**", span.bold)):
        if has:
            shown = f"{mark}{shown}{mark}"
    return shown


def _inline_code(text: str) -> str:
    """Inline code; if it contains a backtick, two are needed around it."""
    if "`" not in text:
        return f"`{text}`"
    return f"`` {separate_backticks(text)} ``"
