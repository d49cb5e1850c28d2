"""The form: what is asked, as frozen values. Owns the shapes and their bounds; reads no call and checks no answer."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue

MAX_QUESTIONS: Final = 100
"""Questions of a form."""
MAX_OPTIONS: Final = 1_000
"""Options of a question."""
MAX_TEXT: Final = 20_000
"""Characters (code points) of a question's text, its context, a description or a preview."""
MAX_LABEL: Final = 1_000
"""Characters (code points) of a label, an option's value or an id."""
MAX_SCHEMA_DEPTH: Final = 32
"""Levels of arrays and objects in a JSON Schema."""
MAX_SCHEMA_BYTES: Final = 64 * 1024
"""Bytes of a JSON Schema in UTF-8, without blanks."""


ContextFormat: TypeAlias = Literal["markdown", "text"]
"""How a context is to be read: as Markdown, or as the text that it is."""


class AnswerType(StrEnum):
    """What kind of value answers a question."""

    BOOLEAN = "boolean"
    SELECT = "select"
    MULTI_SELECT = "multi_select"
    TEXT = "text"
    SCHEMA = "schema"


class Persistence(StrEnum):
    """How long an answer may be reused without asking: never, or for the agent's turn."""

    NONE = "none"
    TURN = "turn"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Option(_Frozen):
    """One choice: ``value`` goes to the agent, ``label`` is shown; ``preview`` is markdown shown on demand."""

    value: str
    label: str
    description: str | None = None
    preview: str | None = None


class When(_Frozen):
    """Ask only if the answer to ``question_id`` equals ``equals`` (None: only if it was skipped)."""

    question_id: str
    equals: JsonValue


class Question(_Frozen):
    """One question of a form."""

    id: str
    text: str
    answer_type: AnswerType
    context: str | None = None
    header: str | None = None
    """A short title some dialects give beside the question."""
    options: tuple[Option, ...] = ()
    json_schema: JsonValue = None
    """The JSON Schema of a schema question; None for every other type."""
    default: JsonValue = None
    has_default: bool = False
    when: When | None = None
    other: bool = False
    """Whether "Something else…" is offered beside the options."""
    other_beside: bool = False
    """Whether the words of "Something else…" stand beside what is selected; else they replace it."""
    notes: bool = False
    """Whether a note may stand beside what is chosen."""
    exclusive: bool = True
    """Whether only a person may answer."""
    persistence: Persistence = Persistence.NONE
    null_is_left_out: bool = False
    """Of a schema question: whether a field that need not be there and is answered null counts as left out."""
    tool: str | None = None
    """The tool that the agent asks leave to use."""

    @property
    def can_be_remembered(self) -> bool:
        """Whether the plain two buttons get a "for this turn" twin each."""
        return self.persistence is Persistence.TURN and self.answer_type is AnswerType.BOOLEAN

    def option(self, value: JsonValue) -> Option | None:
        """The option that has this value, or None."""
        return next((o for o in self.options if o.value == value), None)


class Form(_Frozen):
    """The questions of one tool call, in order, with what its dialect adds to walking them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: tuple[Question, ...]
    review: bool = False
    """Whether a form of more than one question ends in a review before it is submitted."""
    reply_needs_text: bool = False
    """Whether Reply is refused without words."""
    reply_is_free_text: bool = False
    """Whether what a person types instead of answering ends the ask as its free text."""
    tool: str | None = None
    """The tool on whose behalf the question is put; None when the assistant itself asks."""
    context_format: ContextFormat = "markdown"
    decided_by_hand: bool = False
    """Whether no default is ever an answer, also not at a deadline: a default is only what a prompt starts from."""
