"""Everything there is to read about an ask, in parts, for chats that show it on pages. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.schema_fields import fields_from_schema
from answerback.core.view import View
from answerback.presentation import answer_summary, wording
from answerback.presentation.asides import asides_text
from answerback.presentation.attribution import AttributionFormat
from answerback.presentation.sent_call import sent_call_text


class Kind(Enum):
    """The form in which a part is shown."""

    TEXT = auto()
    TITLE = auto()
    MARKUP = auto()
    """The platform's own markup, which is shown as it is."""


class Part(NamedTuple):
    """A text of any length, without the platform's markup unless it is `Kind.MARKUP`."""

    text: str
    kind: Kind = Kind.TEXT


def full_text(
    view: View, labels: Labels, marks: AttributionFormat, selected: str = ""
) -> Iterator[Part]:
    """Return what a person may read about an ask: the question, its options, the answers, how it ended.

    Args:
        selected: what is selected in a list and not submitted yet.
    """
    yield Part(wording.asks_line(view, labels))
    if view.prompt is not None:
        yield Part(selected)
        yield from _question(view.prompt.with_every_option, labels)
        yield Part(asides_text(view, labels))
        yield from map(Part, answer_summary.prefill_texts(view.prompt, labels))
        if view.lines:
            yield Part(f"{labels.answered_so_far}:")
    elif view.confirmation is not None:
        yield Part(view.confirmation.about.question.context or "")
        yield Part(asides_text(view, labels))
    elif view.outcome is not None:
        yield Part(wording.ending_with_person(view, labels, marks), Kind.MARKUP)
        yield Part(view.reply or "")
    if view.files:
        yield Part(wording.files_line(view, labels))
    for line in view.lines:
        if view.outcome is not None:
            yield Part(line.question.context or "")
        yield from titled(line.text, answer_summary.answer_text(line, labels))
    yield from map(Part, sent_call_text(view.sent, labels))


def titled(title: str, text: str) -> Iterator[Part]:
    """Return a text below its title."""
    yield Part(title, Kind.TITLE)
    yield Part(text)


def _question(question: Question, labels: Labels) -> Iterator[Part]:
    yield Part(question.header or "")
    yield Part(question.context or "")
    yield Part(question.text, Kind.TITLE)
    for i, option in enumerate(question.options):
        yield from titled(f"{i + 1}. {option.label}", option.description or "")
        if option.preview:
            yield Part(f"{labels.preview}:\n{option.preview}")
    if question.answer_type is AnswerType.SCHEMA:
        yield from _schema(question)


def _schema(question: Question) -> Iterator[Part]:
    fields = fields_from_schema(question.json_schema)
    if fields is None:
        yield Part(json.dumps(question.json_schema, ensure_ascii=False, indent=1))
        return
    for field in fields:
        yield from titled(field.title, field.description or "")
        for i, choice in enumerate(field.choices):
            note = f" — {choice.description}" if choice.description else ""
            yield Part(f"{i + 1}. {choice.title}{note}")
