"""The inputs of a form: a text, a choice or a schema's field as a platform of given limits can show it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from sys import maxsize
from typing import Final, NamedTuple

from answerback.core.labels import Labels
from answerback.core.schema_field_values import (
    FieldEntry,
    entries_from_value,
    is_blank_row,
    needs_entry,
)
from answerback.core.schema_fields import Field, FieldKind
from answerback.presentation.divided_texts import divide_text
from answerback.presentation.field_bounds import describe_constraints
from answerback.presentation.text_fitting import fits_line, utf16_length
from answerback_base.sanitize import one_line, unseen


class InputKind(Enum):
    LINE = auto()
    TEXT = auto()
    ONE = auto()
    SEVERAL = auto()
    ROWS = auto()
    """Rows of inputs, one for each column of its field."""
    PERSON = auto()
    """An id of a person on the surface; the choices are those who can be named by a number."""


class FormLimits(NamedTuple):
    """The sizes of a platform's inputs: in UTF-16 units, unless another unit is named."""

    label: int = maxsize
    hint: int = maxsize
    option: int = maxsize
    description: int = maxsize
    text: int = maxsize
    """Longer initial texts are divided among several inputs."""
    editable: int = maxsize
    """Longer initial texts cannot be edited, and are left out."""
    menu: int = maxsize
    """Choices of one menu; one of more is typed."""
    fields: int = maxsize
    """A schema of more fields is answered as JSON."""
    schema: int = 0
    """Units of a schema that are shown beside its JSON editor."""
    one_line: bool = False
    """True if labels and hints have one line."""
    has_constraints: bool = False
    """True if a hint includes the constraints of its field."""
    lists_choices: bool = False
    """True if choices that a menu cuts are listed in full in the form."""
    has_selection: bool = False
    """True if the form of a text beside the selection has the selection too."""


NO_LIMITS: Final = FormLimits()


class InputChoice(NamedTuple):
    label: str
    description: str


@dataclass(frozen=True, slots=True)
class Input:
    """One input, or one of several that a long text is divided among."""

    id: str
    """The position in the form; for part of a text followed by a dot and the id of the part."""
    kind: InputKind
    label: str
    hint: str = ""
    required: bool = False
    start: FieldEntry = None
    """The initial text, the indexes of the initially chosen choices, or the initial rows."""
    choices: tuple[InputChoice, ...] = ()
    """The choices of a menu; of an input for text, those that can be typed by number or label."""
    numbered: bool = False
    """True if the labels of the choices are numbered, because some of them are cut or look alike."""
    field: Field | None = None
    kept: str = ""
    """The text that stays as it is if nothing is entered, because it is too long to be edited here."""
    part: tuple[int, int] | None = None
    """The number of this part of a text, and of all parts."""
    is_cut: bool = False
    """True if the form does not show all of the label, the hint and the choices."""

    @property
    def position(self) -> int:
        """The position of the whole input in the form."""
        return int(self.id.partition(".")[0])

    @property
    def is_typed(self) -> bool:
        """True if a text is entered."""
        return self.kind in {InputKind.LINE, InputKind.TEXT, InputKind.PERSON}

    @property
    def unseen(self) -> str | None:
        """The initial text with its invisible characters spelled out; None if it has none."""
        return unseen(self.start) if isinstance(self.start, str) else None


def field_inputs(
    fields: Sequence[Field], entries: Mapping[str, FieldEntry], labels: Labels, limits: FormLimits
) -> tuple[Input, ...]:
    """Return the inputs of these fields, filled with their entries."""
    return tuple(
        each
        for i, field in enumerate(fields)
        for each in _field_inputs(i, field, entries.get(field.name), labels, limits)
    )


def _field_inputs(
    position: int, field: Field, entry: FieldEntry, labels: Labels, limits: FormLimits
) -> tuple[Input, ...]:
    constraints = describe_constraints(field, labels) if limits.has_constraints else None
    hint = " · ".join(part for part in (field.description, constraints) if part and part.strip())
    made = Input(
        str(position), InputKind.TEXT, field.title, hint, needs_entry(field), entry, field=field
    )
    fits = fits_line if limits.one_line else _fits
    made = replace(made, is_cut=not (fits(field.title, limits.label) and fits(hint, limits.hint)))
    if field.kind is FieldKind.ROWS:
        rows = entry if isinstance(entry, tuple) and entry else _first_rows(field)
        return (replace(made, kind=InputKind.ROWS, start=rows),)
    if field.kind is FieldKind.BOOLEAN:
        chosen = [] if entry is None else [0 if entry else 1]
        answers = [(labels.yes, ""), (labels.no, "")]
        return input_of_choices(replace(made, kind=InputKind.ONE, start=chosen), answers, limits)
    if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
        kind = InputKind.SEVERAL if field.kind is FieldKind.CHOICES else InputKind.ONE
        chosen = entry if isinstance(entry, list) else []
        named = [(choice.title, choice.description or "") for choice in field.choices]
        return input_of_choices(replace(made, kind=kind, start=chosen), named, limits)
    return divide_input(made, limits)


def _first_rows(field: Field) -> tuple[Mapping[str, FieldEntry], ...]:
    """Return as many rows as are needed. One more to begin with, unless it would count although nobody filled it in."""
    row = entries_from_value(field.columns, None)
    first = 1 if is_blank_row(field, row) and field.default is None else 0
    return (row,) * max(field.min_items, first)


def _fits(text: str, limit: int) -> bool:
    return utf16_length(text) <= limit


def input_of_choices(
    made: Input, named: Sequence[tuple[str, str]], limits: FormLimits
) -> tuple[Input, ...]:
    """The input with these choices, label and description each: a menu, or a text if a menu cannot hold them."""
    lines = [one_line(label) for label, _ in named]
    if len(named) > limits.menu:
        chosen = made.start if isinstance(made.start, list) else []
        start = "\n".join(f"{i + 1}. {lines[i]}" for i in chosen)
        kind = InputKind.TEXT if made.kind is InputKind.SEVERAL else InputKind.LINE
        choices = tuple(
            InputChoice(label, text) for label, (_, text) in zip(lines, named, strict=True)
        )
        return divide_input(
            replace(made, kind=kind, start=start, choices=choices, is_cut=True), limits
        )
    fit = all(
        fits_line(label, limits.option) and fits_line(text, limits.description)
        for label, text in named
    )
    numbered = not fit or len(set(lines)) < len(lines)
    choices = tuple(
        InputChoice(f"{i}. {line}" if numbered else line, text)
        for i, (line, (_, text)) in enumerate(zip(lines, named, strict=True), 1)
    )
    is_cut = made.is_cut or not (fit or limits.lists_choices)
    return (replace(made, choices=choices, numbered=numbered, is_cut=is_cut),)


def divide_input(whole: Input, limits: FormLimits, *, is_json: bool = False) -> tuple[Input, ...]:
    """Divide a text among as many inputs as it needs."""
    text = whole.start if isinstance(whole.start, str) else ""
    parts = divide_text(text, limits.text, blanks_are_layout=is_json)
    if len(parts) == 1:
        return (whole,)
    return tuple(
        replace(
            whole,
            id=f"{whole.id}.{suffix}",
            kind=InputKind.TEXT,
            required=False,
            start=part,
            part=(n, len(parts)),
        )
        for n, (suffix, part) in enumerate(parts.items(), 1)
    )
