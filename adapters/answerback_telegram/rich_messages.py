"""An ask's message as a rich message: eight times as long, and with tables. Pure.

Apps that do not know rich messages show a placeholder instead, so a setting turns them on.
https://core.telegram.org/bots/api#rich-messages
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from answerback.core.markdown import Block, Table
from answerback_telegram import limits
from answerback_telegram.html_text import plain, preformatted
from answerback_telegram.keyboards import Json, Row, inline_keyboard
from answerback_telegram.question_context import HtmlContext
from answerback_telegram.render import STYLE, MessageFormat

_BLOCK: Final = re.compile(r"(<(?:pre|table)>.*?</(?:pre|table)>)", re.DOTALL)
_STARTS: Final = re.compile(r"<(?:p|pre|table|tr)>")
_CODE: Final = re.compile(r"<code>.*?</code>", re.DOTALL)
_BLANK: Final = re.compile(r"^ | (?= )", re.MULTILINE)
"""A blank that HTML would drop."""


class _RichContext(HtmlContext):
    most_marks = None  # rich messages take any number

    def _lines(self, block: Block, *, nested: bool) -> Iterator[str]:
        if isinstance(block, Table) and not nested and len(block.rows[0]) <= limits.RICH_COLUMNS:
            yield self._table(block)
        else:
            yield from super()._lines(block, nested=nested)

    def _table(self, table: Table) -> str:
        aligned = table.alignments or ("",) * len(table.rows[0])
        rows = []
        for number, row in enumerate(table.rows):
            tag = "td" if number else "th"
            cells = (self._text(cell).replace("\n", " ") for cell in row)
            marked = (
                f'<{tag} align="{align or "left"}">{cell}</{tag}>'
                for cell, align in zip(cells, aligned, strict=True)
            )
            rows.append(f"<tr>{''.join(marked)}</tr>")
        return f"<table>{''.join(rows)}</table>"


def _compose(parts: Iterable[str], laid: Iterable[Row]) -> Json:
    """Return the fields of a message or an edit; see `render.compose`."""
    shown = [*filter(None, parts)]
    html = "".join(piece for part in shown for piece in _blocks(part))
    if len(_STARTS.findall(html)) > limits.RICH_BLOCKS:
        html = preformatted(plain("\n\n".join(shown)))
    return {
        "rich_message": {"html": html, "skip_entity_detection": True},
        "reply_markup": inline_keyboard(laid),
    }


def _blocks(text: str) -> Iterator[str]:
    """Make a text's lines into paragraphs, around the blocks in it."""
    for piece in _BLOCK.split(text):
        if piece.startswith(("<pre>", "<table>")):
            yield piece
        elif inner := piece.strip("\n"):
            lines = _CODE.sub(lambda code: code[0].replace("\n", "</code>\n<code>"), inner)
            shown = _BLANK.sub("&nbsp;", lines).replace("\n", "<br>")
            yield f"<p>{shown}</p>"


RICH: Final = MessageFormat(
    replace(STYLE, context=_RichContext(), budget=limits.RICH_TEXT - 1_000), _compose
)
