"""Texts within the room of one message: short ones stand in full, long ones share what is left. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from answerback.core.labels import Labels
from answerback.core.view import Line
from answerback_chat import answer_summary
from answerback_chat.text_fitting import utf16_length
from answerback_discord.limits import MESSAGE_TEXT
from answerback_discord.markdown_text import divide_room, escape_stripped, shorten

TEXT_BUDGET: Final = MESSAGE_TEXT - 100
"""What all texts of a message may take, with some room for marks around them."""
_EASY: Final = 150
"""Characters, of two units at the most, that texts of one message may always have together."""


class TextBlock(NamedTuple):
    """A text that may be shortened, and how it is set."""

    raw: str
    most: int
    frame: str = "{}"


def fit_blocks(blocks: Sequence[TextBlock], total: int) -> tuple[list[str], bool]:
    """Texts in their frames within ``total`` units together, and whether something was left out."""
    full = [escape_stripped(raw) if raw else "" for raw, _, _ in blocks]
    if sum(map(len, full)) <= _EASY:  # as nearly always
        framed = zip(full, blocks, strict=True)
        return [block.frame.format(text) if text else "" for text, block in framed], False
    texts, wanted = [], []
    room, left_out = total - len(blocks), False
    for text, (_, most, frame) in zip(full, blocks, strict=True):
        size = utf16_length(text)
        room -= utf16_length(frame) if text else 0
        left_out = left_out or size > most
        wanted.append(min(size, most))
        texts.append(frame.format(text) if text else "")
    if not left_out and sum(wanted) <= room:
        return texts, False
    for i, (block, given) in enumerate(zip(blocks, divide_room(wanted, room), strict=True)):
        text, short = shorten(block.raw, given) if texts[i] else ("", False)
        texts[i] = block.frame.format(text) if text else ""
        left_out = left_out or short
    return texts, left_out


def fit_answer_lines(
    lines: tuple[Line, ...], labels: Labels, total: int, *, numbered: bool = False
) -> tuple[list[str], bool]:
    """Questions with their answers, all of them, in ``total`` units."""
    blocks = [
        block
        for number, line in enumerate(lines, 1)
        for block in (
            TextBlock(
                line.question.text, MESSAGE_TEXT, f"**{number}. {{}}**" if numbered else "**{}**"
            ),
            TextBlock(answer_text(line, labels), MESSAGE_TEXT),
        )
    ]
    texts, left_out = fit_blocks(blocks, total)
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return [f"{question}\n➜ {answer}" for question, answer in pairs], left_out


def answer_text(line: Line, labels: Labels) -> str:
    """An answer as people read it, with a mark where no person gave it."""
    return "\n".join(answer_summary.answer_texts(line, labels))
