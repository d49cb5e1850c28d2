"""Consuming an approval: it opens one door once. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from answerback.core import refusals
from answerback.core.ask import Ask, Change, RecordEntry, Status
from answerback.core.form import OptionKind
from answerback.core.too_late import APPROVAL
from answerback.core.walker import Refused

_ALLOWING: Final = {OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS}


def option_kinds(ask: Ask) -> dict[str, OptionKind]:
    """Return what the chosen options of an approval do, by question id."""
    kinds = {}
    for given in ask.walk.answers:
        question = ask.form.question(given.question_id)
        option = question.option(given.value) if question is not None else None
        if option is not None and option.kind is not None:
            kinds[given.question_id] = option.kind
    return kinds


def is_allowed(ask: Ask) -> bool:
    """Return whether everything that an approval asked for was allowed."""
    if ask.status is not Status.ANSWERED or ask.request.dialect != APPROVAL:
        return False
    kinds = option_kinds(ask).values()
    return bool(kinds) and set(kinds) <= _ALLOWING


def consume(ask: Ask, *, at: float) -> Change | Refused:
    """Consume an approval, once."""
    if ask.consumed_at is not None:
        return Refused((refusals.CONSUMED.problem(),))
    if not is_allowed(ask):
        return Refused((refusals.NOT_APPROVED.problem(),))
    entry = RecordEntry(at=at, kind="note", body={"consumed": True})
    return Change(replace(ask, consumed_at=at), (entry,))
