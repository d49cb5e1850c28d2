"""The wire models: the shapes of requests and responses that the OpenAPI document describes.

`answerback.service.serialize` builds the responses as plain JSON; these models document that JSON, and the
tests check one against the other.
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
    """The base of models that allow no further members."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# --- the ask ---------------------------------------------------------------------------------------


class OptionBody(Wire):
    """One option to choose from."""

    value: str
    label: str
    description: str | None = None
    preview: str | None = None


class PersonBody(Wire):
    """A person who acted."""

    surface: str
    user_id: str
    name: str | None


class AnsweredBody(Wire):
    """A question that was answered, with the answer as people see it."""

    question_id: str
    text: str
    answer: tuple[str, ...]
    """One line per chosen option or field; labels, not values."""
    by: PersonBody | None
    """Who answered; null if no person did."""
    at: datetime | None


class AsideBody(Wire):
    """A question that a person asked back or, if ``by`` is null, an explanation by the agent."""

    text: str
    by: PersonBody | None
    at: datetime


class ClarifyBody(AsideBody):
    """What a person asked the agent to explain."""

    question_id: str


class ContextBody(Wire):
    """An explanation to show below the question."""

    text: Annotated[str, Field(description="Markdown, unless the ask's `context_format` is text.")]


class QuestionPromptBody(Wire):
    """The question that is open now."""

    kind: Literal["question"]
    question_id: str
    text: str
    context: str | None
    context_format: ContextFormat
    header: str | None
    answer_type: AnswerType
    options: tuple[OptionBody, ...] | None
    other: bool
    """Whether the action `other` is allowed here."""
    other_beside: bool
    """Whether the text of `other` is added to the ticked options; if not, it replaces them."""
    json_schema: Annotated[JsonValue, Field(alias="schema")]
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
    controls: tuple[Control, ...]
    asides: tuple[AsideBody, ...]
    """What people asked back about the question and what the agent explained, oldest first."""
    answered: tuple[AnsweredBody, ...]
    reviewed: bool
    """Whether the form ends in a review; if so, `back` and `edit` keep the answers."""


class ReviewPromptBody(Wire):
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
    controls: tuple[Literal["edit", "submit"] | Control, ...]
    editable: tuple[str, ...]
    answered: tuple[AnsweredBody, ...]
    reviewed: Literal[True]


PromptBody = Annotated[QuestionPromptBody | ReviewPromptBody, Field(discriminator="kind")]


class ThreadBody(Wire):
    """The thread in which an ask is shown."""

    channel: str | None
    id: str | None
    url: str | None


class OriginBody(Wire):
    """Who asks and from where; null where it is not known."""

    agent: str | None
    label: str
    project: str | None
    folder: str | None
    session: str | None


class AskBody(Wire):
    """The current state of an ask."""

    id: str
    status: Status
    revision: int
    dialect: str
    repaired: tuple[str, ...]
    """JSON pointers to the arguments that were not in their strict form, and were read as what they could only mean."""
    headline: str
    """What would happen, or the first question, on one line; empty after an erasure."""
    asked_by: str
    """The name of the asking agent, as people see it."""
    origin: OriginBody
    surface: str
    thread: ThreadBody | None
    responders: tuple[str, ...]
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
    accepts: tuple[Literal["clarify"], ...]
    clarify: ClarifyBody | None
    """What a person asked back last, if the agent has not explained anything since."""
    confirmed_by: tuple[PersonBody, ...]
    """Who else has confirmed the answers."""
    ended_by: PersonBody | None
    source: Source | None
    tool_call_id: str | None
    conversation: str | None
    turn: str | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    erased_at: datetime | None
    """When its content was erased; null if it was not."""
    metadata: dict[str, JsonValue]


class EventBody(Wire):
    """One Server-Sent Event; ``data`` is JSON: a line of the record or, for ``outcome``, the ask."""

    id: str
    event: Literal["prompt", "answer", "clarify", "context", "outcome"]
    data: str


class AskPage(Wire):
    """A page of asks, newest first; ``next`` is the ``after`` for the next page, null on the last."""

    asks: tuple[AskBody, ...]
    next: str | None


class LateBody(AskBody):
    """An ask that has ended; ``message`` describes its outcome in words, for a model that has moved on."""

    message: str


class AnswerPage(Wire):
    """Outcomes that were not reported to the agent yet; ``next`` is the ``after`` that acknowledges them."""

    answers: tuple[LateBody, ...]
    next: int | None


# --- the record and the deliveries ----------------------------------------------------------------------


class EntryBody(Wire):
    """One line of the record; its content is under the key that ``type`` names."""

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
    """A page of an ask's record, oldest line first; ``next`` is the ``after`` for the next page, null on the last."""

    entries: tuple[EntryBody, ...]
    next: int | None


class DeliveryBody(Wire):
    """A webhook delivery and its state."""

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
    """A page of deliveries, newest first; ``next`` is the ``after`` for the next page, null on the last."""

    deliveries: tuple[DeliveryBody, ...]
    next: str | None


# --- the rest ------------------------------------------------------------------------------------------


class ToolsBody(Wire):
    """Tool definitions, ready to register with a model."""

    tools: tuple[dict[str, JsonValue], ...]


class HealthBody(Wire):
    """The process is alive, or ready."""

    status: Literal["ok"]


class ProofBody(Wire):
    """A proof that the service knows the person's key."""

    proof: str


class ProblemBody(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str | None = None
    errors: tuple[Problem, ...] = ()


class InvalidCallBody(ProblemBody):
    """A problem that includes the tool result for the model that made the call."""

    tool_result: ToolResult | None = None


class EndedBody(ProblemBody):
    """A problem about the state of an ask, which is in ``ask``."""

    ask: AskBody


class FailingBody(Wire):
    """One part that fails, and why."""

    name: str
    message: str


class NotReadyBody(ProblemBody):
    """A problem that lists the parts that fail."""

    failing: tuple[FailingBody, ...] = ()


class AnyBody(RootModel[dict[str, JsonValue]]):
    """A JSON object."""
