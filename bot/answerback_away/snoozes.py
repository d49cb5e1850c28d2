"""The asks that people have taken off their own lists until a time, which hides them from nobody else.

Such an ask is back on the list at that time, or as soon as it needs the person again. Nothing has to be stored then:
`needs` says what was needed when it was taken off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from answerback.core.ask import Ask
from answerback.core.people import People
from answerback.core.person import Person
from answerback.ports.clock import Clock
from answerback.ports.extension import PeoplesLists
from answerback.ports.store import Store, get_readable
from answerback.ports.surface import Actor

SAVE: Final = """INSERT INTO snoozes (person, ask_id, until, needs) VALUES {values}
    ON CONFLICT (person, ask_id) DO UPDATE SET until = excluded.until, needs = excluded.needs"""
_OF_PERSON: Final = "SELECT ask_id, until, needs FROM snoozes WHERE until > $1 AND person IN"
_OVER: Final = "SELECT person, ask_id FROM snoozes WHERE until > $1 AND until <= $2"
_FORGET: Final = "DELETE FROM snoozes WHERE (person, ask_id) IN (VALUES {values})"
PAGE: Final = 50
"""Asks of a list that are read at a time."""


class Snoozed(NamedTuple):
    """An ask that a person has taken off their list, and until when."""

    ask: Ask
    until: float


def needs(ask: Ask) -> str:
    """Return what an ask needs of people now. It changes when the ask is reminded of, moves or is handed over, when its
    confirmation begins or ends, and when the agent explains something."""
    schedule, place = ask.schedule, ask.placement.destination
    return json.dumps(
        [
            schedule.reminders_done,
            schedule.reminders_restarted_at,
            schedule.escalated,
            [place.surface, place.channel, place.user],
            ask.confirming,
            sum(each.by is None for each in ask.asides),
        ]
    )


class Snoozes:
    """The asks that people have taken off their lists, from any of their accounts."""

    def __init__(self, store: Store, clock: Clock, people: People, lists: PeoplesLists) -> None:
        self._store, self._clock, self._people, self._lists = store, clock, people, lists
        self._looked_at = clock.now()

    async def hidden_from(self, person: Person) -> Callable[[Ask], bool] | None:
        """Return what is left out of a person's list; see `answerback.ports.extension.Running`."""
        needed: dict[str, set[str]] = {}
        for ask_id, _, what in await self._rows(person):
            needed.setdefault(ask_id, set()).add(what)
        if not needed:
            return None
        return lambda ask: ask.id in needed and needs(ask) in needed[ask.id]

    async def _rows(self, person: Person) -> Sequence[tuple[str, float, str]]:
        accounts = self._accounts(person)
        places = ", ".join(f"${number}" for number, _ in enumerate(accounts, 2))
        statement = f"{_OF_PERSON} ({places})"
        rows = await self._store.rows.read(statement, self._clock.now(), *accounts)
        return sorted(((ask_id, until, what) for ask_id, until, what in rows), key=itemgetter(1))

    def _accounts(self, person: Person) -> list[str]:
        return sorted(f"{surface}:{each}" for surface, each in self._people.accounts_of(person))

    async def find(self, person: Person, ask_id: str) -> Ask | None:
        """Return an ask that waits for a person, snoozed or not, by its id or how that begins.

        None: none does, or several do.
        """
        ask = await get_readable(self._store.asks, ask_id)
        if ask is not None:
            return ask if await self._lists.is_waiting_for(person, ask) else None
        found = {
            each.ask.id for each in await self.list_of(person) if each.ask.id.startswith(ask_id)
        }
        after: str | None = None
        while True:
            page = await self._lists.list_waiting_for(Actor(person), after, PAGE)
            found |= {each.id for each in page.rows if each.id.startswith(ask_id)}
            if len(found) > 1:
                return None
            if (after := page.after) is None:
                break
        return await get_readable(self._store.asks, found.pop()) if found else None

    async def snooze(self, person: Person, ask: Ask, until: float) -> None:
        """Take an ask off a person's list until a time."""
        accounts = self._accounts(person)
        await self._store.rows.write(SAVE, [[accounts[0], ask.id, until, needs(ask)]])
        # Earlier choices by other accounts of the person no longer count.
        if others := [[each, ask.id] for each in accounts[1:]]:
            await self._store.rows.write(_FORGET, others)
        self._lists.list_changed(person, ask)

    async def show_again(self, person: Person, ask: Ask) -> None:
        """Put an ask back on a person's list."""
        rows = [[each, ask.id] for each in self._accounts(person)]
        await self._store.rows.write(_FORGET, rows)
        self._lists.list_changed(person, ask)

    async def list_of(self, person: Person) -> Sequence[Snoozed]:
        """Return what a person has taken off their list and still waits for them, whatever is back first."""
        found: dict[str, Snoozed] = {}
        for ask_id, until, what in await self._rows(person):
            ask = await get_readable(self._store.asks, ask_id)
            if ask is None or not ask.open or needs(ask) != what:
                continue
            if await self._lists.is_waiting_for(person, ask):
                found[ask_id] = Snoozed(ask, until)
        return tuple(found.values())

    async def step(self) -> None:
        """Update the lists of those whose asks are back by now."""
        now, since = self._clock.now(), self._looked_at
        over = await self._store.rows.read(_OVER, since, now) if since < now else ()
        self._looked_at = now  # also after the clock was set back
        for account, ask_id in over:
            if (ask := await get_readable(self._store.asks, ask_id)) is not None and ask.open:
                surface, _, user_id = account.partition(":")
                self._lists.list_changed(Person(surface=surface, user_id=user_id), ask)
