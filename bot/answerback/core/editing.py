"""Edit, then allow: whether a person may change a call before they allow it. Pure.

Off unless the ask's route allows it. Nobody changes a call where anyone may answer, and where other people confirm the
answers, the person whose agent asks does not: they would allow their own agent something of their own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar, Final

from pydantic import JsonValue

from answerback.core import confirmation, refusals
from answerback.core.ask import ANYONE, Ask
from answerback.core.edited_call import EditableCall, EditedCall
from answerback.core.files import AttachedFile
from answerback.core.form import OptionKind, Question
from answerback.core.people import People
from answerback.core.person import AuthMethod, Person
from answerback.core.refusals import Refusal

_NOT_EDITABLE: Final = refusals.NOT_EDITABLE._replace(
    message="This cannot be allowed with changes. Allow it once as it is, or deny it.",
    pointer="/edited",
)
_ONLY_ONCE: Final = _NOT_EDITABLE._replace(
    message="A call with changes is allowed this once: it is neither remembered nor allowed again."
)
_KEY: Final = refusals.NOBODY_IN_PARTICULAR._replace(
    message="The service's own key belongs to no particular person, so it cannot change a call that others confirm. "
    "Use a personal link."
)
_OWNER: Final = refusals.REQUESTER._replace(
    message="The agent asks on behalf of this person, and other people confirm: another person must change the call."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowEdited:
    """Allow a call once as the person has changed it."""

    action: ClassVar[str] = "answer"
    value: JsonValue
    edited: str
    """The whole arguments, as JSON."""
    note: str | None = None
    files: tuple[AttachedFile, ...] = ()
    """The files that come with the note."""
    lasts: bool = False
    """True if it is to count for later calls too, which an edited call never does."""


def editable_call(ask: Ask) -> EditableCall | None:
    """Return the call that the open question is about, if people may change it; None otherwise."""
    question, calls = ask.question, ask.request.editable
    if not calls or question is None or ANYONE in ask.placement.responders:
        return None
    return next((each for each in calls if each.question_id == question.id), None)


def refuse_edit(
    ask: Ask, action: AllowEdited, by: Person, at: float, people: People
) -> Refusal | None:
    """Return why a person may not allow the open question's call with these changes, whatever they are."""
    question = ask.question
    if question is None or editable_call(ask) is None:
        return _NOT_EDITABLE
    if question.kind_of(action.value) is not OptionKind.ALLOW_ONCE:
        return _NOT_EDITABLE
    if action.lasts:
        return _ONLY_ONCE
    owner = ask.request.origin.owner
    if ask.form.confirmation is None or owner is None:
        return None
    if by.known is AuthMethod.KEY:
        return _KEY
    return confirmation.refuse_requester(owner, by, at, people, _OWNER)


def edited_calls(ask: Ask) -> dict[str, EditedCall]:
    """Return the calls that people have changed and allowed, by the ids of their questions."""
    return {
        given.question_id: given.edited for given in ask.walk.answers if given.edited is not None
    }


def written_edit(ask: Ask) -> str | None:
    """Return the arguments that were allowed in place of the agent's, as JSON; None if nobody changed any.

    If the ask decides about several calls, it is an object of those that were changed, by the ids of their questions.
    """
    edited = edited_calls(ask)
    if not edited:
        return None
    if sum(each.when is None for each in ask.form.questions) == 1:
        [call] = edited.values()
        return call.arguments
    members = (f"{json.dumps(name)}:{call.arguments}" for name, call in edited.items())
    return f"{{{','.join(members)}}}"


def difference_of(ask: Ask) -> str:
    """Say what people changed in the calls that they allowed; empty if nobody changed any."""
    return "\n".join(call.difference for call in edited_calls(ask).values())


def as_decided(ask: Ask, question: Question) -> Question:
    """Return a question as what was decided by it: its call as it was changed, if it was."""
    given = ask.walk.answer(question.id)
    if given is None or given.edited is None:
        return question
    now = {"text": given.edited.headline, "context": given.edited.context}
    return question.model_copy(update=now)
