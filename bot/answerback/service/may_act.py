"""Decide if a person is among those who may act, by their accounts and by groups that the surface looks up or names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from answerback.core import refusals
from answerback.core.ask import ANYONE, Ask
from answerback.core.confirmer_copies import is_account_elsewhere
from answerback.core.intents import Intent
from answerback.core.people import People
from answerback.core.person import Person
from answerback.core.walker import Refused
from answerback.ports.surface import Actor, Rejected, RejectReason, Surface
from answerback.presentation.responders import missing_groups
from answerback.service.inbox import find_groups_among


@dataclass(frozen=True, slots=True)
class NeedsGroups:
    """The decision depends on groups that have not been looked up yet."""

    ask: Ask
    actor: Actor
    groups: frozenset[str]
    as_recipient: bool = False
    """True if this is about a person to whom the ask is to be handed over."""


def is_perhaps_at_old_place(rejected: Rejected, intent: Intent) -> bool:
    """Return True if a person may have acted on the old message of an ask that is being moved."""
    ask = rejected.ask
    if ask is None or not ask.open or ask.placement.place_before is None:
        return False
    if rejected.why not in {RejectReason.NOT_ALLOWED, RejectReason.STALE, RejectReason.NOT_FOUND}:
        return False
    return intent.revision is None or is_unchanged_since(intent.revision, ask)


def is_unchanged_since(revision: int, ask: Ask) -> bool:
    """Return True if a revision is that of an ask, or the one before it if the ask has only begun to move since."""
    before = ask.placement.place_before
    is_before = before is not None and revision == before.revision == ask.revision - 1
    return is_before or revision == ask.revision


def refused_to_confirm(
    actor: Actor, ask: Ask, people: People, now: float
) -> Rejected | NeedsGroups | None:
    """Refuse the confirmation of a person who may answer or object, but not confirm."""
    if confirms_from_elsewhere(actor, ask, people):
        accounts = people.accounts_of(actor.person)
        counting = [
            each for each in accounts if people.counts_for_confirmations(_account(*each), now)
        ]
        if people.counts_for_confirmations(actor.person, now) and is_account_elsewhere(
            ask, counting
        ):
            return None
    actor = _with_counting_ids(actor, ask, people, now)
    if actor.ids == ():
        problems = (refusals.LINKED_RECENTLY.problem(),)
        return Rejected(RejectReason.NOT_ALLOWED, ask, problems)
    missing = missing_groups(ask.waits_for, actor)
    if missing:
        return NeedsGroups(ask, actor, missing)
    problems = (refusals.NOT_A_CONFIRMER.problem(),)
    return None if missing is None else Rejected(RejectReason.NOT_ALLOWED, ask, problems)


def confirms_from_elsewhere(actor: Actor, ask: Ask, people: People) -> bool:
    """Return True if a person is one of those who may confirm and have no account on the surface of the ask."""
    return ask.confirming and is_account_elsewhere(ask, people.accounts_of(actor.person))


def _account(surface: str, user_id: str) -> Person:
    return Person(surface=surface, user_id=user_id)


def is_too_new(change: Refused, actor: Actor, ask: Ask, people: People, now: float) -> bool:
    """Return True if a person is not told apart from others only because their account was linked just now."""
    not_told_apart = change.problems[0].code == refusals.NOT_TOLD_APART.code
    return not_told_apart and _with_counting_ids(actor, ask, people, now).ids == ()


def _with_counting_ids(actor: Actor, ask: Ask, people: People, now: float) -> Actor:
    """Return a person with those of their ids where the ask is that count for confirmations."""
    if not people.counts_for_confirmations(actor.person, now):
        return actor._replace(ids=())
    if actor.ids is None:
        return actor
    here = ask.placement.destination.surface
    accounts = (replace(actor.person, surface=here, user_id=each) for each in actor.ids)
    ids = tuple(each.user_id for each in accounts if people.counts_for_confirmations(each, now))
    return actor._replace(ids=ids)


async def is_among(
    names: tuple[str, ...],
    ask: Ask,
    person: Person,
    people: People,
    surfaces: Mapping[str, Surface],
) -> bool | None:
    """Return True if names on an ask's surface include a person, by any of their accounts; None if it cannot say
    yet."""
    place = ask.placement.destination.surface
    if ANYONE in names and person.surface == place:
        return True
    ids = tuple(user_id for each, user_id in people.accounts_of(person) if each == place)
    actor = Actor(person, ids=ids)
    if missing := missing_groups(names, actor):
        with_groups = await look_up_groups(surfaces, NeedsGroups(ask, actor, missing))
        return None if with_groups is None else missing_groups(names, with_groups) is None
    return missing is None


async def look_up_groups(surfaces: Mapping[str, Surface], needed: NeedsGroups) -> Actor | None:
    """The actor with these groups looked up on the surface; None if the surface cannot say yet."""
    ask, actor, groups = needed.ask, needed.actor, needed.groups
    name, person = ask.placement.destination.surface, actor.person
    accounts = [person]
    if actor.ids is not None:
        accounts = [replace(person, surface=name, user_id=each) for each in actor.ids]
    member_of: frozenset[str] = frozenset()
    for account in accounts:
        found = await find_groups_among(surfaces.get(name), account, groups, ask.id)
        if found is None:
            return None
        member_of |= found
    return actor._replace(groups=actor.groups | member_of, groups_known=actor.groups_known | groups)
