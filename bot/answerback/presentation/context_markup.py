"""Render a context's blocks as one marked up text; a platform marks up the pieces, whose own text is literal. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, assert_never

from answerback.core.labels import Labels
from answerback.core.markdown import (
    Block,
    Code,
    Heading,
    List,
    Paragraph,
    Quote,
    Rule,
    Spans,
    Table,
    Verbatim,
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


class ContextMarkup(ABC):
    """A platform's markup of a context."""

    rule: ClassVar[str]
    quote: ClassVar[str] = "┃ "
    """The mark before each line of a quote."""

    def render_context(self, prompt: Prompt, most: int) -> RenderedContext:
        """Render the context of a question in at most ``most`` units."""
        if not (prompt.question.context or "").strip():
            return NOTHING_TO_RENDER
        return self._render_fitted(lambda budget: fit_context(prompt, budget), most)

    def render_asides(self, view: View, labels: Labels, most: int) -> RenderedContext:
        """Render what was asked back about the open question, and its explanation, in at most ``most`` units."""
        if view.about is None or not view.about.asides:
            return NOTHING_TO_RENDER
        return self._render_fitted(lambda budget: fit_asides(view, labels, budget), most)

    def render(self, blocks: Iterable[Block]) -> str:
        return "\n".join(self.lines(blocks, nested=False))

    def lines(self, blocks: Iterable[Block], *, nested: bool = True) -> Iterator[str]:
        """Render blocks as lines.

        Args:
            nested: whether they are in a list or a quote.
        """
        before: Block | None = None
        for block in blocks:
            if isinstance(before, Paragraph) and isinstance(block, Paragraph):
                yield ""
            yield from self._lines(block, nested=nested)
            before = block

    def _lines(self, block: Block, *, nested: bool) -> Iterator[str]:
        match block:
            case Paragraph(spans):
                yield from self._text(spans).split("\n")
            case Heading(_, spans):
                yield from self._text(tuple(s._replace(bold=True) for s in spans)).split("\n")
            case Code(text, info):
                yield from self._code(text, info, nested=nested)
            case Quote(inner):
                yield from (f"{self.quote}{line}" for line in self.lines(inner))
            case List():
                yield from self._list(block)
            case Table():
                yield from self._code(align_columns(block), "", nested=nested)
            case Verbatim(text):
                yield from self._escape(text).split("\n")
            case Rule():
                yield self.rule
            case _:
                assert_never(block)

    def _render_fitted(self, fit: Callable[[int], FittedBlocks], most: int) -> RenderedContext:
        return render_fitted(fit, self.render, self._length, most)

    @abstractmethod
    def _length(self, text: str, /) -> int:
        """Return the units that a rendered text counts."""

    @abstractmethod
    def _escape(self, text: str, /) -> str:
        """Return a text as it is shown literally."""

    @abstractmethod
    def _text(self, spans: Spans) -> str:
        """Render a paragraph's text."""

    @abstractmethod
    def _code(self, text: str, info: str, *, nested: bool) -> Iterator[str]:
        """Render code as lines."""

    def _list(self, block: List) -> Iterator[str]:
        """Render a list as lines."""
        for number, blocks in block.items:
            lines = [*self.lines(blocks)] or [""]
            yield f"{'•' if number is None else f'{number}.'} {lines[0]}"
            yield from (f"   {line}" for line in lines[1:])
