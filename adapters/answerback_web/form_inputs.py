"""The native inputs of a flat schema, and choices, as plain values for the templates; pure.

Inputs are named by their index (``f0``, ``f1``, …), because a property can have any name. Those of a row have the
index of its field, the row's key and the index of the column: ``f1.0.2``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from markupsafe import Markup

from answerback.core.labels import Labels
from answerback.core.schema_field_values import entries_from_value
from answerback.core.schema_fields import Field, FieldKind
from answerback.presentation.field_bounds import describe_format
from answerback.presentation.form_inputs import NO_LIMITS, field_inputs
from answerback.presentation.form_inputs import Input as FormInput
from answerback.presentation.form_spec import most_rows
from answerback_base.sanitize import one_line, visible
from answerback_web import limits


class Widget(StrEnum):
    LINE = "line"
    AREA = "area"
    """Grows with its text."""
    RADIOS = "radios"
    MENU = "menu"
    CHECKS = "checks"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice; ``value`` is the form value it submits."""

    value: str
    label: str
    chosen: bool
    description: str | None = None
    preview: Markup | None = None
    is_seen: bool = False
    """True if the preview is open: it has a picture, by which people choose."""
    key: str | None = None
    recommended: bool = False
    """True if the choice is marked as recommended."""
    is_default: bool = False
    denies: bool = False
    lasts: bool = False
    """True if it allows more than what is asked now."""
    shortcut: str | None = None
    """The key that chooses it where the ask is opened in the inbox."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object of an array; ``key`` is part of the names of its inputs, and stays while other rows come and go."""

    key: str
    inputs: tuple[Input, ...]


@dataclass(frozen=True, slots=True)
class Input:
    id: str
    label: str
    description: str | None
    required: bool
    widget: Widget
    bounds: str | None = None
    value: str = ""
    unseen: str | None = None
    """The value spelled out, if it has invisible characters."""
    type: str = "text"
    mode: str | None = None
    """The keyboard that a phone shows."""
    example: str | None = None
    choices: tuple[Choice, ...] = ()
    rows: tuple[Row, ...] = ()
    new_row: Row | None = None
    """The row that is added on demand."""
    most_rows: int = 0


NEW_ROW: Final = "new"
"""The key of a row that is not there yet."""
BOOLEAN_VALUES: Final = ("true", "false")
"""The values that the choices of a boolean submit."""
_TYPES: Final = {FieldKind.EMAIL: "email", FieldKind.URI: "url", FieldKind.DATE: "date"}
_MODES: Final = {FieldKind.INTEGER: "numeric", FieldKind.NUMBER: "decimal"}
_EXAMPLES: Final = {
    FieldKind.EMAIL: "name@example.com",
    FieldKind.URI: "https://example.com",
    FieldKind.DATE_TIME: "2026-05-31T14:30:00Z",
}


def inputs_of(
    inputs: Sequence[FormInput],
    labels: Labels,
    prefix: str = "f",
    row_keys: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Input, ...]:
    """Return the inputs as the page shows them.

    Args:
        row_keys: the keys of the rows that were posted, by the id of their input; None: they are new.
    """
    return tuple(
        _input_of_rows(each, each.field, labels, (row_keys or {}).get(f"{prefix}{each.position}"))
        if each.field.kind is FieldKind.ROWS
        else _input(each, each.field, labels, prefix)
        for each in inputs
        if each.field is not None
    )


def _input_of_rows(
    each: FormInput, field: Field, labels: Labels, keys: Sequence[str] | None
) -> Input:
    made = _input(each, field, labels, "f")
    entries = each.start if isinstance(each.start, tuple) else ()
    names = map(str, range(len(entries))) if keys is None else keys
    new = entries_from_value(field.columns, None)
    named = [*zip(names, entries, strict=True), (NEW_ROW, new)]
    rows = [
        Row(
            key,
            inputs_of(
                field_inputs(field.columns, row, labels, NO_LIMITS), labels, f"{made.id}.{key}."
            ),
        )
        for key, row in named
    ]
    return replace(
        made,
        widget=Widget.ROWS,
        rows=tuple(rows[:-1]),
        new_row=rows[-1],
        most_rows=most_rows(field, limits.MAX_ROW_INPUTS),
    )


def _input(each: FormInput, field: Field, labels: Labels, prefix: str) -> Input:
    choices = _choices(each, field, labels)
    text = each.start if isinstance(each.start, str) else ""
    return Input(
        id=f"{prefix}{each.position}",
        label=one_line(each.label),
        description=visible(each.hint) if each.hint else None,
        required=each.required,
        widget=_widget(field, text, len(choices)),
        bounds=describe_format(field, labels),
        value=text,
        unseen=each.unseen,
        type=_TYPES.get(field.kind, "text"),
        mode=_MODES.get(field.kind),
        example=_EXAMPLES.get(field.kind),
        choices=choices,
    )


def _widget(field: Field, text: str, choices: int) -> Widget:
    if field.kind is FieldKind.CHOICES:
        return Widget.CHECKS
    if choices:
        return Widget.RADIOS if choices <= limits.RADIOS_UP_TO else Widget.MENU
    short = field.max_length is not None and field.max_length <= limits.MAX_ONE_LINE
    if field.kind is FieldKind.TEXT and ("\n" in text or not (short or field.pattern)):
        return Widget.AREA
    return Widget.LINE


def _choices(each: FormInput, field: Field, labels: Labels) -> tuple[Choice, ...]:
    if not each.choices:
        return ()
    chosen = each.start if isinstance(each.start, list) else []
    if field.kind is FieldKind.BOOLEAN:
        choices = [
            Choice(value, choice.label, i in chosen)
            for i, (value, choice) in enumerate(zip(BOOLEAN_VALUES, each.choices, strict=True))
        ]
    else:
        choices = [
            Choice(
                str(i),
                visible(choice.title) or choice.title,
                i in chosen,
                visible(choice.description) if choice.description else None,
            )
            for i, choice in enumerate(field.choices)
        ]
    if field.kind is not FieldKind.CHOICES and not each.required:
        choices.append(Choice("", labels.none_chosen, not chosen))
    return tuple(choices)
