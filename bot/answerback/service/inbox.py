"""A person's inbox: what waits for them from all agents, and which of the asks' groups they are in."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from answerback.core.ask import ANYONE, Ask, Destination, Status
from answerback.core.confirmer_copies import as_copy, chat_of, is_account_elsewhere
from answerback.core.errors import PlatformError, PlatformUnavailableError, RateLimitedError
from answerback.core.people import People
from answerback.core.walker import Person
from answerback.ports.search import AskSearch, Search
from answerback.ports.store_values import Page
from answerback.ports.surface import Actor, SupportsGroups, Surface
from answerback.presentation.responders import has_done_their_part
from answerback.service.may_see import actor_with, is_named

logger = logging.getLogger(__name__)

Hides: TypeAlias = Callable[[Ask], bool] | None
"""Which of the asks that wait for a person are left out of their list; None: none of them."""


async def hide_nothing(_person: Person) -> Hides:
    """Leave nothing out of anybody's list."""
    return None


@dataclass(frozen=True, slots=True)
class Inbox:
    """Finds asks for people.

    Args:
        hidden_from: returns what is left out of a person's list.
    """

    search: AskSearch
    surfaces: Mapping[str, Surface]
    people: People
    hidden_from: Callable[[Person], Awaitable[Hides]] = hide_nothing

    async def list_waiting_for(self, actor: Actor, after: str | None, limit: int) -> Page[Ask]:
        """The open asks that a person may answer by any of their accounts, the most urgent and then the
        oldest first; a page may have fewer than
        ``limit`` of them.

        These are the asks whose responders include them, or a group that the surface says they are in. An ask that
        anyone may answer waits for them only outside channels, because the service cannot tell who sees a channel.
        What an extension hides from the person is left out.

        Raises:
            ValueError: the cursor came from no page.
        """
        return await self._list(actor, after, limit, await self.hidden_from(actor.person))

    async def is_waiting_for(self, person: Person, ask: Ask) -> bool:
        """Return True if an ask waits for a person, even if an extension hides it from them."""
        accounts = self.people.accounts_of(person)
        actors = [await _with_groups(actor_with(*each), [ask], self.surfaces) for each in accounts]
        return ask.open and is_waiting_for(ask, actors, self.people)

    async def _list(self, actor: Actor, after: str | None, limit: int, hides: Hides) -> Page[Ask]:
        accounts = self.people.accounts_of(actor.person)
        actors = [actor, *(actor_with(*account) for account in accounts[1:])]
        while True:
            page = await self.search.list_for_responder(accounts, after, limit)
            actors = [await _with_groups(each, page.rows, self.surfaces) for each in actors]
            asks = tuple(
                ask
                for ask in page.rows
                if is_waiting_for(ask, actors, self.people) and not (hides and hides(ask))
            )
            if asks or page.after is None:
                return Page(tuple(_as_read(ask, actors) for ask in asks), page.after)
            after = page.after

    async def list_open_to_anyone(self, surface: str, limit: int) -> Sequence[Ask]:
        found: list[Ask] = []
        after: str | None = None
        while len(found) < limit:
            page = await self.search.list_for_responder([(surface, "")], after, limit)
            found += [
                ask
                for ask in page.rows
                if ANYONE in ask.waits_for and ask.placement.destination.channel
            ]
            after = page.after
            if after is None:
                break
        return found[:limit]

    async def list_answered_by(self, person: Person, limit: int) -> Sequence[Ask]:
        return (await self.search_for(person, Search(), None, limit)).rows

    async def search_for(
        self, person: Person | None, wanted: Search, after: str | None, limit: int
    ) -> Page[Ask]:
        """The asks that match a search, all for None; else a person's own: those that wait for them if the search is
        for open ones, with what is hidden from them, else those that they answered. A page may have fewer than
        ``limit`` of them.

        Whom the search names stands for all accounts of that person.
        """
        if person is None or wanted.status is not Status.OPEN:
            named = wanted.by if person is None else (*wanted.by, (person,))
            by = tuple(
                tuple(
                    actor_with(*account).person
                    for each in accounts
                    for account in self.people.accounts_of(each)
                )
                for accounts in named
            )
            return await self.search.find(wanted._replace(by=by), after, limit)
        while True:
            page = await self._list(Actor(person), after, limit, None)
            asks = tuple(ask for ask in page.rows if wanted.matches(ask))
            if asks or page.after is None:
                return Page(asks, page.after)
            after = page.after


def _as_read(ask: Ask, actors: Sequence[Actor]) -> Ask:
    """Return an ask as it is in a person's own chat, if it was copied there: they cannot open the other's."""
    chats = {Destination(surface=each.person.surface, user=each.person.user_id) for each in actors}
    theirs = (chat_of(each, ask) for each in ask.copies if each.message)
    copy = next((chat for chat in theirs if chat in chats), None)
    return ask if copy is None else as_copy(ask, copy)


async def _with_groups(
    actor: Actor, shown: Iterable[Ask], surfaces: Mapping[str, Surface]
) -> Actor:
    """Return the actor with those groups looked up that asks on their surface wait for."""
    person = actor.person
    waited_for = (
        ask.waits_for for ask in shown if ask.placement.destination.surface == person.surface
    )
    groups = frozenset(name[1:] for names in waited_for for name in names if name.startswith("@"))
    if not (unknown := groups - actor.groups_known):
        return actor
    found = await find_groups_among(surfaces.get(person.surface), person, unknown) or frozenset()
    return actor._replace(groups=actor.groups | found, groups_known=actor.groups_known | unknown)


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


def is_waiting_for(ask: Ask, actors: Sequence[Actor], people: People) -> bool:
    """Return True if an ask waits for a person, given by their accounts."""
    accounts = ((each.person.surface, each.person.user_id) for each in actors)
    waits = any(is_named(ask, ask.waits_for, each) for each in actors)
    waits = waits or (ask.confirming and is_account_elsewhere(ask, accounts))
    return waits and not has_done_their_part(ask, actors[0].person, people)
