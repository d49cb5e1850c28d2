"""Decide if a person may hand an ask over, and to whom: the route's list is the limit."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from answerback.core import refusals
from answerback.core.ask import ANYONE, Ask, Change, Destination
from answerback.core.errors import PlatformError, PlatformUnavailableError, RateLimitedError
from answerback.core.handing_over import (
    HandOver,
    apply_hand_over,
    hand_over_limit,
    is_collective,
    is_still_moving,
)
from answerback.core.people import People, account_id
from answerback.core.person import Person
from answerback.ports.surface import Actor, Rejected, RejectReason, SupportsPeople, Surface
from answerback.presentation.responders import missing_groups
from answerback.service.may_act import NeedsGroups
from answerback.service.submission_request import normalize_responders

logger = logging.getLogger(__name__)


class Recipient(NamedTuple):
    """The person to whom an ask is to be handed over, and whether the platform knows them; None: it does not say."""

    actor: Actor
    is_person: bool | None


class NeedsPerson(NamedTuple):
    """The decision depends on a person who has not been looked up yet."""

    ask: Ask
    user_id: str


def decide_hand_over(
    ask: Ask,
    action: HandOver,
    actor: Actor,
    recipient: Recipient | None,
    now: float,
    people: People,
    surface: Surface | None,
) -> Change | Rejected | NeedsGroups | NeedsPerson:
    """Decide about handing over an ask on which a person may act.

    Args:
        surface: where it is asked.
        recipient: the person who was looked up last; None: nobody was.
    """
    ids = normalize_responders((action.to,), ask.placement.destination.surface, people) or ()
    allowed = hand_over_limit(ask)
    if allowed is None:
        return _rejected(ask, refusals.NO_ALLOWED_RECIPIENTS)
    if (refusal := _refusal(ask, actor, ids, people)) is not None:
        return _rejected(ask, refusal)
    there = Person(surface=ask.placement.destination.surface, user_id=ids[0])
    if recipient is None or account_id(recipient.actor.person) != account_id(there):
        return NeedsPerson(ask, ids[0])  # an ask that has moved meanwhile has other people
    if recipient.is_person is False:
        return Rejected(RejectReason.INVALID, ask, (refusals.NOT_A_PERSON.problem(ids[0]),))
    known = tuple(each for each in ids if _is_known(each, ask, people, surface, recipient))
    listed = tuple(each for each in ids if each in allowed or (ANYONE in allowed and each in known))
    if not listed:
        named = tuple(each for each in allowed if each != ANYONE)
        missing = missing_groups(named, recipient.actor)
        if missing:
            return NeedsGroups(ask, recipient.actor, missing, as_recipient=True)
        if missing is not None:
            return _rejected(ask, refusals.NOT_AN_ALLOWED_RECIPIENT)
        listed = (ids[0],)
    name = people.as_named(recipient.actor.person).name
    return apply_hand_over(
        ask, listed, at=now, by=actor.person, name=name, stands_in=action.stands_in
    )


async def look_up_recipient(
    surfaces: Mapping[str, Surface], needed: NeedsPerson
) -> Recipient | None:
    """Ask the platform for the person to whom an ask is to be handed over; None: it cannot say now."""
    ask, user_id = needed.ask, needed.user_id
    surface = surfaces.get(ask.placement.destination.surface)
    person = Person(surface=ask.placement.destination.surface, user_id=user_id)
    if surface is None or not isinstance(surface, SupportsPeople):
        return Recipient(Actor(person), None)
    try:
        name = await surface.find_person(user_id, ask)
    except PlatformError as error:
        extra = {"action": "person_unknown", "ask_id": ask.id, "code": error.code}
        logger.warning("Could not look up a person: %s", error, extra=extra)
        is_for_now = isinstance(error, RateLimitedError | PlatformUnavailableError)
        return None if is_for_now else Recipient(Actor(person), None)
    return Recipient(Actor(replace(person, name=name)), name is not None)


def _refusal(
    ask: Ask, actor: Actor, ids: tuple[str, ...], people: People
) -> refusals.Refusal | None:
    """Return why an ask cannot be handed over to whoever has these ids, whatever its route lists."""
    place = ask.placement.destination
    if not ids or place.user in ids or not all(_is_other(each, ask, actor, people) for each in ids):
        return refusals.NOT_A_RECIPIENT
    return refusals.STILL_MOVING if is_still_moving(ask) else None


def _is_known(
    user_id: str, ask: Ask, people: People, surface: Surface | None, recipient: Recipient
) -> bool:
    """Return True if an id is that of somebody: in the directory or on the platform.

    If that does not say, an id that is well-formed counts as somebody's, in a shared place.
    """
    if recipient.is_person and recipient.actor.person.user_id == user_id:
        return True
    person = Person(surface=ask.placement.destination.surface, user_id=user_id)
    if people.name_of(person) is not None:
        return True
    if surface is None or not surface.live or ask.placement.destination.user is not None:
        return False
    return surface.destination_problem(Destination(surface=surface.name, user=user_id)) is None


def _is_other(user_id: str, ask: Ask, actor: Actor, people: People) -> bool:
    """Return True if an id is that of one person, another one than the actor."""
    person = Person(surface=ask.placement.destination.surface, user_id=user_id)
    is_person = bool(user_id.strip()) and not is_collective(user_id)
    return is_person and not people.is_same(actor.person, person)


def _rejected(ask: Ask, refusal: refusals.Refusal) -> Rejected:
    return Rejected(RejectReason.INVALID, ask, (refusal.problem(),))
