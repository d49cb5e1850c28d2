"""The contract of stores: who is away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from answerback.core.ask import Ask
from answerback.core.people import NOBODY_KNOWN, People
from answerback.core.person import Person
from answerback.ports.search import Account
from answerback.ports.store import Store, Write
from answerback.ports.store_values import Page
from answerback.ports.surface import Actor
from answerback_away.absences import Absence, Hours
from answerback_away.away import Away
from answerback_testing.example_asks import new_ask
from tests.service_support import ManualClock

ANN, BOB = (Person(surface="chat", user_id=f"{name}\u00fc'\"") for name in ("ann", "bob"))


class _EverythingWaits:
    """Lists on which everything is."""

    async def list_waiting_for(self, actor: Actor, after: str | None, limit: int) -> Page[Ask]:
        raise AssertionError("nothing looks at the list")

    async def is_waiting_for(self, person: Person, ask: Ask) -> bool:
        return True

    def list_changed(self, person: Person, ask: Ask) -> None:
        """Nobody has to know."""


def away_in(store: Store, clock: ManualClock, people: People = NOBODY_KNOWN) -> Away:
    """Return who is away, as another process knows it."""
    return Away(store, clock, people, NotImplemented, _EverythingWaits(), {})


class AwayContract:
    """Who is away."""

    @pytest.mark.rule("AWAY-1", "AWAY-5")
    async def test_what_people_say_is_kept_replaced_and_forgotten(self, store: Store) -> None:
        clock = ManualClock()
        away = away_in(store, clock)
        until = clock.now() + 3_600
        await away.leave(ANN, until, BOB)
        await away.set_hours(ANN, Hours(60, 120, "UTC"))
        other = away_in(store, clock)
        said = await other.said_by(ANN)
        assert (said.absence, said.hours) == (Absence(until, BOB), Hours(60, 120, "UTC"))
        await other.leave(ANN, until + 1, BOB)
        assert (await away.said_by(ANN)).absence == Absence(until + 1, BOB)
        await away.return_(ANN)
        assert (await other.said_by(ANN)).hours is not None
        await away.set_hours(ANN, None)
        assert await store.rows.read("SELECT person FROM away") == []

    @pytest.mark.rule("AWAY-1")
    @pytest.mark.parametrize("hours", [None, Hours(60, 120, "UTC")], ids=["always", "in hours"])
    async def test_who_leaves_again_as_their_absence_ends_is_away(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, hours: Hours | None
    ) -> None:
        clock = ManualClock()
        away, other = away_in(store, clock), away_in(store, clock)
        real = store.search.list_for_responder
        cat = Person(surface="chat", user_id="cat")

        async def leave_meanwhile(
            accounts: Sequence[Account], after: str | None, limit: int
        ) -> Page[Ask]:
            await other.leave(ANN, clock.now() + 3_600, cat)
            return await real(accounts, after, limit)

        await away.leave(BOB, clock.now() + 7_200, cat)
        await clock.advance(1)
        await away.set_hours(ANN, hours)
        await away.leave(ANN, clock.now() + 60, cat)
        await clock.advance(61)
        monkeypatch.setattr(store.search, "list_for_responder", leave_meanwhile)
        await away.step()
        said = await away.said_by(ANN)
        assert (said.absence, said.hours) == (Absence(clock.now() + 3_600, cat), hours)

    @pytest.mark.rule("AWAY-1", "AWAY-5")
    async def test_of_what_a_person_says_at_once_nothing_is_lost(self, store: Store) -> None:
        clock, cat = ManualClock(), Person(surface="chat", user_id="cat")
        here, there = away_in(store, clock), away_in(store, clock)
        until, hours = clock.now() + 3_600, Hours(60, 120, "UTC")
        await asyncio.gather(here.leave(ANN, until, BOB), there.set_hours(ANN, hours))
        said = await here.said_by(ANN)
        assert (said.absence, said.hours) == (Absence(until, BOB), hours)
        await asyncio.gather(here.set_hours(ANN, None), there.leave(ANN, until, cat))
        said = await here.said_by(ANN)
        assert (said.absence, said.hours) == (Absence(until, cat), None)
        await asyncio.gather(here.return_(ANN), there.set_hours(ANN, hours))
        said = await here.said_by(ANN)
        assert (said.absence, said.hours) == (None, hours)

    @pytest.mark.rule("AWAY-5")
    async def test_what_one_person_said_from_two_accounts_is_one_statement(
        self, store: Store
    ) -> None:
        clock, ids = ManualClock(), {"ann": ("chat:ann", "web:ann@example.com")}
        chat, web = [
            Person(surface=s, user_id=u) for s, u in (("chat", "ann"), ("web", "ann@example.com"))
        ]
        apart = away_in(store, clock)
        until = clock.now() + 3_600
        for account in (web, chat):
            await apart.leave(account, until, BOB)
            until += 1
            await clock.advance(1)
        one = away_in(store, clock, People(ids))
        absence = (await one.said_by(web)).absence
        assert absence is not None
        assert absence.until == until - 1, "the last one counts"
        await one.return_(web)
        assert (await one.said_by(chat)).absence is None
        assert await store.rows.read("SELECT person FROM away") == []
        await asyncio.gather(one.leave(web, until, BOB), one.leave(chat, until, BOB))
        assert len(await store.rows.read("SELECT person FROM away")) == 1

    @pytest.mark.rule("AWAY-5")
    @pytest.mark.parametrize("hours", [None, Hours(60, 120, "UTC")], ids=["always", "in hours"])
    @pytest.mark.parametrize("seconds", [7_200, 30], ids=["longer", "shorter"])
    async def test_what_a_person_said_before_does_not_count_again_once_the_last_is_over(
        self, store: Store, hours: Hours | None, seconds: float
    ) -> None:
        clock = ManualClock()
        chat = Person(surface="chat", user_id="ann")
        web = Person(surface="web", user_id="ann@example.com")
        apart = away_in(store, clock)
        await apart.leave(web, clock.now() + seconds, BOB)
        await apart.set_hours(web, hours)
        await clock.advance(1)
        last = Absence(clock.now() + 120, BOB)
        await apart.leave(chat, last.until, BOB)
        one = away_in(store, clock, People({"ann": ("chat:ann", "web:ann@example.com")}))
        await clock.advance(60)
        await one.step()
        assert (await one.said_by(web)).absence == last
        await clock.advance(61)
        await one.step()
        said = await one.said_by(web)
        assert (said.absence, said.hours) == (None, hours)
        rows = await store.rows.read("SELECT person FROM away")
        assert len(rows) == (hours is not None)

    @pytest.mark.rule("SNOOZE-1", "SNOOZE-5")
    async def test_what_people_snooze_is_kept_replaced_and_forgotten(self, store: Store) -> None:
        clock, ask = ManualClock(), new_ask(1)
        await store.asks.create(Write(ask), None)
        here, there = away_in(store, clock).snoozes, away_in(store, clock).snoozes
        assert await here.hidden_from(ANN) is None
        for seconds in (60.0, 30.0):
            await here.snooze(ANN, ask, clock.now() + seconds)
        hides = await there.hidden_from(ANN)
        assert hides is not None
        assert hides(ask)
        assert not hides(new_ask(2))
        assert await there.hidden_from(BOB) is None
        assert [each.until for each in await there.list_of(ANN)] == [clock.now() + 30]
        await there.show_again(ANN, ask)
        assert await here.hidden_from(ANN) is None
        await here.snooze(ANN, ask, clock.now() + 30)
        await clock.advance(30)
        assert await there.hidden_from(ANN) is None
        await there.step()
        await store.maintenance.prune(clock.now() + 1)
        assert await store.rows.read("SELECT person FROM snoozes") == []
