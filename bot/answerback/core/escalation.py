"""Escalation: an ask that nobody answers is shown elsewhere or to more people, and leaves a message behind. Pure."""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from answerback.core.asides import UNOPENED
from answerback.core.ask import (
    AbandonedMessage,
    Ask,
    Change,
    Destination,
    PlaceBefore,
    RecordEntry,
    restart_reminders,
)
from answerback.core.person import Person


def escalate(ask: Ask, at: float) -> Change | None:
    """Escalate an ask: to another place, to more people, or both. Its old message becomes a note."""
    escalation = ask.escalation
    if escalation is None or ask.escalated:
        return None
    responders = tuple(dict.fromkeys((*ask.responders, *escalation.responders)))
    confirmers, elsewhere = escalation.confirmers, escalation.confirmers_elsewhere
    if not confirmers and not elsewhere:
        confirmers, elsewhere = ask.confirmers, ask.confirmers_elsewhere
    escalated = replace(
        ask, responders=responders, escalated=True, revision=ask.revision + 1, updated_at=at
    )
    if escalation.to is not None and escalation.to != ask.destination:
        escalated = replace(
            move(escalated, escalation.to, before=ask),
            responders=escalation.responders or _recipients(escalation.to) or responders,
            confirmers=confirmers,
            confirmers_elsewhere=elsewhere,
        )
    entry = RecordEntry(
        at=at,
        kind="note",
        body={
            "escalated": escalation.model_dump(
                mode="json",
                exclude_none=True,
                exclude={"confirmers", "confirmers_elsewhere"},
            )
        },
    )
    return Change(escalated, (entry,))


def skip_escalation(ask: Ask, at: float, why: str) -> Change | None:
    """Leave an ask where it is, because it can never be shown where it would be escalated to."""
    if ask.escalation is None or ask.escalated:
        return None
    body: dict[str, JsonValue] = {"not_escalated": why}
    return Change(replace(ask, escalated=True), (RecordEntry(at=at, kind="note", body=body),))


def try_other_account(ask: Ask, at: float, why: str) -> Change | None:
    """Send an ask that its owner could not be shown to their next account; None: there is none, or it was shown."""
    others = ask.request.other_accounts[ask.accounts_refused :]
    if ask.seen or not others:
        return None
    account = others[0]
    sent = replace(
        ask,
        destination=account.destination,
        responders=account.responders,
        confirmers=account.confirmers,
        confirmers_elsewhere=account.confirmers_elsewhere,
        message=None,
        thread=None,
        shown_revision=0,
        accounts_refused=ask.accounts_refused + 1,
        revision=ask.revision + 1,
        updated_at=at,
    )
    body: dict[str, JsonValue] = {
        "not_reached": _place_json(ask.destination),
        "reason": why,
        "sent_to": _place_json(account.destination),
    }
    return Change(sent, (RecordEntry(at=at, kind="note", body=body),))


def move(ask: Ask, to: Destination, *, before: Ask | None = None, by: Person | None = None) -> Ask:
    """Return an ask as it begins at another place, where it has yet to be posted.

    Args:
        before: the ask before anything about it changed; None: this ask.
        by: who handed it over; None: it is escalated.
    """
    before = before or ask
    first_seen = ask.first_seen
    if first_seen is None and ask.seen:
        first_seen = ask.created_at if ask.seen_since is None else ask.seen_since
    return replace(
        ask,
        destination=to,
        message=None,
        thread=None,
        shown_revision=0,
        seen=False,
        seen_since=None,
        first_seen=first_seen,
        opened=UNOPENED,
        left=AbandonedMessage(
            destination=ask.destination,
            message=ask.message,
            thread=ask.thread,
            since=ask.seen_since,
        )
        if ask.message
        else None,
        before=PlaceBefore(
            destination=before.destination,
            message=before.message,
            thread=before.thread,
            responders=before.responders,
            confirmers=before.confirmers,
            confirmers_elsewhere=before.confirmers_elsewhere,
            seen=before.seen,
            seen_since=before.seen_since,
            first_seen=before.first_seen,
            left=before.left,
            revision=before.revision,
            opened=before.opened,
            handed_over=before.handed_over,
            by=by,
        ),
    )


def undo_move(ask: Ask, at: float, why: str) -> Change:
    """Return an ask to where it was before, because nobody can be reached where it has moved to.

    Who handed it over is told at once, as by a reminder. An escalation is not repeated.
    """
    before = ask.before
    assert before is not None, f"{ask.id} is not being moved"
    back = replace(_put_back(ask, before), revision=ask.revision + 1, updated_at=at)
    if before.by is not None and ask.open:
        giver = (before.destination.user or before.by.user_id,)
        back = replace(back, handed_to=giver, returned=True, **restart_reminders(ask, at))
    return Change(back, (_return_entry(ask, at, why),))


def return_to_act(ask: Ask, at: float) -> Change:
    """Return an ask to where it was before, because a person acts there while nobody can see it at its new place.

    Their action makes the next revision. A message that was just being posted at the new place becomes a note.
    """
    before = ask.before
    assert before is not None, f"{ask.id} is not being moved"
    back = _put_back(ask, before)
    if ask.message is not None:
        left = AbandonedMessage(destination=ask.destination, message=ask.message, thread=ask.thread)
        back = replace(back, left=left)
    why = "somebody acted where it was before it was shown there"
    return Change(back, (_return_entry(ask, at, why),))


def as_still_open(ask: Ask) -> Ask | None:
    """Return an ask as people still see it where it was, while it is being moved; None: it is not."""
    before = ask.before
    if before is None or not ask.open:
        return None
    return replace(_put_back(ask, before), revision=before.revision)


def _put_back(ask: Ask, before: PlaceBefore) -> Ask:
    return replace(
        ask,
        destination=before.destination,
        message=before.message,
        thread=before.thread,
        responders=before.responders,
        confirmers=before.confirmers,
        confirmers_elsewhere=before.confirmers_elsewhere,
        seen=before.seen,
        seen_since=before.seen_since,
        first_seen=before.first_seen,
        left=before.left,
        before=None,
        shown_revision=0,
        opened=before.opened,
        handed_over=before.handed_over,
    )


def _return_entry(ask: Ask, at: float, why: str) -> RecordEntry:
    body: dict[str, JsonValue] = {"returned_from": _place_json(ask.destination), "reason": why}
    return RecordEntry(at=at, kind="note", body=body)


def _place_json(place: Destination) -> dict[str, JsonValue]:
    parts = {
        "surface": place.surface,
        "channel": place.channel,
        "thread": place.thread,
        "user": place.user,
    }
    return {key: value for key, value in parts.items() if value is not None}


def _recipients(destination: Destination) -> tuple[str, ...]:
    """The recipient of a direct message; nobody for a shared place."""
    return () if destination.user is None else (destination.user,)


def as_left_behind(ask: Ask) -> Ask:
    """Return an ask that has moved as people see it where it was before."""
    left = ask.left
    assert left is not None, f"{ask.id} has not moved"
    place = replace(ask, destination=left.destination, message=left.message, thread=left.thread)
    return replace(place, seen_since=left.since)


def is_left_behind(ask: Ask) -> bool:
    """Whether this is an ask as people see it where it was before."""
    return ask.left is not None and ask.left.destination == ask.destination


def may_have_been_left_open(ask: Ask, at: float) -> bool:
    """Whether people may have seen the ask as open where it was before, at a time of the platform's clock."""
    left = ask.left
    if left is None or (left.since is not None and at <= left.since):
        return False
    return left.until is None or at <= left.until
