"""The form as frozen values. Defines the shapes and their limits; does not parse calls or check answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from pydantic import JsonValue

from answerback.core.confirmation import ConfirmationRule
from answerback.core.files import AttachedFile
from answerback.core.person import FrozenModel

MAX_QUESTIONS: Final = 100
"""Questions per form."""
MAX_OPTIONS: Final = 1_000
"""Options per question."""
MAX_TEXT: Final = 20_000
"""Characters (code points) in a question's text, its context, a description or a preview."""
MAX_PLAN: Final = 250_000
"""Characters (code points) in the context of a plan, which is a document that people read whole."""
MAX_LABEL: Final = 1_000
"""Characters (code points) in a label, an option's value or an id."""
MAX_SCHEMA_DEPTH: Final = 32
"""Levels of nested arrays and objects in a JSON Schema."""
MAX_SCHEMA_BYTES: Final = 64 * 1024
"""Bytes of a JSON Schema in UTF-8, without whitespace."""


ContextFormat: TypeAlias = Literal["markdown", "text"]
"""The format of a context: Markdown or plain text."""


class AnswerType(StrEnum):
    """The type of value that answers a question."""

    BOOLEAN = "boolean"
    SELECT = "select"
    MULTI_SELECT = "multi_select"
    TEXT = "text"
    SCHEMA = "schema"


class Persistence(StrEnum):
    """The time for which an answer may be reused without asking again: never, or for the agent's turn."""

    NONE = "none"
    TURN = "turn"


class OptionKind(StrEnum):
    """The effect of an option of a permission prompt."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    """Allows this use and further ones, as its label says."""
    OTHER = "other"
    DENY = "deny"


class Option(FrozenModel):
    """One choice: ``value`` goes to the agent, ``label`` is shown, ``preview`` is Markdown shown on demand."""

    value: str
    label: str
    description: str | None = None
    preview: str | None = None
    kind: OptionKind | None = None
    """None where no permission is asked for."""
    lasting: bool = False
    """True if it denies further uses as well, as its label says."""


class When(FrozenModel):
    """Ask only if the answer to ``question_id`` equals ``equals`` (None: only if it was skipped)."""

    question_id: str
    equals: JsonValue


class NoteReach(StrEnum):
    """When the agent's model reads a note that goes with a choice. The record and the ask's JSON always have it."""

    ALWAYS = "always"
    DENIED = "denied"
    """With a choice that denies: for any other, the agent's host has no place for words."""
    NEVER = "never"


class Question(FrozenModel):
    """A question of one step of a form, and the answers that fit it."""

    id: str
    text: str
    answer_type: AnswerType
    context: str | None = None
    header: str | None = None
    """A short title that some dialects send with the question."""
    options: tuple[Option, ...] = ()
    json_schema: JsonValue = None
    """The JSON Schema of a schema question; None for every other type."""
    default: JsonValue = None
    has_default: bool = False
    when: When | None = None
    other: bool = False
    """True if "Something else…" is offered along with the options."""
    other_beside: bool = False
    """True if the "Something else…" text is added to the selected options; if not, it replaces them."""
    notes: bool = False
    """True if a note may go with the choice."""
    note_reach: NoteReach = NoteReach.ALWAYS
    exclusive: bool = True
    """True if only a person may answer."""
    persistence: Persistence = Persistence.NONE
    null_is_left_out: bool = False
    """For a schema question, True if an optional field that is answered with null counts as left out."""
    tool: str | None = None
    """The tool that the agent asks permission to use."""
    nothing_known: bool = False
    """True if the agent's host did not say what would happen: people are asked once more before they allow it."""
    plan: bool = False
    """True if the agent presents a plan: not allowing it keeps the agent planning."""
    consent: bool = False
    """True if a boolean question asks for consent: its buttons are then Accept and Decline."""

    @property
    def can_be_remembered(self) -> bool:
        """True if the yes and no buttons each get a "for this turn" variant; never if only a person may answer."""
        is_boolean = self.answer_type is AnswerType.BOOLEAN
        return self.persistence is Persistence.TURN and is_boolean and not self.exclusive

    @property
    def is_approval(self) -> bool:
        """True if its options allow or deny something."""
        return any(each.kind is not None for each in self.options)

    def option(self, value: JsonValue) -> Option | None:
        return next((o for o in self.options if o.value == value), None)

    def sole_option(self, kind: OptionKind) -> Option | None:
        """Return the only option of a kind; None if there is none, or a choice. What denies for good does not count."""
        found = [each for each in self.options if each.kind is kind and not each.lasting]
        return found[0] if len(found) == 1 else None

    def with_default(self, value: JsonValue) -> Question:
        return self.model_copy(update={"default": value, "has_default": True})

    def allows_unseen(self, value: JsonValue) -> bool:
        """Return whether a choice would allow something of which nothing is known."""
        return self.nothing_known and self.kind_of(value) not in {None, OptionKind.DENY}

    def kind_of(self, value: JsonValue) -> OptionKind | None:
        """Return what a choice of this question does, in an approval."""
        chosen = self.option(value) if isinstance(value, str) else None
        return chosen.kind if chosen else None


class Form(FrozenModel):
    """The questions of one tool call, in order, and the rules that its dialect adds for walking them."""

    questions: tuple[Question, ...]
    review: bool = False
    """True if a form of more than one question ends in a review before it is submitted."""
    reply_needs_text: bool = False
    """True if a Reply without text is refused."""
    reply_is_free_text: bool = False
    """True if text typed instead of an answer ends the ask, as its free-text reply."""
    tool: str | None = None
    """The tool on whose behalf the question is asked; None if the assistant itself asks."""
    context_format: ContextFormat = "markdown"
    decided_by_hand: bool = False
    """True if only a person may decide: a default is just a prefill, never an answer, not even at a deadline."""
    confirmation: ConfirmationRule | None = None
    """The conditions for the answers to be confirmed; None: they need no confirmation."""

    def only_denies(self, values: Mapping[str, JsonValue]) -> bool:
        """Return True if all choices among the answers, by question id, deny. Only an approval has such options."""
        return set(self.kinds_of(values).values()) == {OptionKind.DENY}

    def kinds_of(self, values: Mapping[str, JsonValue]) -> dict[str, OptionKind]:
        """Return what the choices among the answers, by question id, do in an approval."""
        found = ((each.id, each.kind_of(values.get(each.id))) for each in self.questions)
        return {question_id: kind for question_id, kind in found if kind is not None}

    def question(self, question_id: str) -> Question | None:
        return next((each for each in self.questions if each.id == question_id), None)

    def digest_of(self, question: Question, files: Iterable[AttachedFile] = ()) -> str:
        """Return a digest of one of the questions as people see it: an answer is reused for that question alone, with
        the same files."""
        shown: list[JsonValue] = [self.tool, self.context_format, question.model_dump(mode="json")]
        shown += [[each.sha256, each.name, each.alt] for each in files]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def options_json(options: tuple[Option, ...]) -> JsonValue:
    """Return a question's options as JSON for agents and the record, or null if it has none."""
    return [each.model_dump(exclude_none=True, exclude={"lasting"}) for each in options] or None
