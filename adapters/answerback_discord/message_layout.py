"""Fit texts into one message: short ones are shown in full, long ones share the remaining space. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from answerback.core.labels import Labels
from answerback.core.view import Line
from answerback.presentation import answer_summary
from answerback.presentation.text_fitting import divide_budget, utf16_length
from answerback_discord.limits import MESSAGE_TEXT
from answerback_discord.markdown_text import escape_stripped, shorten

TEXT_BUDGET: Final = MESSAGE_TEXT - 100
"""Units for all texts of a message, with some left for the marks around them."""
_ALWAYS_FITS: Final = 150
"""Characters, of at most two units each, that always fit a message together."""


class TextBlock(NamedTuple):
    """A text that may be shortened to ``most`` units, and its frame: a format string for the shown text."""

    raw: str
    most: int
    frame: str = "{}"


def fit_blocks(blocks: Sequence[TextBlock], total: int) -> tuple[list[str], bool]:
    """Fit texts with their frames into ``total`` units; return them, and whether anything was left out."""
    full = [escape_stripped(raw) if raw else "" for raw, _, _ in blocks]
    if sum(map(len, full)) <= _ALWAYS_FITS:  # nearly always
        framed = zip(full, blocks, strict=True)
        return [block.frame.format(text) if text else "" for text, block in framed], False
    texts, wanted = [], []
    budget, left_out = total - len(blocks), False
    for text, (_, most, frame) in zip(full, blocks, strict=True):
        size = utf16_length(text)
        budget -= utf16_length(frame) if text else 0
        left_out = left_out or size > most
        wanted.append(min(size, most))
        texts.append(frame.format(text) if text else "")
    if not left_out and sum(wanted) <= budget:
        return texts, False
    for i, (block, share) in enumerate(zip(blocks, divide_budget(wanted, budget), strict=True)):
        text, short = shorten(block.raw, share) if texts[i] else ("", False)
        texts[i] = block.frame.format(text) if text else ""
        left_out = left_out or short
    return texts, left_out


def fit_answer_lines(
    lines: tuple[Line, ...], labels: Labels, total: int, *, numbered: bool = False
) -> tuple[list[str], bool]:
    """Fit all questions with their answers into ``total`` units; return them, and whether anything was left out."""
    blocks = [
        block
        for number, line in enumerate(lines, 1)
        for block in (
            TextBlock(line.text, MESSAGE_TEXT, f"**{number}. {{}}**" if numbered else "**{}**"),
            TextBlock(answer_summary.answer_text(line, labels), MESSAGE_TEXT),
        )
    ]
    texts, left_out = fit_blocks(blocks, total)
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return [f"{question}\n➜ {answer}" for question, answer in pairs], left_out
