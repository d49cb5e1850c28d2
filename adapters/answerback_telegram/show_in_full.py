"""Render everything that a view says in full, as the pages of one more message. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.presentation.full_text import Kind, Part, full_text, titled
from answerback.presentation.text_blocks import pages_of
from answerback_chat.control_codec import Verb
from answerback_telegram import keyboards, limits
from answerback_telegram.html_text import escape, length, split_into_pieces
from answerback_telegram.keyboards import Json, button
from answerback_telegram.option_controls import paging_row
from answerback_telegram.people_text import MARKS
from answerback_telegram.render import compose

PAGE_BUDGET: Final = limits.MESSAGE_TEXT - 200


def page(view: View, verb: Verb, number: int, labels: Labels) -> Json:
    """Render one page of what `Verb.SHOW_IN_FULL` or `Verb.PREVIEW` shows, with Previous, Next and Close."""
    shown = _preview_parts(view) if verb is Verb.PREVIEW else full_text(view, labels, MARKS)
    pages = pages_of(shown, _split, _fits)
    number = number if 0 <= number < len(pages) else 0
    parts, laid = [pages[number]], []
    if len(pages) > 1:
        parts.append(escape(labels.page_of.format(page=number + 1, pages=len(pages)), "i"))
        laid.append(paging_row(view, verb, number, len(pages), labels))
    laid.append([button(view, labels.close, Verb.SHOW_IN_FULL, keyboards.CLOSE)])
    return compose(parts, laid)


def _preview_parts(view: View) -> Iterator[Part]:
    for i, option in enumerate(view.prompt.question.options if view.prompt else ()):
        if option.preview:
            yield from titled(f"{i + 1}. {option.label}", option.preview)


def _split(text: str, kind: Kind) -> list[str]:
    return split_into_pieces(text, tag="b" if kind is Kind.TITLE else "")


def _fits(page: str) -> bool:
    return length(page) <= PAGE_BUDGET and page.count("</") < limits.ENTITIES
