"""The end of an ask that has expired."""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core import walker
from answerback.core.actions import Action, Answer, Submit
from answerback.core.ask import Ask, Change, Reason, RecordEntry, Status
from answerback.core.walker import Refused, Source
from answerback.service.act_or_refuse import ChangeCommitter


def expire_change(commits: ChangeCommitter, ask: Ask, at: float) -> Change:
    """End an expired ask, with its defaults if it allows them; configured answers still take precedence.

    Nobody could confirm defaults any more, so a form whose answers have to be confirmed takes none.
    """
    form = ask.form
    takes_defaults = form.confirmation is None and not form.decided_by_hand
    if ask.request.on_expiry == "defaults" and takes_defaults:
        change = Change(replace(ask, walk=walker.resume(ask.form, ask.walk)), ())
        while (change := commits.apply_routing(change, at)).ask.open:
            question = change.ask.question
            if question is not None and not question.has_default:
                break
            action: Action = Submit() if question is None else Answer(value=question.default)
            following = asks.apply_action(change.ask, action, at=at, by=None, source=Source.DEFAULT)
            if isinstance(following, Refused):
                break
            change = Change(following.ask, (*change.entries, *following.entries))
        if not change.ask.open:
            return Change(replace(change.ask, revision=ask.revision + 1), change.entries)
    return asks.end_ask(ask, Status.EXPIRED, at=at, reason=Reason.EXPIRED)


def expire_after_crashes(ask: Ask, at: float, *, crashes: int) -> Change | None:
    """End an expired ask without its defaults, and say in the record why; None: its deadline has not come."""
    if ask.schedule.expires_at is None or at < ask.schedule.expires_at:
        return None
    body: dict[str, JsonValue] = {"crashed_at_deadline": crashes}
    ended = asks.end_ask(ask, Status.EXPIRED, at=at, reason=Reason.EXPIRED)
    return Change(ended.ask, (RecordEntry(at=at, kind="note", body=body), *ended.entries))
