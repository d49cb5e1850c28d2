"""Fit a question's context into a chat message: its blocks, cut when the space runs out. Pure.

Each platform renders the blocks in its own way; "Show in full" shows what was cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from rich.cells import cell_len

from answerback.core.labels import Labels
from answerback.core.markdown import (
    Block,
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
    blocks_to_text,
    spans_to_text,
)
from answerback.core.view import Prompt, View
from answerback.presentation.asides import asides, asides_hide_marks
from answerback.presentation.context_blocks import first_context_blocks, hides_marks
from answerback.presentation.text_fitting import ELLIPSIS, shorten, utf16_length
from answerback_base.sanitize import visible

CODE_LINES: Final = 40
"""Lines of one code block that a message shows; the 30 lines of an ordinary migration are shown in full."""


class FittedBlocks(NamedTuple):
    blocks: tuple[Block, ...]
    whole: bool
    """True if nothing was cut."""
    lines: int | None = None
    """The total lines of the code block that was cut."""
    hides_marks: bool = False
    """True if they leave out marks of the Markdown source, though nothing was cut."""

    @property
    def says_all(self) -> bool:
        """True if all of it is shown as written."""
        return self.whole and not self.hides_marks

    def more_label(self, labels: Labels) -> str | None:
        """Return the label of the button that shows the source; None if all of it is shown as written."""
        if self.says_all:
            return None
        return labels.details if self.lines is None else labels.show_all_lines.format(n=self.lines)


def fit_context(prompt: Prompt, budget: int) -> FittedBlocks:
    """Fit the context of a question into about ``budget`` units of text, as a platform may count them."""
    is_markdown = prompt.context_format == "markdown"
    return fit_text(prompt.question.context or "", budget, is_markdown=is_markdown)


def fit_text(text: str, budget: int, *, is_markdown: bool = True) -> FittedBlocks:
    """Fit a text into about ``budget`` units, as Markdown or else verbatim."""
    blocks: tuple[Block, ...]
    if is_markdown:
        blocks, whole = first_context_blocks(text, budget)
    else:
        blocks, whole = (Verbatim(visible(text)),) if text.strip() else (), True
    cut = _Cut(budget)
    fitted = tuple(cut.blocks(blocks))
    whole = whole and cut.whole
    hidden = whole and hides_marks(text, "markdown" if is_markdown else "text")
    return FittedBlocks(fitted, whole, cut.lines, hidden)


def fit_asides(view: View, labels: Labels, budget: int) -> FittedBlocks:
    """Fit the `asides` into about ``budget`` units of text; if they do not fit, keep the newest."""
    blocks, whole = asides(view, labels), True
    while (
        len(blocks) > 1 and sum(utf16_length(blocks_to_text((each,))) for each in blocks) > budget
    ):
        blocks, whole = blocks[1:], False
    cut = _Cut(budget)
    fitted = tuple(cut.blocks(blocks))
    whole = whole and cut.whole
    return FittedBlocks(fitted, whole, cut.lines, whole and asides_hide_marks(view))


def align_columns(table: Table) -> str:
    """Format a table as lines of text, with columns aligned in a monospaced font."""
    rows = padded_cells(table)
    lines = [" | ".join(row).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * cell_len(cell) for cell in rows[0]))
    return "\n".join(lines)


def padded_cells(table: Table) -> list[list[str]]:
    """Return a table's cells as text, each column as wide as its widest cell and aligned as the table says."""
    rows = [[spans_to_text(cell).replace("\n", " ") for cell in row] for row in table.rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    aligned = table.alignments or ("",) * len(widths)
    return [list(map(_pad, row, widths, aligned)) for row in rows]


def _pad(cell: str, width: int, alignment: str) -> str:
    room = width - cell_len(cell)
    before = {"right": room, "center": room // 2}.get(alignment, 0)
    return " " * before + cell + " " * (room - before)


def has_plain_numbering(block: List) -> bool:
    """Return True if a list is numbered as a platform's own list is: 1, 2, 3 and so on."""
    return [item.number for item in block.items] == [str(n + 1) for n in range(len(block.items))]


class _Cut:
    """Takes blocks until the space runs out."""

    def __init__(self, budget: int) -> None:
        self._remaining = budget
        self.whole = True
        self.lines: int | None = None

    def blocks(self, blocks: Iterable[Block]) -> Iterable[Block]:
        for block in blocks:
            if self._remaining <= 0:
                self.whole = False
                return
            yield self._block(block)

    def _block(self, block: Block) -> Block:
        match block:
            case Paragraph(spans):
                return Paragraph(self._spans(spans))
            case Heading(level, spans):
                return Heading(level, self._spans(spans))
            case Code(text, info):
                return Code(self._code(text), info)
            case Quote(inner):
                return Quote(tuple(self.blocks(inner)))
            case List(items):
                return List(tuple(self._items(items)))
            case Table():
                return self._table(block)
            case Verbatim(text):
                return Verbatim(self._text(text))
            case Rule():
                return block

    def _items(self, items: Iterable[Item]) -> Iterable[Item]:
        for item in items:
            if self._remaining <= 0:
                self.whole = False
                return
            self._remaining -= 4  # its mark
            yield Item(item.number, tuple(self.blocks(item.blocks)))

    def _text(self, text: str) -> str:
        length, room = utf16_length(text), max(self._remaining, 1)
        self._remaining -= length + 1
        if length <= room:
            return text
        self.whole = False
        return shorten(text, room)

    def _spans(self, spans: Spans) -> Spans:
        fitted: list[Span] = []
        for span in spans:
            if self._remaining <= 0:
                self.whole = False
                break
            if span.link is not None:
                self._remaining -= utf16_length(span.link)
            text = self._text(span.text)
            fitted.append(span if text is span.text else span._replace(text=text))
        return tuple(fitted)

    def _code(self, text: str) -> str:
        lines = text.split("\n")
        fitted: list[str] = []
        for line in lines[:CODE_LINES]:
            if self._remaining < utf16_length(line) + 1 and fitted:
                break
            fitted.append(shorten(line, max(self._remaining, 1)))
            self._remaining -= utf16_length(line) + 1
        self.whole = self.whole and fitted == lines
        if len(fitted) < len(lines):
            self.lines = self.lines or len(lines)
            fitted.append(ELLIPSIS)
        return "\n".join(fitted)

    def _table(self, table: Table) -> Block:
        fitted = list(table.rows)
        while (
            len(fitted) > 1
            and utf16_length(align_columns(table._replace(rows=tuple(fitted)))) > self._remaining
        ):
            fitted = fitted[: len(fitted) // 2]
        self.whole &= len(fitted) == len(table.rows)
        shown = table._replace(rows=tuple(fitted))
        taken = utf16_length(align_columns(shown))
        if taken > self._remaining:
            return Verbatim(self._text(align_columns(shown)))
        self._remaining -= taken
        return shown


class RenderedContext(NamedTuple):
    """A context in a platform's markup, fitted to a budget."""

    text: str
    fitted: FittedBlocks

    def more_label(self, labels: Labels) -> str | None:
        """Return the label of the button that shows the rest, or None if nothing was left out."""
        return self.fitted.more_label(labels)


NOTHING_TO_RENDER: Final = RenderedContext("", FittedBlocks((), whole=True))


def render_fitted(
    fit: Callable[[int], FittedBlocks],
    render: Callable[[tuple[Block, ...]], str],
    length: Callable[[str], int],
    most: int,
) -> RenderedContext:
    """Render as much as ``fit`` gives in at most ``most`` of ``length``, which counts marks and escapes too."""
    budget = most
    while True:
        fitted = fit(max(budget, 1))
        text = render(fitted.blocks).strip("\n")
        over = length(text) - most
        if over <= 0 or budget <= 0:
            return RenderedContext(text if over <= 0 else "", fitted)
        budget -= max(over // 2, 1)
