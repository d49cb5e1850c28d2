"""Approvals that deploy scripts consume: each opens one door once."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from answerback.core import refusals
from answerback.core.ask import Ask, Change, RecordEntry, Status
from answerback.core.edited_call import digest_of
from answerback.core.editing import written_edit
from answerback.core.errors import Problem
from answerback.core.form import OptionKind
from answerback.core.too_late import APPROVAL
from answerback.core.walker import Refused, Source
from answerback.ports.store import Decision, Store, Write

_ALLOWING: Final = {OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS}


def is_allowed(ask: Ask) -> bool:
    """Return whether people allowed everything that an approval asked for, or had granted it."""
    ended = ask.outcome
    if ended is None or ended.status is not Status.ANSWERED or ask.request.dialect != APPROVAL:
        return False
    kinds = {*ask.form.kinds_of(ask.walk.values).values()}
    by_people = ended.source in {Source.HUMAN, Source.GRANT}
    return by_people and bool(kinds) and kinds <= _ALLOWING


def _consume(ask: Ask, edited: str | None, *, at: float) -> Change | Refused:
    if ask.collection.consumed_at is not None:
        return Refused((refusals.CONSUMED.problem(),))
    if not is_allowed(ask):
        return Refused((refusals.NOT_APPROVED.problem(),))
    written = written_edit(ask)
    if written is None and edited is not None:
        return Refused((refusals.NOT_EDITED.problem(),))
    if written is not None and edited != digest_of(written):
        return Refused((refusals.EDITED.problem(digest_of(written)),))
    entry = RecordEntry(at=at, kind="note", body={"consumed": True})
    return Change(replace(ask, collection=replace(ask.collection, consumed_at=at)), (entry,))


async def consume(
    store: Store, ask_id: str, at: float, edited: str | None = None
) -> Ask | tuple[Problem, ...]:
    """Consume an approval once, over all processes; return the ask, or why it was not consumed.

    Args:
        edited: the digest of the call as a person has changed it; None: as the agent sent it.
    """

    def decide(ask: Ask | None) -> Decision[Ask | tuple[Problem, ...]]:
        if ask is None:
            raise AssertionError(f"{ask_id} was read before")
        change = _consume(ask, edited, at=at)
        if isinstance(change, Refused):
            return Decision(None, change.problems)
        return Decision(Write(change.ask, change.entries), change.ask)

    done, _ = await store.asks.change(ask_id, decide)
    return done
