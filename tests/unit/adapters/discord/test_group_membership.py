"""Roles of people who act in direct messages, where Discord does not send them with the click."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core import walker as core
from answerback.core.ask import Ask, Change
from answerback.core.labels import Labels
from answerback_discord import group_membership
from answerback_discord.command_use import INBOX
from tests.fakes.discord.person import Person
from tests.fakes.long_timeouts import PATIENT
from tests.service_support import WAIT
from tests.unit.adapters.discord.rig import Rig, rig
from tests.unit.adapters.discord.sight import remove_escapes

ONE: list[dict[str, Any]] = [{"id": "go", "text": "Go on?", "answer_type": "boolean"}]
GUILDS, ROLES, MEMBERS = (
    "GET /users/@me/guilds",
    "GET /guilds/*/roles",
    "GET /guilds/*/members/*",
)


async def submit_ask(up: Rig) -> tuple[Ask, Person]:
    """An ask in the direct messages of somebody who may answer because of her role."""
    role = up.discord.add_role(up.guild, "ops")
    dora = up.discord.person("dora", up.guild, roles=(role,))
    return await ask_by_roles(up, dora, f"@{role.id}"), dora


async def ask_by_roles(
    up: Rig, person: Person, *roles: str, questions: list[dict[str, Any]] = ONE
) -> Ask:
    """An ask in somebody's direct messages that only people with these roles may answer."""
    ask = await up.shown(await up.submit(questions, to=f"discord:@{person.id}", responders=None))
    await up.service.update(
        ask.id,
        lambda latest, _at: Change(
            replace(latest, placement=replace(latest.placement, responders=roles)), ()
        ),
    )
    return await up.shown(ask)


async def test_all_servers_are_queried_concurrently(up: Rig) -> None:
    for _ in range(3):
        up.discord.add_guild()
    ask, dora = await submit_ask(up)
    held = up.discord.faults.hang(ROLES, times=4)
    click = await dora.click("Yes", wait=False)
    await dora.until(lambda: held.hits == 4)
    held.release()
    assert (await dora.ended(click)).answered
    assert (await up.shown(ask)).status == "answered"


async def test_a_slow_role_lookup_asks_the_person_to_try_again_and_then_lets_them(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, delays=replace(PATIENT, groups=0.3)) as up:
        ask, dora = await submit_ask(up)
        held = up.discord.faults.hang(GUILDS)
        assert (await dora.click("Yes")).answered
        assert dora.notes()[0].text == Labels().unchecked
        held.release()
        await up.discord.faults.called(ROLES)
        async with asyncio.timeout(WAIT):
            while (await up.shown(ask)).status != "answered":
                assert (await dora.click("Yes")).answered
        assert up.discord.faults.count(GUILDS) == 1


@pytest.mark.parametrize("how", ["hangs", "fails", "is refused"])
async def test_a_failed_search_for_the_servers_of_roles_is_repeated(
    up: Rig, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    ask, dora = await submit_ask(up)
    with monkeypatch.context() as patch:
        if how == "hangs":
            patch.setattr(group_membership, "LOOKUP_TIMEOUT", 0.05)
            up.discord.faults.hang(GUILDS)
        elif how == "fails":
            up.discord.faults.server_error(GUILDS)
        else:
            up.discord.faults.code(GUILDS, 50001)
        assert (await dora.click("Yes")).answered
    note = "may answer here" if how == "is refused" else Labels().unchecked
    assert note in dora.notes()[0].text
    assert (await dora.click("Yes")).answered
    assert (await up.shown(ask)).status == "answered"


async def test_a_lookup_of_roles_waits_for_rate_limits(up: Rig) -> None:
    ask, dora = await submit_ask(up)
    for route in (GUILDS, ROLES, MEMBERS):
        up.discord.faults.rate_limit(route, retry_after=0.02)
    assert (await dora.click("Yes")).answered
    assert (await up.shown(ask)).status == "answered"


async def test_a_role_of_a_server_that_the_person_is_not_in_does_no_harm(up: Rig) -> None:
    elsewhere = up.discord.add_role(up.discord.add_guild("Beta"), "dev")
    here = up.discord.add_role(up.guild, "ops")
    dora = up.discord.person("dora", up.guild, roles=(here,))
    ask = await ask_by_roles(up, dora, *(f"@{role.id}" for role in (elsewhere, here)))
    assert (await dora.click("Yes")).answered
    assert (await up.shown(ask)).status == "answered"


async def test_a_failed_lookup_is_not_a_refusal_and_is_not_cached(up: Rig) -> None:
    ask, dora = await submit_ask(up)
    up.discord.faults.server_error(MEMBERS)
    assert (await dora.click("Yes")).answered
    assert dora.notes()[0].text == Labels().unchecked
    assert (await dora.click("Yes")).answered
    assert (await up.shown(ask)).status == "answered"


async def test_a_server_whose_roles_cannot_be_read_is_read_again(up: Rig) -> None:
    ask, dora = await submit_ask(up)
    up.discord.faults.server_error(ROLES)
    assert (await dora.click("Yes")).answered
    assert dora.notes()[0].text == Labels().unchecked
    assert (await dora.click("Yes")).answered
    assert (await up.shown(ask)).status == "answered"


async def test_only_the_servers_of_the_roles_are_asked_once_they_are_known(up: Rig) -> None:
    for _ in range(3):
        up.discord.add_guild()
    for _ in range(2):
        ask, dora = await submit_ask(up)
        assert (await dora.click("Yes")).answered
        assert (await up.shown(ask)).status == "answered"
    counted = [up.discord.faults.count(route) for route in (GUILDS, ROLES, MEMBERS)]
    assert counted == [2, 8, 2]  # a role that is not known yet makes all servers be read again


@pytest.mark.rule("ACT-10")
async def test_a_role_that_was_taken_away_counts_no_more_at_once(up: Rig) -> None:
    first, dora = await submit_ask(up)
    [role] = first.placement.responders
    second = await ask_by_roles(up, dora, role)
    surface = up.surface
    roles = frozenset({role[1:]})
    assert await surface.groups_of(core.Person(surface="discord", user_id=str(dora.id)), roles)
    up.guild.members[dora.id].clear()
    assert (await dora.command(INBOX, up.discord.direct(dora.user))).answered
    assert Labels().inbox_empty in remove_escapes(dora.notes()[0].text)
    assert (await dora.click("Yes")).answered
    for ask in (first, second):
        assert (await up.shown(ask)).open


async def test_a_person_without_the_role_may_not_answer(up: Rig) -> None:
    ask, dora = await submit_ask(up)
    up.guild.members[dora.id].clear()
    assert (await dora.click("Yes")).answered
    assert "may answer here" in dora.notes()[0].text
    assert (await up.shown(ask)).open


async def test_a_person_without_the_role_is_told_so_before_a_modal_opens(up: Rig) -> None:
    role = up.discord.add_role(up.guild, "ops")
    dora = up.discord.person("dora", up.guild)
    text = [{"id": "why", "text": "Why?", "answer_type": "text"}]
    await ask_by_roles(up, dora, f"@{role.id}", questions=text)
    assert (await dora.click(Labels().answer)).answered
    assert "may answer here" in dora.notes()[0].text
    assert dora.modal is None
