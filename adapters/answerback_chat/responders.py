"""Who may act on an ask, as far as a surface can tell by itself; the service decides in the end."""

from __future__ import annotations

from answerback.core.ask import ANYONE, Ask
from answerback.core.walker import Person
from answerback.ports.surface import Actor, SupportsGroups


def responder_groups(ask: Ask) -> frozenset[str]:
    """The groups (without the leading @) among an ask's responders."""
    return frozenset(who[1:] for who in ask.responders if who.startswith("@"))


def is_excluded(ask: Ask, actor: Actor) -> bool:
    """Whether it is certain that this person may not act: nobody named them, and their groups are known."""
    if ANYONE in ask.responders or actor.person.user_id in ask.responders:
        return False
    groups = responder_groups(ask)
    return not groups & actor.groups and (actor.all_groups or groups <= actor.groups_known)


async def resolve_actor(ask: Ask, person: Person, surface: SupportsGroups) -> Actor:
    """A person with those of their groups that decide whether they may act; looked up only where they do.

    Raises:
        PlatformError: the platform does not tell.
    """
    groups = responder_groups(ask)
    if not groups or ANYONE in ask.responders or person.user_id in ask.responders:
        return Actor(person)
    return Actor(person, await surface.groups_of(person, groups), groups)
