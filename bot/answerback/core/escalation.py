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
    Placement,
    RecordEntry,
    restart_reminders,
)
from answerback.core.person import Person


def escalate(ask: Ask, at: float) -> Change | None:
    """Escalate an ask: to another place, to more people, or both. Its old message becomes a note."""
    escalation = ask.escalation
    if escalation is None or ask.schedule.escalated:
        return None
    place = ask.placement
    responders = tuple(dict.fromkeys((*place.responders, *escalation.responders)))
    escalated = replace(
        ask,
        placement=replace(place, responders=responders),
        schedule=replace(ask.schedule, escalated=True),
        revision=ask.revision + 1,
        updated_at=at,
    )
    if escalation.to is not None and escalation.to != place.destination:
        confirmers, elsewhere = escalation.confirmers, escalation.confirmers_elsewhere
        if not confirmers and not elsewhere:
            confirmers, elsewhere = place.confirmers, place.confirmers_elsewhere
        there = replace(
            place,
            responders=escalation.responders or _recipients(escalation.to) or responders,
            confirmers=confirmers,
            confirmers_elsewhere=elsewhere,
        )
        escalated = move(replace(escalated, placement=there), escalation.to, before=ask)
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
    if ask.escalation is None or ask.schedule.escalated:
        return None
    body: dict[str, JsonValue] = {"not_escalated": why}
    return Change(
        replace(ask, schedule=replace(ask.schedule, escalated=True)),
        (RecordEntry(at=at, kind="note", body=body),),
    )


def try_other_account(ask: Ask, at: float, why: str) -> Change | None:
    """Send an ask that its owner could not be shown to their next account; None: there is none, or it was shown."""
    others = ask.request.other_accounts[ask.unreachable_accounts :]
    if ask.placement.was_visible or not others:
        return None
    account = others[0]
    sent = replace(
        ask,
        placement=replace(
            ask.placement,
            destination=account.destination,
            responders=account.responders,
            confirmers=account.confirmers,
            confirmers_elsewhere=account.confirmers_elsewhere,
            message=None,
            thread=None,
            shown_revision=0,
        ),
        unreachable_accounts=ask.unreachable_accounts + 1,
        revision=ask.revision + 1,
        updated_at=at,
    )
    body: dict[str, JsonValue] = {
        "not_reached": _place_json(ask.placement.destination),
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
    before, place = before or ask, ask.placement
    first_seen = place.first_seen
    if first_seen is None and place.was_visible:
        first_seen = ask.created_at if place.seen_since is None else place.seen_since
    left = None
    if place.message:
        left = AbandonedMessage(
            destination=place.destination,
            message=place.message,
            thread=place.thread,
            since=place.seen_since,
        )
    return replace(
        ask,
        placement=Placement(
            destination=to,
            responders=place.responders,
            confirmers=place.confirmers,
            confirmers_elsewhere=place.confirmers_elsewhere,
            handed_over=place.handed_over,
            stand_ins=place.stand_ins,
            first_seen=first_seen,
            old_message=left,
            place_before=PlaceBefore(
                placement=replace(before.placement, shown_revision=0, place_before=None),
                revision=before.revision,
                opening=before.opening,
                by=by,
            ),
        ),
        opening=UNOPENED,
    )


def follow_group(ask: Ask, old: str, new: str, at: float) -> Change | None:
    """Move an ask to the id that its group has from now on, because nothing can be posted with the old one any more.

    None: its message is not there, or not posted yet.
    """
    place, message = ask.placement, ask.placement.message or {}
    is_posted = message.get("channel") == old and "id" in message
    if not is_posted or place.place_before is not None:
        return None
    followed = replace(ask, revision=ask.revision + 1, updated_at=at)
    moved = move(followed, replace(place.destination, channel=new), before=ask)
    there, before = moved.placement, moved.placement.place_before
    assert before is not None, f"{ask.id} has not moved"
    closed = replace(there, place_before=replace(before, is_closed=True))
    body: dict[str, JsonValue] = {"group_moved_to": _place_json(there.destination)}
    entry = RecordEntry(at=at, kind="note", body=body)
    return Change(replace(moved, placement=closed), (entry,))


def undo_move(ask: Ask, at: float, why: str) -> Change:
    """Return an ask to where it was before, because nobody can be reached where it has moved to.

    Who handed it over is told at once, as by a reminder. An escalation is not repeated.
    """
    before = ask.placement.place_before
    assert before is not None, f"{ask.id} is not being moved"
    back = replace(_put_back(ask, before), revision=ask.revision + 1, updated_at=at)
    if before.by is not None and ask.open:
        giver = (before.placement.destination.user or before.by.user_id,)
        schedule = replace(
            restart_reminders(ask, at),
            recipient_ids=giver,
            hand_over_failed=True,
            unreachable=tuple(
                dict.fromkeys((*ask.schedule.unreachable, ask.placement.destination))
            ),
        )
        back = replace(back, schedule=schedule)
    return Change(back, (_return_entry(ask, at, why),))


def return_to_act(ask: Ask, at: float) -> Change:
    """Return an ask to where it was before, because a person acts there while nobody can see it at its new place.

    Their action makes the next revision. A message that was just being posted at the new place becomes a note. If
    nothing can be posted where it was, the ask does not return.
    """
    before = ask.placement.place_before
    assert before is not None, f"{ask.id} is not being moved"
    if before.is_closed:
        return Change(ask, ())
    back, there = _put_back(ask, before), ask.placement
    if there.message is not None:
        left = AbandonedMessage(
            destination=there.destination, message=there.message, thread=there.thread
        )
        back = replace(back, placement=replace(back.placement, old_message=left))
    why = "somebody acted where it was before it was shown there"
    return Change(back, (_return_entry(ask, at, why),))


def as_still_open(ask: Ask) -> Ask | None:
    """Return an ask as people still see it where it was, while it is being moved; None: it is not."""
    before = ask.placement.place_before
    if before is None or not ask.open:
        return None
    return replace(_put_back(ask, before), revision=before.revision)


def _put_back(ask: Ask, before: PlaceBefore) -> Ask:
    return replace(ask, placement=before.placement, opening=before.opening)


def _return_entry(ask: Ask, at: float, why: str) -> RecordEntry:
    body: dict[str, JsonValue] = {
        "returned_from": _place_json(ask.placement.destination),
        "reason": why,
    }
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
    left = ask.placement.old_message
    assert left is not None, f"{ask.id} has not moved"
    place = replace(
        ask.placement,
        destination=left.destination,
        message=left.message,
        thread=left.thread,
        seen_since=left.since,
    )
    return replace(ask, placement=place)


def is_left_behind(ask: Ask) -> bool:
    """Return True for an ask as people see it where it was before."""
    return (
        ask.placement.old_message is not None
        and ask.placement.old_message.destination == ask.placement.destination
    )


def may_have_been_left_open(ask: Ask, at: float) -> bool:
    """Return True if people may have seen the ask as open where it was before, at a time of the platform's clock."""
    left = ask.placement.old_message
    if left is None or (left.since is not None and at <= left.since):
        return False
    return left.until is None or at <= left.until
