"""Who may act on an ask, as far as a surface alone can know; the service has the final decision."""

from __future__ import annotations

from answerback.core.ask import ANYONE, Ask
from answerback.ports.surface import Actor


def responder_groups(ask: Ask) -> frozenset[str]:
    """Return the groups among those who may act on an ask now, without the leading @."""
    return frozenset(who[1:] for who in ask.actors if who.startswith("@"))


def is_excluded(ask: Ask, actor: Actor) -> bool:
    """Whether this person certainly may not act now: neither they nor any of their known groups is named."""
    ids = (actor.person.user_id,) if actor.ids is None else actor.ids
    if (ANYONE in ask.actors and actor.ids is None) or any(each in ask.actors for each in ids):
        return False
    groups = responder_groups(ask)
    return not groups & actor.groups and (actor.all_groups or groups <= actor.groups_known)
