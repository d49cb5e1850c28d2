"""A team of twenty over a week of virtual time: people leave, stand in and snooze, and no question waits for nobody."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from answerback.core.actions import Answer, Confirm
from answerback.core.ask import Ask, Status
from answerback.core.people import People
from answerback.core.person import Person
from answerback.ports.surface import Acted, Actor
from answerback.workers.reminders import remind
from answerback_away.absences import Hours
from answerback_storage.sqlite.store import SqliteStore
from tests.unit.bot.away.team import DAY, Team
from tests.unit.bot.conftest import Parts

TEAM = [Person(surface="chat", user_id=f"U{number:02}") for number in range(20)]
PEOPLE = People(
    {each.user_id: (f"chat:{each.user_id}", f"web:{each.user_id}@example.com") for each in TEAM}
)
ROUTE = {
    "responders": [each.user_id for each in TEAM],
    "remind_after": [3_600, 4 * 3_600],
}
CONFIRMED = {"confirmations": {"count": 1, "from": ROUTE["responders"]}}
TICK = 1_800.0
WEEK = int(7 * DAY / TICK)


class Week:
    """The team at work; ``chance`` decides who does what."""

    def __init__(self, parts: Parts, folder: Path, seed: int) -> None:
        self.parts, self.folder, self.chance = parts, folder, random.Random(seed)
        self.team = Team(parts, PEOPLE, CONFIRMED, **ROUTE)
        self.open: set[str] = set()
        self.asked = self.stood_in = self.refused = self.snoozed = 0
        self.longest = 0.0

    async def tick(self) -> None:
        """Let half an hour pass."""
        chance = self.chance
        await self.parts.clock.advance(TICK)
        if chance.random() < 0.03:
            await self._restart()
        for _ in range(chance.randrange(3)):
            named = chance.sample(TEAM, chance.choice((1, 1, 2)))
            to = chance.choice(("ops", "ops", "other"))
            ask = await self.team.ask(*(each.user_id for each in named), to=to)
            self.open.add(ask.id)
            self.asked += 1
        if chance.random() < 0.3:
            await self._somebody_leaves(*chance.sample(TEAM, 2))
        if chance.random() < 0.1:
            await self.team.away.return_(chance.choice(TEAM))
        await self.team.away.step()
        await self.team.away.step()  # what the first step did has changed asks
        await self._check()
        for person in chance.sample(TEAM, 5):
            await self._works(person)

    async def _restart(self) -> None:
        """Kill the service: what it had not done yet, the next one has to do."""
        await self.parts.store.close()
        self.parts.store = SqliteStore(self.folder / "asks.db")
        await self.parts.store.open()
        self.team = Team(self.parts, PEOPLE, CONFIRMED, **ROUTE)

    async def _somebody_leaves(self, person: Person, stand_in: Person) -> None:
        problem = await self.team.leave(person, stand_in, days=self.chance.uniform(0.1, 3))
        self.refused += problem is not None
        if self.chance.random() < 0.3:
            await self.team.away.set_hours(person, Hours(8 * 60, 18 * 60, "UTC"))

    def is_there(self, person: Person) -> bool:
        said = self.team.away._find(person)
        return said is None or said.absent(self.team.now) is None

    async def _check(self) -> None:
        for ask_id in sorted(self.open):
            ask = await self.team.service.get(ask_id)
            assert ask is not None
            if not ask.open:
                self.open.discard(ask_id)
                continue
            waits_for = [each for each in TEAM if each.user_id in ask.placement.responders]
            there = [each for each in waits_for if self.is_there(each)]
            assert there, (ask_id, ask.placement.responders, self.team.away._said)
            self.longest = max(self.longest, self.team.now - ask.created_at)
            await self._remind(ask)

    async def _remind(self, ask: Ask) -> None:
        """Remind as the scheduler does; it waits exactly if nobody may be told now."""
        again = await remind(self.team.service, ask.id, 5)
        assert again is None or again > 0

    async def _works(self, person: Person) -> None:
        """Decide what waits in a person's inbox, from either of their accounts."""
        if not self.is_there(person):
            return
        account = self.chance.choice(PEOPLE.accounts_of(person))
        actor = Actor(Person(surface=account[0], user_id=account[1]))
        page = await self.team.service.list_waiting_for(actor, None, 20)
        for ask in page.rows:
            if self.chance.random() < 0.1:
                until = self.team.now + self.chance.uniform(0.5, 8) * 3_600
                await self.team.away.snoozes.snooze(actor.person, ask, until)
                self.snoozed += 1
                continue
            done = await self.team.service.act(
                ask.id, Confirm() if ask.confirming else Answer(value=True), actor
            )
            if isinstance(done, Acted) and not done.ask.open:
                self.open.discard(ask.id)
                self.stood_in += bool(done.ask.placement.stand_ins)
                _check_decided(done.ask)


def _check_decided(ask: Ask) -> None:
    """Nobody has confirmed what they, or whom they stand in for, have answered."""
    assert ask.status is Status.ANSWERED
    [given], votes = ask.walk.answers, ask.walk.votes
    assert given.by is not None
    assert len(votes) == (ask.request.route == "other")
    if not votes:
        return
    [vote] = votes
    pair = {PEOPLE.name_of(given.by), PEOPLE.name_of(vote.by)}
    assert len(pair) == 2
    for group in ask.placement.stand_ins:
        names = {each.partition(":")[2].partition("@")[0] for each in group}
        assert not pair <= names, (pair, group)


@pytest.mark.long
@pytest.mark.rule("AWAY-2", "AWAY-3", "AWAY-4", "AWAY-5", "SNOOZE-3")
@pytest.mark.parametrize("seed", [1, 2])
async def test_no_question_of_a_week_waits_for_nobody(
    parts: Parts, tmp_path: Path, seed: int
) -> None:
    week = Week(parts, tmp_path, seed)
    for _ in range(WEEK):
        await week.tick()
    assert week.asked > 200
    assert week.stood_in > 20
    assert week.refused > 0
    assert week.snoozed > 20
    assert week.longest < 2 * DAY, "somebody who is there has decided each of them"
