"""Whoever stands in gets what waits for people who are away, as by a hand over, and decides nothing twice."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from answerback.core.actions import Answer, Back, Confirm
from answerback.core.ask import Ask, Status
from answerback.core.erasure import erase_ask
from answerback.core.errors import DestinationGoneError, StoreError
from answerback.core.escalation import escalate
from answerback.core.handing_over import HandOver
from answerback.core.labels import ENGLISH
from answerback.core.people import People
from answerback.core.person import Person
from answerback.core.view import view_of
from answerback.ports.search import Account
from answerback.ports.store_values import Page
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason
from answerback.presentation import wording
from answerback.service.ask_wire import ask_json
from answerback.workers.reminders import remind
from answerback_away.absences import Hours
from answerback_away.away import CIRCLE, SELF
from answerback_storage.sqlite.store import SqliteStore
from tests.unit.bot.away.team import ANN, BOB, CY, DAY, DEE, PEOPLE, Team
from tests.unit.bot.conftest import Parts


async def answered(team: Team, ask: Ask, by: Person) -> Ask:
    done = await team.service.act(ask.id, Answer(value=True), Actor(by))
    assert isinstance(done, Acted), done
    return done.ask


@pytest.mark.rule("AWAY-2")
async def test_what_waits_for_a_person_who_is_away_goes_to_who_stands_in(parts: Parts) -> None:
    team = Team(parts)
    before = await team.ask("ann")
    assert await team.leave(ANN, BOB) is None
    after = await team.ask("ann")
    for ask in (await team.step(before), await team.step(after)):
        assert ask.placement.responders == ("ann", "bob")
        handed = ask.placement.handed_over
        assert handed is not None
        assert (handed.by.user_id, handed.to.user_id, handed.to.name) == ("ann", "bob", "Bob B.")
        [line] = await team.record(ask, "handed_over")
        assert line.body == {"to": "bob", "name": "Bob B.", "stands_in": True}
        assert line.by is not None
        assert line.by.user_id == "ann"
    await answered(team, after, BOB)


@pytest.mark.rule("AWAY-2")
async def test_each_ask_is_given_once_and_none_that_came_after_the_end(parts: Parts) -> None:
    team = Team(parts)
    await team.leave(ANN, BOB, days=1)
    ask = await team.step(await team.ask("ann"))
    await parts.clock.advance(120)
    assert (await team.step(ask)).revision == ask.revision
    await parts.clock.advance(DAY)
    later = await team.step(await team.ask("ann"))
    assert later.placement.responders == ("ann",)
    assert (await team.away.said_by(ANN)).absence is None, "what is over is not kept"
    assert await parts.store.rows.read("SELECT person FROM away") == []


@pytest.mark.rule("AWAY-2")
async def test_somebody_who_is_back_early_gets_their_questions_alone(parts: Parts) -> None:
    team = Team(parts)
    await team.leave(ANN, BOB)
    await team.away.return_(Person(surface="web", user_id="ann@example.com"))
    assert (await team.step(await team.ask("ann"))).placement.responders == ("ann",)


@pytest.mark.rule("AWAY-2")
async def test_nobody_stands_in_beyond_a_routes_limit(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    team = Team(parts, responders=["ann", "cy"])
    await team.leave(ANN, BOB)
    ask = await team.ask("ann")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await parts.clock.advance(61)
            ask = await team.step(ask)
    assert ask.placement.responders == ("ann",)
    [refused] = [
        each for each in caplog.records if getattr(each, "action", "") == "stand_in_refused"
    ]
    assert refused.__dict__["code"] == "responders_forbidden"


@pytest.mark.rule("AWAY-2")
async def test_groups_and_anyone_are_not_stood_in_for(parts: Parts) -> None:
    team = Team(parts, responders="anyone")
    for name in ("ann", "@S1", "anyone"):  # an id may look like that of a group
        await team.leave(Person(surface="chat", user_id=name), BOB)
    for names in (("@S1",), ("anyone",)):
        ask = await team.step(await team.ask(*names))
        assert ask.placement.responders == names


@pytest.mark.rule("AWAY-2", "AWAY-5")
async def test_linked_accounts_are_one_person_on_every_surface(parts: Parts) -> None:
    team = Team(parts, to="web", responders=["person:ann", "person:bob", "person:dee"])
    await team.leave(ANN, DEE)
    ask = await team.step(await team.ask("ann@example.com"))
    assert ask.placement.responders == ("ann@example.com", "dee@example.com")
    in_chat = Team(parts, responders=["ann", "person:dee"])
    await in_chat.away.refresh()
    assert (await in_chat.step(await in_chat.ask("ann"))).placement.responders == ("ann",)


@pytest.mark.rule("AWAY-2", "HANDOVER-6")
async def test_a_direct_message_moves_to_who_stands_in(parts: Parts) -> None:
    team = Team(parts, to="chat:@ann")
    await team.leave(ANN, BOB)
    ask = await team.step(await team.ask())
    assert ask.placement.destination.user == "bob"
    assert ask.placement.responders == ("ann", "bob")


def refuses_messages() -> list[Exception]:
    """The errors that showing anything to somebody raises, who accepts no direct messages."""
    return [DestinationGoneError("cannot_dm_bot") for _ in range(20)]


@pytest.mark.rule("AWAY-2", "AWAY-5", "AWAY-6", "MOVE-2")
async def test_an_ask_whose_stand_in_cannot_be_reached_is_given_once_and_stays(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    team, other = Team(parts, to="chat:@ann"), Team(parts)
    parts.chat.unreachable["bob"] = refuses_messages()
    async with team.showing() as sync:
        ask = await team.ask()
        await sync.wait_until_idle()
        await team.leave(ANN, BOB)
        for process in (team, team, other, team):
            await parts.clock.advance(61)
            ask = await process.step(ask)
            await sync.wait_until_idle()
    assert len(await team.record(ask, "handed_over")) == 1
    assert (ask.placement.destination.user, ask.placement.responders) == ("ann", ("ann",))
    assert parts.chat.messages[ask.id].placement.destination.user == "ann"
    refused = [each for each in caplog.records if getattr(each, "action", "") == "stand_in_refused"]
    assert len(refused) == 2, "once in each process"
    back = team.away.quiet_until(ANN, team.now)
    assert back is not None
    assert await remind(team.service, ask.id, 5) == back - team.now
    await team.away.return_(ANN)
    assert await remind(team.service, ask.id, 5) is None
    assert parts.chat.reminded == ["ann"]


@pytest.mark.rule("AWAY-2", "AWAY-5")
async def test_after_somebody_who_cannot_be_reached_another_account_or_person_gets_it(
    parts: Parts,
) -> None:
    people = People({"ann": ("chat:ann",), "bob": ("chat:bob", "chat:bob2"), "cy": ("chat:cy",)})
    responders = ["ann", "bob", "bob2", "cy"]
    team = Team(parts, people, to="chat:@ann", responders=responders)
    parts.chat.unreachable = {"bob": refuses_messages(), "bob2": refuses_messages()}
    async with team.showing() as sync:
        ask = await team.ask()
        for stand_in in (BOB, BOB, BOB, CY):
            await team.leave(ANN, stand_in)
            ask = await team.step(ask)
            await sync.wait_until_idle()
    assert ask.placement.destination.user == "cy"
    handed = [line.body["to"] for line in await team.record(ask, "handed_over")]
    assert handed == ["bob", "bob2", "cy"]


@pytest.mark.rule("AWAY-2", "HANDOVER-6")
@pytest.mark.parametrize("is_escalated", [False, True], ids=["handed over", "escalated"])
async def test_what_moves_to_somebody_who_is_away_goes_on_once_it_has_moved(
    parts: Parts, *, is_escalated: bool
) -> None:
    boss = {"after": 60, "to": "chat:@bob", "responders": ["bob"]}
    team = Team(parts, to="chat:@ann", escalate=boss)
    await team.leave(BOB, CY)
    async with team.showing() as sync:
        ask = await team.ask()
        await sync.wait_until_idle()
        await team.step(ask)
        parts.chat.hold = asyncio.Event()
        if is_escalated:
            await team.service.update(ask.id, escalate)
        else:
            await team.service.act(ask.id, HandOver(to="bob"), Actor(ANN))
        moving = await team.step(ask)
        assert (moving.is_moving, moving.placement.destination.user) == (True, "bob")
        parts.chat.hold.set()
        await sync.wait_until_idle()
        assert (await team.step(ask)).placement.destination.user == "cy"
        await sync.wait_until_idle()
    assert parts.chat.messages[ask.id].placement.destination.user == "cy"


@pytest.mark.rule("AWAY-2", "HANDOVER-6")
async def test_what_begins_to_move_while_it_is_looked_at_goes_on_once_it_has_moved(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(parts, to="chat:@ann")
    real = parts.store.search.list_for_responder

    async def hand_over_meanwhile(
        accounts: Sequence[Account], after: str | None, limit: int
    ) -> Page[Ask]:
        page = await real(accounts, after, limit)
        await team.service.act(ask.id, HandOver(to="bob"), Actor(ANN))
        return page

    async with team.showing() as sync:
        ask = await team.ask()
        await sync.wait_until_idle()
        parts.chat.hold = asyncio.Event()
        await team.leave(ANN, CY)
        monkeypatch.setattr(parts.store.search, "list_for_responder", hand_over_meanwhile)
        assert (await team.step(ask)).placement.destination.user == "bob"
        parts.chat.hold.set()
        await sync.wait_until_idle()
        assert (await team.step(ask)).placement.destination.user == "cy"


@pytest.mark.rule("AWAY-3")
async def test_a_chain_leads_to_somebody_who_is_there_and_no_circle_can_be_made(
    parts: Parts,
) -> None:
    team = Team(parts)
    assert await team.leave(ANN, ANN) == SELF
    assert await team.leave(ANN, Person(surface="web", user_id="ann@example.com")) == SELF
    assert await team.leave(ANN, BOB) is None
    ask = await team.step(await team.ask("ann"))
    assert ask.placement.responders == ("ann", "bob")
    assert await team.leave(BOB, ANN) == CIRCLE
    assert (await team.away.said_by(BOB)).absence is None
    assert await team.leave(BOB, CY) is None
    assert await team.leave(CY, Person(surface="web", user_id="ann@example.com")) == CIRCLE
    assert (await team.step(ask)).placement.responders == ("ann", "bob", "cy")
    assert (await team.step(await team.ask("ann"))).placement.responders == ("ann", "cy")


@pytest.mark.rule("AWAY-3")
async def test_a_circle_of_two_who_left_at_once_keeps_their_questions_where_they_are(
    parts: Parts,
) -> None:
    team, other = Team(parts), Team(parts)
    await other.away.refresh()
    other.away.refresh = team.away.refresh  # type: ignore[method-assign]  # it has read before the first left
    await team.leave(ANN, BOB)
    assert await other.leave(BOB, ANN) is None
    assert (await team.step(await team.ask("ann"))).placement.responders == ("ann",)


@pytest.mark.rule("AWAY-4")
@pytest.mark.parametrize(("answers", "confirms"), [(ANN, BOB), (BOB, ANN)])
async def test_neither_confirms_what_the_other_has_answered(
    parts: Parts, answers: Person, confirms: Person
) -> None:
    team = Team(parts, confirmations=1)
    await team.leave(ANN, BOB)
    ask = await team.step(await team.ask("ann", "cy"))
    await team.away.return_(ANN)
    confirming = await answered(team, ask, answers)
    assert confirming.confirming
    for account in PEOPLE.accounts_of(confirms):
        by = Actor(Person(surface=account[0], user_id=account[1]))
        refused = await team.service.act(ask.id, Confirm(), by)
        assert isinstance(refused, Rejected)
        assert refused.why is RejectReason.NOT_ALLOWED
        assert [problem.code for problem in refused.problems] == ["stands_in"]
    done = await team.service.act(ask.id, Confirm(), Actor(CY))
    assert isinstance(done, Acted)
    assert done.ask.status is Status.ANSWERED


@pytest.mark.rule("AWAY-4")
async def test_who_stands_in_for_one_confirms_what_others_have_answered(parts: Parts) -> None:
    team = Team(parts, confirmations=1)
    await team.leave(ANN, BOB)
    ask = await team.step(await team.ask("ann", "cy"))
    await answered(team, ask, CY)
    done = await team.service.act(ask.id, Confirm(), Actor(BOB))
    assert isinstance(done, Acted)
    assert done.ask.status is Status.ANSWERED


@pytest.mark.rule("AWAY-4")
async def test_those_who_confirm_stay_those_who_are_listed(parts: Parts) -> None:
    team = Team(parts, confirmations={"count": 1, "from": ["ann", "cy"]})
    await team.leave(ANN, BOB)
    ask = await team.ask("cy")
    confirming = await answered(team, ask, CY)
    after = await team.step(confirming)
    assert after.placement.confirmers == ("ann", "cy")
    assert after.placement.responders == ("cy",)


@pytest.mark.rule("AWAY-4", "API-18")
async def test_an_erasure_leaves_no_account_of_those_who_stood_in(parts: Parts) -> None:
    team = Team(parts)
    await team.leave(ANN, BOB)
    ask = await team.step(await team.ask("ann"))
    assert ask.placement.stand_ins == (("chat:ann", "chat:bob"),)
    ended = await answered(team, ask, BOB)
    erased = erase_ask(ended, team.now, set())
    assert erased.placement.stand_ins == ()
    assert "bob" not in str(ask_json(erased))
    await team.service.erase(ask.id)
    [line] = await team.record(ask, "handed_over")
    assert line.body == {"stands_in": True}


@pytest.mark.rule("AWAY-5")
async def test_who_is_away_holds_over_restarts_and_in_other_processes(
    parts: Parts, tmp_path: Path
) -> None:
    team, other = Team(parts), Team(parts)
    await team.leave(ANN, BOB)
    ask = await team.ask("ann")
    assert (await other.step(ask)).placement.responders == ("ann", "bob")
    await parts.store.close()
    parts.store = SqliteStore(tmp_path / "asks.db")
    await parts.store.open()
    again = Team(parts)
    assert (await again.step(await again.ask("ann"))).placement.responders == ("ann", "bob")


@pytest.mark.rule("AWAY-5")
async def test_what_waits_is_handed_on_after_the_database_was_away(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(parts)
    await team.leave(ANN, BOB)
    ask = await team.ask("ann")

    async def broken(*_values: object) -> object:
        raise StoreError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(parts.store.rows, "read", broken)
        with pytest.raises(StoreError):
            await team.away.step()
    assert (await team.step(ask)).placement.responders == ("ann", "bob")


@pytest.mark.rule("AWAY-6")
async def test_reminders_leave_out_who_is_away_or_out_of_hours_and_wait_if_nobody_is_left(
    parts: Parts,
) -> None:
    team = Team(parts, remind_after=[60])
    parts.chat.not_ready = None
    both = await team.ask("ann", "cy")
    alone = await team.ask("ann")
    for ask in (both, alone):
        await parts.store.asks.save_shown(ask.id, await parts.chat.show(ask, _nothing))  # type: ignore[arg-type]  # it shows at once
    await team.away.set_hours(ANN, Hours(10 * 60, 11 * 60, "UTC", days=(0, 1, 2, 3, 4, 5, 6)))
    await parts.clock.advance(61)
    opens = team.away.quiet_until(ANN, team.now)
    assert opens is not None
    assert await remind(team.service, both.id, 5) is None
    assert [line.body for line in await team.record(both, "note")] == [
        {"reminded": 1, "left_out": ["ann"]}
    ]
    assert await remind(team.service, alone.id, 5) == opens - team.now
    assert [ask_id for ask_id, _ in parts.chat.reminders] == [both.id]
    await parts.clock.advance(opens - team.now)
    assert await remind(team.service, alone.id, 5) is None
    assert [ask_id for ask_id, _ in parts.chat.reminders] == [both.id, alone.id]


async def _nothing(_shown: object) -> None:
    """Nothing has to be saved halfway."""


@pytest.mark.rule("AWAY-6")
async def test_a_person_who_is_away_is_quiet_until_their_hours_after_that(parts: Parts) -> None:
    team = Team(parts)
    assert team.away.quiet_until(ANN, team.now) is None
    await team.leave(ANN, BOB, days=1)
    back = team.now + DAY
    assert team.away.quiet_until(ANN, team.now) == back
    assert team.away.quiet_until(ANN, back) is None
    hours = Hours(9 * 60, 10 * 60, "UTC")
    await team.away.set_hours(ANN, hours)
    assert team.away.quiet_until(ANN, team.now) == (hours.quiet_until(back) or back)
    assert team.away.quiet_until(BOB, team.now) is None


async def test_nobody_is_looked_up_while_nobody_is_away(parts: Parts) -> None:
    team = Team(parts)
    await team.ask("ann")
    assert not team.away._changed


@pytest.mark.rule("AWAY-4")
@pytest.mark.parametrize(("answers", "confirms"), [(ANN, BOB), (BOB, ANN)])
async def test_who_has_an_ask_anyway_is_given_nothing_and_confirms_as_ever(
    parts: Parts, answers: Person, confirms: Person
) -> None:
    team = Team(parts, confirmations=1)
    await team.leave(ANN, BOB)
    ask = await team.ask("ann", "bob")
    assert (await team.step(ask)).revision == ask.revision
    await answered(team, ask, answers)
    done = await team.service.act(ask.id, Confirm(), Actor(confirms))
    assert isinstance(done, Acted)
    assert done.ask.status is Status.ANSWERED


@pytest.mark.rule("AWAY-4")
async def test_who_stands_in_for_one_stands_in_for_another_too(parts: Parts) -> None:
    """Otherwise somebody who is away would have chosen who confirms their answer."""
    team = Team(parts, confirmations=1)
    await team.leave(ANN, BOB)
    ask = await team.step(await team.ask("ann", "cy"))
    await team.leave(CY, BOB)
    ask = await team.step(ask)
    assert ask.placement.stand_ins == (("chat:ann", "chat:bob"), ("chat:cy", "chat:bob"))
    await answered(team, ask, CY)
    refused = await team.service.act(ask.id, Confirm(), Actor(BOB))
    assert isinstance(refused, Rejected)
    assert [problem.code for problem in refused.problems] == ["stands_in"]


def said(ask: Ask) -> str:
    return wording.summary_text(view_of(ask), ENGLISH)


@pytest.mark.rule("AWAY-4", "CONFIRM-2")
async def test_people_read_that_nobody_is_left_to_confirm_and_a_hand_over_helps(
    parts: Parts,
) -> None:
    """The route has two people who confirm. Who stands in has answered, so that neither can."""
    team = Team(parts, confirmations={"count": 1, "from": ["ann", "bob"]})
    await team.leave(ANN, BOB)
    ask = await team.step(await team.ask("ann"))
    confirming = await answered(team, ask, BOB)
    assert said(confirming).endswith(ENGLISH.confirm_stand_ins)
    for person in (ANN, BOB):
        assert isinstance(await team.service.act(ask.id, Confirm(), Actor(person)), Rejected)
    back = await team.service.act(ask.id, Back(), Actor(BOB))
    handed = await team.service.act(ask.id, HandOver(to="cy"), Actor(BOB))
    assert isinstance(back, Acted)
    assert isinstance(handed, Acted)
    assert ENGLISH.confirm_stand_ins not in said(await answered(team, ask, CY))
    done = await team.service.act(ask.id, Confirm(), Actor(ANN))
    assert isinstance(done, Acted)
    assert done.ask.status is Status.ANSWERED


@pytest.mark.rule("AWAY-4", "CONFIRM-2")
@pytest.mark.parametrize("others", [("cy",), ("@S1",), ("anyone",)])
async def test_nobody_reads_that_while_another_person_can_confirm(
    parts: Parts, others: tuple[str, ...]
) -> None:
    team = Team(parts, confirmations={"count": 1, "from": ["ann", *others]})
    await team.leave(ANN, BOB)
    ask = await team.step(await team.ask("ann"))
    assert ENGLISH.confirm_stand_ins not in said(await answered(team, ask, BOB))
