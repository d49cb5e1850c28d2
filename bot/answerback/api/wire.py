"""The bodies of requests and responses that are the API's own. Asks are in `answerback.service.ask_wire`, records and
deliveries in `answerback.service.record_wire`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel

from answerback.api.metrics import ReplicaStatus
from answerback.core.errors import Problem
from answerback.service.ask_wire import AskBody, ToolResult
from answerback.service.people_wire import TriedAgainBody, strict
from answerback.service.record_wire import DeliveryBody, EntryBody


class Wire(BaseModel):
    """The base of models that allow no further members."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ContextBody(Wire):
    """An explanation to show below the question."""

    text: Annotated[str, Field(description="Markdown, unless the ask's `context_format` is text.")]


class CarriedBody(Wire):
    """The answer that a hook, bridge or proxy is about to give its host: it can never say that something is allowed."""

    decision: Literal["denied"]
    reason: Literal["no_answer"] = "no_answer"


class CallBody(Wire):
    """A tool call as its agent sent it, and the folder that the agent works in."""

    folder: str | None
    name: str
    arguments: dict[str, JsonValue]


class EventBody(Wire):
    """One Server-Sent Event; ``data`` is JSON: a line of the record or, for ``outcome``, the ask."""

    id: str
    event: Literal["prompt", "answer", "confirmation", "clarify", "context", "outcome"]
    data: str


class AskPage(Wire):
    """A page of asks, newest first; ``next`` is the ``after`` for the next page, null on the last."""

    asks: tuple[AskBody, ...]
    next: str | None


@strict
class LateBody(AskBody):
    """An ask that has ended; ``message`` describes its outcome in words, for a model that has gone on without it."""

    kind: Literal["outcome"]
    message: str


@strict
class RetryAnswerBody(TriedAgainBody):
    """A person tells the agent to try again what nobody allowed in time. It allows nothing."""

    kind: Literal["retry"]
    ask_id: str
    headline: str


class AnswerPage(Wire):
    """Outcomes that were not reported to the agent yet; ``next`` is the ``after`` that acknowledges them."""

    answers: tuple[Annotated[LateBody | RetryAnswerBody, Field(discriminator="kind")], ...]
    next: int | None


class RecordPage(Wire):
    """A page of an ask's record, oldest line first; ``next`` is the ``after`` for the next page, null on the last."""

    entries: tuple[EntryBody, ...]
    next: int | None


class DeliveryPage(Wire):
    """A page of deliveries, newest first; ``next`` is the ``after`` for the next page, null on the last."""

    deliveries: tuple[DeliveryBody, ...]
    next: str | None


class ToolsBody(Wire):
    """Tool definitions, ready to register with a model."""

    tools: tuple[dict[str, JsonValue], ...]


class HealthBody(Wire):
    """The process is alive."""

    status: Literal["ok"]


class ReadyBody(HealthBody):
    """The process is ready; ``replica`` is its status among the replicas that share its database, if they do."""

    replica: ReplicaStatus | None = None


class ProofBody(Wire):
    """A proof that the service knows the person's key."""

    proof: str


class ProblemBody(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

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
