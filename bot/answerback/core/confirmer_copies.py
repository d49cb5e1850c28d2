"""Copies of a direct message for those who may confirm its answers: nobody else can open that chat. Pure.

Each has the ask in their own chat, with Confirm and Object, from the moment when its answers are complete.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from answerback.core.ask import Ask, Change, ConfirmerCopy, Destination, RecordEntry, Thread
from answerback.core.handing_over import is_collective


def tellable(confirmers: tuple[str, ...], place: Destination) -> tuple[str, ...]:
    """Return those who can be told in their own chats: named one by one, and not where the ask is anyway."""
    return tuple(each for each in confirmers if not is_collective(each) and each != place.user)


def outdated_copies(ask: Ask) -> tuple[str, ...]:
    """Return the ids of those whose copy does not show the ask's current state, or has yet to be posted."""
    copies = {each.user: each for each in ask.copies}
    if ask.confirming and ask.destination.user is not None:
        named = tellable(ask.waits_for, ask.destination)
        copies |= {user: ConfirmerCopy(user=user) for user in named if user not in copies}
    return tuple(
        each.user
        for each in copies.values()
        if not each.unreachable
        and each.shows != ask.rendered_state
        and (ask.open or each.message is not None)
        and each.user != ask.destination.user
    )


def as_copy(ask: Ask, user: str) -> Ask:
    """Return an ask as a person who may confirm it sees it in their own chat."""
    copy = next((each for each in ask.copies if each.user == user), ConfirmerCopy(user=user))
    return replace(
        ask,
        destination=Destination(surface=ask.destination.surface, user=user),
        message=copy.message,
        thread=copy.thread,
        shown_revision=0 if copy.shows is None else copy.shows[0],
        seen=copy.shows is not None,
        seen_since=None,
        left=None,
        before=None,
        is_copy=True,
    )


def copy_at(ask: Ask, field: str, value: JsonValue) -> Ask | None:
    """Return an ask as it is in the copy whose reference has this value, such as its message's id; None: in none."""
    found = (each for each in ask.copies if (each.message or {}).get(field) == value)
    copy = next(found, None) if value is not None else None
    return None if copy is None else as_copy(ask, copy.user)


def places_to_remind(ask: Ask, number: int) -> tuple[Ask, ...]:
    """Return an ask as it is in each chat that gets its reminder.

    While the answers to a direct message wait for confirmation, those are the chats of those who may confirm. The
    copy itself is what tells them first.
    """
    if not ask.confirming or ask.destination.user is None or ask.handed_to:
        return (ask,)
    if number == ask.reminded_before:
        return ()
    done = {each.user_id for each in ask.walk.decided_by if each.surface == ask.destination.surface}
    posted = (each for each in ask.copies if each.shows and each.user not in done)
    return tuple(as_copy(ask, each.user) for each in posted)


def unreachable_count(ask: Ask) -> int:
    """Return how many of those who may confirm an ask's answers cannot be reached."""
    return sum(each.unreachable for each in ask.copies)


def record_copy(latest: Ask, of: Ask, message: dict[str, JsonValue], thread: Thread) -> Ask:
    """Return the ask with a note of what a copy shows: ``of`` is the ask as it was shown there."""
    user = of.destination.user or ""
    shown = ConfirmerCopy(
        user=user, message=message or None, thread=thread, shows=of.rendered_state
    )
    return _with_copy(latest, shown)


def record_pending_copy(latest: Ask, user: str, message: dict[str, JsonValue]) -> Ask:
    """Return the ask with the reference of a copy that is about to be posted, or could not be."""
    known = next((each for each in latest.copies if each.user == user), ConfirmerCopy(user=user))
    return _with_copy(latest, replace(known, message=message or None))


def record_unreachable(latest: Ask, user: str, why: str, at: float) -> Change:
    """Note that a person who may confirm cannot be reached, which those who answered are shown."""
    known = next((each for each in latest.copies if each.user == user), ConfirmerCopy(user=user))
    recorded = _with_copy(latest, replace(known, unreachable=True))
    body: dict[str, JsonValue] = {"not_reached": user, "reason": why}
    return Change(recorded, (RecordEntry(at=at, kind="note", body=body),))


def _with_copy(ask: Ask, copy: ConfirmerCopy) -> Ask:
    others = (each for each in ask.copies if each.user != copy.user)
    return replace(ask, copies=(*others, copy))
