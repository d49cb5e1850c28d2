"""Fit texts into one message: short ones are shown in full, long ones share the remaining space. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from answerback.core.labels import Labels
from answerback.core.view import Line
from answerback.presentation import answer_summary
from answerback.presentation.sanitize import visible
from answerback.presentation.text_fitting import divide_budget, utf16_length
from answerback_telegram.html_text import length, shorten
from answerback_telegram.limits import MESSAGE_TEXT

TEXT_BUDGET: Final = MESSAGE_TEXT - 150
"""Units for all texts of a message, with some left for what is between them."""

_MOST_MARKED: Final = 20
"""Questions that are in bold; the marks in a message are limited."""


class TextBlock(NamedTuple):
    """A text that may be shortened, the element that it is in, and the HTML around it."""

    raw: str
    tag: str = ""
    frame: str = "{}"


def fit_blocks(blocks: Sequence[TextBlock], total: int) -> tuple[list[str], bool]:
    """Fit texts with their frames into ``total`` units; return them, and whether anything was left out."""
    frames = [length(block.frame) for block in blocks]
    wanted = [utf16_length(visible(block.raw).strip()) for block in blocks]
    shares = divide_budget(wanted, total - sum(frames) - len(blocks))
    fitted, left_out = [], False
    for block, share in zip(blocks, shares, strict=True):
        text, short = shorten(block.raw, share, block.tag) if block.raw.strip() else ("", False)
        left_out = left_out or short
        fitted.append(block.frame.replace("{}", text) if text else "")
    return fitted, left_out


def fit_answer_lines(
    lines: tuple[Line, ...], labels: Labels, total: int, *, numbered: bool = False
) -> tuple[list[str], bool]:
    """Fit all questions with their answers into ``total`` units; return them, and whether anything was left out."""
    tag = "b" if len(lines) <= _MOST_MARKED else ""
    blocks = [
        block
        for number, line in enumerate(lines, 1)
        for block in (
            TextBlock(line.text, tag, f"{number}. {{}}" if numbered else "{}"),
            TextBlock(answer_summary.answer_text(line, labels), "", "\n→ {}"),
        )
    ]
    texts, left_out = fit_blocks(blocks, total)
    return [
        f"{question}{answer}" for question, answer in zip(texts[::2], texts[1::2], strict=True)
    ], left_out
