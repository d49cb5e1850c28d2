"""Whether a person may hand an ask over, and to whom: the route's list is the limit."""

from __future__ import annotations

from answerback.core import refusals
from answerback.core.ask import ANYONE, Ask, Change, Destination
from answerback.core.handing_over import HandOver, apply_hand_over, ceiling_of, is_collective
from answerback.core.people import People
from answerback.core.person import Person
from answerback.ports.surface import Actor, Rejected, RejectReason, Surface
from answerback.presentation.responders import missing_groups
from answerback.service.may_act import NeedsGroups
from answerback.service.submission_plan import normalize_responders


def decide_hand_over(
    ask: Ask,
    action: HandOver,
    actor: Actor,
    taker: Actor | None,
    now: float,
    people: People,
    surface: Surface | None,
) -> Change | Rejected | NeedsGroups:
    """Decide about handing over an ask on which a person may act.

    Args:
        surface: where it is asked.
        taker: the other person, once it was looked up in which groups they are.
    """
    missing = missing_groups(ask.responders, actor)
    if missing is not None:  # who may only confirm has nothing to give
        needs = NeedsGroups(ask, actor, missing)
        return needs if missing else Rejected(RejectReason.NOT_ALLOWED, ask)
    ids = normalize_responders((action.to,), ask.destination.surface, people) or ()
    ceiling = ceiling_of(ask)
    if ceiling is None:
        return _rejected(ask, refusals.NO_CEILING)
    if (refusal := _refusal(ask, actor, ids, people)) is not None:
        return _rejected(ask, refusal)
    known = tuple(each for each in ids if _is_known(each, ask, people, surface))
    listed = tuple(each for each in ids if each in ceiling or (ANYONE in ceiling and each in known))
    if not listed:
        person = Person(surface=ask.destination.surface, user_id=ids[0])
        named = tuple(each for each in ceiling if each != ANYONE)
        taker = taker or Actor(person)
        missing = missing_groups(named, taker)
        if missing:
            return NeedsGroups(ask, taker, missing, as_taker=True)
        if missing is not None:
            return _rejected(ask, refusals.BEYOND_CEILING)
        listed = (person.user_id,)
    return apply_hand_over(ask, listed, at=now, by=actor.person)


def _refusal(
    ask: Ask, actor: Actor, ids: tuple[str, ...], people: People
) -> refusals.Refusal | None:
    """Return why an ask cannot be handed over to whoever has these ids, whatever its route lists."""
    place = ask.destination
    if not ids or place.user in ids or not all(_is_other(each, ask, actor, people) for each in ids):
        return refusals.NOT_A_TAKER
    return refusals.STILL_MOVING if place.user is not None and ask.is_moving else None


def _is_known(user_id: str, ask: Ask, people: People, surface: Surface | None) -> bool:
    """Whether an id is that of somebody: in the directory or, in a shared place, as the platform writes ids."""
    person = Person(surface=ask.destination.surface, user_id=user_id)
    if people.name_of(person) is not None:
        return True
    if surface is None or not surface.live or ask.destination.user is not None:
        return False
    return surface.destination_problem(Destination(surface=surface.name, user=user_id)) is None


def _is_other(user_id: str, ask: Ask, actor: Actor, people: People) -> bool:
    """Whether an id is that of one person, another one than the actor."""
    person = Person(surface=ask.destination.surface, user_id=user_id)
    is_person = bool(user_id.strip()) and not is_collective(user_id)
    return is_person and not people.is_same(actor.person, person)


def _rejected(ask: Ask, refusal: refusals.Refusal) -> Rejected:
    return Rejected(RejectReason.INVALID, ask, (refusal.problem(),))
