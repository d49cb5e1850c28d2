"""Who may act on an ask, by what is known of their ids and groups; the service has the final decision."""

from __future__ import annotations

from answerback.core.ask import ANYONE, Ask
from answerback.core.people import People
from answerback.core.person import Person
from answerback.ports.surface import Actor


def responder_groups(ask: Ask) -> frozenset[str]:
    """Return the groups among those who may act on an ask now, without the leading @."""
    return frozenset(who[1:] for who in ask.actors if who.startswith("@"))


def missing_groups(allowed: tuple[str, ...], actor: Actor) -> frozenset[str] | None:
    """Return None if the actor may act, else the groups that have yet to be looked up; empty: the actor may not act."""
    ids = (actor.person.user_id,) if actor.ids is None else actor.ids
    # Who can see the prompt is not known of a person elsewhere, unless a front end vouches for them.
    sees_it = actor.ids is None or actor.person.via is not None
    if (ANYONE in allowed and sees_it) or any(each in allowed for each in ids):
        return None
    groups = frozenset(r[1:] for r in allowed if r.startswith("@"))
    if groups & actor.groups:
        return None
    return frozenset() if actor.all_groups else groups - actor.groups_known


def has_done_their_part(ask: Ask, person: Person, people: People) -> bool:
    """Return True if an ask waits for others to confirm what a person answered or confirmed."""
    return ask.confirming and any(people.is_same(person, each) for each in ask.walk.decided_by)
