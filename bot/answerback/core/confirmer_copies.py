"""Copies of an ask for those who may confirm its answers and cannot see it where it is. Pure.

Nobody else can open a direct message, and a person may have an account on another surface only. Each has the ask in
their own chat, with Confirm and Object, from the moment when its answers are complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pydantic import JsonValue

from answerback.core.ask import Ask, Change, ConfirmerCopy, Destination, RecordEntry, Thread
from answerback.core.handing_over import is_collective


def tellable(confirmers: tuple[str, ...], place: Destination) -> tuple[str, ...]:
    """Return those who can be told in their own chats: named one by one, and not where the ask is anyway."""
    return tuple(each for each in confirmers if not is_collective(each) and each != place.user)


def outdated_copies(ask: Ask) -> tuple[Destination, ...]:
    """Return the chats of those whose copy does not show the ask's current state, or has yet to be posted."""
    copies = {chat_of(each, ask): each for each in ask.copies}
    if ask.confirming:
        named = (
            tellable(ask.waits_for, ask.placement.destination)
            if ask.placement.destination.user
            else ()
        )
        chats = [
            Destination(surface=ask.placement.destination.surface, user=user) for user in named
        ]
        chats += map(_chat_elsewhere, ask.placement.confirmers_elsewhere)
        copies |= {chat: _new_copy(chat) for chat in chats if chat not in copies}
    return tuple(
        chat
        for chat, each in copies.items()
        if not each.unreachable
        and each.shows != ask.rendered_state
        and (ask.open or each.message is not None)
        and chat != ask.placement.destination
    )


def chat_of(copy: ConfirmerCopy, ask: Ask) -> Destination:
    """Return where a copy of an ask is."""
    return Destination(surface=copy.surface or ask.placement.destination.surface, user=copy.user)


def is_account_elsewhere(ask: Ask, accounts: Iterable[tuple[str, str]]) -> bool:
    """Return True if an account, of a surface and an id there, may confirm an ask that is shown elsewhere."""
    listed = ask.placement.confirmers_elsewhere
    return bool(listed) and any(f"{surface}:{user}" in listed for surface, user in accounts)


def _chat_elsewhere(account: str) -> Destination:
    surface, _, user = account.partition(":")
    return Destination(surface=surface, user=user)


def _new_copy(chat: Destination) -> ConfirmerCopy:
    return ConfirmerCopy(user=chat.user or "", surface=chat.surface)


def _copy_in(ask: Ask, chat: Destination) -> ConfirmerCopy:
    found = (each for each in ask.copies if chat_of(each, ask) == chat)
    return next(found, None) or _new_copy(chat)


def as_copy(ask: Ask, chat: Destination) -> Ask:
    """Return an ask as a person who may confirm it sees it in their own chat."""
    copy = _copy_in(ask, chat)
    return replace(
        ask,
        placement=replace(
            ask.placement,
            destination=chat,
            message=copy.message,
            thread=copy.thread,
            shown_revision=0 if copy.shows is None else copy.shows[0],
            was_visible=copy.shows is not None,
            seen_since=None,
            old_message=None,
            place_before=None,
        ),
        is_copy=True,
    )


def copy_at(ask: Ask, field: str, value: JsonValue) -> Ask | None:
    """Return an ask as it is in the copy whose reference has this value, such as its message's id; None: in none."""
    found = (each for each in ask.copies if (each.message or {}).get(field) == value)
    copy = next(found, None) if value is not None else None
    return None if copy is None else as_copy(ask, chat_of(copy, ask))


def places_to_remind(ask: Ask, number: int) -> tuple[Ask, ...]:
    """Return an ask as it is in each chat that gets its reminder.

    While the answers wait for confirmation, those are also the chats of those who may confirm elsewhere and, if they
    were given in a direct message, no other. The copy itself is what tells them first.
    """
    if not ask.confirming or ask.schedule.recipient_ids:
        return (ask,)
    here = (ask,) if ask.placement.destination.user is None and ask.waits_for else ()
    if number == ask.schedule.reminders_done_before:
        return here
    done = {Destination(surface=each.surface, user=each.user_id) for each in ask.walk.decided_by}
    chats = (chat_of(each, ask) for each in ask.copies if each.shows)
    return (*here, *(as_copy(ask, chat) for chat in chats if chat not in done))


def unreachable_count(ask: Ask) -> int:
    """Return how many of those who may confirm an ask's answers cannot be reached."""
    return sum(each.unreachable for each in ask.copies)


def record_copy(latest: Ask, of: Ask, message: dict[str, JsonValue], thread: Thread) -> Ask:
    """Return the ask with a note of what a copy shows: ``of`` is the ask as it was shown there."""
    copy = _copy_in(latest, of.placement.destination)
    shown = replace(copy, message=message or None, thread=thread, shows=of.rendered_state)
    return _with_copy(latest, shown)


def record_pending_copy(latest: Ask, chat: Destination, message: dict[str, JsonValue]) -> Ask:
    """Return the ask with the reference of a copy that is about to be posted, or could not be."""
    return _with_copy(latest, replace(_copy_in(latest, chat), message=message or None))


def record_unreachable(latest: Ask, chat: Destination, why: str, at: float) -> Change:
    """Note that a person who may confirm cannot be reached, which those who answered are shown."""
    copy = replace(_copy_in(latest, chat), unreachable=True)
    recorded = _with_copy(latest, copy)
    is_here = chat.surface == latest.placement.destination.surface
    who = copy.user if is_here else f"{chat.surface}:{copy.user}"
    body: dict[str, JsonValue] = {"not_reached": who, "reason": why}
    return Change(recorded, (RecordEntry(at=at, kind="note", body=body),))


def _with_copy(ask: Ask, copy: ConfirmerCopy) -> Ask:
    others = (each for each in ask.copies if chat_of(each, ask) != chat_of(copy, ask))
    return replace(ask, copies=(*others, copy))
