"""The spec of a modal, or of several in a row, as a list of slots, each of which is one input. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from pydantic import JsonValue

from answerback.core.schema_fields import Field
from answerback_discord import limits

Values: TypeAlias = Mapping[str, JsonValue]
"""The values of the slots, by slot name: a text, a list of chosen indexes (as strings), or null."""


class InputKind(Enum):
    """The kind of input that a slot is."""

    LINE = auto()
    LINES = auto()
    RADIO = auto()
    BOXES = auto()
    MENU = auto()


@dataclass(frozen=True, slots=True)
class ModalInput:
    """One input of a modal."""

    name: str
    """The index of its field, followed for part of a divided text by a dot and the part's number."""
    kind: InputKind
    label: str
    description: str = ""
    required: bool = False
    start: JsonValue = None
    options: tuple[tuple[str, str], ...] = ()
    """The label and description of each option."""
    least: int = 0
    most: int = 1
    several: bool = False
    placeholder: str = ""
    lengths: tuple[int | None, int | None] = (None, None)
    """The minimum and maximum characters of a non-empty text; None means unbounded."""

    @property
    def field(self) -> int:
        """The index of the field that this input, or part of a text, belongs to."""
        return int(self.name.partition(".")[0])


@dataclass(frozen=True, slots=True)
class ModalSpec:
    """All inputs of one modal, or of several in a row."""

    title: str
    intro: str
    """The text above the inputs, verbatim; empty for none."""
    slots: tuple[ModalInput, ...]
    fields: tuple[Field, ...] = ()
    code: bool = False
    """Whether the intro is code."""

    def pages(self) -> list[tuple[ModalInput, ...]]:
        """Return the slots of each modal."""
        size = limits.MODAL_COMPONENTS - bool(self.intro)
        return [self.slots[i : i + size] for i in range(0, len(self.slots), size)]

    def page_with(self, pointer: str) -> int:
        """Return the index of the page with the field that a problem points to, or 0 if it points to no field."""
        name = pointer.removeprefix("/").split("/")[0].replace("~1", "/").replace("~0", "~")
        index = next((i for i, field in enumerate(self.fields) if field.name == name), 0)
        pages = self.pages()
        return next((n for n, page in enumerate(pages) if any(s.field == index for s in page)), 0)
