"""Read the entries of a schema's inputs from a form post, and its rows; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from answerback.core.schema_field_values import FieldEntry, is_blank_row
from answerback.core.schema_fields import Field, FieldKind
from answerback.presentation.form_values import FormValues
from answerback_web.form_inputs import BOOLEAN_VALUES
from answerback_web.posts import PageAction, Post


def parse_entries(post: Post, fields: Sequence[Field]) -> FormValues:
    """Return what was entered in the inputs of a flat schema, by position; the page names them ``f0``, ``f1``, …"""
    return {str(i): _entry(post, f"f{i}", field) for i, field in enumerate(fields)}


def row_keys(post: Post, name: str) -> list[str]:
    """Return the keys of the rows of a field in a post, in order."""
    sent = dict.fromkeys(post.all_values(f"{name}.row"))
    return [key for key in sent if key.isascii() and key.isdecimal() and len(key) < 10]


def filled_row_keys(post: Post, name: str, field: Field) -> list[str]:
    """Return the keys of those rows in which something is entered: the others are not sent."""
    keys = row_keys(post, name)
    return [key for key in keys if not is_blank_row(field, _row(post, name, key, field))]


def _row(post: Post, name: str, key: str, field: Field) -> dict[str, FieldEntry]:
    row: dict[str, FieldEntry] = {}
    for i, column in enumerate(field.columns):
        entry = _entry(post, f"{name}.{key}.{i}", column)
        is_answer = column.kind is FieldKind.BOOLEAN and isinstance(entry, list)
        row[column.name] = entry == [0] if is_answer else entry
    return row


def added_row(post: Post) -> str | None:
    """Return the name of the field to which a row was added."""
    return post.first("do").partition(":")[2] if post.do is PageAction.ADD_ROW else None


def with_changed_rows(post: Post) -> Post:
    """Return a post with one row more, or one less."""
    name, _, key = post.first("do").partition(":")[2].partition(".")
    keys = row_keys(post, name)
    if post.do is PageAction.REMOVE_ROW:
        keys = [each for each in keys if each != key]
    else:
        keys.append(str(max(map(int, keys), default=-1) + 1))
    return replace(post, fields={**post.fields, f"{name}.row": tuple(keys)})


def _entry(post: Post, name: str, field: Field) -> FieldEntry:
    if field.kind is FieldKind.ROWS:
        return tuple(_row(post, name, key, field) for key in row_keys(post, name))
    if field.kind is FieldKind.BOOLEAN:
        text = post.first(name)
        return [BOOLEAN_VALUES.index(text)] if text in BOOLEAN_VALUES else None
    if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
        # An index that was never offered becomes -1, so that it is rejected rather than ignored.
        sent = [text for text in post.all_values(name) if text]
        return [int(t) if t.isascii() and t.isdecimal() and len(t) < 6 else -1 for t in sent]
    return post.first(name)
