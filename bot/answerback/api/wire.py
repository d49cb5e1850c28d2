"""What crosses the wire, as models: the shapes of requests and answers that the OpenAPI document describes.

The answers are made elsewhere (`answerback.service.serialize`) as plain JSON; these models say what that JSON
is, and the tests hold one against the other.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel

from answerback.core.ask import Status, ToolResult
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, ContextFormat
from answerback.core.view import Control
from answerback.core.walker import Source
from answerback.ports.store_values import DeliveryState


class Wire(BaseModel):
    """A shape that has exactly these members."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# --- the ask ---------------------------------------------------------------------------------------


class OptionBody(Wire):
    """One choice."""

    value: str
    label: str
    description: str | None = None
    preview: str | None = None


class PersonBody(Wire):
    """Somebody who acted."""

    surface: str
    user_id: str
    name: str | None


class AnsweredBody(Wire):
    """A question that was answered, with the answer as people read it."""

    question_id: str
    text: str
    answer: tuple[str, ...]
    """One line a chosen option or field; labels, not values."""
    by: PersonBody | None
    """Who gave it; null where no person did."""
    at: datetime | None


class AsideBody(Wire):
    """What a person asked back or, with ``by`` null, what the agent explained."""

    text: str
    by: PersonBody | None
    at: datetime


class ClarifyBody(AsideBody):
    """What the agent is asked to explain."""

    question_id: str


class ContextBody(Wire):
    """An explanation, which is shown below the question."""

    text: Annotated[str, Field(description="Markdown, unless the ask's `context_format` is text.")]


class QuestionPromptBody(Wire):
    """The question that is prompted now."""

    kind: Literal["question"]
    question_id: str
    text: str
    context: str | None
    context_format: ContextFormat
    header: str | None
    answer_type: AnswerType
    options: tuple[OptionBody, ...] | None
    other: bool
    """Whether `other` is an action here."""
    other_beside: bool
    """Whether the text of `other` stands beside what is ticked; else it replaces that."""
    json_schema: Annotated[JsonValue, Field(alias="schema")]
    remember: bool
    """Whether an answer may be remembered for the turn."""
    note: bool
    """Whether an `answer` may have a `note` beside it."""
    position: int
    total: int
    progress: str | None
    prefill: JsonValue
    prefill_other: str | None
    """The part of `prefill` that is the text of an earlier `other`."""
    prefill_note: str | None
    """The note beside the earlier answer that is `prefill`."""
    controls: tuple[Control, ...]
    asides: tuple[AsideBody, ...]
    """What was asked back about the question, and explained, oldest first."""
    answered: tuple[AnsweredBody, ...]
    reviewed: bool
    """Whether the form ends in a review: `back` and `edit` then move without discarding an answer."""


class ReviewPromptBody(Wire):
    """The review: the answers stand in the ask's `answers`; `editable` are the questions that `edit` takes."""

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
    controls: tuple[Literal["edit", "submit"] | Control, ...]
    editable: tuple[str, ...]
    answered: tuple[AnsweredBody, ...]
    reviewed: Literal[True]


PromptBody = Annotated[QuestionPromptBody | ReviewPromptBody, Field(discriminator="kind")]


class ThreadBody(Wire):
    """The thread an ask is shown in."""

    channel: str | None
    id: str | None
    url: str | None


class AskBody(Wire):
    """An ask as it stands."""

    id: str
    status: Status
    revision: int
    dialect: str
    asked_by: str
    """Who asks, as people see it."""
    surface: str
    thread: ThreadBody | None
    responders: tuple[str, ...]
    """Who may act on it: ids, `@` and the id of a group or role, or `anyone`."""
    prompt: PromptBody | None
    answers: dict[str, JsonValue]
    reply: str | None
    end_turn: bool
    tool_result: ToolResult | None
    interim_result: ToolResult | None
    """What to tell the model until there is a `tool_result`: in mode async, while the ask is open."""
    waiting: bool
    """Whether the agent waits for the answer, or gets it by a webhook; else it gets it late."""
    accepts: tuple[Literal["clarify"], ...]
    clarify: ClarifyBody | None
    """What a person asked last, where the agent has not explained anything since."""
    ended_by: PersonBody | None
    source: Source | None
    tool_call_id: str | None
    conversation: str | None
    turn: str | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    erased_at: datetime | None
    """When what was written in it was erased; null: it is all there."""
    metadata: dict[str, JsonValue]


class EventBody(Wire):
    """One Server-Sent Event; ``data`` is JSON: a line of the record, or with ``outcome`` the ask."""

    id: str
    event: Literal["prompt", "answer", "clarify", "context", "outcome"]
    data: str


class AskPage(Wire):
    """Some asks, newest first; ``next`` is the ``after`` of the next page, null on the last."""

    asks: tuple[AskBody, ...]
    next: str | None


class LateBody(AskBody):
    """An ask that has ended; ``message`` says the same in words, for a model that has moved on."""

    message: str


class AnswerPage(Wire):
    """How asks ended that the agent has not been told yet; ``next`` is the ``after`` that acknowledges them."""

    answers: tuple[LateBody, ...]
    next: int | None


# --- the record and the deliveries ----------------------------------------------------------------------


class EntryBody(Wire):
    """One line of the record; what it says stands under the name of its type."""

    seq: int
    at: datetime
    question_id: str | None
    type: Literal["request", "response", "clarify", "context", "ended", "delivery", "note"]
    request: dict[str, JsonValue] | None = None
    response: dict[str, JsonValue] | None = None
    clarify: dict[str, JsonValue] | None = None
    context: dict[str, JsonValue] | None = None
    ended: dict[str, JsonValue] | None = None
    delivery: dict[str, JsonValue] | None = None
    note: dict[str, JsonValue] | None = None


class RecordPage(Wire):
    """The record of an ask, oldest line first; ``next`` is the ``after`` of the next page, null on the last."""

    entries: tuple[EntryBody, ...]
    next: int | None


class DeliveryBody(Wire):
    """One webhook and what became of it."""

    id: str
    ask_id: str
    type: str
    url: str
    state: DeliveryState
    tries: int
    next_try_at: datetime | None
    last_status: int | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime


class DeliveryPage(Wire):
    """Some deliveries, newest first; ``next`` is the ``after`` of the next page, null on the last."""

    deliveries: tuple[DeliveryBody, ...]
    next: str | None


# --- the rest ------------------------------------------------------------------------------------------


class ToolsBody(Wire):
    """Tool definitions, ready to register with a model."""

    tools: tuple[dict[str, JsonValue], ...]


class HealthBody(Wire):
    """The process is alive, or able to serve."""

    status: Literal["ok"]


class ProblemBody(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str | None = None
    errors: tuple[Problem, ...] = ()


class InvalidCallBody(ProblemBody):
    """A problem with the words for the model that made the call."""

    tool_result: ToolResult | None = None


class EndedBody(ProblemBody):
    """The ask has ended; ``ask`` is how."""

    ask: AskBody


class FailingBody(Wire):
    """One thing that does not work."""

    name: str
    message: str


class NotReadyBody(ProblemBody):
    """Something that is needed does not work."""

    failing: tuple[FailingBody, ...] = ()


class AnyBody(RootModel[dict[str, JsonValue]]):
    """A JSON object."""
