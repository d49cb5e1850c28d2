"""The numbers of an ask that has ended: one row, without any text of the ask and without people. Pure."""

from __future__ import annotations

import hashlib
from datetime import date, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from answerback.core.ask import Ask, Outcome, Status
from answerback.core.editing import edited_calls
from answerback.core.form import OptionKind
from answerback.core.given_answer import Source
from answerback.core.grants import Asker, GrantOffer, GrantRule, offer_of
from answerback.core.too_late import APPROVAL
from answerback.dialects.approval import read_tool_call
from answerback_numbers.waits import step_of

_MAX_NAME: Final = 200
"""Characters of a name that are kept: an entry of an index is limited."""
_ANY_GRANT: Final = GrantRule()
_DAY: Final = 86_400
_EPOCH: Final = date(1970, 1, 1)


PENDING: Final = "?"


class Result(StrEnum):
    """The end of an ask, as it is counted."""

    ANSWERED = "answered"
    ALLOWED = "allowed"
    EDITED = "edited"
    """A person changed the call and allowed that."""
    DENIED = "denied"
    GRANTED = "granted"
    """A grant allowed it."""
    AUTOMATIC = "automatic"
    """A default, the configuration or an earlier answer answered it."""
    CANCELLED = "cancelled"
    TURN_ENDED = "turn_ended"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


UNASKED: Final = frozenset({Result.GRANTED, Result.AUTOMATIC})
"""Nobody was waited for, so these say nothing of how long agents wait."""
DECIDED: Final = frozenset(
    {Result.ALLOWED, Result.EDITED, Result.DENIED, Result.CANCELLED, Result.TURN_ENDED}
)
"""A person decided."""
_ALLOWING: Final = {OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS}


class Facts(NamedTuple):
    """A row's values, in the order of its columns."""

    week: str
    """The Monday of the week in which it ended, by UTC, as ``2026-11-23``."""
    agent: str
    route: str
    result: str
    wait: str
    """The step that its wait is counted in; see `answerback_numbers.waits`."""
    call: str
    """The same for calls that one grant would cover, if a person decided; otherwise empty. `PENDING`: not known yet."""


def facts_of(ask: Ask, outcome: Outcome) -> Facts:
    """Return what is counted of an ask that has ended."""
    request, result = ask.request, result_of(ask, outcome)
    waited = outcome.at - ask.created_at + ask.schedule.clock_set_back
    is_decided = result in DECIDED and ask.form.decided_by_hand
    return Facts(
        week=week_of(outcome.at),
        agent=(request.agent or "")[:_MAX_NAME],
        route=(request.route or "")[:_MAX_NAME],
        result=result.value,
        wait=str(step_of(waited)),
        call=_known_call(ask) if is_decided else "",
    )


def week_of(at: float, before: int = 0) -> str:
    """Return the week of a time, or one so many weeks before it."""
    day = _EPOCH + timedelta(days=int(at // _DAY) - 7 * before)
    return str(day - timedelta(days=day.weekday()))


def result_of(ask: Ask, outcome: Outcome) -> Result:
    """Return how an ask ended, as it is counted."""
    if outcome.status is not Status.ANSWERED:
        return Result(outcome.status.value)
    if outcome.source is Source.GRANT:
        return Result.GRANTED
    if outcome.source not in {None, Source.HUMAN}:
        return Result.AUTOMATIC
    if not ask.form.decided_by_hand:  # an approval is
        return Result.ANSWERED
    kinds = set(ask.form.kinds_of(ask.walk.values).values())
    if OptionKind.DENY in kinds:
        return Result.DENIED
    if not kinds or not kinds <= _ALLOWING:
        return Result.ANSWERED
    return Result.EDITED if edited_calls(ask) else Result.ALLOWED


def grantable(ask: Ask) -> GrantOffer | None:
    """Return what of an ask could be allowed again if its route let people grant it; None: nothing."""
    request = ask.request
    if request.dialect != APPROVAL or ask.form.confirmation is not None:
        return None
    if request.grants is not None:
        return request.grants
    call = read_tool_call(request.name, request.as_sent)
    folder = request.origin.folder or ""
    asker = Asker(request.agent or "", request.origin.owner, folder, request.route or "")
    return None if call is None else offer_of(_ANY_GRANT, asker, call)


def _known_call(ask: Ask) -> str:
    """Return what is known of a call without reading it again, for which no transaction waits."""
    return PENDING if ask.request.grants is None else call_of(ask)


def call_of(ask: Ask) -> str:
    """Return what is the same for calls that one grant would cover; empty if none covers it."""
    offer = grantable(ask)
    if offer is None:
        return ""
    # The first is the narrowest: this command, this file, this address, this tool with these arguments.
    return hashlib.sha256(offer.matches[0].scope.encode()).hexdigest()[:32]
