"""Who may see an ask: one rule for the API, MCP, lists, search, receipts and notifications. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerback.core.ask import ANYONE, Ask
from answerback.core.confirmer_copies import is_account_elsewhere
from answerback.core.people import People
from answerback.core.person import Person
from answerback.ports.surface import Actor


@dataclass(frozen=True, slots=True)
class Viewer:
    """The reader of an ask. With neither of both: the operator, or a front end, who may see all."""

    agent: str | None = None
    """An agent sees its own asks."""
    person: Person | None = None
    """A person sees the asks that they acted on, and the open ones that they may answer or confirm."""


def may_see(ask: Ask, viewer: Viewer, people: People, *, acts: bool = False) -> bool:
    """Return True if a viewer may see an ask. Groups do not count, because only the surface can look them up.

    Args:
        acts: whether this is about acting on it: then a person who was asked and comes too late may see it as well.
    """
    if viewer.agent is not None and ask.request.agent != viewer.agent:
        return False
    person = viewer.person
    if person is None or any(people.is_same(person, each) for each in ask.decided_by):
        return True
    return (ask.open or acts) and was_asked(ask, person, people)


def was_asked(ask: Ask, person: Person, people: People) -> bool:
    """Return True if a person, by any of their accounts, is among those who answer or confirm an ask, without any
    group."""
    accounts = people.accounts_of(person)
    if is_account_elsewhere(ask, accounts):
        return True
    return any(is_named(ask, ask.participants, actor_with(*account)) for account in accounts)


def is_named(ask: Ask, named: Sequence[str], actor: Actor) -> bool:
    """Return True if names on an ask's surface include an account there, by its id or its known groups.

    *Anyone* includes those who can certainly see the ask: outside channels, and in their own direct message.
    """
    user_id, to = actor.person.user_id, ask.placement.destination
    if actor.person.surface != to.surface:
        return False
    if not {user_id, *(f"@{group}" for group in actor.groups)}.isdisjoint(named):
        return True
    return ANYONE in named and to.channel is None and to.user in {None, user_id}


def actor_with(surface: str, user_id: str) -> Actor:
    """Return the holder of an account as one who acts with it."""
    return Actor(Person(surface=surface, user_id=user_id))
