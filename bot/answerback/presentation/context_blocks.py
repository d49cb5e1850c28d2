"""Parse a text from an agent into blocks to show, with what people could not see made visible. Pure."""

from __future__ import annotations

from answerback.core import markdown
from answerback.core.form import ContextFormat
from answerback.core.markdown import (
    MAX_RENDERED_CHARS,
    Block,
    map_texts,
    parse_context,
    parse_start,
)
from answerback_base.sanitize import show_blanks, show_invisible


def context_blocks(text: str, context_format: ContextFormat) -> tuple[Block, ...]:
    """Parse a text into blocks."""
    source = show_invisible(text)
    return _with_blanks_shown(parse_context(source, context_format), source)


def first_context_blocks(text: str, budget: int = 0) -> tuple[tuple[Block, ...], bool]:
    """Parse as much of a Markdown text as a message can show; also return whether that is all of it."""
    source = show_invisible(text)
    blocks, whole = parse_start(source, max(budget, MAX_RENDERED_CHARS))
    return _with_blanks_shown(blocks, source), whole


def hides_marks(text: str, context_format: ContextFormat) -> bool:
    """Return True if the blocks of a text leave out some of its marks, so that the text itself has to be offered
    too."""
    return context_format == "markdown" and markdown.hides_marks(show_invisible(text))


def _with_blanks_shown(blocks: tuple[Block, ...], source: str) -> tuple[Block, ...]:
    # After parsing: blanks that are only layout, as in the cells of an aligned table, are not shown at all.
    return blocks if show_blanks(source) == source else map_texts(blocks, show_blanks)
