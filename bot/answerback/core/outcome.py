"""The end of an ask: its status, the reason, and who ended it. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from answerback.core.given_answer import Source
from answerback.core.giving_up import GaveUp
from answerback.core.person import EpochSeconds, Person, StrictDataclass


class Status(StrEnum):
    """The state of an ask: open, or how it ended."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    TURN_ENDED = "turn_ended"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


class Reason(StrEnum):
    """Why a question was cancelled; reported to the model and in the record."""

    USER = "user"
    BACKEND_ERROR = "backend_error"
    NO_PROMPT_BACKEND = "no_prompt_backend"
    ASSISTANT_ROUTING_DENIED = "assistant_routing_denied"
    INVALID_STATIC_ANSWER = "invalid_static_answer"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    NOT_CONFIRMED = "not_confirmed"  # never stored: see `answerback.core.secrecy`


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(StrictDataclass):
    """The end of an ask; set once, never changed."""

    status: Status
    at: EpochSeconds
    ended_by: Person | None = None
    source: Source | None = None
    reason: Reason | None = None
    message: str | None = None
    """For ``failed``: the message to the model."""
    gave_up: GaveUp | None = None
    """The way in which the host stopped waiting, if that ended an approval."""
