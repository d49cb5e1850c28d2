"""What a store is told and what it answers, beside the asks and what is written with them. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, RecordEntry

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Idempotency:
    """An agent's own key for a submission, and a digest of what it submitted."""

    agent: str
    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class Created:
    """The ask was stored."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class Existing:
    """The idempotency key had been used: the first ask as it stands, and whether the body was the same."""

    ask: Ask
    same_body: bool


@dataclass(frozen=True, slots=True)
class RememberedAnswer:
    """An answer to be reused in the same turn, for the same agent (empty: there are no tokens)."""

    agent: str
    conversation: str
    turn: str
    tool: str
    question_id: str
    value: JsonValue


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A line of the record with its number: growing over the whole store, not without gaps."""

    seq: int
    entry: RecordEntry


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows and the cursor of the next page (None: that was all)."""

    rows: tuple[T, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook to send: written with the outcome it tells of."""

    id: str
    ask_id: str
    type: str
    url: str
    agent: str | None
    body: str
    created_at: float


class DeliveryState(StrEnum):
    """Where a webhook delivery stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A delivery with what became of it. ``next_at`` is None unless it is pending."""

    delivery: Delivery
    state: DeliveryState
    tries: int
    next_at: float | None
    last_status: int | None
    last_error: str | None
    updated_at: float
