"""The ask as JSON, which every reader gets: each shape, and the function that builds it.

The shapes are what the OpenAPI document describes, and mypy proves that what is built has them. Prompts are in
`answerback.service.prompt_wire`, records and deliveries in `answerback.service.record_wire`.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal, NamedTuple, NotRequired, TypeAlias, cast

from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from answerback.core import ask as asks
from answerback.core.ask import Ask, Status, headline_of
from answerback.core.clarification import pending_question
from answerback.core.edited_call import digest_of
from answerback.core.editing import difference_of, written_edit
from answerback.core.giving_up import GaveUp
from answerback.core.secrecy import is_telling, keeps_secret, readable_files, view_for_agent
from answerback.core.urgency import MarkColor, Urgency
from answerback.core.view import asker_label, headline_now, view_of
from answerback.core.walker import Source
from answerback.dialects import registry
from answerback.dialects.approvals.decision_note import decision_note
from answerback.service.file_wire import (
    AnswerFileBody,
    FileBody,
    answer_file_bodies,
    file_bodies,
)
from answerback.service.people_wire import (
    GrantNoteBody,
    HandedOverBody,
    PersonBody,
    Timestamp,
    TriedAgainBody,
    grant_note_body,
    handed_over_body,
    iso,
    person_body,
    strict,
    tried_again_body,
)
from answerback.service.prompt_wire import (
    ClarifyBody,
    ConfirmedByBody,
    PromptBody,
    aside_body,
    confirmed_by_body,
    prompt_body,
)

JsonObject: TypeAlias = dict[str, JsonValue]


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
    owner: str | None
    """The name in `people` of the person whose agent it is."""


@strict
class MarkBody(TypedDict):
    """A mark that tells a route's asks from others at a glance."""

    word: str
    color: MarkColor


@strict
class EditedBody(TypedDict):
    """The call that a person changed and allowed."""

    arguments: JsonObject
    """The arguments that hold; if the ask decides about several calls, those that were changed, by question id."""
    written: str
    """The same as JSON, with each number, and all that was not changed, as it was written."""
    digest: str
    """`sha256:` and the SHA-256 of `written`, in hexadecimal: what an approval is consumed by."""
    difference: str
    """The changes, in words."""


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
    """One line that says what would happen, or asks the first question; empty after an erasure."""
    asked_by: str
    """The name of the asking agent, as people see it."""
    origin: OriginBody
    urgency: Urgency
    mark: MarkBody | None
    """The mark of its route."""
    surface: str
    thread: ThreadBody | None
    responders: list[str]
    """Who may act on it: user ids, `@` with the id of a group or role, or `anyone`."""
    prompt: PromptBody | None
    answers: dict[str, JsonValue]
    sources: dict[str, Source]
    """Whose each answer is, by question id."""
    reply: str | None
    edited: EditedBody | None
    """The call as a person changed it before they allowed it; null if nobody did."""
    note: str | None
    """A person's message along with the decision of an approval that was answered."""
    end_turn: bool
    tool_result: ToolResult | None
    interim_result: ToolResult | None
    """The result for the model until there is a `tool_result`; only in mode async, while the ask is open."""
    waiting: bool
    """True if the agent waits for the answer or gets it by webhook; if not, it gets a late answer."""
    accepts: list[Literal["clarify"]]
    clarify: ClarifyBody | None
    """The last question that a person asked back, if the agent has not explained anything since."""
    confirmed_by: list[ConfirmedByBody]
    """Who confirmed the answers, once the ask has ended."""
    hand_over_to: list[str] | None
    """Whom the route lists, without groups, if responders can hand the ask over: ids on its surface."""
    handed_over: HandedOverBody | None
    """Who handed it over last, and to whom, while it is open."""
    ended_by: PersonBody | None
    source: Source | None
    gave_up: GaveUp | None
    """The way in which the host of an approval stopped waiting: it was told no, or what carried its prompt is gone."""
    tried_again: TriedAgainBody | None
    """A person's message to the agent to try again after that."""
    collected_at: Timestamp | None
    """When its agent got the outcome, or what a person has told it since; null if it has not yet."""
    grant: GrantNoteBody | None
    """The grant that was made with the answer, or that allowed the ask (with `source` `grant`)."""
    tool_call_id: str | None
    conversation: str | None
    turn: str | None
    created_at: Timestamp
    updated_at: Timestamp
    expires_at: Timestamp | None
    erased_at: Timestamp | None
    """When its content was erased; null if it was not."""
    files: list[FileBody]
    """The files that the agent sent with it; `GET /v1/files/{id}` returns the bytes."""
    answer_files: list[AnswerFileBody]
    """The files that people sent with their answers and replies, as far as the agent may read these now."""
    metadata: dict[str, JsonValue]


class ErasedBody(AskBody):
    remains: list[str]
    """Sentences about what has to be deleted elsewhere, such as files that people sent in a chat."""


def ask_json(ask: Ask, *, to_people: bool = False) -> JsonObject:
    """The ask, as agents and webhooks receive it.

    Args:
        to_people: whether people read it, who also see answers that wait for confirmation.
    """
    secret = keeps_secret(ask) and not to_people
    body = _ask_body(ask, secret=secret)
    return cast("JsonObject", body)  # mypy does not know that it is plain JSON


class _FromView(NamedTuple):
    """The part of the JSON of an ask that comes from its view."""

    headline: str
    label: str
    prompt: PromptBody | None = None
    recipients: tuple[str, ...] | None = None
    handed_over: HandedOverBody | None = None


def _from_view(ask: Ask, *, secret: bool) -> _FromView:
    if (
        not ask.open
    ):  # a view takes as long as everything else, and most of what it has only an open ask has
        is_as_sent = secret or not ask.request.editable
        headline = headline_of(ask.form) if is_as_sent else headline_now(ask)
        return _FromView(headline, asker_label(ask))
    view = view_of(ask, places_pictures=True)
    shown = view_for_agent(ask, view) if secret else view
    hides_question = view.prompt is not None and shown.prompt is None
    return _FromView(
        shown.headline,
        shown.label,
        prompt_body(shown, secret=secret, hides_question=hides_question),
        view.recipients,
        handed_over_body(view.handed_over),
    )


def _ask_body(ask: Ask, *, secret: bool) -> AskBody:
    answers = () if secret else ask.walk.answers
    shown = _from_view(ask, secret=secret)
    result, interim = registry.render_result(ask), registry.render_interim_result(ask)
    outcome = ask.outcome
    return {
        "id": ask.id,
        "status": ask.status,
        "revision": ask.revision,
        "headline": shown.headline,
        "dialect": ask.request.dialect,
        "repaired": [*ask.request.repaired],
        "asked_by": shown.label,
        "origin": _origin(ask),
        "urgency": ask.request.urgency,
        "mark": _mark(ask),
        "surface": ask.placement.destination.surface,
        "thread": _thread(ask),
        "responders": [*ask.placement.responders],
        "prompt": shown.prompt,
        "answers": {given.question_id: given.value for given in answers},
        "sources": {given.question_id: given.source for given in answers},
        "reply": ask.walk.reply,
        "edited": None if secret or not ask.request.editable else edited_body(ask),
        "note": None if secret else decision_note(ask),
        "end_turn": ask.status is Status.TURN_ENDED,
        "tool_result": _tool_result(result),
        "interim_result": _tool_result(interim),
        "waiting": ask.open and not ask.attendance.agent_left,
        "accepts": [*ask.request.accepts],
        "clarify": _clarify(ask, secret=secret),
        "confirmed_by": [confirmed_by_body(vote) for vote in ask.walk.votes] if outcome else [],
        "hand_over_to": None if shown.recipients is None else [*shown.recipients],
        "handed_over": shown.handed_over,
        "ended_by": person_body(outcome.ended_by) if outcome else None,
        "source": outcome.source if outcome else None,
        "gave_up": outcome.gave_up if outcome else None,
        "tried_again": tried_again_body(ask.retry_request),
        "collected_at": iso(ask.collection.read_by_agent_at)
        if ask.collection.read_by_agent_at is not None
        else None,
        "grant": grant_note_body(ask.grant),
        "tool_call_id": ask.request.tool_call_id,
        "conversation": ask.request.conversation,
        "turn": ask.request.turn,
        "created_at": iso(ask.created_at),
        "updated_at": iso(ask.updated_at),
        "expires_at": iso(ask.schedule.expires_at) if ask.schedule.expires_at is not None else None,
        "erased_at": iso(ask.erased_at) if ask.erased_at is not None else None,
        "files": file_bodies(ask.request.files) if ask.request.files else [],
        "answer_files": answer_file_bodies(readable_files(ask, to_people=not secret))
        if ask.walk.file_ids
        else [],
        "metadata": ask.request.metadata,
    }


def edited_body(ask: Ask) -> EditedBody | None:
    """The call that people changed and allowed; None if nobody did."""
    written = written_edit(ask)
    if written is None:
        return None
    return {
        "arguments": json.loads(written),
        "written": written,
        "digest": digest_of(written),
        "difference": difference_of(ask),
    }


def _tool_result(result: asks.ToolResult | None) -> ToolResult | None:
    if result is None:
        return None
    return {
        "content": result.content,
        "structured": result.structured,
        "is_error": result.is_error,
    }


def _clarify(ask: Ask, *, secret: bool) -> ClarifyBody | None:
    asked = pending_question(ask)
    if asked is None:
        return None
    hidden = secret and is_telling(ask, asked.question_id)
    question_id = ask.form.questions[0].id if hidden else asked.question_id
    return {"question_id": question_id, **aside_body(asked)}


def _origin(ask: Ask) -> OriginBody:
    request = ask.request
    return {
        "agent": request.agent,
        "label": request.origin.label(request.agent, request.prompt_label),
        "project": request.origin.project,
        "folder": request.origin.folder,
        "session": request.origin.session,
        "owner": request.origin.owner,
    }


def _mark(ask: Ask) -> MarkBody | None:
    mark = ask.request.mark
    return None if mark is None else {"word": mark.word, "color": mark.color}


def _thread(ask: Ask) -> ThreadBody | None:
    thread, destination = ask.placement.thread, ask.placement.destination
    if thread is None and destination.channel is None:
        return None
    return {
        "channel": (thread.channel if thread else None) or destination.channel,
        "id": (thread.id if thread else None) or destination.thread,
        "url": thread.url if thread else None,
    }
