"""Handing over: a responder gives an open ask to another person whom its route allows. Pure.

The other person becomes a responder and is told; the giver stays one. A direct message moves to the other person.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Change, HandedOver, RecordEntry, restart_reminders
from answerback.core.escalation import move
from answerback.core.people import People, account_id
from answerback.core.person import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """Hand the ask over to a person, by an id on its surface or by ``person:`` and a name in the directory."""

    action: ClassVar[str] = "hand_over"
    to: str
    stands_in: tuple[str, ...] = ()
    """The accounts of those who are away, if the other person is given it because they stand in for them."""


def hand_over_limit(ask: Ask) -> tuple[str, ...] | None:
    """Return those to whom an ask may be handed over: its route's list, and whom it was escalated to; None: nobody."""
    allowed, escalation = ask.allowed_recipients, ask.escalation
    if allowed is None or escalation is None or not ask.schedule.escalated:
        return allowed
    return (*allowed, *escalation.responders)


def possible_recipients(ask: Ask) -> tuple[str, ...] | None:
    """Return the ids of those to whom an open ask can be handed over, without groups; None: it cannot be."""
    allowed = hand_over_limit(ask) if ask.open else None
    return None if allowed is None else tuple(each for each in allowed if not is_collective(each))


def people_to_choose(ask: Ask, people: People) -> tuple[str, ...] | None:
    """Return the ids of those among whom a person chooses: the possible recipients, and if anyone may get it, also
    whom the directory knows."""
    listed = possible_recipients(ask)
    if listed is None or ANYONE not in (hand_over_limit(ask) or ()):
        return listed
    known = (people.ids_on(name, ask.placement.destination.surface) for name in people.accounts)
    return tuple(dict.fromkeys((*listed, *(each for ids in known for each in ids))))


def is_collective(name: str) -> bool:
    """Return True if a name stands for several people."""
    return name == ANYONE or name.startswith("@")


def is_still_moving(ask: Ask) -> bool:
    """Return True if an ask cannot be handed over yet: it is a direct message that is being moved."""
    return ask.placement.destination.user is not None and ask.is_moving


def reminder_recipients(ask: Ask, number: int) -> tuple[str, ...]:
    """Return the ids of those whom a reminder notifies: the person it was handed over to, or all it waits for.

    Who has answered or confirmed has nothing left to confirm.
    """
    if ask.is_copy and ask.placement.destination.user is not None:
        return (ask.placement.destination.user,)
    if ask.schedule.recipient_ids and number == ask.schedule.reminders_done_before:
        return ask.schedule.recipient_ids
    done = ask.walk.decided_by if ask.confirming else ()
    ids = {each.user_id for each in done if each.surface == ask.placement.destination.surface}
    return tuple(each for each in ask.waits_for if each not in ids)


def apply_hand_over(
    ask: Ask,
    to: tuple[str, ...],
    *,
    at: float,
    by: Person,
    name: str | None = None,
    stands_in: tuple[str, ...] = (),
) -> Change:
    """Hand an open ask over to the person who has these ids on its surface, and perhaps a name that is known.

    Args:
        stands_in: the accounts of those for whom they stand in.
    """
    place = ask.placement.destination
    handed = replace(
        ask,
        placement=replace(
            ask.placement,
            responders=tuple(dict.fromkeys((*ask.placement.responders, *to))),
            handed_over=HandedOver(
                by=by, to=Person(surface=place.surface, user_id=to[0], name=name)
            ),
            stand_ins=(*ask.placement.stand_ins, _group(stands_in, to, place.surface))
            if stands_in
            else ask.placement.stand_ins,
        ),
        revision=ask.revision + 1,
        updated_at=at,
        last_actor=by,
        last_action_revision=ask.revision + 1,
        schedule=replace(
            restart_reminders(ask, at),
            recipient_ids=() if place.user else to,  # a direct message is its own notification
            hand_over_failed=False,
        ),
    )
    if place.user:
        handed = move(handed, replace(place, user=to[0]), before=ask, by=by)
    body: dict[str, JsonValue] = {"to": to[0]}
    if name is not None:
        body["name"] = name
    if stands_in:
        body["stands_in"] = True
    entry = RecordEntry(at=at, kind="handed_over", by=by, body=body)
    return Change(handed, (entry,))


def _group(absent: tuple[str, ...], to: tuple[str, ...], surface: str) -> tuple[str, ...]:
    return (*absent, *(f"{surface}:{each}" for each in to))


def stands_in_for_any(ask: Ask, person: Person, others: Collection[Person], people: People) -> bool:
    """Return True if these people stand in for each other: all accounts of one human count, former ones too."""
    for group in ask.placement.stand_ins:
        humans = {people.human(_account(each)) for each in group}
        if people.human(person) in humans and any(people.human(each) in humans for each in others):
            return True
    return False


def is_left_to_stand_ins(ask: Ask) -> bool:
    """Return True if too few can confirm answers, because the others stand in for whoever answered, or the other way
    round. Accounts on other surfaces are not compared."""
    place, rule = ask.placement, ask.form.confirmation
    may_be_more = place.confirmers_elsewhere or any(map(is_collective, ask.waits_for))
    if rule is None or not ask.confirming or not place.stand_ins or may_be_more:
        return False
    answered = {account_id(each) for each in ask.walk.answerers}
    groups = (set(group) for group in place.stand_ins)
    barred = set[str]().union(*(group for group in groups if not answered.isdisjoint(group)))
    named = {f"{place.destination.surface}:{each}" for each in ask.waits_for}
    left = named - barred - {account_id(each) for each in ask.walk.decided_by}
    return len(left) < rule.due - len(ask.walk.votes)


def _account(account: str) -> Person:
    surface, _, user_id = account.partition(":")
    return Person(surface=surface, user_id=user_id)


def without_recipients(ask: Ask, left_out: Collection[str]) -> Ask:
    """Return an ask as a reminder is written that does not notify these ids."""

    def kept(ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(each for each in ids if each not in left_out)

    place = ask.placement
    return replace(
        ask,
        placement=replace(
            place, responders=kept(place.responders), confirmers=kept(place.confirmers)
        ),
    )
