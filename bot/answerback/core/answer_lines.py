"""Answers as lines for people to read. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from answerback.core.files import AttachedFile
from answerback.core.form import AnswerType, Question
from answerback.core.given_answer import GivenAnswer
from answerback.core.labels import Labels
from answerback.core.schema_fields import Field, FieldKind, fields_from_schema, json_value_key
from answerback_base.strict_json import pretty_json


def answer_lines(question: Question, given: GivenAnswer, labels: Labels) -> list[str]:
    """Return an answer as lines for people, unabridged: at least one, such as an option or a field."""
    note = [] if given.note is None else [labels.noted.format(text=given.note)]
    files = [files_in_words(given.files, labels)] if given.files else []
    return [*_answer_texts(question, given, labels), *_edited_lines(given, labels), *note, *files]


def files_in_words(files: Sequence[AttachedFile], labels: Labels) -> str:
    """Return what a person sent with an answer, on one line."""
    return labels.sent_files.format(names=" · ".join(each.in_words for each in files))


def _edited_lines(given: GivenAnswer, labels: Labels) -> list[str]:
    """Say what a person changed before they allowed it, a line for each line of the difference."""
    if given.edited is None:
        return []
    return [labels.edited, *given.edited.difference.split("\n")]


def _answer_texts(question: Question, given: GivenAnswer, labels: Labels) -> list[str]:
    value, kind = given.value, question.answer_type
    if kind is AnswerType.SCHEMA:
        return schema_lines(question, value, labels)
    if kind is AnswerType.BOOLEAN:
        if given.remembered:
            return [labels.yes_for_turn if value else labels.no_for_turn]
        yes, no = labels.yes_no(consent=question.consent)
        return [yes if value else no]
    if isinstance(value, str):
        option = None if given.other else question.option(value)
        return [option.label if option else value or labels.none_chosen]
    chosen = given.chosen if isinstance(given.chosen, list) else []
    named = {option.value: option.label for option in question.options}
    rows = [named[item] for item in chosen if isinstance(item, str) and item in named]
    return [*rows, *([given.other_text] if given.other_text else [])] or [labels.none_chosen]


def schema_lines(question: Question, value: JsonValue, labels: Labels) -> list[str]:
    """Return a schema answer as lines of field titles and values, or as JSON if it has no fields."""
    fields = fields_from_schema(question.json_schema, rows=True)
    if fields is None:
        return [pretty_json(value)]
    if fields[0].is_whole:
        return _entry_lines(fields[0], value, labels)
    return _object_lines(fields, value, labels)


def _object_lines(fields: Sequence[Field], value: JsonValue, labels: Labels) -> list[str]:
    entries = value if isinstance(value, dict) else {}
    titles = {field.name: field for field in fields}
    lines: list[str] = []
    for name, field in titles.items():
        texts = _entry_lines(field, entries[name], labels) if name in entries else []
        is_numbered = field.kind is FieldKind.ROWS and bool(entries.get(name))
        lines += [
            f"{field.title} {n}: {text}" if is_numbered else f"{field.title}: {text}"
            for n, text in enumerate(texts, 1)
        ]
    lines += [f"{key}: {pretty_json(each)}" for key, each in entries.items() if key not in titles]
    return lines or [labels.none_chosen]


def _entry_lines(field: Field, value: JsonValue, labels: Labels) -> list[str]:
    """Return a field's value: one line, or one a row."""
    if field.kind is FieldKind.ROWS and isinstance(value, list) and value:
        return [", ".join(_object_lines(field.columns, row, labels)) for row in value]
    return [_format_entry(field, value, labels)]


def _format_entry(field: Field, value: JsonValue, labels: Labels) -> str:
    if value is None or value in ([], ""):
        return labels.none_chosen
    if field.kind is FieldKind.BOOLEAN:
        return labels.yes if value else labels.no
    if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
        chosen = value if field.kind is FieldKind.CHOICES and isinstance(value, list) else [value]
        titles = {json_value_key(choice.value): choice.title for choice in field.choices}
        return ", ".join(titles.get(json_value_key(each)) or pretty_json(each) for each in chosen)
    return value if isinstance(value, str) else pretty_json(value)
