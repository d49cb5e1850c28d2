"""Escalation: an ask that nobody answers is shown elsewhere or to more people, and leaves a message behind. Pure."""

from __future__ import annotations

from dataclasses import replace

from answerback.core.asides import UNOPENED
from answerback.core.ask import AbandonedMessage, Ask, Change, Destination, RecordEntry


def escalate(ask: Ask, at: float) -> Change | None:
    """Escalate an ask: to another place, to more people, or both. Its old message becomes a note."""
    escalation = ask.request.escalation
    if escalation is None or ask.escalated:
        return None
    responders = tuple(dict.fromkeys((*ask.responders, *escalation.responders)))
    escalated = replace(
        ask, responders=responders, escalated=True, revision=ask.revision + 1, updated_at=at
    )
    if escalation.to is not None and escalation.to != ask.destination:
        escalated = replace(
            move(escalated, escalation.to),
            responders=escalation.responders or _recipients(escalation.to) or responders,
            confirmers=escalation.confirmers or ask.confirmers,
        )
    entry = RecordEntry(
        at=at,
        kind="note",
        body={
            "escalated": escalation.model_dump(
                mode="json", exclude_none=True, exclude={"confirmers"}
            )
        },
    )
    return Change(escalated, (entry,))


def move(ask: Ask, to: Destination) -> Ask:
    """Return an ask as it begins at another place, where it has yet to be posted."""
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
    )


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
