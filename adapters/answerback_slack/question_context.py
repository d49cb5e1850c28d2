"""Render a context's Markdown as Slack's rich text, in which all text is literal and every link shows its URL.

https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from answerback.core import markdown
from answerback.core.labels import Labels
from answerback.core.markdown import (
    Code,
    Heading,
    Item,
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
    FittedBlocks,
    RenderedContext,
    align_columns,
    fit_asides,
    fit_context,
    has_plain_numbering,
)
from answerback_slack.blocks import Block

_RULE: Final = "────────"
_MAX_INDENT: Final = 8
"""The deepest level of a list; deeper lists are shown at this level."""


def rich_text(blocks: Iterable[markdown.Block]) -> list[Block]:
    """Markdown blocks as one block of rich text; an empty list if there is nothing to show."""
    elements = [*_elements(blocks)]
    return [{"type": "rich_text", "elements": elements}] if elements else []


class RichTextContext:
    """Fits a context into rich text. Slack counts its characters without marks, so its text stands for its length."""

    def render_context(self, prompt: Prompt, most: int) -> RenderedContext:
        """Fit the context of a question into about ``most`` units."""
        return _rendered(fit_context(prompt, most))

    def render_asides(self, view: View, labels: Labels, most: int) -> RenderedContext:
        """Fit what was asked back and explained into about ``most`` units."""
        return _rendered(fit_asides(view, labels, most))


CONTEXT: Final = RichTextContext()


def _rendered(fitted: FittedBlocks) -> RenderedContext:
    text = markdown.blocks_to_text(fitted.blocks) or _RULE
    return RenderedContext(text if fitted.blocks else "", fitted)


def literal_rich_text(text: str) -> list[Block]:
    return rich_text([Verbatim(text)])


def _elements(blocks: Iterable[markdown.Block]) -> Iterator[Block]:
    before: markdown.Block | None = None
    for block in blocks:
        match block:
            case Paragraph(spans):
                gap = _text("\n") if isinstance(before, Paragraph) else ()
                yield from _section([*gap, *_runs(spans)])
            case Heading(_, spans):
                yield from _section(_runs(tuple(span._replace(bold=True) for span in spans)))
            case Code():
                yield from _code(block)
            case Quote(inner):
                yield from _quote(inner)
            case List():
                yield from _list(block, 0)
            case Table():
                yield from _preformatted(align_columns(block))
            case Verbatim(text):
                yield from _section(_text(text))
            case Rule():
                yield from _section(_text(_RULE))
            case _:
                assert_never(block)
        before = block


def _section(runs: Iterable[Block]) -> Iterator[Block]:
    elements = [*runs]
    if elements:
        yield {"type": "rich_text_section", "elements": elements}


def _code(code: Code) -> Iterator[Block]:
    if code.info:
        yield from _section([{"type": "text", "text": code.info, "style": {"italic": True}}])
    yield from _preformatted(code.text)


def _preformatted(text: str) -> Iterator[Block]:
    if text:
        yield {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}


def _quote(blocks: Iterable[markdown.Block]) -> Iterator[Block]:
    """A quote. As it can hold only runs, the blocks in it become lines."""
    lines = [line for line in _lines(blocks) if line]
    runs = [run for i, line in enumerate(lines) for run in (*(_text("\n") if i else ()), *line)]
    if runs:
        yield {"type": "rich_text_quote", "elements": runs}


def _lines(blocks: Iterable[markdown.Block], before: str = "") -> Iterator[list[Block]]:
    """Blocks as lines of runs."""
    for block in blocks:
        match block:
            case Quote(inner):
                yield from _lines(inner, f"{before}> ")
            case List(items):
                for number, inner in items:
                    mark = f"{number}. " if number else "• "
                    yield from _lines(inner[:1], before + mark)
                    yield from _lines(inner[1:], before + " " * len(mark))
            case Code(text, info):
                yield [*_text(f"{before}{info}")] if info else []
                yield [*_text(text)]
            case Table():
                yield [*_text(align_columns(block))]
            case Paragraph(spans) | Heading(_, spans):
                yield [*_text(before), *_runs(spans)]
            case Verbatim():
                raise AssertionError("a whole context is verbatim, and never a part of one")
            case Rule():
                yield [*_text(_RULE)]


def _list(block: List, indent: int) -> Iterator[Block]:
    """A list, interrupted wherever an item has more than one paragraph."""
    simple = all(len(item.blocks) == 1 and _is_text(item.blocks) for item in block.items)
    if block.items[0].number is not None and not (simple and has_plain_numbering(block)):
        yield from _literal_numbers(block)
        return
    style = "bullet" if block.items[0].number is None else "ordered"
    pending: list[Block] = []
    for item in block.items:
        first, rest = _split_item(item)
        runs = [run for line in _lines(first) for run in line] or [*_text(" ")]
        pending.append({"type": "rich_text_section", "elements": runs})
        if rest:
            yield _rich_text_list(style, indent, pending)
            pending = []
            yield from _nested(rest, indent)
    if pending:
        yield _rich_text_list(style, indent, pending)


def _rich_text_list(style: str, indent: int, sections: list[Block]) -> Block:
    return {
        "type": "rich_text_list",
        "style": style,
        "indent": min(indent, _MAX_INDENT),
        "elements": sections,
    }


def _nested(blocks: Iterable[markdown.Block], indent: int) -> Iterator[Block]:
    """The blocks of an item after its first paragraph."""
    for block in blocks:
        yield from _list(block, indent + 1) if isinstance(block, List) else _elements((block,))


def _split_item(item: Item) -> tuple[tuple[markdown.Block, ...], tuple[markdown.Block, ...]]:
    """Split an item into its first paragraph and the rest."""
    at = 1 if _is_text(item.blocks) else 0
    return item.blocks[:at], item.blocks[at:]


def _literal_numbers(block: List) -> Iterator[Block]:
    """A numbered list with its numbers as literal text, because Slack would not show the same numbers."""
    for item in block.items:
        first, rest = _split_item(item)
        runs = [run for line in _lines(first, f"{item.number}. ") for run in line]
        yield from _section(runs or _text(f"{item.number}."))
        yield from _nested(rest, 0)


def _is_text(blocks: tuple[markdown.Block, ...]) -> bool:
    """Return True if the first block is text."""
    return bool(blocks) and isinstance(blocks[0], Paragraph | Heading)


def _text(text: str) -> Iterator[Block]:
    if text:
        yield {"type": "text", "text": text}


def _runs(spans: Spans) -> Iterator[Block]:
    return map(_run, append_link_addresses(spans))


def _run(span: Span) -> Block:
    styles = (
        ("bold", span.bold),
        ("italic", span.italic),
        ("strike", span.strike),
        ("code", span.code),
    )
    style = {name: True for name, is_set in styles if is_set}
    # Only a URL becomes a link: linked words could name a different URL.
    run: Block = {"type": "text", "text": span.text}
    if span.link is not None and span.text == span.link:
        run = {"type": "link", "url": span.link, "text": span.text}
    return run | {"style": style} if style else run
