"""The native inputs of a flat schema, and choices, as plain values for the templates; pure.

Inputs are named by their index (``f0``, ``f1``, …), because a property can have any name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from markupsafe import Markup

from answerback.core.labels import Labels
from answerback.core.schema_field_values import FieldEntry
from answerback.core.schema_fields import Field, FieldKind
from answerback.presentation.field_bounds import describe_bounds
from answerback.presentation.sanitize import one_line, unseen, visible
from answerback_web import limits


class Widget(StrEnum):
    """The kind of control for an input."""

    LINE = "line"
    AREA = "area"
    """Grows with its text."""
    RADIOS = "radios"
    MENU = "menu"
    CHECKS = "checks"


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice; ``value`` is the form value it submits."""

    value: str
    label: str
    chosen: bool
    description: str | None = None
    preview: Markup | None = None
    key: str | None = None
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a flat schema."""

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


_TYPES: Final = {FieldKind.EMAIL: "email", FieldKind.URI: "url", FieldKind.DATE: "date"}
_MODES: Final = {FieldKind.INTEGER: "numeric", FieldKind.NUMBER: "decimal"}
_EXAMPLES: Final = {
    FieldKind.EMAIL: "name@example.com",
    FieldKind.URI: "https://example.com",
    FieldKind.DATE_TIME: "2026-05-31T14:30:00Z",
}


def inputs_of(
    fields: tuple[Field, ...], entries: dict[str, FieldEntry], labels: Labels
) -> tuple[Input, ...]:
    """Return the inputs of these fields, filled with their entries."""
    return tuple(
        _input(f"f{i}", field, entries[field.name], labels) for i, field in enumerate(fields)
    )


def _input(name: str, field: Field, entry: FieldEntry, labels: Labels) -> Input:
    choices = _choices(field, entry, labels)
    text = entry if isinstance(entry, str) else ""
    return Input(
        id=name,
        label=one_line(field.title) or field.pointer,
        description=visible(field.description) if field.description else None,
        required=field.required and not field.nullable,
        widget=_widget(field, text, len(choices)),
        bounds=describe_bounds(field, labels),
        value=text,
        unseen=unseen(text),
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


def _choices(field: Field, entry: FieldEntry, labels: Labels) -> tuple[Choice, ...]:
    if field.kind is FieldKind.BOOLEAN:
        choices = [
            Choice("true", labels.yes, entry is True),
            Choice("false", labels.no, entry is False),
        ]
    elif field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
        chosen = entry if isinstance(entry, list) else []
        choices = [
            Choice(
                str(i),
                visible(choice.title) or choice.title,
                i in chosen,
                visible(choice.description) if choice.description else None,
            )
            for i, choice in enumerate(field.choices)
        ]
    else:
        return ()
    if field.kind is not FieldKind.CHOICES and (field.nullable or not field.required):
        choices.append(Choice("", labels.none_chosen, entry is None or entry == []))
    return tuple(choices)
