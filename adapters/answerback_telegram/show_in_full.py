"""Render everything that a view says in full, as the pages of one more message. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.schema_fields import fields_from_schema
from answerback.core.view import View
from answerback.presentation import answer_summary, wording
from answerback.presentation.asides import asides_text
from answerback.presentation.sent_call import sent_call_text
from answerback_chat.control_codec import Verb
from answerback_telegram import keyboards, limits
from answerback_telegram.html_text import escape, pack_into_pages, split_into_pieces
from answerback_telegram.keyboards import Json, button
from answerback_telegram.message_layout import answer_text
from answerback_telegram.option_controls import paging_row
from answerback_telegram.people_text import MARKS
from answerback_telegram.render import compose

PAGE_BUDGET: Final = limits.MESSAGE_TEXT - 200


def page(view: View, verb: Verb, number: int, labels: Labels) -> Json:
    """Render one page of what `Verb.SHOW_IN_FULL` or `Verb.PREVIEW` shows, with Previous, Next and Close."""
    blocks = _preview_blocks(view) if verb is Verb.PREVIEW else _all_blocks(view, labels)
    pages = pack_into_pages(blocks, PAGE_BUDGET)
    number = number if 0 <= number < len(pages) else 0
    parts, laid = [pages[number]], []
    if len(pages) > 1:
        parts.append(escape(labels.page_of.format(page=number + 1, pages=len(pages)), "i"))
        laid.append(paging_row(view, verb, number, len(pages), labels))
    laid.append([button(view, labels.close, Verb.SHOW_IN_FULL, keyboards.CLOSE)])
    return compose(parts, laid)


def _preview_blocks(view: View) -> Iterator[str]:
    for i, option in enumerate(view.prompt.question.options if view.prompt else ()):
        if option.preview:
            yield from _titled_blocks(f"{i + 1}. {option.label}", option.preview)


def _all_blocks(view: View, labels: Labels) -> Iterator[str]:
    yield from split_into_pieces(wording.asks_line(view, labels))
    if view.prompt is not None:
        yield from _question_blocks(view.prompt.with_every_option)
        yield from split_into_pieces(asides_text(view, labels))
        for text in answer_summary.prefill_texts(view.prompt, labels):
            yield from split_into_pieces(text)
    elif view.confirmation is not None:
        yield from split_into_pieces(view.confirmation.about.question.context or "")
        yield from split_into_pieces(asides_text(view, labels))
    elif view.outcome is not None:
        yield wording.ending_with_person(view, labels, MARKS)
        yield from split_into_pieces(wording.headline_above(view))
    for line in view.lines:
        if view.outcome is not None:
            yield from split_into_pieces(line.question.context or "")
        yield from _titled_blocks(line.text, answer_text(line, labels))
    if view.reply:
        yield from split_into_pieces(view.reply)
    for text in sent_call_text(view.sent, labels):
        yield from split_into_pieces(text)


def _question_blocks(question: Question) -> Iterator[str]:
    yield from split_into_pieces(question.header or "")
    yield from split_into_pieces(question.context or "")
    yield from _titled_blocks(question.text, "")
    for i, option in enumerate(question.options):
        yield from _titled_blocks(f"{i + 1}. {option.label}", option.description or "")
        yield from split_into_pieces(option.preview or "")
    if question.answer_type is AnswerType.SCHEMA:
        yield from _schema_blocks(question)


def _schema_blocks(question: Question) -> Iterator[str]:
    fields = fields_from_schema(question.json_schema)
    if fields is None:
        yield from split_into_pieces(json.dumps(question.json_schema, ensure_ascii=False, indent=1))
        return
    for field in fields:
        yield from _titled_blocks(field.title, field.description or "")
        for i, choice in enumerate(field.choices):
            note = f" — {choice.description}" if choice.description else ""
            yield from split_into_pieces(f"{i + 1}. {choice.title}{note}")


def _titled_blocks(title: str, body: str) -> Iterator[str]:
    yield from split_into_pieces(title, tag="b")
    yield from split_into_pieces(body)
