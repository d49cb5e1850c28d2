"""Render a context's blocks as Telegram's HTML, from escaped text: an agent's own text is never markup. Pure.

Telegram's elements do not nest freely: code is in nothing, and a quotation not in a list. So quotations and lists have
marks of text, and code inside them is marked line by line. https://core.telegram.org/bots/api#html-style
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, assert_never

from answerback.core.labels import Labels
from answerback.core.markdown import (
    Block,
    Code,
    Heading,
    List,
    Paragraph,
    Quote,
    Rule,
    Span,
    Spans,
    Table,
    Verbatim,
    append_link_addresses,
)
from answerback.core.view import Prompt, View
from answerback.presentation.context_layout import (
    NOTHING_TO_RENDER,
    FittedBlocks,
    RenderedContext,
    align_columns,
    fit_asides,
    fit_context,
    render_fitted,
)
from answerback_telegram.html_text import code, escape, length, preformatted

_RULE: Final = "———————"
_LANGUAGE: Final = re.compile(r"[a-z0-9+-]{1,20}")
_MOST_ENTITIES: Final = 60
"""Marks in one context; one with more is shown verbatim, because further ones would be lost."""


def render_context(prompt: Prompt, most: int) -> RenderedContext:
    """Render the context of a question in at most ``most`` units."""
    if not (prompt.question.context or "").strip():
        return NOTHING_TO_RENDER
    rendered = _render_fitted(lambda budget: fit_context(prompt, budget), most)
    if rendered.text.count("</") > _MOST_ENTITIES:
        plain = prompt._replace(context_format="text")
        return _render_fitted(lambda budget: fit_context(plain, budget), most)
    return rendered


def render_asides(view: View, labels: Labels, most: int) -> RenderedContext:
    """Render what was asked back about the open question, and its explanation, in at most ``most`` units."""
    if view.about is None or not view.about.asides:
        return NOTHING_TO_RENDER
    return _render_fitted(lambda budget: fit_asides(view, labels, budget), most)


def _render_fitted(fit: Callable[[int], FittedBlocks], most: int) -> RenderedContext:
    return render_fitted(fit, to_html, length, most)


def to_html(blocks: Iterable[Block]) -> str:
    """Render blocks as HTML."""
    return "\n".join(_block_lines(blocks, nested=False))


def _block_lines(blocks: Iterable[Block], *, nested: bool) -> Iterator[str]:
    before: Block | None = None
    for block in blocks:
        if isinstance(before, Paragraph) and isinstance(block, Paragraph):
            yield ""
        yield from _lines(block, nested=nested)
        before = block


def _lines(block: Block, *, nested: bool) -> Iterator[str]:
    match block:
        case Paragraph(spans):
            yield from _text(spans).split("\n")
        case Heading(_, spans):
            bold = tuple(span._replace(bold=True) for span in spans)
            yield from _text(bold).split("\n")
        case Code(text, info):
            yield from _code(text, info, nested=nested)
        case Quote(inner):
            yield from (f"┃ {line}" for line in _block_lines(inner, nested=True))
        case List():
            yield from _list(block)
        case Table():
            yield from _code(align_columns(block), "", nested=nested)
        case Verbatim(text):
            yield from escape(text).split("\n")
        case Rule():
            yield _RULE
        case _:
            assert_never(block)


def _code(text: str, info: str, *, nested: bool) -> Iterator[str]:
    if info:
        yield escape(info, "i")
    if nested:
        yield from map(code, text.split("\n"))
    else:
        yield preformatted(text, info if _LANGUAGE.fullmatch(info) else "")


def _list(block: List) -> Iterator[str]:
    for number, blocks in block.items:
        lines = [*_block_lines(blocks, nested=True)] or [""]
        yield f"{'•' if number is None else f'{number}.'} {lines[0]}"
        yield from (f"   {line}" for line in lines[1:])


def _text(spans: Spans) -> str:
    return "".join(map(_span, append_link_addresses(spans)))


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
    opening, closing = (
        "".join(f"<{mark}{tag}>" for tag in tags[1:][::order])
        for mark, order in (("", 1), ("/", -1))
    )
    return f"{opening}{shown}{closing}"
