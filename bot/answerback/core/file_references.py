"""Where Markdown texts place pictures, as ``![Before](file:before.png)``, and which files no text places. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from answerback.core.files import AttachedFile
from answerback.core.form import Form
from answerback.core.markdown import Block, List, Paragraph, Quote, Span, Spans, parse

REFERENCE: Final = re.compile(r"!\[([^\]\n]*)\]\(file:(?:<([^>\n]+)>|([^\s()]+))\)")


def split_at_pictures(
    spans: Spans, files: Iterable[AttachedFile]
) -> Iterator[Span | tuple[AttachedFile, str]]:
    """Yield a paragraph's texts, and the pictures that it places, each with what the text calls it."""
    by_name: dict[str, AttachedFile] = {}
    for each in files:
        if each.is_picture:
            by_name.setdefault(each.name, each)
    for span in spans:
        if span != Span(span.text):  # code, for one, is shown as it is written
            yield span
            continue
        end = 0
        for match in REFERENCE.finditer(span.text):
            named = match[2] or match[3]
            file = by_name.get(named) or by_name.get(unquote(named))
            if file is not None:
                yield Span(span.text[end : match.start()])
                yield file, match[1].strip() or file.label
                end = match.end()
        yield Span(span.text[end:])


def placed_files(source: str, files: Iterable[AttachedFile]) -> Iterator[AttachedFile]:
    """Yield the pictures that a Markdown text places."""
    if "](file:" in source:
        for spans in paragraphs(parse(source)):
            for part in split_at_pictures(spans, files):
                if not isinstance(part, Span):
                    yield part[0]


def unplaced_files(form: Form, files: Iterable[AttachedFile]) -> list[AttachedFile]:
    """Return the files that no context or preview of a form places."""
    files = [*files]
    texts: list[str | None] = []
    for question in form.questions:
        texts += [option.preview for option in question.options]
        texts += [question.context] if form.context_format == "markdown" else []
    placed = {found.id for text in texts if text for found in placed_files(text, files)}
    return [each for each in files if each.id not in placed]


def paragraphs(blocks: Iterable[Block]) -> Iterator[Spans]:
    for block in blocks:
        match block:
            case Paragraph(spans):
                yield spans
            case Quote(inner):
                yield from paragraphs(inner)
            case List(items):
                for item in items:
                    yield from paragraphs(item.blocks)
            case _:
                pass
