"""Prompts as JSON, with the people, options and asides in them: each shape, and the function that builds it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypeAlias

from pydantic import JsonValue
from typing_extensions import TypedDict

from answerback.core.asides import Aside
from answerback.core.confirmation import Vote
from answerback.core.form import AnswerType, ContextFormat, NoteReach, Option, OptionKind
from answerback.core.granting import describe_offer
from answerback.core.labels import ENGLISH
from answerback.core.view import Confirmation, Control, View, answer_lines
from answerback.core.walker import Person
from answerback.service.people_wire import (
    NULL_BY_DEFAULT,
    PersonBody,
    Timestamp,
    iso,
    person_body,
    strict,
)


@strict
class OptionBody(TypedDict):
    """One option to choose from."""

    value: str
    label: str
    description: NotRequired[Annotated[str | None, NULL_BY_DEFAULT]]
    preview: NotRequired[Annotated[str | None, NULL_BY_DEFAULT]]
    kind: NotRequired[Annotated[OptionKind | None, NULL_BY_DEFAULT]]
    """The effect of an option of an `approval`."""


@strict
class ConfirmedByBody(PersonBody):
    """A person who confirmed the answers."""

    at: Timestamp
    via: str | None
    """The token of the front end that vouched for them."""


@strict
class ConfirmationsBody(TypedDict):
    """The number of people who have to confirm the answers, and who has done so."""

    due: int
    given: list[PersonBody]


@strict
class AnsweredBody(TypedDict):
    """A question that was answered, with the answer as people see it."""

    question_id: str
    text: str
    answer: list[str]
    """One line per chosen option or field; labels, not values."""
    by: PersonBody | None
    """Who answered; null if no person did."""
    at: Timestamp | None


@strict
class AsideBody(TypedDict):
    """A question that a person asked back or, if ``by`` is null, an explanation by the agent."""

    text: str
    by: PersonBody | None
    at: Timestamp


@strict
class ClarifyBody(AsideBody):
    """A question of a person, who asked the agent to explain."""

    question_id: str


@strict
class GrantOfferBody(TypedDict):
    """Something that may be allowed again for a while."""

    match: str
    text: str
    """A description of the calls that it allows."""
    minutes: int
    """The number of minutes at most."""
    uses: int
    """The number of uses at most."""


@strict
class QuestionPromptBody(TypedDict):
    """The question that is open now."""

    kind: Literal["question"]
    question_id: str
    text: str
    context: str | None
    context_format: ContextFormat
    header: str | None
    answer_type: AnswerType
    options: list[OptionBody] | None
    other: bool
    """True if the action `other` is allowed here."""
    other_beside: bool
    """True if the text of `other` is added to the ticked options; if not, it replaces them."""
    schema: JsonValue
    consent: bool
    """True if the answers of a boolean are called Accept and Decline."""
    remember: bool
    """True if an answer may be remembered for the turn."""
    note: bool
    """True if an `answer` may have a `note`."""
    note_reach: NoteReach | None
    """When the agent's model reads that note; null if there may be none."""
    position: int
    total: int
    progress: str | None
    prefill: JsonValue
    prefilled: bool
    """True if there is a `prefill`, which may be null: an earlier answer or a default."""
    prefill_other: str | None
    """The part of `prefill` that was the text of an earlier `other`."""
    prefill_note: str | None
    """The note on the earlier answer in `prefill`."""
    controls: list[Control]
    asides: list[AsideBody]
    """The questions that people asked about this one, each with the agent's explanation, oldest first."""
    answered: list[AnsweredBody]
    reviewed: bool
    """True if the form ends in a review; if so, `back` and `edit` keep the answers."""
    has_next: bool
    """True if the action `next` is possible: it leaves the question for later."""
    grants: list[GrantOfferBody]
    """The grants that may be made along with the answer that allows once."""
    editable: bool
    """True if an `answer` that allows once may have `edited`: other arguments of the call."""
    arguments: str | None
    """If so: the arguments as JSON, as the agent's host wrote them."""
    prefill_edited: str | None
    """The arguments of the earlier answer, if they were changed: it is not sent again unless they are."""
    nothing_known: bool
    """True if the agent's host did not say what would happen: allowing it needs `unseen`."""
    plan: bool
    """True if an `approval` presents a plan: `reply` then keeps the agent planning."""


@strict
class ReviewPromptBody(TypedDict):
    """The review. The answers are in the ask's `answers`; `editable` lists the questions that `edit` accepts."""

    kind: Literal["review"]
    question_id: None
    text: str
    context: None
    answer_type: None
    options: None
    position: int
    total: int
    progress: None
    prefill: None
    controls: list[Literal["edit", "submit"] | Control]
    editable: list[str]
    answered: list[AnsweredBody]
    reviewed: Literal[True]


@strict
class HiddenPromptBody(TypedDict):
    """A question that the agent may not read before people have confirmed the answers: it depends on an answer."""

    kind: Literal["question"]
    question_id: None
    text: None
    context: None
    answer_type: None
    options: None
    position: int
    total: int
    progress: None
    prefill: None
    controls: list[Control]
    answered: list[AnsweredBody]
    reviewed: bool


@strict
class ConfirmationPromptBody(TypedDict):
    """The answers, which wait for other people to confirm them. Only people read `text`, `context` and `answered`."""

    kind: Literal["confirmation"]
    question_id: None
    text: str | None
    context: str | None
    """The contexts of all questions asked."""
    context_format: ContextFormat
    answer_type: None
    options: None
    position: int
    total: int
    progress: None
    prefill: None
    controls: list[Control]
    asides: list[AsideBody]
    answered: list[AnsweredBody]
    reviewed: bool
    confirmations: ConfirmationsBody


PromptBody: TypeAlias = (
    QuestionPromptBody | HiddenPromptBody | ReviewPromptBody | ConfirmationPromptBody
)


def prompt_body(
    view: View, *, secret: bool = False, hides_question: bool = False
) -> PromptBody | None:
    """The current prompt: a question, the review or the confirmation; None once ended.

    Args:
        secret: whether the view was reduced to what an agent may read.
        hides_question: whether that left out the open question.
    """
    if view.outcome is not None:
        return None
    if view.confirmation is not None:
        return _confirmation(view, view.confirmation, None if secret else ENGLISH.confirm_title)
    if hides_question:
        return _hidden(view)
    if view.prompt is None:
        return {
            "question_id": None,
            "text": "Review",
            "context": None,
            "answer_type": None,
            "options": None,
            "position": len(view.lines),
            "total": len(view.lines),
            "progress": None,
            "prefill": None,
            "controls": ["edit", "submit", *view.controls],
            "kind": "review",
            "editable": [line.question.id for line in view.lines if line.editable],
            "answered": _answers_so_far(view),
            "reviewed": True,
        }
    question = view.prompt.question
    return {
        "question_id": question.id,
        "text": question.text,
        "context": question.context,
        "context_format": view.prompt.context_format,
        "header": question.header,
        "answer_type": question.answer_type,
        "options": [_option(each) for each in view.prompt.every_option] or None,
        "other": question.other,
        "other_beside": question.other_beside,
        "schema": question.json_schema,
        "consent": question.consent,
        "remember": view.prompt.remember,
        "note": question.notes,
        "note_reach": question.note_reach if question.notes else None,
        "position": view.prompt.position,
        "total": view.prompt.total,
        "progress": view.prompt.progress,
        "prefill": view.prompt.prefill,
        "prefilled": view.prompt.is_prefilled,
        "prefill_other": view.prompt.other_text,
        "prefill_note": view.prompt.note,
        "controls": [*view.controls],
        "asides": [aside_body(aside) for aside in view.prompt.asides],
        "kind": "question",
        "answered": _answers_so_far(view),
        "reviewed": view.reviewed,
        "has_next": view.has_next,
        "grants": _grants(view),
        "editable": view.editable is not None,
        "arguments": None if view.editable is None else view.editable.arguments,
        "prefill_edited": view.prompt.edited,
        "nothing_known": question.nothing_known,
        "plan": question.plan,
    }


def _grants(view: View) -> list[GrantOfferBody]:
    """Return the grants that a prompt offers, in English."""
    if view.grants is None:
        return []
    texts = describe_offer(view.grants, ENGLISH)
    return [
        {
            "match": each.match,
            "text": text,
            "minutes": view.grants.minutes,
            "uses": view.grants.uses,
        }
        for each, text in zip(view.grants.matches, texts, strict=True)
    ]


def _hidden(view: View) -> HiddenPromptBody:
    return {
        "kind": "question",
        "question_id": None,
        "text": None,
        "context": None,
        "answer_type": None,
        "options": None,
        "position": 0,
        "total": 0,
        "progress": None,
        "prefill": None,
        "controls": [*view.controls],
        "answered": [],
        "reviewed": view.reviewed,
    }


def _confirmation(
    view: View, confirmation: Confirmation, text: str | None
) -> ConfirmationPromptBody:
    about = confirmation.about
    return {
        "kind": "confirmation",
        "question_id": None,
        "text": text,
        "context": about.question.context,
        "context_format": about.context_format,
        "answer_type": None,
        "options": None,
        "position": len(view.lines),
        "total": len(view.lines),
        "progress": None,
        "prefill": None,
        "controls": [*view.controls],
        "asides": [aside_body(aside) for aside in about.asides],
        "answered": _answers_so_far(view),
        "reviewed": view.reviewed,
        "confirmations": {
            "due": confirmation.due,
            "given": [_person(vote.by) for vote in view.votes],
        },
    }


def _option(option: Option) -> OptionBody:
    body: OptionBody = {"value": option.value, "label": option.label}
    if option.description is not None:
        body["description"] = option.description
    if option.preview is not None:
        body["preview"] = option.preview
    if option.kind is not None:
        body["kind"] = option.kind
    return body


def aside_body(aside: Aside) -> AsideBody:
    return {"text": aside.text, "by": person_body(aside.by), "at": iso(aside.at)}


def _answers_so_far(view: View) -> list[AnsweredBody]:
    """The answers so far as people read them, in English."""
    return [
        {
            "question_id": line.question.id,
            "text": line.text,
            "answer": [*answer_lines(line.question, line.given, ENGLISH)],
            "by": person_body(line.given.by),
            "at": None if line.given.at is None else iso(line.given.at),
        }
        for line in view.lines
        if line.given is not None
    ]


def _person(person: Person) -> PersonBody:
    return {"surface": person.surface, "user_id": person.user_id, "name": person.name}


def confirmed_by_body(vote: Vote) -> ConfirmedByBody:
    return {**_person(vote.by), "at": iso(vote.at), "via": vote.by.via}
