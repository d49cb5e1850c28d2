"""Asking back: a person asks the agent to explain before they answer, and the agent explains. Pure.

Both make a new revision of the ask, which stays open at its question: a click on a message from before an explanation
is refused, as it was made without that. Both are in the record.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import ClassVar, Final

from answerback.core.answers import Invalid, check_text
from answerback.core.asides import UNOPENED, Aside, QuestionOpening
from answerback.core.ask import Ask, Change, RecordEntry
from answerback.core.errors import Problem
from answerback.core.form import MAX_TEXT
from answerback.core.json_schema import schemas
from answerback.core.walker import Person, Refused

CLARIFY: Final = "clarify"
"""What a submission accepts whose agent can be asked back."""
MAX_QUESTION: Final = 2_000
"""Characters of what a person asks."""
MAX_ASIDES: Final = 10
"""How often people can ask back in one ask, and as often its agent can explain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBack:
    """Ask the agent to explain the open question; the ask stays as it is."""

    action: ClassVar[str] = "ask_back"
    text: str


def can_ask_back(ask: Ask) -> bool:
    """Whether people can ask its agent back now."""
    accepted = CLARIFY in ask.request.accepts
    return (
        accepted and ask.question is not None and len(questions_asked_back(ask.asides)) < MAX_ASIDES
    )


def questions_asked_back(asides: Collection[Aside]) -> list[Aside]:
    """What people asked, without what the agent explained."""
    return [aside for aside in asides if aside.by is not None]


def walk_revision(ask: Ask) -> int:
    """How often the ask was changed by anything but asides. What is begun at its question is kept until then."""
    return ask.revision - len(ask.asides)


def open_question_revisions(ask: Ask) -> range:
    """The revisions at which the open question stands since it was asked, the newest first, as far as asides tell."""
    about = _open(ask)
    said = len([*takewhile(lambda aside: aside.question_id == about, reversed(ask.asides))])
    return range(ask.revision, ask.revision - said - 1, -1)


def pending_question(ask: Ask) -> Aside | None:
    """What was asked last, while the ask is open and the agent has not explained anything since."""
    last = ask.asides[-1] if ask.asides and ask.open else None
    return last if last is not None and last.by is not None else None


def apply_ask_back(
    ask: Ask, action: AskBack, *, at: float, by: Person, opened: QuestionOpening
) -> Change | Refused:
    """What asking back makes of an open ask.

    Args:
        opened: the platform's time of the action, where the platform is the one that shows the ask.
    """
    question = ask.question
    if question is None or not can_ask_back(ask):
        return _refused("/action", "unknown_value", "The agent cannot be asked back here.")
    checked = check_text(action.text).at("/text")
    if isinstance(checked, Invalid):
        return Refused(checked.problems)
    if len(action.text) > MAX_QUESTION:
        words = f"The text has {len(action.text)} characters; {MAX_QUESTION} are allowed."
        return _refused("/text", "too_long", words)
    aside = Aside(question_id=question.id, text=action.text, at=at, by=by)
    moved = replace(
        ask,
        asides=(*ask.asides, aside),
        revision=ask.revision + 1,
        updated_at=at,
        acted_by=by,
        acted_revision=ask.revision + 1,
        opened=opened,
    )
    entry = RecordEntry(
        at=at, kind="clarify", question_id=question.id, by=by, body={"text": action.text}
    )
    return Change(moved, (entry,))


def apply_explanation(ask: Ask, text: str, *, at: float) -> Change | Refused | None:
    """What an explanation of its agent's makes of an open ask; None: nothing, it is there already.

    It belongs to the question that somebody asked about last, else to the open one. Words that people typed before they
    could see it do not count for that.
    """
    if CLARIFY not in ask.request.accepts:
        words = 'This ask takes no explanation: submit it with "accepts": ["clarify"].'
        return _refused("/text", "unknown_value", words)
    if not text.strip():
        return _refused("/text", "empty", "The text is blank.")
    if not schemas.is_encodable(text):
        return _refused(
            "/text", "wrong_type", "The text holds half a surrogate pair, which is no text."
        )
    if len(text) > MAX_TEXT:
        words = f"The text has {len(text)} characters; {MAX_TEXT} are allowed."
        return _refused("/text", "too_long", words)
    last = ask.asides[-1] if ask.asides else None
    if last is not None and last.by is None and last.text == text:
        return None
    if len(ask.asides) - len(questions_asked_back(ask.asides)) >= MAX_ASIDES:
        return _refused(
            "/text", "too_many", f"This ask has {MAX_ASIDES} explanations, the most there can be."
        )
    question_id = last.question_id if last is not None and last.by is not None else _open(ask)
    if question_id is None:
        words = "No question is open: people are checking their answers."
        return _refused("/text", "unknown_value", words)
    moved = replace(
        ask,
        asides=(*ask.asides, Aside(question_id=question_id, text=text, at=at)),
        revision=ask.revision + 1,
        updated_at=at,
        opened=UNOPENED if question_id == _open(ask) else ask.opened,
    )
    entry = RecordEntry(at=at, kind="context", question_id=question_id, body={"text": text})
    return Change(moved, (entry,))


def mark_asides_told(ask: Ask, asides: int) -> Ask:
    """The ask once its agent was told of so many asides: no waiting call ends for them any more."""
    return replace(ask, asides_told=max(asides, ask.asides_told))


def has_untold_question(ask: Ask) -> bool:
    """Whether the agent is asked something of which no waiting call has told it."""
    return pending_question(ask) is not None and ask.asides_told < len(ask.asides)


def _open(ask: Ask) -> str | None:
    return ask.question.id if ask.question is not None else None


def _refused(pointer: str, code: str, message: str) -> Refused:
    return Refused((Problem(pointer=pointer, code=code, message=message),))
