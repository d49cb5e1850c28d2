"""Consuming an approval: it opens one door once. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from answerback.core import refusals
from answerback.core.ask import Ask, Change, RecordEntry, Status
from answerback.core.form import OptionKind
from answerback.core.too_late import APPROVAL
from answerback.core.walker import Refused, Source

_ALLOWING: Final = {OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS}


def is_allowed(ask: Ask) -> bool:
    """Return whether people allowed everything that an approval asked for, or had granted it."""
    ended = ask.outcome
    if ended is None or ended.status is not Status.ANSWERED or ask.request.dialect != APPROVAL:
        return False
    kinds = {*ask.form.kinds_of(ask.walk.values).values()}
    by_people = ended.source in {Source.HUMAN, Source.GRANT}
    return by_people and bool(kinds) and kinds <= _ALLOWING


def consume(ask: Ask, *, at: float) -> Change | Refused:
    """Consume an approval, once."""
    if ask.consumed_at is not None:
        return Refused((refusals.CONSUMED.problem(),))
    if not is_allowed(ask):
        return Refused((refusals.NOT_APPROVED.problem(),))
    entry = RecordEntry(at=at, kind="note", body={"consumed": True})
    return Change(replace(ask, consumed_at=at), (entry,))
