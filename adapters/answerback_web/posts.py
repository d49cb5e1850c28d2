"""A form post of the page: its fields and its button, and the meanings that it can have. Values only.

What a person entered is kept verbatim, so that the page can show it again if it is not a valid answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias
from urllib.parse import parse_qsl

from answerback.core.errors import Problem
from answerback.core.intents import ResolvedAction
from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback_web import limits

OTHER = "other"
"""The value of the last choice, "Something else…"; the other choices' values are option indexes."""


class PageAction(StrEnum):
    """The action of a page's button. ``edit`` is followed by a colon and the question's index; so is ``answer`` by the
    choice, if its button is the choice."""

    ANSWER = "answer"
    YES = "yes"
    NO = "no"
    YES_FOR_TURN = "yes_for_turn"
    NO_FOR_TURN = "no_for_turn"
    BACK = "back"
    NEXT = "next"
    ASK_BACK = "ask_back"
    HAND_OVER = "hand_over"
    REPLY = "reply"
    OBJECT = "object"
    END_TURN = "end_turn"
    """Asks for confirmation."""
    END_TURN_NOW = "end_turn_now"
    STAY = "stay"
    """Not confirmed: return to the question."""
    SUBMIT = "submit"
    CONFIRM = "confirm"
    EDIT = "edit"
    ADD_ROW = "add_row"
    """Followed by a colon and the id of the field of rows. The page is shown again, as it was left but for the row."""
    REMOVE_ROW = "remove_row"
    """Followed by a colon, the id of the field of rows, a dot and the row's key."""
    CHANGE = "change"
    """Show what the person has changed in the call, before it is allowed so."""
    CHANGE_JSON = "change_json"
    """Change all arguments of the call as JSON."""
    ALLOW_CHANGED = "allow_changed"
    """Allow the call as it was changed; followed by a colon and the choice's index."""
    GRANT = "grant"
    """Allow once, and again for a while."""
    REVOKE = "revoke"
    """Revoke what was allowed again."""
    TRY_AGAIN = "try_again"
    """Tell the agent to try again what nobody allowed in time."""
    NO_BUTTON = "no_button"
    """Without JavaScript, a form's first button, which nobody sees, is pressed by Enter in any of its inputs."""


CHANGES: Final = frozenset({PageAction.CHANGE, PageAction.CHANGE_JSON, PageAction.ALLOW_CHANGED})
"""The actions of a person who changes a call."""


@dataclass(frozen=True, slots=True)
class Post:
    """A form post: every field with its values in order; line ends are ``\\n``."""

    fields: Mapping[str, tuple[str, ...]]
    digest: str
    """Identical for identical posts, so that a double click is recognised."""

    def first(self, name: str) -> str:
        """Return a field's first value; empty if there is none."""
        return self.fields.get(name, ("",))[0]

    def all_values(self, name: str) -> tuple[str, ...]:
        return self.fields.get(name, ())

    def digest_by(self, person: Person) -> str:
        """Return a digest of the post that is this person's own, and does not reveal who they are."""
        return hashlib.sha256(f"{person.user_id}\n{self.digest}".encode()).hexdigest()

    @property
    def revision(self) -> int:
        """The revision of the page that was posted; 0 if it is missing."""
        text = self.first("revision")
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0

    @property
    def do(self) -> PageAction | None:
        """The action of the button, or None for an unknown button."""
        name = self.first("do").partition(":")[0]
        return PageAction(name) if name in PageAction.__members__.values() else None


@dataclass(frozen=True, slots=True)
class InvalidPost:
    """The input is not a valid answer; pointers lead into the value, as in a rejection."""

    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class ConfirmEndTurn:
    """The person has to confirm that the turn ends."""


@dataclass(frozen=True, slots=True)
class KeepTurn:
    """The person did not confirm; the page is shown as they left it."""


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """The person added or removed a row without JavaScript; the page is shown with what they entered."""

    post: Post


@dataclass(frozen=True, slots=True)
class ChangedCall:
    """The person has changed the call and not allowed it yet: the page shows what they changed, or takes it as JSON."""


PostMeaning: TypeAlias = (
    ResolvedAction | InvalidPost | ConfirmEndTurn | KeepTurn | ChangedRows | ChangedCall
)


def parse_post(body: bytes) -> Post | None:
    """Parse a request body; None if it is not a form post.

    Bytes that are not UTF-8 become replacement characters, as in any page that a browser decodes.
    """
    try:
        pairs = parse_qsl(
            body.decode("utf-8", "replace"),
            keep_blank_values=True,
            max_num_fields=limits.MAX_POST_FIELDS,
        )
    except ValueError:
        return None
    fields: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        fields[name] = (*fields.get(name, ()), value.replace("\r\n", "\n"))
    return Post(fields, hashlib.sha256(body).hexdigest())


def chosen_values(post: Post) -> tuple[str, ...]:
    """Return the choices: that of the button, or else those that are ticked; "Something else…" goes with them."""
    pressed = post.first("do").partition(":")[2] if post.do is PageAction.ANSWER else ""
    ticked = post.all_values("choice")
    if pressed == OTHER:  # its button stands in a list, where more may be ticked
        return tuple(dict.fromkeys((*ticked, OTHER)))
    return (pressed,) if pressed else ticked


def choice_indexes(sent: tuple[str, ...], count: int) -> list[int] | None:
    """Return the indexes that a page sent, each once; None if one is not that of a choice."""
    indexes = []
    for text in sent:
        if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) < count):
            return None
        indexes.append(int(text))
    return sorted(set(indexes))


def unknown_choice(labels: Labels) -> InvalidPost:
    """Refuse a choice that the page never offered."""
    return invalid_post("unknown_value", labels.too_late_unknown)


def invalid_post(code: str, message: str) -> InvalidPost:
    """Refuse a post for one reason, which is about the page as a whole."""
    return InvalidPost((Problem(pointer="", code=code, message=message),))
