"""The ask as JSON, which every reader gets: each shape, and the function that builds it.

The shapes are what the OpenAPI document describes, and mypy proves that what is built has them. Records and
deliveries are in `answerback.service.record_wire`.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypeAlias, cast

from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from answerback.core import ask as asks
from answerback.core.asides import Aside
from answerback.core.ask import Ask, Status
from answerback.core.clarification import pending_question
from answerback.core.form import AnswerType, ContextFormat, Option, OptionKind
from answerback.core.giving_up import GaveUp
from answerback.core.headline import headline_of
from answerback.core.labels import ENGLISH
from answerback.core.view import Control, View, answer_lines, asker_label, view_of
from answerback.core.walker import Source
from answerback.dialects import registry
from answerback.dialects.interim_results import render_interim_result
from answerback.service.people_wire import (
    NULL_BY_DEFAULT,
    PersonBody,
    Timestamp,
    TriedAgainBody,
    iso,
    person_body,
    strict,
    tried_again_body,
)

JsonObject: TypeAlias = dict[str, JsonValue]


@strict
class OptionBody(TypedDict):
    """One option to choose from. ``kind`` says what a decision of an `approval` does."""

    value: str
    label: str
    description: NotRequired[Annotated[str | None, NULL_BY_DEFAULT]]
    preview: NotRequired[Annotated[str | None, NULL_BY_DEFAULT]]
    kind: NotRequired[Annotated[OptionKind | None, NULL_BY_DEFAULT]]


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
    """What a person asked the agent to explain."""

    question_id: str


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
    """Whether the action `other` is allowed here."""
    other_beside: bool
    """Whether the text of `other` is added to the ticked options; if not, it replaces them."""
    schema: JsonValue
    consent: bool
    """Whether the answers of a boolean are called Accept and Decline."""
    remember: bool
    """Whether an answer may be remembered for the turn."""
    note: bool
    """Whether an `answer` may have a `note`."""
    position: int
    total: int
    progress: str | None
    prefill: JsonValue
    prefilled: bool
    """Whether there is a `prefill`, which may be null: an earlier answer or a default."""
    prefill_other: str | None
    """The part of `prefill` that was the text of an earlier `other`."""
    prefill_note: str | None
    """The note on the earlier answer in `prefill`."""
    controls: list[Control]
    asides: list[AsideBody]
    """What people asked back about the question and what the agent explained, oldest first."""
    answered: list[AnsweredBody]
    reviewed: bool
    """Whether the form ends in a review; if so, `back` and `edit` keep the answers."""


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


PromptBody = Annotated[QuestionPromptBody | ReviewPromptBody, Field(discriminator="kind")]


@strict
class ToolResult(TypedDict):
    """The tool result that goes back to the model."""

    content: str
    structured: JsonValue
    is_error: NotRequired[Annotated[bool, Field(json_schema_extra={"default": False})]]


@strict
class ThreadBody(TypedDict):
    """The thread in which an ask is shown."""

    channel: str | None
    id: str | None
    url: str | None


@strict
class OriginBody(TypedDict):
    """Who asks and from where; null where it is not known."""

    agent: str | None
    label: str
    project: str | None
    folder: str | None
    session: str | None


@strict
class AskBody(TypedDict):
    """The current state of an ask."""

    id: str
    status: Status
    revision: int
    dialect: str
    repaired: list[str]
    """JSON pointers to the arguments that were not in their strict form, and were read as what they could only mean."""
    headline: str
    """What would happen, or the first question, on one line; empty after an erasure."""
    asked_by: str
    """The name of the asking agent, as people see it."""
    origin: OriginBody
    surface: str
    thread: ThreadBody | None
    responders: list[str]
    """Who may act on it: user ids, `@` with the id of a group or role, or `anyone`."""
    prompt: PromptBody | None
    answers: dict[str, JsonValue]
    sources: dict[str, Source]
    """Whose each answer is, by question id."""
    reply: str | None
    end_turn: bool
    tool_result: ToolResult | None
    interim_result: ToolResult | None
    """The result for the model until there is a `tool_result`; only in mode async, while the ask is open."""
    waiting: bool
    """Whether the agent waits for the answer or gets it by webhook; if not, it gets a late answer."""
    accepts: list[Literal["clarify"]]
    clarify: ClarifyBody | None
    """What a person asked back last, if the agent has not explained anything since."""
    confirmed_by: list[PersonBody]
    """Who else has confirmed the answers."""
    ended_by: PersonBody | None
    source: Source | None
    gave_up: GaveUp | None
    """How the host of an approval stopped waiting: it was told no, or what carried its prompt is gone."""
    tried_again: TriedAgainBody | None
    """What a person told the agent to try again after that."""
    tool_call_id: str | None
    conversation: str | None
    turn: str | None
    created_at: Timestamp
    updated_at: Timestamp
    expires_at: Timestamp | None
    erased_at: Timestamp | None
    """When its content was erased; null if it was not."""
    metadata: dict[str, JsonValue]


def ask_json(ask: Ask) -> JsonObject:
    """The ask, as agents and webhooks receive it."""
    return cast("JsonObject", _ask_body(ask))  # mypy does not know that it is plain JSON


def _ask_body(ask: Ask) -> AskBody:
    result, interim = registry.render_result(ask), render_interim_result(ask)
    outcome = ask.outcome
    return {
        "id": ask.id,
        "status": ask.status,
        "revision": ask.revision,
        "headline": headline_of(ask.form),
        "dialect": ask.request.dialect,
        "repaired": [*ask.request.repaired],
        "asked_by": asker_label(ask),
        "origin": _origin(ask),
        "surface": ask.destination.surface,
        "thread": _thread(ask),
        "responders": [*ask.responders],
        "prompt": prompt_body(view_of(ask)),
        "answers": {given.question_id: given.value for given in ask.walk.answers},
        "sources": {given.question_id: given.source for given in ask.walk.answers},
        "reply": ask.walk.reply,
        "end_turn": ask.status is Status.TURN_ENDED,
        "tool_result": _tool_result(result),
        "interim_result": _tool_result(interim),
        "waiting": ask.open and not ask.unattended,
        "accepts": [*ask.request.accepts],
        "clarify": _clarify(ask),
        "confirmed_by": [],
        "ended_by": person_body(outcome.ended_by) if outcome else None,
        "source": outcome.source if outcome else None,
        "gave_up": outcome.gave_up if outcome else None,
        "tried_again": tried_again_body(ask.tried_again),
        "tool_call_id": ask.request.tool_call_id,
        "conversation": ask.request.conversation,
        "turn": ask.request.turn,
        "created_at": iso(ask.created_at),
        "updated_at": iso(ask.updated_at),
        "expires_at": iso(ask.expires_at) if ask.expires_at is not None else None,
        "erased_at": iso(ask.erased_at) if ask.erased_at is not None else None,
        "metadata": ask.request.metadata,
    }


def prompt_body(view: View) -> QuestionPromptBody | ReviewPromptBody | None:
    """The current prompt, a question or the review; None once ended."""
    if view.outcome is not None:
        return None
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
        "position": view.prompt.position,
        "total": view.prompt.total,
        "progress": view.prompt.progress,
        "prefill": view.prompt.prefill,
        "prefilled": view.prompt.is_prefilled,
        "prefill_other": view.prompt.words,
        "prefill_note": view.prompt.note,
        "controls": [*view.controls],
        "asides": [_aside(aside) for aside in view.prompt.asides],
        "kind": "question",
        "answered": _answers_so_far(view),
        "reviewed": view.reviewed,
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


def _tool_result(result: asks.ToolResult | None) -> ToolResult | None:
    if result is None:
        return None
    return {
        "content": result.content,
        "structured": result.structured,
        "is_error": result.is_error,
    }


def _clarify(ask: Ask) -> ClarifyBody | None:
    asked = pending_question(ask)
    return None if asked is None else {"question_id": asked.question_id, **_aside(asked)}


def _aside(aside: Aside) -> AsideBody:
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


def _origin(ask: Ask) -> OriginBody:
    request = ask.request
    return {
        "agent": request.agent,
        "label": request.origin.label(request.agent, request.prompt_label),
        "project": request.origin.project,
        "folder": request.origin.folder,
        "session": request.origin.session,
    }


def _thread(ask: Ask) -> ThreadBody | None:
    thread, destination = ask.thread, ask.destination
    if thread is None and destination.channel is None:
        return None
    return {
        "channel": (thread.channel if thread else None) or destination.channel,
        "id": (thread.id if thread else None) or destination.thread,
        "url": thread.url if thread else None,
    }
