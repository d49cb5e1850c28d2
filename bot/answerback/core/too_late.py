"""Approvals whose host no longer waits: they end, and a person can tell the agent to try again. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from answerback.core import refusals
from answerback.core.answers import Invalid, check_text
from answerback.core.ask import Ask, Change, Reason, RecordEntry, Status, end_ask
from answerback.core.errors import Problem
from answerback.core.giving_up import GaveUp, TriedAgain
from answerback.core.walker import Person, Refused

APPROVAL: Final = "approval"
"""The dialect of permission prompts. Anything else is a question, which stays open when its agent waits no longer."""
MAX_TEXT: Final = 2_000
"""The most characters of what a person tells the agent."""
_SECONDS: Final = 86_400.0
"""Seconds after the end in which the agent can be told to try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryAgain:
    """Tell the agent to try again what nobody allowed in time. It approves nothing."""

    action: ClassVar[str] = "try_again"
    text: str | None = None
    is_draft: bool = False
    """True if the person has yet to enter the text: then it is only checked that they may."""


def give_up(ask: Ask, how: GaveUp, *, at: float) -> Change:
    """End an open approval whose host no longer waits."""
    return end_ask(ask, Status.EXPIRED, at=at, reason=Reason.EXPIRED, gave_up=how)


def can_try_again(ask: Ask, at: float | None = None) -> bool:
    """Return whether people can tell the agent to try again; without ``at``, for as long as that is not too late."""
    if at is not None and ask.outcome is not None and at - ask.outcome.at > _SECONDS:
        return False
    gave_up = ask.outcome is not None and ask.outcome.gave_up is not None
    return gave_up and ask.retry_request is None and ask.erased_at is None


def apply_try_again(ask: Ask, action: TryAgain, *, at: float, by: Person) -> Change | Refused:
    """Note what a person tells the agent. The ask stays as it ended."""
    if (problem := _problem(ask, action, at)) is not None:
        return Refused((problem,))
    text = action.text or None
    retried = replace(ask, retry_request=TriedAgain(at=at, by=by, text=text))
    return Change(retried, (RecordEntry(at=at, kind="note", by=by, body={"try_again": text}),))


def _problem(ask: Ask, action: TryAgain, at: float) -> Problem | None:
    if ask.retry_request is not None:
        return refusals.TRIED_AGAIN.problem()
    if ask.outcome is None or not can_try_again(ask):
        return refusals.NOTHING_TO_TRY_AGAIN.problem()
    if at - ask.outcome.at > _SECONDS:
        return refusals.TOO_LATE_TO_TRY_AGAIN.problem()
    checked = check_text(action.text, MAX_TEXT).at("/text") if action.text else None
    return checked.problems[0] if isinstance(checked, Invalid) else None
