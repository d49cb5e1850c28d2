"""What is asked for in a modal, or in several in a row, as slots: each is one input. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from pydantic import JsonValue

from answerback.core.schema_fields import Field
from answerback_discord import limits

Values: TypeAlias = Mapping[str, JsonValue]
"""What stands in the slots, by slot name: a text, a list of chosen indexes (as text), or null."""


class InputKind(Enum):
    """Which input a slot is."""

    LINE = auto()
    LINES = auto()
    RADIO = auto()
    BOXES = auto()
    MENU = auto()


@dataclass(frozen=True, slots=True)
class ModalInput:
    """One input of a modal."""

    name: str
    """The place of its field, and behind a dot the part of a divided text."""
    kind: InputKind
    label: str
    description: str = ""
    required: bool = False
    start: JsonValue = None
    options: tuple[tuple[str, str], ...] = ()
    """Label and description of each."""
    least: int = 0
    most: int = 1
    several: bool = False
    placeholder: str = ""
    lengths: tuple[int | None, int | None] = (None, None)
    """The least and the most characters of a text that is not empty; None: unbounded."""

    @property
    def field(self) -> int:
        """The place of the field that this is an input (or a part) of."""
        return int(self.name.partition(".")[0])


@dataclass(frozen=True, slots=True)
class ModalSpec:
    """All inputs of one modal, or of several in a row."""

    title: str
    intro: str
    """What stands above the inputs, verbatim; empty: nothing."""
    slots: tuple[ModalInput, ...]
    fields: tuple[Field, ...] = ()
    code: bool = False
    """Whether the intro is code."""

    def pages(self) -> list[tuple[ModalInput, ...]]:
        """The slots, a modal each."""
        size = limits.MODAL_COMPONENTS - bool(self.intro)
        return [self.slots[i : i + size] for i in range(0, len(self.slots), size)]

    def page_with(self, pointer: str) -> int:
        """The page on which the field of a mistake is; the first where it is of none."""
        name = pointer.removeprefix("/").split("/")[0].replace("~1", "/").replace("~0", "~")
        place = next((i for i, field in enumerate(self.fields) if field.name == name), 0)
        pages = self.pages()
        return next((n for n, page in enumerate(pages) if any(s.field == place for s in page)), 0)
