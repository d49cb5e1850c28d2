"""Words in place of the pictures that a text places, for surfaces that show them elsewhere, or only name them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from answerback.core.file_references import (
    REFERENCE,
    paragraphs,
    placed_files,
    split_at_pictures,
)
from answerback.core.files import AttachedFile, numbered_pictures
from answerback.core.form import ContextFormat, Option, Question
from answerback.core.labels import Labels
from answerback.core.markdown import Span, parse

_MARK: Final = "\ue000"
"""Stands, with a number, for a reference while a text is read. A private character has no meaning in Markdown."""
_MARKED: Final = re.compile(f"{_MARK}(\\d+){_MARK}")
_SIDE_BY_SIDE: Final = re.compile(f"({_MARK}(\\d+){_MARK})[ \\t]+(?={_MARK}(\\d+){_MARK})")


def question_in_words(
    question: Question,
    files: Iterable[AttachedFile],
    context_format: ContextFormat,
    labels: Labels,
) -> Question:
    """Return a question with words in place of the pictures that its context and previews place."""
    context, files = question.context, [*files]
    if context and context_format == "markdown":
        context = pictures_in_words(context, files, labels)
    options = tuple(option_in_words(each, files, labels) for each in question.options)
    return question.model_copy(update={"context": context, "options": options})


def option_in_words(option: Option, files: Iterable[AttachedFile], labels: Labels) -> Option:
    """Return an option with words in place of the pictures of its preview.

    If that is only a picture, which is in sight, there is nothing to open: the option says which picture it is.
    """
    if not option.preview:
        return option
    files = [*files]
    preview = pictures_in_words(option.preview, files, labels)
    if not _is_only_a_picture(option.preview, files):
        return option.model_copy(update={"preview": preview})
    said = "\n".join(filter(None, (option.description, preview.strip())))
    return option.model_copy(update={"description": said, "preview": None})


def pictures_in_words(source: str, files: Iterable[AttachedFile], labels: Labels) -> str:
    """Return a Markdown text with words in place of the pictures that it places.

    What is not a reference to one of the files, or stands in code, stays as it is written.
    """
    if "](file:" not in source or _MARK in source:
        return source
    files = [*files]
    numbers = numbered_pictures(files)
    references = [match[0] for match in REFERENCE.finditer(source)]
    found = iter(range(len(references)))
    marked = REFERENCE.sub(lambda _: f"{_MARK}{next(found)}{_MARK}", source)
    texts: dict[int, str] = {}
    for spans in paragraphs(parse(marked)):
        for span in spans:
            if span != Span(span.text):
                continue
            for match in _MARKED.finditer(span.text):
                reference = references[int(match[1])]
                for part in split_at_pictures((Span(reference),), files):
                    if not isinstance(part, Span):
                        texts[int(match[1])] = _words(*part, numbers, labels)

    def with_dot(match: re.Match[str]) -> str:
        are_both = int(match[2]) in texts and int(match[3]) in texts
        return f"{match[1]} · " if are_both else match[0]

    return _MARKED.sub(
        lambda match: texts.get(int(match[1]), references[int(match[1])]),
        _SIDE_BY_SIDE.sub(with_dot, marked),
    )


def _is_only_a_picture(source: str, files: Iterable[AttachedFile]) -> bool:
    """Return True if a Markdown text places one picture, and says nothing else."""
    return bool(REFERENCE.fullmatch(source.strip()) and any(placed_files(source, files)))


def _words(file: AttachedFile, called: str, numbers: Mapping[str, int], labels: Labels) -> str:
    if len(numbers) == 1:
        return labels.only_picture_here.format(name=called)
    return labels.picture_here.format(number=numbers[file.id], name=called)
