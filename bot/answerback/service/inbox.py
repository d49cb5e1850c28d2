"""A person's inbox: what waits for them from all agents, and which of the asks' groups they are in."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from answerback.core.ask import ANYONE, Ask, Status
from answerback.core.errors import PlatformError, PlatformUnavailableError, RateLimitedError
from answerback.core.walker import Person
from answerback.ports.search import AskSearch, Search, answerer_word
from answerback.ports.store_values import Page
from answerback.ports.surface import Actor, SupportsGroups, Surface

logger = logging.getLogger(__name__)


async def list_waiting_for(
    search: AskSearch,
    surfaces: Mapping[str, Surface],
    actor: Actor,
    after: str | None,
    limit: int,
) -> Page[Ask]:
    """The open asks that a person may answer, oldest first; a page may have fewer than ``limit`` of them.

    These are the asks whose responders include them, or a group that the surface says they are in. An ask that anyone
    may answer waits for them only outside channels, because the service cannot tell who sees a channel.

    Raises:
        ValueError: the cursor came from no page.
    """
    person = actor.person
    while True:
        page = await search.list_for_responder(person.surface, person.user_id, after, limit)
        groups = frozenset(
            name[1:] for ask in page.rows for name in ask.waits_for if name.startswith("@")
        )
        if unknown := groups - actor.groups_known:
            surface = surfaces.get(person.surface)
            found = await find_groups_among(surface, person, unknown) or frozenset()
            actor = actor._replace(
                groups=actor.groups | found, groups_known=actor.groups_known | unknown
            )
        asks = tuple(ask for ask in page.rows if is_waiting_for(ask, actor))
        if asks or page.after is None:
            return Page(asks, page.after)
        after = page.after


async def list_open_to_anyone(search: AskSearch, surface: str, limit: int) -> Sequence[Ask]:
    """The first asks, oldest first, that anyone who sees a channel of a surface may answer: they wait for nobody."""
    found: list[Ask] = []
    after: str | None = None
    while len(found) < limit:
        page = await search.list_for_responder(surface, "", after, limit)
        found += [ask for ask in page.rows if ANYONE in ask.waits_for and ask.destination.channel]
        after = page.after
        if after is None:
            break
    return found[:limit]


async def search_for(
    search: AskSearch,
    surfaces: Mapping[str, Surface],
    person: Person,
    wanted: Search,
    after: str | None,
    limit: int,
) -> Page[Ask]:
    """A person's asks that match a search: those that wait for them if the search is for open ones, else those that
    they answered. A page may have fewer than ``limit`` of them."""
    if wanted.status is not Status.OPEN:
        words = (*wanted.words, answerer_word(person))
        return await search.find(wanted._replace(words=words), after, limit)
    while True:
        page = await list_waiting_for(search, surfaces, Actor(person), after, limit)
        asks = tuple(ask for ask in page.rows if wanted.matches(ask))
        if asks or page.after is None:
            return Page(asks, page.after)
        after = page.after


def concerns(ask: Ask, person: Person) -> bool:
    """Whether an ask belongs to a person: they acted on it, or may answer or confirm it without being in any group."""
    acted_by = [*ask.walk.answerers, *(vote.by for vote in ask.walk.votes)]
    acted_by += [ask.outcome.ended_by] if ask.outcome and ask.outcome.ended_by else []
    if _is_among(person, acted_by):
        return True
    open_here = ask.open and ask.destination.surface == person.surface
    return open_here and _is_named(ask, ask.participants, Actor(person))


async def find_groups_among(
    surface: Surface | None, person: Person, groups: frozenset[str], ask_id: str | None = None
) -> frozenset[str] | None:
    """The groups among these that a person is in; None if the surface cannot say yet.

    If the surface does not exist or refuses the lookup, the person counts as in none.
    """
    if groups and surface is not None and isinstance(surface, SupportsGroups):
        try:
            return await surface.groups_of(person, groups)
        except PlatformError as error:
            extra = {"action": "groups_unknown", "ask_id": ask_id, "code": error.code}
            logger.warning("Could not look up the groups of a person: %s", error, extra=extra)
            if isinstance(error, (RateLimitedError, PlatformUnavailableError)):
                return None
    return frozenset()


def is_waiting_for(ask: Ask, actor: Actor) -> bool:
    """Whether an open ask waits for a person, who is in the groups that the actor names."""
    if ask.confirming:
        done = [*ask.walk.answerers, *(vote.by for vote in ask.walk.votes)]
        if _is_among(actor.person, done):
            return False
    return _is_named(ask, ask.waits_for, actor)


def _is_named(ask: Ask, named: Sequence[str], actor: Actor) -> bool:
    user_id, to = actor.person.user_id, ask.destination
    if not {user_id, *(f"@{group}" for group in actor.groups)}.isdisjoint(named):
        return True
    return ANYONE in named and to.channel is None and to.user in {None, user_id}


def _is_among(person: Person, people: Iterable[Person]) -> bool:
    who = person.surface, person.user_id
    return any((one.surface, one.user_id) == who for one in people)
