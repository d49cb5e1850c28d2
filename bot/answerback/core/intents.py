"""Intents: what a person requests with a control or typed text, and how it becomes an action on the ask. Pure.

A control refers to an option or an answer by its index, which is short and needs no stored state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from answerback.core import refusals, typed_answers
from answerback.core.actions import Action, Answer, Edit, Object, Other, Reply
from answerback.core.ask import LISTED as LISTED
from answerback.core.ask import Ask
from answerback.core.clarification import AskBack
from answerback.core.editing import AllowEdited
from answerback.core.errors import Problem
from answerback.core.files import AttachedFile
from answerback.core.form import AnswerType, OptionKind, Question
from answerback.core.granting import RevokeGrant
from answerback.core.handing_over import HandOver
from answerback.core.labels import Labels
from answerback.core.option_labels import show_options
from answerback.core.refusals import Refusal
from answerback.core.too_late import TryAgain
from answerback.core.view import view_of
from answerback.core.walker import GivenAnswer


@dataclass(frozen=True, slots=True)
class Choose:
    """Answer with options of the open question, by their 0-based indexes; None: nothing was chosen.

    A question without options is answered with its prefill.
    """

    action: ClassVar[str] = "answer"
    places: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class EditAt:
    """Change an answer in the review, by its 0-based index; None: the index could not be parsed."""

    action: ClassVar[str] = "edit"
    place: int | None


@dataclass(frozen=True, slots=True)
class TypedText:
    """Answer with typed text, to be interpreted by the open question."""

    action: ClassVar[str] = "typed"
    text: str
    files: tuple[AttachedFile, ...] = ()
    """The files that were sent with the text."""


@dataclass(frozen=True, slots=True)
class Decide:
    """Decide about a permission by the option that allows once, or else denies: one decision of a batch."""

    action: ClassVar[str] = "answer"
    allow: bool


UnresolvedAction = Choose | EditAt | TypedText | Decide
OpenAction = Action | AllowEdited | AskBack | HandOver
ResolvedAction = OpenAction | TryAgain | RevokeGrant
RequestedAction = ResolvedAction | UnresolvedAction
WithFiles = Answer | Other | Reply | Object | AllowEdited
"""The actions that may come with files."""


class ShownRevision(NamedTuple):
    """A revision of an ask that its message shows, and since when, by the platform's clock."""

    revision: int
    since: float


class Intent(NamedTuple):
    """A request by a person: the ask, the revision that they saw and the action."""

    ask_id: str
    wanted: RequestedAction | None
    """None: only check whether this person may act on this revision."""
    revision: int | None = None
    """The revision that they saw; None: any."""
    delivery: str | None = None
    """The platform's id of this delivery; a repeated delivery counts once."""
    at: float | None = None
    """When they acted, by the platform's clock."""
    shown: ShownRevision | None = None
    """The revision that the ask's message shows, if the platform was asked about it."""
    surface: str | None = None
    """The surface that the ask must be shown on; None: any."""
    place: str | None = None
    """The id of the chat in which they acted; `LISTED`: a list of asks of any chat; None: it is not known."""
    digest: str = ""
    """A digest of the delivery if its caller chose the id: reusing the id with another digest is an error."""


class Unclear(NamedTuple):
    """A request that is not a possible action on the current ask."""

    problem: Problem
    early: bool = False
    """True if it may have been meant for an earlier question."""


def resolve_action(
    wanted: UnresolvedAction, ask: Ask, intent: Intent, labels: Labels
) -> Action | Unclear:
    """Turn what an intent wants into an action on an open ask, or explain to the person why it cannot be one."""
    if isinstance(wanted, TypedText):
        shown = intent.shown
        since = shown.since if shown is not None and shown.revision == ask.revision else None
        early = typed_answers.check_not_too_early(ask, intent.at, labels, since=since)
        if early is not None:
            return _unclear("too_early", early.sentence, "/text", early=True)
        action = typed_answers.parse_typed_answer(
            ask, wanted.text, labels, has_files=bool(wanted.files)
        )
        if isinstance(action, typed_answers.UnclearText):
            return _unclear("unclear_text", action.sentence, "/text")
        if wanted.files and isinstance(action, WithFiles):
            return replace(action, files=wanted.files)
        return action
    if isinstance(wanted, EditAt):
        lines = view_of(ask).lines
        if wanted.place is None or wanted.place >= len(lines):
            return _unclear(refusals.NOT_EDITABLE.code, labels.not_found, "/question_id")
        return Edit(question_id=lines[wanted.place].question.id)
    question = ask.question
    if isinstance(wanted, Decide):
        decided = decide_in_batch(ask, allow=wanted.allow)
        return Unclear(decided.problem()) if isinstance(decided, Refusal) else decided
    if question is None:
        return _unclear(refusals.NO_OPEN_QUESTION.code, labels.not_found, "/action")
    if not question.options:
        prompt = view_of(ask).prompt
        return Answer(value=prompt.prefill if prompt else None)
    return _choice_answer(question, wanted.places, ask.walk.again, labels)


def decide_in_batch(ask: Ask, *, allow: bool) -> Answer | Refusal:
    """Return the answer that decides about a permission together with others, or why there is none."""
    question = ask.question
    if question is None or not question.is_approval:
        return refusals.NOT_AN_APPROVAL
    if ask.form.confirmation is not None:
        return refusals.NOT_IN_A_BATCH
    if allow and question.nothing_known:
        return refusals.NOTHING_KNOWN
    if allow and ask.request.files:
        return refusals.FILES_NOT_SHOWN
    option = question.sole_option(OptionKind.ALLOW_ONCE if allow else OptionKind.DENY)
    return refusals.NO_SUCH_OPTION if option is None else Answer(value=option.value)


def _choice_answer(
    question: Question, places: tuple[int, ...] | None, again: GivenAnswer | None, labels: Labels
) -> Answer | Other | Unclear:
    """Answer with options, along with the text and the note of the earlier answer, which the message shows."""
    options = show_options(question, labels).options
    values = [options[place].value for place in places or () if place < len(options)]
    several = question.answer_type is AnswerType.MULTI_SELECT
    text, note = (again.other_text, again.note) if again else (None, None)
    if several and places is None:
        return _unclear("choose_first", labels.choose_first.format(submit=labels.submit), "/value")
    if text is not None and (not values or (several and question.other_beside)):
        return Other(text=text, value=list(values) if several else None)
    if several:
        return Answer(value=list(values), note=note)
    if len(values) == 1:
        return Answer(value=values[0], note=note)
    return _unclear("choose_first", labels.choose_first.format(submit=labels.submit), "/value")


def _unclear(code: str, message: str, pointer: str, *, early: bool = False) -> Unclear:
    return Unclear(Problem(pointer=pointer, code=code, message=message), early)
