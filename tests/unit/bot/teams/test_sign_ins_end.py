"""Agents that people have connected: what ends them, and what is known and logged of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.people import People
from answerback.core.person import Person
from answerback_teams import sign_ins as module
from answerback_teams.sign_ins import (
    Issued,
    PollError,
)
from answerback_teams.values import SignIn, SignInRefusal
from tests.unit.bot.conftest import Parts
from tests.unit.bot.sign_in_support import ANN, BOB, CY, RULES, Rig


@pytest.fixture
def rig(parts: Parts) -> Rig:
    return Rig(parts)


@pytest.mark.rule("ONBOARD-9")
async def test_a_token_ends_with_its_days(rig: Rig) -> None:
    issued = await rig.connected()
    await rig.clock.advance(30 * 86_400 - 1)
    assert await rig.sign_ins.find_agent(issued.token) is not None
    await rig.clock.advance(1)
    assert await rig.sign_ins.find_agent(issued.token) is None
    assert await rig.sign_ins.list_for(ANN) == []


@pytest.mark.rule("ONBOARD-9")
async def test_what_rested_on_a_persons_link_ends_with_it(rig: Rig) -> None:
    issued, codes = await rig.connected(BOB), await rig.approved(BOB)
    waiting = await rig.begin()
    shown = await rig.sign_ins.look_up(waiting.user, BOB)
    assert isinstance(shown, SignIn)
    rig.links["bob"] = "a new key"
    assert await rig.sign_ins.find_agent(issued.token) is None
    assert await rig.sign_ins.poll(codes.device) is PollError.ACCESS_DENIED
    rig.links.clear()
    assert await rig.sign_ins.decide(shown.id, BOB, approve=True) is SignInRefusal.FORBIDDEN


def _no_owner(rig: Rig) -> None:
    rig.rules.rules = replace(RULES, owners=("web:bob",))


def _left_the_group(rig: Rig) -> None:
    rig.chat.groups.clear()


@pytest.mark.rule("ONBOARD-9")
@pytest.mark.parametrize(
    ("who", "remove", "after"),
    [(ANN, _no_owner, 0), (CY, _no_owner, 0), (CY, _left_the_group, 300)],
)
async def test_a_person_who_may_no_longer_have_agents_has_none(
    rig: Rig, who: Person, remove: Callable[[Rig], Any], after: float
) -> None:
    rig.chat.groups["U3"] = frozenset({"G1"})
    issued, codes = await rig.connected(who), await rig.approved(who)
    assert await rig.sign_ins.find_agent(issued.token) is not None
    remove(rig)
    await rig.clock.advance(after)
    assert await rig.sign_ins.find_agent(issued.token) is None
    assert await rig.sign_ins.poll(codes.device) is PollError.ACCESS_DENIED


@pytest.mark.rule("ONBOARD-9")
async def test_groups_of_many_owners_are_remembered_within_bounds(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_REMEMBERED", 1)
    dan = Person(surface="chat", user_id="U4")
    rig.chat.groups |= {"U3": frozenset({"G1"}), "U4": frozenset({"G1"})}
    tokens = [(await rig.connected(each)).token for each in (CY, dan)]
    for _ in range(2):
        for token in tokens:
            assert await rig.sign_ins.find_agent(token) is not None
    assert len(rig.sign_ins._groups) == 1


@pytest.mark.rule("ONBOARD-9")
async def test_a_clock_that_is_set_back_makes_no_code_valid_again(rig: Rig) -> None:
    codes = await rig.approved()
    await rig.clock.set(-60)
    assert await rig.sign_ins.poll(codes.device) is PollError.EXPIRED_TOKEN


@pytest.mark.rule("ONBOARD-10")
async def test_an_owners_name_in_the_directory_is_their_agents_owner(parts: Parts) -> None:
    people = People({"cy": ("chat:U3", "web:cy")}, {"cy": "Cy Coe"})
    rig = Rig(parts, replace(RULES, owners=("person:cy",)), people)
    issued = await rig.connected(CY)
    agent = await rig.sign_ins.find_agent(issued.token)
    assert agent is not None
    assert (agent.owner, agent.label) == ("cy", "Claude Code (Cy Coe)")


@pytest.mark.rule("ONBOARD-11")
async def test_no_code_and_no_token_is_logged(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        codes = await rig.approved()
        issued = await rig.sign_ins.poll(codes.device)
        assert isinstance(issued, Issued)
        await rig.sign_ins.remove(issued.agent.name, ANN)
    logged = repr([vars(each) for each in caplog.records])
    assert issued.agent.name in logged
    for secret in (codes.device, codes.user, codes.user.replace("-", ""), issued.token):
        assert secret not in logged
