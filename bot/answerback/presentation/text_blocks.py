"""Fit texts into one message, where long ones share the remaining space, or all of them into several pages. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from answerback.core.labels import Labels
from answerback.core.view import Line
from answerback.presentation import answer_summary
from answerback.presentation.full_text import Kind, Part
from answerback.presentation.text_fitting import divide_budget


class TextBlock(NamedTuple):
    """A text that may be shortened, and the marked up text around it, where it stands for ``{}``."""

    raw: str
    frame: str = "{}"
    most: int | None = None
    """Units that it may take; None: as many as there are."""
    style: str = ""
    """The platform's markup of it, in the platform's own words."""


class BlockFitter(NamedTuple):
    """Fits texts into a platform's message."""

    shorten: Callable[[str, int, str], tuple[str, bool]]
    """Marks up a text in a style and at most so many units; also returns whether anything was left out."""
    length: Callable[[str], int]
    """Returns the units of a marked up text."""
    question: TextBlock
    """The style and frame of a question above its answer."""
    answer: TextBlock

    def fit(self, blocks: Sequence[TextBlock], total: int) -> tuple[list[str], bool]:
        """Fit texts with their frames into ``total`` units; return them, and whether anything was left out."""
        fitted = [
            self.shorten(raw, total if most is None else most, style)
            if raw.strip()
            else ("", False)
            for raw, _, most, style in blocks
        ]
        sizes = [self.length(text) for text, _ in fitted]
        frames = [
            self.length(block.frame) if size else 0
            for block, size in zip(blocks, sizes, strict=True)
        ]
        shares = divide_budget(sizes, total - sum(frames) - len(blocks))
        for i, (block, size, share) in enumerate(zip(blocks, sizes, shares, strict=True)):
            if size > share:
                fitted[i] = self.shorten(block.raw, share, block.style)
        framed = [
            block.frame.replace("{}", text) if text else ""
            for block, (text, _) in zip(blocks, fitted, strict=True)
        ]
        return framed, any(is_short for _, is_short in fitted)

    def fit_answers(
        self, lines: Sequence[Line], labels: Labels, total: int, *, numbered: bool = False
    ) -> tuple[list[tuple[str, str]], bool]:
        """Fit all questions with their answers into ``total`` units; return the texts of each, and whether anything was
        left out. Each of several answers has the mark of the frame in front."""
        blocks = []
        mark, _, _ = self.answer.frame.partition("{}")
        for number, line in enumerate(lines, 1):
            frame = self.question.frame.replace("{}", f"{number}. {{}}" if numbered else "{}")
            blocks.append(self.question._replace(raw=line.text, frame=frame))
            answers = mark.join(answer_summary.answer_texts(line, labels))
            blocks.append(self.answer._replace(raw=answers))
        texts, left_out = self.fit(blocks, total)
        return [*zip(texts[::2], texts[1::2], strict=True)], left_out


def pages_of(
    parts: Iterable[Part],
    split: Callable[[str, Kind], Iterable[str]],
    fits: Callable[[str], bool],
) -> list[str]:
    """Return everything on as few pages as possible.

    Args:
        split: returns a text as pieces of markup, each short enough for a page.
        fits: whether a page's markup fits a message.
    """
    pages: list[str] = []
    for text, kind in parts:
        for piece in [text] if kind is Kind.MARKUP else split(text, kind):
            longer = f"{pages[-1]}\n{piece}" if pages else ""
            if longer and fits(longer):
                pages[-1] = longer
            else:
                pages.append(piece)
    return pages or ["…"]
