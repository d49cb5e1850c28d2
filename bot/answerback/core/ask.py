"""The ask: one tool call that waits for people, with its walk, its destination and how it ended.

Owns the stored unit and the pure transitions that make a new ask, and its record entries, of an
old one. Knows no dialect, no database and no clock: times come in as arguments (seconds since the
epoch, UTC).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue

from answerback.core import answer_source, walker
from answerback.core.asides import UNOPENED, Aside, EpochSeconds, QuestionOpening
from answerback.core.form import Form, Question
from answerback.core.walker import Action, Person, Refused, Source, StrictDataclass, Walk

ANYONE: Final = "anyone"
"""The responder that stands for everybody who can see the prompt."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Status(StrEnum):
    """How an ask stands."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    TURN_ENDED = "turn_ended"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


class Reason(StrEnum):
    """Why a question was cancelled, for the record and the model."""

    USER = "user"
    BACKEND_ERROR = "backend_error"
    NO_PROMPT_BACKEND = "no_prompt_backend"
    ASSISTANT_ROUTING_DENIED = "assistant_routing_denied"
    INVALID_STATIC_ANSWER = "invalid_static_answer"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination(StrictDataclass):
    """Where an ask is to be shown: a surface, and there a channel (and thread) or a person."""

    surface: str
    channel: str | None = None
    thread: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(StrictDataclass):
    """The thread an ask is shown in, once it is; ``url`` leads a person there."""

    channel: str | None = None
    id: str | None = None
    url: str | None = None


class Escalation(_Frozen):
    """What is done when nobody answered ``after`` seconds: show it elsewhere, let others act, or both."""

    after: float
    to: Destination | None = None
    responders: tuple[str, ...] = ()


class Request(_Frozen):
    """What the agent asked for; never changes."""

    name: str
    dialect: str
    arguments: dict[str, JsonValue]
    form: Form
    agent: str | None = None
    callback: str | None = None
    conversation: str | None = None
    turn: str | None = None
    tool_call_id: str | None = None
    on_expiry: Literal["cancel", "defaults"] = "cancel"
    remind_after: tuple[float, ...] = ()
    escalation: Escalation | None = None
    metadata: dict[str, JsonValue] = {}
    prompt_label: str = "Assistant"
    """The agent, as people see it; see `asker_label`."""
    prompt_labels: dict[str, str] = {}
    """Who asks single questions, where the configuration says so; by question id."""
    mention: bool = False
    """Whether the first post notifies the responders."""
    accepts: tuple[Literal["clarify"], ...] = ()
    """What the agent can deal with: ``clarify``, people ask it to explain."""
    mode: Literal["wait", "async"] = "wait"
    """``async``: the agent goes on at once, and is told later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(StrictDataclass):
    """How an ask ended: set once, never changed."""

    status: Status
    at: EpochSeconds
    ended_by: Person | None = None
    source: Source | None = None
    reason: Reason | None = None
    message: str | None = None
    """For ``failed``: the words for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonedMessage(StrictDataclass):
    """A live message that an escalation left behind."""

    destination: Destination
    message: dict[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class Ask(StrictDataclass):
    """One ask as it is stored. ``revision`` counts what people and the clock did to it."""

    id: str
    created_at: EpochSeconds
    updated_at: EpochSeconds
    request: Request
    destination: Destination
    responders: tuple[str, ...]
    walk: Walk
    revision: int = 1
    outcome: Outcome | None = None
    acted_by: Person | None = None
    """Who moved it last: whom a slower person is told of."""
    acted_revision: int = 0
    """The revision to which they moved it."""
    expires_at: EpochSeconds | None = None
    set_back: float = 0.0
    """Seconds by which the clock was set back since it was created: reminders count the time that passed."""
    reminded: int = 0
    """How many entries of ``remind_after`` are done."""
    escalated: bool = False
    inquiring: bool = False
    """Whether the inquiry backend, not a surface, is to answer the open question."""
    attended_for: float | None = None
    """Seconds from its creation for which the agent waits, unless that is said again; None: that does not end."""
    unattended: bool = False
    """Whether the agent has stopped waiting, and people are to know it; their answer counts all the same."""
    shown_revision: int = 0
    seen: bool = False
    """Whether the live message was there for people to see, where the ask is now."""
    missed: int = 0
    """How often the live message turned out not to show what was noted: it was deleted, or seen out of date."""
    message: dict[str, JsonValue] | None = None
    """The surface's own reference to the live message; None until it is posted."""
    thread: Thread | None = None
    left: AbandonedMessage | None = None
    """A message at a place that the ask has left and that is still to be turned into a note."""
    opened: QuestionOpening = UNOPENED
    asides: tuple[Aside, ...] = ()
    """What was asked back and explained, oldest first."""
    asides_told: int = 0
    """How many of them the agent was told by a waiting call."""
    erased_at: EpochSeconds | None = None
    """When what was written in it was erased; None: it is all there."""

    @property
    def rendered_state(self) -> tuple[int, bool, int]:
        """What makes it necessary to show the ask again."""
        return self.revision, self.unattended, self.missed

    @property
    def status(self) -> Status:
        """How the ask stands."""
        return self.outcome.status if self.outcome else Status.OPEN

    @property
    def form(self) -> Form:
        """The form that is walked."""
        return self.request.form

    @property
    def open(self) -> bool:
        """Whether the ask still waits for somebody."""
        return self.outcome is None

    @property
    def presence_lapses_at(self) -> float | None:
        """When the agent counts as gone, unless it waits again; None: never, or it does already."""
        began = self.created_at - self.set_back
        return None if self.attended_for is None else began + self.attended_for

    @property
    def question(self) -> Question | None:
        """The question that is prompted now; None in review and once ended."""
        return (
            walker.current_question(self.request.form, self.walk) if self.outcome is None else None
        )

    def next_due(self) -> float | None:
        """When the clock has something to do for this ask (seconds since the epoch), or None."""
        if self.outcome is not None:
            return None
        request, began = self.request, self.created_at - self.set_back
        times = [] if self.expires_at is None else [self.expires_at]
        if (lapses := self.presence_lapses_at) is not None:
            times.append(lapses)
        if self.inquiring:
            times.append(self.created_at)
        if self.reminded < len(request.remind_after):
            times.append(began + request.remind_after[self.reminded])
        if request.escalation is not None and not self.escalated:
            times.append(began + request.escalation.after)
        return min(times) if times else None


class ToolResult(_Frozen):
    """What goes back to the model."""

    content: str
    structured: JsonValue
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """One line of the record: append-only, numbered by the store."""

    at: EpochSeconds
    kind: Literal[
        "request",
        "answered",
        "backed",
        "cancelled",
        "clarify",
        "context",
        "ended",
        "delivery",
        "note",
    ]
    question_id: str | None = None
    by: Person | None = None
    body: dict[str, JsonValue] = field(default_factory=dict)


class Change(NamedTuple):
    """A new state of an ask and what the record says of the way to it."""

    ask: Ask
    entries: tuple[RecordEntry, ...]


def asker_label(ask: Ask) -> str:
    """Who asks, as people see it: on every surface, in reminders and in the ask's JSON.

    The configured label of the open question (of all questions, where none is open); else the tool on whose behalf
    the question is put; else the agent.
    """
    request, question = ask.request, ask.question
    shown = (question,) if question is not None else request.form.questions
    labels = {request.prompt_labels.get(each.id) for each in shown}
    configured = labels.pop() if len(labels) == 1 else None
    return configured or request.form.tool or request.prompt_label


def options_json(question: Question) -> JsonValue:
    """A question's options as agents and the record have them; null where there are none."""
    return [option.model_dump(exclude_none=True) for option in question.options] or None


def request_entry(ask: Ask, at: float) -> tuple[RecordEntry, ...]:
    """The record's line for the question that is prompted now; nothing in review and at the end."""
    question = ask.question
    if question is None:
        return ()
    tool = question.tool or ask.form.tool
    body: dict[str, JsonValue] = {
        "question": question.text,
        "context": question.context,
        "answer_type": str(question.answer_type),
        "options": options_json(question) if question.options else None,
        "default": question.default,
        "exclusive": question.exclusive,
        "persistence": str(question.persistence),
        "source": {"tool": tool} if tool else "assistant",
    }
    return (RecordEntry(at=at, kind="request", question_id=question.id, body=body),)


def apply_action(
    ask: Ask,
    action: Action,
    *,
    at: float,
    by: Person | None,
    source: Source = Source.HUMAN,
    opened: QuestionOpening = UNOPENED,
) -> Change | Refused:
    """What an action makes of an open ask: the walk moved on, perhaps to its end.

    Args:
        opened: the platform's time of the action, where the platform is the one that shows the ask.
    """
    walk = walker.step(ask.form, ask.walk, action, by=by, source=source, at=at)
    if isinstance(walk, Refused):
        return walk
    outcome = None if walk.open else _outcome(walk, at, by)
    # What `dataclasses.replace` does, which takes longer than the rest of this function together.
    moved = object.__new__(Ask)
    moved.__dict__.update(
        vars(ask),
        walk=walk,
        outcome=outcome,
        revision=ask.revision + 1,
        updated_at=at,
        acted_by=by or ask.acted_by,
        acted_revision=ask.revision + 1 if by else ask.acted_revision,
        inquiring=False,
        opened=opened,
    )
    following = (_ended_entry(moved, outcome),) if outcome else request_entry(moved, at)
    return Change(moved, _response(ask, action, walk, at, by) + following)


def _outcome(walk: Walk, at: float, by: Person | None) -> Outcome:
    status = Status(walk.phase.value)
    return Outcome(
        status=status,
        at=at,
        ended_by=by,
        source=answer_source.weakest_source(walk.answers) if status is Status.ANSWERED else None,
        reason=Reason.USER if status in {Status.CANCELLED, Status.TURN_ENDED} else None,
    )


def end_ask(
    ask: Ask,
    status: Status,
    *,
    at: float,
    reason: Reason,
    message: str | None = None,
    by: Person | None = None,
) -> Change:
    """The ask ended by something else than a person's answer: expired, withdrawn or failed."""
    outcome = Outcome(status=status, at=at, ended_by=by, reason=reason, message=message)
    done = replace(ask, outcome=outcome, revision=ask.revision + 1, updated_at=at, inquiring=False)
    cancelled: tuple[RecordEntry, ...] = ()
    if ask.question is not None:
        cancelled = (
            RecordEntry(
                at=at, kind="cancelled", question_id=ask.question.id, body={"reason": reason.value}
            ),
        )
    return Change(done, (*cancelled, _ended_entry(done, outcome)))


def _response(
    ask: Ask, action: Action, walk: Walk, at: float, by: Person | None
) -> tuple[RecordEntry, ...]:
    question = ask.question
    if question is None:
        return ()
    if isinstance(action, (walker.Answer, walker.Other)):
        given = walk.answer(question.id)
        if given is None:
            raise AssertionError(f"{ask.id}: the answer to {question.id} was not collected")
        body: dict[str, JsonValue] = {
            "value": given.value,
            "remembered": given.remembered,
            "other": given.other,
            "source": str(given.source),
        }
        if given.note is not None:
            body["note"] = given.note
        return (RecordEntry(at=at, kind="answered", question_id=question.id, by=by, body=body),)
    if isinstance(action, walker.Back):
        return (RecordEntry(at=at, kind="backed", question_id=question.id, by=by),)
    body = {"reason": Reason.USER.value}
    return (RecordEntry(at=at, kind="cancelled", question_id=question.id, by=by, body=body),)


def _ended_entry(ask: Ask, outcome: Outcome) -> RecordEntry:
    body: dict[str, JsonValue] = {"status": outcome.status.value}
    if ask.walk.reply is not None:
        body["reply"] = ask.walk.reply
    if outcome.reason is not None:
        body["reason"] = outcome.reason.value
    return RecordEntry(at=outcome.at, kind="ended", by=outcome.ended_by, body=body)
