"""Render a context's blocks as Telegram's HTML, from escaped text: an agent's own text is never markup. Pure.

Telegram's elements do not nest freely: code is in nothing, and a quotation not in a list. So quotations and lists have
marks of text, and code inside them is marked line by line. https://core.telegram.org/bots/api#html-style
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from answerback.core.markdown import Span, Spans, append_link_addresses
from answerback.core.view import Prompt
from answerback.presentation.context_layout import RenderedContext
from answerback.presentation.context_markup import ContextMarkup
from answerback_telegram.html_text import code, escape, length, preformatted

_LANGUAGE: Final = re.compile(r"[a-z0-9+-]{1,20}")


class HtmlContext(ContextMarkup):
    rule = "———————"
    most_marks: ClassVar[int | None] = 60
    """Marks in one context; one with more is shown verbatim, because further ones would be lost."""

    def render_context(self, prompt: Prompt, most: int) -> RenderedContext:
        rendered = super().render_context(prompt, most)
        if self.most_marks is not None and rendered.text.count("</") > self.most_marks:
            return super().render_context(prompt._replace(context_format="text"), most)
        return rendered

    _length = staticmethod(length)
    _escape = staticmethod(escape)

    def _text(self, spans: Spans) -> str:
        return "".join(map(_span, append_link_addresses(spans)))

    def _code(self, text: str, info: str, *, nested: bool) -> Iterator[str]:
        if info:
            yield escape(info, "i")
        if nested:
            yield from map(code, text.split("\n"))
        else:
            yield preformatted(text, info if _LANGUAGE.fullmatch(info) else "")


CONTEXT: Final = HtmlContext()


def _span(span: Span) -> str:
    """A piece of text in its marks. They do not go over the end of a line, so that lines can be taken apart."""
    return "\n".join(_line(line, span) for line in span.text.split("\n"))


def _line(text: str, span: Span) -> str:
    if not text.strip():
        return text
    if span.code:
        return code(text)
    tags = [tag for tag, has in (("b", span.bold), ("i", span.italic), ("s", span.strike)) if has]
    shown = escape(text, tags[0] if tags else "")
    if "<code>" in shown or len(tags) < 2:
        return shown
    for tag in tags[1:]:
        shown = f"<{tag}>{shown}</{tag}>"
    return shown
