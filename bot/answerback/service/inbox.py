"""What waits for one person, over all agents; and in which of the groups they are that asks are for."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from answerback.core.ask import ANYONE, Ask, Status
from answerback.core.errors import PlatformError, PlatformUnavailableError, RateLimitedError
from answerback.core.walker import Person
from answerback.ports.search import Search, answerer_word
from answerback.ports.store import Store
from answerback.ports.store_values import Page
from answerback.ports.surface import SupportsGroups, Surface

logger = logging.getLogger(__name__)


async def list_waiting_for(
    store: Store,
    surfaces: Mapping[str, Surface],
    person: Person,
    after: str | None,
    limit: int,
    known: frozenset[str] = frozenset(),
) -> Page[Ask]:
    """The open asks that a person may answer, oldest first; a page may have fewer than ``limit`` of them.

    Those whose responders name them or a group that the surface says they are in. What anyone may answer who sees it
    waits for them where it is in no channel: the service cannot tell who sees a channel.

    Args:
        known: groups that they are in, which need not be looked up.

    Raises:
        ValueError: no page gave this cursor.
    """
    while True:
        page = await store.list_for_responder(person.surface, person.user_id, after, limit)
        groups = frozenset(
            one[1:] for ask in page.rows for one in ask.responders if one.startswith("@")
        )
        surface = surfaces.get(person.surface)
        found = await find_groups_among(surface, person, groups - known) or frozenset()
        asks = tuple(ask for ask in page.rows if _is_for(ask, person.user_id, found | known))
        if asks or page.after is None:
            return Page(asks, page.after)
        after = page.after


async def search_for(
    store: Store,
    surfaces: Mapping[str, Surface],
    person: Person,
    wanted: Search,
    after: str | None,
    limit: int,
) -> Page[Ask]:
    """The asks of a search that are a person's: those that wait for them where open ones are wanted, else those that
    they answered. A page may have fewer than ``limit`` of them."""
    if wanted.status is not Status.OPEN:
        words = (*wanted.words, answerer_word(person))
        return await store.search(wanted._replace(words=words), after, limit)
    while True:
        page = await list_waiting_for(store, surfaces, person, after, limit)
        asks = tuple(ask for ask in page.rows if wanted.matches(ask))
        if asks or page.after is None:
            return Page(asks, page.after)
        after = page.after


def concerns(ask: Ask, person: Person) -> bool:
    """Whether an ask is a person's: one that they answered, or may answer without being in any group."""
    there = [given.by for given in ask.walk.answers if given.by]
    there += [ask.outcome.ended_by] if ask.outcome and ask.outcome.ended_by else []
    if any((one.surface, one.user_id) == (person.surface, person.user_id) for one in there):
        return True
    here = ask.open and ask.destination.surface == person.surface
    return here and _is_for(ask, person.user_id, frozenset())


async def find_groups_among(
    surface: Surface | None, person: Person, groups: frozenset[str], ask_id: str | None = None
) -> frozenset[str] | None:
    """Those of these groups that a person is in; None where the surface will tell later.

    A surface that is not there, or that may not tell, says no.
    """
    if groups and surface is not None and isinstance(surface, SupportsGroups):
        try:
            return await surface.groups_of(person, groups)
        except PlatformError as error:
            extra = {"action": "groups_unknown", "ask_id": ask_id, "code": error.code}
            logger.warning(
                "Whether somebody is in a group could not be found out: %s", error, extra=extra
            )
            if isinstance(error, (RateLimitedError, PlatformUnavailableError)):
                return None
    return frozenset()


def _is_for(ask: Ask, user_id: str, groups: frozenset[str]) -> bool:
    named = {user_id, *(f"@{group}" for group in groups)}
    if not named.isdisjoint(ask.responders):
        return True
    to = ask.destination
    return ANYONE in ask.responders and to.channel is None and to.user in {None, user_id}
