"""A person's inbox: what waits for them from all agents, and which of the asks' groups they are in."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

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
            name[1:] for ask in page.rows for name in ask.responders if name.startswith("@")
        )
        if unknown := groups - actor.groups_known:
            surface = surfaces.get(person.surface)
            found = await find_groups_among(surface, person, unknown) or frozenset()
            actor = actor._replace(
                groups=actor.groups | found, groups_known=actor.groups_known | unknown
            )
        asks = tuple(ask for ask in page.rows if _is_waiting_for(ask, actor))
        if asks or page.after is None:
            return Page(asks, page.after)
        after = page.after


async def list_open_to_anyone(search: AskSearch, surface: str, limit: int) -> Sequence[Ask]:
    """The first asks, oldest first, that anyone who sees a channel of a surface may answer: they wait for nobody."""
    found: list[Ask] = []
    after: str | None = None
    while len(found) < limit:
        page = await search.list_for_responder(surface, "", after, limit)
        found += [ask for ask in page.rows if ANYONE in ask.responders and ask.destination.channel]
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
    """Whether an ask belongs to a person: they answered it, or may answer it without being in any group."""
    answered_by = [answer.by for answer in ask.walk.answers if answer.by]
    answered_by += [ask.outcome.ended_by] if ask.outcome and ask.outcome.ended_by else []
    if any((one.surface, one.user_id) == (person.surface, person.user_id) for one in answered_by):
        return True
    open_here = ask.open and ask.destination.surface == person.surface
    return open_here and _is_waiting_for(ask, Actor(person))


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


def _is_waiting_for(ask: Ask, actor: Actor) -> bool:
    user_id = actor.person.user_id
    named = {user_id, *(f"@{group}" for group in actor.groups)}
    if not named.isdisjoint(ask.responders):
        return True
    to = ask.destination
    return ANYONE in ask.responders and to.channel is None and to.user in {None, user_id}
