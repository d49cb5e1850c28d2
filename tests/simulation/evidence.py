"""What was seen from outside during a simulation. The invariants judge nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Plan:
    """An ask that an agent submits."""

    key: str
    """Its idempotency key."""
    at: float
    body: Json
    responders: frozenset[str]
    due: int = 0
    """The number of other people who have to confirm."""
    patience: float | None = None
    """Seconds after which its agent stops waiting, to come back later; None: it waits as long as it takes."""
    has_webhook: bool = False


@dataclass
class Report:
    """Something that an agent was told about an ask."""

    at: float
    way: str
    ask: Json
    webhook_id: str = ""


@dataclass
class Attempt:
    """A person's try of a control of a message."""

    person: str
    ask_id: str
    revision: int
    verb: str
    argument: str
    began: float
    question: str | None
    """The question that its message asked."""
    text: str | None = None
    acknowledged_at: float | None = None
    """When Slack told the person that the app took it."""
    notes: int = 0
    """Private notes to the person that followed."""


@dataclass
class Evidence:
    """Everything that was seen from outside."""

    plans: dict[str, Plan] = field(default_factory=dict)
    reports: dict[str, list[Report]] = field(default_factory=dict)
    """By the key of the plan, in the order in which it arrived."""
    attempts: list[Attempt] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """The faults that were seen at the moment they happened."""
    seen: dict[str, int] = field(default_factory=dict)
    """The last revision of an ask that its message showed to somebody."""
    seen_ended: set[str] = field(default_factory=set)
    asks: dict[str, Json] = field(default_factory=dict)
    """The asks as the service gives them in the end, by id."""
    records: dict[str, list[Json]] = field(default_factory=dict)
    deliveries: list[Json] = field(default_factory=list)
    messages: dict[str, list[Any]] = field(default_factory=dict)
    """The messages in Slack in the end, by the ask that they show."""
    reminders: dict[str, list[int]] = field(default_factory=dict)
    """The numbers of the reminders in Slack, by ask."""
    clock_errors: bool = False
    """True if a clock was set: then times by different clocks cannot be compared."""
    is_calm: bool = False
    """True if nothing went wrong."""
    errors: list[str] = field(default_factory=list)
    """The errors that the service logged, or that reached the event loop."""
    kills: int = 0

    def tell(self, plan: Plan, report: Report) -> None:
        self.reports.setdefault(plan.key, []).append(report)
