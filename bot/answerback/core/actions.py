"""The actions that people can take on an ask; the walker applies them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import JsonValue

from answerback.core.edited_call import EditedCall
from answerback.core.files import AttachedFile


@dataclass(frozen=True, slots=True)
class GrantTerms:
    """The scope and the duration of a grant that a person makes along with an answer."""

    match: str
    minutes: int
    uses: int
    credential: str = ""
    """The proof of who they are, which has to be valid for as long as the grant; empty: their platform proves it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer the current question with a value of its type and, if the question takes one, a note."""

    action: ClassVar[str] = "answer"
    value: JsonValue
    remember: bool = False
    note: str | None = None
    grant: GrantTerms | None = None
    """The grant to make along with the answer; None: the call is allowed once."""
    unseen: bool = False
    """True if the person allows it though nothing is known of what would happen, and need not be asked once more."""
    edited: EditedCall | None = None
    """The call as the person has changed it; see `answerback.core.editing`."""
    files: tuple[AttachedFile, ...] = ()
    """The files that come with the note, or with an answer that is a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Answer with free text; ``value`` holds the options also selected in a multi-select question."""

    action: ClassVar[str] = "other"
    text: str
    value: JsonValue = None
    files: tuple[AttachedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """Go back to the previous answered question or, during an Edit, to the review as it was."""

    action: ClassVar[str] = "back"
    files: ClassVar[tuple[AttachedFile, ...]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """Leave the open question for later, and move on to another one without an answer; in forms with a review."""

    action: ClassVar[str] = "next"
    files: ClassVar[tuple[AttachedFile, ...]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Change the answer to one question, from the review."""

    action: ClassVar[str] = "edit"
    files: ClassVar[tuple[AttachedFile, ...]] = ()
    question_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """Submit the answers, from the review."""

    action: ClassVar[str] = "submit"
    files: ClassVar[tuple[AttachedFile, ...]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """End the ask with an optional message to the agent instead of answers."""

    action: ClassVar[str] = "reply"
    text: str | None = None
    files: tuple[AttachedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """Confirm the answers, in the confirmation."""

    action: ClassVar[str] = "confirm"
    files: ClassVar[tuple[AttachedFile, ...]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """Object to the answers, in the confirmation: ends the ask as a Reply does."""

    action: ClassVar[str] = "object"
    text: str | None = None
    files: tuple[AttachedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTurn:
    """End the ask and the agent's turn."""

    action: ClassVar[str] = "end_turn"
    files: ClassVar[tuple[AttachedFile, ...]] = ()


Action = Answer | Other | Back | Next | Edit | Submit | Reply | Confirm | Object | EndTurn
