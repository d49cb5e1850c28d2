"""A context's blocks as Discord's own Markdown, made of escaped text: nothing of an agent's is markup by itself. Pure.

https://support.discord.com/hc/en-us/articles/210298617
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, assert_never

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
from answerback_chat.question_context import (
    FittedBlocks,
    align_columns,
    fit_asides,
    fit_context,
    has_plain_numbering,
)
from answerback_chat.text_fitting import utf16_length
from answerback_discord.markdown_text import escape, separate_backticks, to_code_block

_RULE: Final = "————————"
_LANGUAGE: Final = re.compile(r"[a-z0-9+-]{1,20}")
_APART: Final = "\u200b"
"""Stands between two marks that would be read as one."""
_BARE: Final = re.compile(r"https?://[!-;=?-~]+")
"""An address that is a link by itself, in the brackets that keep Discord from previewing it."""


class RenderedContext(NamedTuple):
    """A context as Markdown in the room that it was given."""

    text: str
    drawn: FittedBlocks

    def more_label(self, labels: Labels) -> str | None:
        """What the button says that leads to the rest; None where that is all."""
        return self.drawn.more_label(labels)


_NOTHING: Final = RenderedContext("", FittedBlocks((), whole=True))


def render_context(prompt: Prompt, most: int) -> RenderedContext:
    """The context of a question in at most ``most`` units; marks and escapes count as well."""
    if not (prompt.question.context or "").strip():
        return _NOTHING
    return _fitting(lambda room: fit_context(prompt, room), most)


def _fitting(draw: Callable[[int], FittedBlocks], most: int) -> RenderedContext:
    room = most
    while True:
        found = draw(max(room, 1))
        text = to_markdown(found.blocks).strip("\n")
        over = utf16_length(text) - most
        if over <= 0 or room <= 0:
            return RenderedContext(text if over <= 0 else "", found)
        room -= max(over // 2, 1)


def render_asides(view: View, labels: Labels, most: int) -> RenderedContext:
    """What was asked back about the open question, and explained, in at most ``most`` units."""
    if view.prompt is None or not view.prompt.asides:
        return _NOTHING
    return _fitting(lambda room: fit_asides(view, labels, room), most)


def to_markdown(blocks: Iterable[Block]) -> str:
    """Blocks as Markdown."""
    return "\n".join(_all(blocks))


def _all(blocks: Iterable[Block]) -> Iterator[str]:
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
            yield from (f"> {line}" for line in _all(inner))
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
    own = has_plain_numbering(block)
    for number, blocks in block.items:
        mark = "- " if number is None else f"{number}. " if own else f"{number}\\. "
        lines = [*_all(blocks)] or [""]
        yield mark + lines[0]
        # A block of code begins at the margin: indented, its fence would be text.
        in_code = lines[0].startswith("```")
        for line in lines[1:]:
            fence = line.startswith("```")
            yield line if in_code or fence else f"  {line}"
            in_code ^= fence


def _text(spans: Spans) -> str:
    made, before = "", ""
    for span in append_link_addresses(spans):
        piece = _span(span)
        if before and piece[:1] in "*_~`" and made[-1:] in "*_~`":
            made += _APART
        made += piece
        before = piece
    return made


def _span(span: Span) -> str:
    """A piece of text in its marks, which stand at words: blanks at its ends stay outside of them."""
    inner = span.text.strip()
    if not inner:
        return span.text
    start = span.text.index(inner)
    before, after = span.text[:start], span.text[start + len(inner) :]
    return before + _marked(inner, span) + after


def _marked(text: str, span: Span) -> str:
    if span.link is not None and text == span.link and _BARE.fullmatch(text):
        return f"<{text}>"
    if span.code and "\n" not in text:
        return _inline_code(text)
    shown = escape(text)
    for mark, has in (("~~", span.strike), ("*", span.italic), ("**", span.bold)):
        if has:
            shown = f"{mark}{shown}{mark}"
    return shown


def _inline_code(text: str) -> str:
    """Code in a line; a backtick in it asks for two around it."""
    if "`" not in text:
        return f"`{text}`"
    return f"`` {separate_backticks(text)} ``"
