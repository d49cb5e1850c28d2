"""Values that a store takes and returns, along with asks and writes. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeAlias, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, RecordEntry
from answerback.core.clarification import CLARIFY

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
    """The idempotency key had been used before: the first ask as it is now, and whether the body was the same."""

    ask: Ask
    same_body: bool


MINUTE: Final = 60.0
"""The seconds over which `AskLimits.asks_per_minute` counts."""


@dataclass(frozen=True, slots=True)
class AskLimits:
    """The limits of one agent; 0: no limit."""

    asks_per_minute: int = 0
    open_asks: int = 0
    open_asks_per_conversation: int = 0
    unclaimed_files: int = 0
    """Uploaded files that no ask has named yet."""


NO_LIMITS: Final = AskLimits()


@dataclass(frozen=True, slots=True)
class LimitReached:
    """The ask was not stored, because its agent has reached a limit."""

    limit: str
    """The field of `AskLimits`."""
    retry_after: float | None = None
    """Seconds until the agent may ask again; None: when one of its asks has ended."""


@dataclass(frozen=True, slots=True)
class GrantGone:
    """The ask was not stored, because its grant was used, ended or revoked in the meantime."""


@dataclass(frozen=True, slots=True)
class FilesGone:
    """The ask was not stored, because one of its files was claimed by another ask, or deleted, in the meantime."""


CreateResult: TypeAlias = Created | Existing | LimitReached | GrantGone | FilesGone


@dataclass(frozen=True, slots=True)
class RememberedAnswer:
    """An answer to reuse in the same turn, for the same agent (empty: there are no tokens)."""

    agent: str
    conversation: str
    turn: str
    tool: str
    question: str
    """The question's digest: see `answerback.core.form.Form.digest_of`."""
    value: JsonValue


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A line of the record with its number. Numbers increase over the whole store, but may have gaps."""

    seq: int
    entry: RecordEntry


@dataclass(frozen=True, slots=True)
class ChangedAsks:
    """The ids of asks whose record has grown, in the order of their changes, and the cursor behind those."""

    ids: tuple[str, ...]
    after: str
    is_last: bool
    """True if nothing else had changed."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows and the cursor of the next page (None: this is the last page)."""

    rows: tuple[T, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook or a push to send: stored together with the change that it reports, and sent from
    ``created_at`` on."""

    id: str
    ask_id: str
    type: str
    url: str
    agent: str | None
    body: str
    created_at: float

    @property
    def brings_outcome(self) -> bool:
        """True if it tells an agent how its ask ended."""
        return not self.is_push and self.type != f"ask.{CLARIFY}"

    @property
    def is_push(self) -> bool:
        """True if it tells people, not an agent."""
        return self.type.startswith("push.")


def push_queue(ask_id: str, name: str) -> str:
    """Return what stands for the ask in pushes that are sent in turn. All of an ask have the same beginning."""
    return f"push {ask_id} {name}"


class DeliveryState(StrEnum):
    """The state of a webhook delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A delivery and its progress. ``next_at`` is None unless it is pending."""

    delivery: Delivery
    state: DeliveryState
    tries: int
    next_at: float | None
    last_status: int | None
    last_error: str | None
    updated_at: float

    @property
    def is_finished_push(self) -> bool:
        """True for a push that is over: it leaves nothing behind, unlike a webhook."""
        return self.delivery.is_push and self.state is not DeliveryState.PENDING
