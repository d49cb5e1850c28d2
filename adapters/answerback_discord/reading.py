"""Everything that a view says, unshortened, as pages of a private message. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.schema_fields import fields_of
from answerback.core.view import View
from answerback_chat import messages, outline
from answerback_chat.controls import Verb
from answerback_chat.texts import units
from answerback_discord import blocks as c
from answerback_discord import limits
from answerback_discord.blocks import Json
from answerback_discord.choices import Look, selection, turning
from answerback_discord.fitting import answer_text
from answerback_discord.text import escape, pieces

ROOM = limits.MESSAGE_TEXT - 200


def page(view: View, verb: Verb, number: int, labels: Labels, look: Look | None = None) -> Json:
    """One page of what `Verb.FULL` or `Verb.PREVIEW` shows, with Previous and Next."""
    everything = _everything(view, labels, look or Look())
    pages = packed(_previews(view) if verb is Verb.PREVIEW else everything)
    number = number if 0 <= number < len(pages) else 0
    parts = [c.text(pages[number])]
    if len(pages) > 1:
        parts.append(
            c.text(f"-# {escape(labels.page_of.format(page=number + 1, pages=len(pages)))}")
        )
        parts += c.rows(turning(view, verb, number, len(pages), labels))
    return c.message(parts, private=True)


def packed(blocks: Iterator[str]) -> list[str]:
    """Short blocks of markdown as few pages."""
    pages: list[str] = []
    for block in blocks:
        if pages and units(pages[-1]) + units(block) + 1 <= ROOM:
            pages[-1] += f"\n{block}"
        else:
            pages.append(block)
    return pages or [escape("…")]


def _everything(view: View, labels: Labels, look: Look) -> Iterator[str]:
    yield from pieces(messages.asks_line(view, labels))
    if view.prompt is not None:
        if selected := selection(view.prompt, look):
            yield from pieces(f"☑ {selected}")
        yield from _question(view.prompt.question)
        yield from pieces(outline.prefilled(view.prompt, labels))
    elif view.outcome is not None:
        yield from pieces(messages.ended_by(view, labels))
    for line in view.lines:
        yield from _titled(line.question.text, answer_text(line, labels))
    if view.reply:
        yield from pieces(view.reply)


def _question(question: Question) -> Iterator[str]:
    yield from pieces(question.header or "")
    yield from pieces(question.context or "")
    yield from _titled(question.text, "")
    for i, option in enumerate(question.options):
        yield from _titled(f"{i + 1}. {option.label}", option.description or "")
    if question.answer_type is AnswerType.SCHEMA:
        yield from _schema(question)


def _schema(question: Question) -> Iterator[str]:
    fields = fields_of(question.json_schema)
    if fields is None:
        yield from pieces(json.dumps(question.json_schema, ensure_ascii=False, indent=1))
        return
    for field in fields:
        yield from _titled(field.title, field.description or "")
        for i, choice in enumerate(field.choices):
            note = f" — {choice.description}" if choice.description else ""
            yield from pieces(f"{i + 1}. {choice.title}{note}")


def _previews(view: View) -> Iterator[str]:
    question = view.prompt.question if view.prompt else None
    for i, option in enumerate(question.options if question else ()):
        if option.preview:
            yield from _titled(f"{i + 1}. {option.label}", option.preview)


def _titled(title: str, body: str) -> Iterator[str]:
    yield from (f"**{piece}**" for piece in pieces(title))
    yield from pieces(body)
