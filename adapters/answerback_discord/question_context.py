"""Render a context's blocks as Discord's Markdown, from escaped text: an agent's own text is never markup. Pure.

https://support.discord.com/hc/en-us/articles/210298617
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
    has_plain_numbering,
    render_fitted,
)
from answerback.presentation.text_fitting import utf16_length
from answerback_discord.markdown_text import escape, separate_backticks, to_code_block

_RULE: Final = "————————"
_LANGUAGE: Final = re.compile(r"[a-z0-9+-]{1,20}")
_SEPARATOR: Final = "\u200b"
"""Separates two marks that would be read as one."""
_BARE_URL: Final = re.compile(r"https?://[!-;=?-~]+")
"""A URL that is shown as a bare link, in the angle brackets that keep Discord from previewing it."""


def render_context(prompt: Prompt, most: int) -> RenderedContext:
    """Render the context of a question in at most ``most`` units, including marks and escapes."""
    if not (prompt.question.context or "").strip():
        return NOTHING_TO_RENDER
    return _render_fitted(lambda budget: fit_context(prompt, budget), most)


def _render_fitted(fit: Callable[[int], FittedBlocks], most: int) -> RenderedContext:
    return render_fitted(fit, to_markdown, utf16_length, most)


def render_asides(view: View, labels: Labels, most: int) -> RenderedContext:
    """Render what was asked back about the open question, and its explanation, in at most ``most`` units."""
    if view.about is None or not view.about.asides:
        return NOTHING_TO_RENDER
    return _render_fitted(lambda budget: fit_asides(view, labels, budget), most)


def to_markdown(blocks: Iterable[Block]) -> str:
    """Render blocks as Markdown."""
    return "\n".join(_block_lines(blocks))


def _block_lines(blocks: Iterable[Block]) -> Iterator[str]:
    before: Block | None = None
    for block in blocks:
        if isinstance(before, Paragraph) and isinstance(block, Paragraph):
            yield ""
        yield from _lines(block)
        before = block


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(spans):
            yield from _text(spans).split("\n")
        case Heading(_, spans):
            bold = tuple(span._replace(bold=True) for span in spans)
            yield from _text(bold).split("\n")
        case Code():
            yield from _code(block)
        case Quote(inner):
            yield from (f"> {line}" for line in _block_lines(inner))
        case List():
            yield from _list(block)
        case Table():
            yield from to_code_block(align_columns(block)).split("\n")
        case Verbatim(text):
            yield from escape(text).split("\n")
        case Rule():
            yield _RULE
        case _:
            assert_never(block)


def _code(code: Code) -> Iterator[str]:
    is_name = _LANGUAGE.fullmatch(code.info) is not None
    if code.info:
        yield f"-# {escape(code.info)}"
    yield from to_code_block(code.text, code.info if is_name else "").split("\n")


def _list(block: List) -> Iterator[str]:
    is_plain = has_plain_numbering(block)
    for number, blocks in block.items:
        mark = "- " if number is None else f"{number}. " if is_plain else f"{number}\\. "
        lines = [*_block_lines(blocks)] or [""]
        yield mark + lines[0]
        # A code block starts at the margin: an indented fence would be shown as text.
        in_code = lines[0].startswith("```")
        for line in lines[1:]:
            fence = line.startswith("```")
            yield line if in_code or fence else f"  {line}"
            in_code ^= fence


def _text(spans: Spans) -> str:
    text, before = "", ""
    for span in append_link_addresses(spans):
        piece = _span(span)
        if before and piece[:1] in "*_~`" and text[-1:] in "*_~`":
            text += _SEPARATOR
        text += piece
        before = piece
    return text


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
