"""Gives what waits for people who are away to those who stand in, and says when people are not to be told of it.

A stand-in gets an ask as if the absent person had handed it over: within its route's list, and never as one of those
who confirm. Each step looks at what is stored, so that nothing is lost if a process ends between two.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from answerback.core.ask import Ask, Destination
from answerback.core.errors import StoreError
from answerback.core.handing_over import HandOver, is_collective, is_still_moving
from answerback.core.intents import ResolvedAction
from answerback.core.people import People, account_id
from answerback.core.person import Person
from answerback.ports.clock import Clock
from answerback.ports.commands import Command
from answerback.ports.extension import PeoplesLists, Running
from answerback.ports.store import Store, get_readable
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason, Surface
from answerback_away.absences import (
    Absence,
    Hours,
    Said,
    chain_of,
    from_json,
    is_zone,
    to_json,
)
from answerback_away.announced_absences import AnnouncedAbsences
from answerback_away.commands import commands_of
from answerback_away.snooze_commands import SnoozeCommand
from answerback_away.snoozes import Snoozes

logger = logging.getLogger(__name__)

_READ: Final = "SELECT person, value FROM away ORDER BY at DESC, person"
ADD: Final = """INSERT INTO away (person, value, at) VALUES {values}
    ON CONFLICT DO NOTHING RETURNING person"""
_REPLACE: Final = """UPDATE away SET value = column3, at = CAST(column4 AS double precision)
    FROM (VALUES {values}) AS new WHERE person = column1 AND value = column2 RETURNING person"""
_FORGET: Final = "DELETE FROM away WHERE (person, value) IN (VALUES {values}) RETURNING person"
_REFRESH_SECONDS: Final = 2.0
"""Seconds that other processes may take to notice that somebody is away."""
_SWEEP_SECONDS: Final = 60.0
"""Seconds between looks at everything that waits for absent people, in case another process has not handed it on."""
_PAGE: Final = 50
_MAX_TRIED: Final = 10_000
"""The number of refused attempts that are remembered, not to repeat them."""
Act = Callable[[str, ResolvedAction, Actor], Awaitable[Acted | Rejected]]
"""Acts on an ask as a person, by the service's rules."""
CIRCLE: Final = "circle"
SELF: Final = "self"
NOBODY: Final = "nobody"
SEVERAL: Final = "several"


class Away(Running, AnnouncedAbsences):
    """Who is away, and the asks that are handed on because of that.

    Args:
        people: tells which accounts belong to one person.
        act: acts for the absent person, who hands an ask over.
        lists: what waits for people, of which they can take something off their own.
        surfaces: the running surfaces by name.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        people: People,
        act: Act,
        lists: PeoplesLists,
        surfaces: Mapping[str, Surface],
    ) -> None:
        self._store, self._clock, self.people, self._act = store, clock, people, act
        self._surfaces = surfaces
        self.snoozes = Snoozes(store, clock, people, lists)
        self._snooze = SnoozeCommand(self.snoozes, lists, clock)
        self._said: tuple[Said, ...] = ()
        """The absences and hours that people have announced, the latest first."""
        self._stored: dict[str, str] = {}
        """The texts of the rows that have them, by the accounts of people."""
        self._zones: set[str] = set()
        """The time zones that are ready to be used."""
        self._tried: set[tuple[str, str]] = set()
        """The asks that could not be given to those accounts."""
        self._changed: set[str] = set()
        """The ids of asks that have changed and are yet to be looked at."""
        self._wake = asyncio.Event()
        self._read_at = self._swept_at = float("-inf")

    # --- what people say ---------------------------------------------------------------------------

    def now(self) -> float:
        return self._clock.now()

    async def said_by(self, person: Person) -> Said:
        """Return what a person has said, from any of their accounts."""
        await self.refresh()
        return self._find(person) or Said(person)

    async def leave(self, person: Person, until: float, stand_in: Person) -> str | None:
        if self.people.is_same(person, stand_in):
            return SELF
        await self.refresh()
        absence, now = Absence(until, stand_in), self.now()

        def absent(other: Person) -> Absence | None:
            if self.people.is_same(other, person):
                return absence
            found = self._find(other)
            return None if found is None else found.absent(now)

        if chain_of(person, absent, self.people.is_same) is None:
            return CIRCLE
        await self._change(person, lambda said: said._replace(absence=absence))
        return None

    async def return_(self, person: Person) -> None:
        await self._change(person, lambda said: said._replace(absence=None))

    async def set_hours(self, person: Person, hours: Hours | None) -> None:
        await self._change(person, lambda said: said._replace(hours=hours))

    async def _change(self, person: Person, change: Callable[[Said], Said]) -> None:
        """Change what a person has said. Of what they say elsewhere at the same time, nothing is lost."""
        while True:
            await self.refresh()
            said = self._find(person) or Said(self._first_account(person))
            # Another account, or another process, may have changed the row since it was read: then it is read again.
            if await self._save(self._rows_of(person, said), change(said)):
                break
        await self.refresh()
        self._swept_at = float("-inf")
        self._wake.set()

    def _first_account(self, person: Person) -> Person:
        """Return the same account of a person whichever one they use: one row has what they say."""
        surface, user_id = min(self.people.accounts_of(person))
        return Person(surface=surface, user_id=user_id)

    async def _save(self, rows: Sequence[tuple[str, str]], said: Said) -> bool:
        """Store what a person has said in place of these rows; False if the first of them has changed meanwhile."""
        write, new = self._store.rows.write, _written(said)
        if not rows:
            return new is None or bool(
                await write(ADD, [[account_id(said.person), new, self.now()]])
            )
        (key, before), *others = rows
        saved = await (
            write(_FORGET, [[key, before]])
            if new is None
            else write(_REPLACE, [[key, before, new, self.now()]])
        )
        if saved and others:  # accounts that were not known to be one person's
            await write(_FORGET, others)
        return bool(saved)

    def _rows_of(self, person: Person, said: Said) -> list[tuple[str, str]]:
        """Return the rows that are to be replaced, also one that this version cannot read."""
        keys = [account_id(each.person) for each in (*self._said_by(person), said)]
        return [(key, self._stored[key]) for key in dict.fromkeys(keys) if key in self._stored]

    def _said_by(self, person: Person) -> list[Said]:
        return [each for each in self._said if self.people.is_same(each.person, person)]

    def _find(self, person: Person) -> Said | None:
        """Return what a person has said; of what they said from several accounts before these were linked, the latest
        counts."""
        found = self._said_by(person)
        if len(found) <= 1:
            return found[0] if found else None
        absences = (each.absence for each in found if each.absence is not None)
        hours = (each.hours for each in found if each.hours is not None)
        return found[0]._replace(absence=next(absences, None), hours=next(hours, None))

    def find_person(self, name: str, surface: str) -> Person | str:
        plain = name.removeprefix("@").removeprefix("person:")
        named = self._named(plain)
        if len(named) > 1:
            return SEVERAL
        if named:
            persons = self.people.persons_named(named[0])
            there = [each for each in persons if each.surface == surface]
            return self.people.as_named((there or persons)[0])
        place, _, user_id = plain.partition(":") if ":" in plain else (surface, "", plain)
        if not (place and user_id):
            return NOBODY
        person = Person(surface=place, user_id=user_id)
        return self.people.as_named(person) if self._may_be(person, plain) else NOBODY

    def _named(self, plain: str) -> list[str]:
        """Return the names, in the directory, of those whom a name means: one who is called so there, or else all who
        are shown so."""
        wanted, shown = plain.casefold(), []
        for known in self.people.accounts:
            persons = self.people.persons_named(known)
            if persons and known.casefold() == wanted:
                return [known]
            if any(
                (self.people.as_named(each).name or "").casefold() == wanted for each in persons
            ):
                shown.append(known)
        return shown if plain else []

    def _may_be(self, person: Person, written: str) -> bool:
        """Return True if an account may be somebody's, as far as its surface can tell without asking a platform."""
        if is_collective(person.user_id):
            return False
        if self.people.name_of(person) is not None:
            return True
        surface = self._surfaces.get(person.surface)
        if surface is None:
            return False
        if not surface.live:  # anything could be the name of somebody who signs in
            return ":" in written or "@" in written
        there = Destination(surface=surface.name, user=person.user_id)
        return surface.destination_problem(there) is None

    # --- who stands in -----------------------------------------------------------------------------

    def chain_for(self, person: Person, at: float) -> list[Person] | None:
        """Return who stands in for a person; see `answerback_away.absences.chain_of`."""

        def absent(other: Person) -> Absence | None:
            said = self._find(other)
            return None if said is None else said.absent(at)

        return chain_of(person, absent, self.people.is_same)

    def note_changed(self, ask: Ask) -> None:
        if self._said and ask.open:
            self._changed.add(ask.id)
            self._wake.set()

    async def refresh(self) -> bool:
        """Read what people have said; returns whether that has changed."""
        rows = await self._store.rows.read(_READ)
        read = [(key, value, _read(value)) for key, value in rows]
        said = tuple(each for _, _, each in read if each is not None)
        if new := {each.hours.zone for each in said if each.hours} - self._zones:
            known = await asyncio.to_thread(lambda: {zone for zone in new if is_zone(zone)})
            self._zones |= known
        has_changed, self._said = said != self._said, said
        self._stored = {key: value for key, value, _ in read}
        return has_changed

    async def step(self) -> None:
        """Hand on what waits for people who are away.

        Raises:
            StoreError: not all of it could be read or handed on.
        """
        now = self.now()
        has_changed = await self.refresh()
        if has_changed or not 0 <= now - self._swept_at < _SWEEP_SECONDS:
            self._swept_at = now
            await self._sweep(now)
            return
        changed, self._changed = self._changed, set()
        for ask_id in changed:
            if (ask := await get_readable(self._store.asks, ask_id)) is not None:
                await self._hand_on(ask, now)

    async def _sweep(self, now: float) -> None:
        self._changed.clear()
        for said in self._said:
            found = self._find(said.person) or Said(said.person)
            if found.absent(now) is None:
                if found.absence is not None:  # it is over
                    await self._save_over(found)
                continue
            accounts, after = self.people.accounts_of(said.person), None
            while True:
                page = await self._store.search.list_for_responder(accounts, after, _PAGE)
                for ask in page.rows:
                    await self._hand_on(ask, now)
                if (after := page.after) is None:
                    break

    async def _save_over(self, said: Said) -> None:
        """Store that an absence is over, unless the person has said something else meanwhile."""
        await self._save(self._rows_of(said.person, said), said._replace(absence=None))

    async def _hand_on(self, ask: Ask, now: float) -> None:
        """Give an ask to those who stand in for its responders, once for each."""
        place = ask.placement
        if not ask.open or ask.schedule.awaits_inquiry:
            return
        for user_id in place.responders:
            person = Person(surface=place.destination.surface, user_id=user_id)
            if is_collective(user_id) or (chain := self.chain_for(person, now)) is None:
                continue
            *absent, stand_in = chain
            if not absent or self._has_stood_in(ask, person, stand_in):
                continue
            accounts = self.people.accounts_of(stand_in)
            there = [each for surface, each in accounts if surface == person.surface]
            if self._has_it_anyway(ask, there):
                continue
            unreachable = ask.schedule.unreachable
            reachable = [
                each for each in there if replace(place.destination, user=each) not in unreachable
            ]
            await self._give(ask, person, tuple(map(account_id, absent)), reachable)

    @staticmethod
    def _has_it_anyway(ask: Ask, ids: Sequence[str]) -> bool:
        """Return True if a person may answer an ask in their own right: they then confirm what others answer, too."""
        place = ask.placement
        accounts = {f"{place.destination.surface}:{each}" for each in ids}
        stands_in = any(not accounts.isdisjoint(group) for group in place.stand_ins)
        return not stands_in and not {*ids}.isdisjoint(place.responders)

    def _has_stood_in(self, ask: Ask, person: Person, stand_in: Person) -> bool:
        theirs = {f"{surface}:{each}" for surface, each in self.people.accounts_of(stand_in)}
        return any(
            account_id(person) in group and not theirs.isdisjoint(group)
            for group in ask.placement.stand_ins
        )

    async def _give(
        self, ask: Ask, giver: Person, absent: tuple[str, ...], accounts: Sequence[str]
    ) -> None:
        attempt = (ask.id, accounts[0] if accounts else "")
        if attempt in self._tried:
            return
        result: Acted | Rejected = Rejected(RejectReason.INVALID, ask)
        if accounts and not is_still_moving(ask):
            action = HandOver(to=accounts[0], stands_in=absent)
            result = await self._act(ask.id, action, Actor(self.people.as_named(giver)))
        if isinstance(result, Acted):
            return
        if is_still_moving(result.ask or ask):  # no change of the ask says when it has moved
            self._changed.add(ask.id)
            return
        if result.why is not RejectReason.INVALID:
            return  # what has to wait for something else, the next sweep tries again
        if len(self._tried) >= _MAX_TRIED:
            self._tried.clear()
        self._tried.add(attempt)
        codes = [problem.code for problem in result.problems] or ["no_account"]
        extra = {"action": "stand_in_refused", "ask_id": ask.id, "code": codes[0]}
        logger.warning("An ask cannot be given to who stands in, and stays as it is", extra=extra)

    # --- the door ----------------------------------------------------------------------------------

    def quiet_until(self, person: Person, at: float) -> float | None:
        said = self._find(person)
        if said is None:
            return None
        absence = said.absent(at)
        back = at if absence is None else absence.until
        # Hours in a zone that this machine does not know hold nobody's reminders back.
        hours = said.hours if said.hours and said.hours.zone in self._zones else None
        opens = None if hours is None else hours.quiet_until(back)
        return opens or (None if absence is None else back)

    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {"away": self._run}

    async def _run(self) -> None:
        failing = False
        while True:
            self._wake.clear()
            try:
                await self.step()
                await self.snoozes.step()
                failing = False
            except StoreError as error:
                if not failing:  # said once: the next tries are seconds apart
                    extra = {"action": "away_unread"}
                    logger.warning("Who is away cannot be read: %s", error, extra=extra)
                failing = True
                await asyncio.sleep(_REFRESH_SECONDS)
            try:
                async with asyncio.timeout(_REFRESH_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def hidden_from(self, person: Person) -> Callable[[Ask], bool] | None:
        return await self.snoozes.hidden_from(person)

    def commands(self) -> Sequence[Command]:
        return (*commands_of(self), self._snooze.command())

    def for_page(self, surface: str) -> object | None:
        if surface != "web":
            return None
        from answerback_away.page import AwayPages

        return AwayPages(self, self.snoozes, self._clock)


def _read(written: str) -> Said | None:
    """Read a row; one that this version cannot read counts for nothing."""
    try:
        return from_json(json.loads(written))
    except ValueError:
        return None


def _written(said: Said) -> str | None:
    """Return how a row has what a person has said; None if there is nothing to keep."""
    return None if said.absence is None and said.hours is None else json.dumps(to_json(said))
