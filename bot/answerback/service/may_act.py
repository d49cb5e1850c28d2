"""Whether a person is among those who may act, by their ids and the groups that they are in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from answerback.core.ask import ANYONE, Ask
from answerback.ports.surface import Actor, Surface
from answerback.service.inbox import find_groups_among


@dataclass(frozen=True, slots=True)
class NeedsGroups:
    """Whether the actor may act depends on groups that have not been looked up yet."""

    ask: Ask
    groups: frozenset[str]


def missing_groups(allowed: tuple[str, ...], actor: Actor) -> frozenset[str] | None:
    """None: may act. Otherwise the groups that have yet to be looked up; empty: may not act."""
    ids = (actor.person.user_id,) if actor.ids is None else actor.ids
    if ANYONE in allowed or any(each in allowed for each in ids):
        return None
    groups = frozenset(r[1:] for r in allowed if r.startswith("@"))
    if groups & actor.groups:
        return None
    return frozenset() if actor.all_groups else groups - actor.groups_known


async def look_up_groups(
    surfaces: Mapping[str, Surface], ask: Ask, actor: Actor, groups: frozenset[str]
) -> Actor | None:
    """The actor with these groups looked up on the surface; None if the surface cannot say yet."""
    surface = surfaces.get(ask.destination.surface)
    member_of = await find_groups_among(surface, actor.person, groups, ask.id)
    if member_of is None:
        return None
    return actor._replace(groups=actor.groups | member_of, groups_known=actor.groups_known | groups)
