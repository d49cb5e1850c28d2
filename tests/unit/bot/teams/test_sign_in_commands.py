"""`/answerback connect CODE` and `/answerback agents`: what is typed shows, and only buttons decide."""

from __future__ import annotations

import pytest

from answerback.core.labels import ENGLISH
from answerback.core.person import Person
from answerback.ports.commands import CommandAnswer, Commands
from answerback_teams import sign_in_commands as module
from answerback_teams.sign_in_commands import sign_in_commands
from answerback_teams.sign_ins import Codes, Issued, PollError
from tests.unit.bot.conftest import Parts
from tests.unit.bot.sign_in_support import CY, Rig

EVE = Person(surface="chat", user_id="U9")


@pytest.fixture
def rig(parts: Parts) -> Rig:
    made = Rig(parts)
    made.chat.groups["U3"] = frozenset({"G1"})
    return made


@pytest.fixture
def commands(rig: Rig) -> Commands:
    return Commands(sign_in_commands(rig.sign_ins, ENGLISH), ENGLISH)


async def press(commands: Commands, answer: CommandAnswer, label: str) -> CommandAnswer:
    """Press a button of an answer."""
    (button,) = (each for each in answer.buttons if each.label.startswith(label))
    assert len(button.command) <= 30
    return await commands.run(CY, button.command, pressed=True)


async def shown(rig: Rig, commands: Commands) -> tuple[Codes, CommandAnswer]:
    codes = await rig.begin()
    return codes, await commands.run(CY, f"connect “{codes.user.lower().replace('-', ' ')}”")


@pytest.mark.rule("ONBOARD-3", "ONBOARD-8", "ONBOARD-13")
async def test_a_person_connects_lists_and_removes_an_agent_in_a_chat(
    rig: Rig, commands: Commands
) -> None:
    codes, asked = await shown(rig, commands)
    assert "Claude Code wants to ask people questions as your agent." in asked.text
    assert "The request came from 192.0.2.1." in asked.text
    assert "If someone sent you this code, deny it" in asked.text
    done = await press(commands, asked, "Approve")
    assert (done.text.startswith("Approved. Claude Code"), done.buttons) == (True, ())
    issued = await rig.sign_ins.poll(codes.device)
    assert isinstance(issued, Issued)
    listed = await commands.run(CY, "agents")
    assert listed.text.startswith(f"{issued.agent.name}: Claude Code on laptop")
    typed = await commands.run(CY, listed.buttons[0].command)
    assert typed == listed, "typing what a button sends removes nothing"
    left = await press(commands, listed, "Remove")
    assert left == CommandAnswer("You have not connected any agents.")
    assert await rig.sign_ins.find_agent(issued.token) is None
    again = await commands.run(CY, listed.buttons[0].command, pressed=True)
    assert again.text == "You have not connected any agents."


@pytest.mark.rule("ONBOARD-3", "ONBOARD-13")
async def test_what_somebody_is_lured_to_type_decides_nothing(rig: Rig, commands: Commands) -> None:
    codes, asked = await shown(rig, commands)
    for _ in range(2):
        assert await commands.run(CY, asked.buttons[0].command) == asked
        assert await rig.sign_ins.poll(codes.device) in {
            PollError.AUTHORIZATION_PENDING,
            PollError.SLOW_DOWN,
        }


@pytest.mark.rule("ONBOARD-3", "ONBOARD-13")
async def test_a_denial_and_refusals_are_said(rig: Rig, commands: Commands) -> None:
    codes, asked = await shown(rig, commands)
    refused = await commands.run(EVE, f"connect {codes.user}")
    assert (refused.text.startswith("You may not connect agents"), refused.buttons) == (True, ())
    assert (await press(commands, asked, "Deny")).text == "Denied. Claude Code gets no token."
    assert await rig.sign_ins.poll(codes.device) is PollError.ACCESS_DENIED
    odd = await commands.run(CY, f"connect {codes.user}", pressed=True)
    assert odd.text.startswith("No program is waiting for this code")


@pytest.mark.rule("ONBOARD-13")
async def test_so_many_agents_have_a_button(
    rig: Rig, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_LISTED", 1)
    for _ in range(2):
        await rig.connected(CY)
    listed = await commands.run(CY, "agents")
    assert (len(listed.text.splitlines()), len(listed.buttons)) == (2, 1)


@pytest.mark.rule("ONBOARD-13")
async def test_the_agent_that_is_removed_is_the_one_beside_the_button(
    rig: Rig, commands: Commands
) -> None:
    for _ in range(2):
        await rig.connected(CY)
    first, second = await rig.sign_ins.list_for(CY)
    listed = await commands.run(CY, "agents")
    left = await commands.run(CY, listed.buttons[1].command, pressed=True)
    assert first.name in left.text
    assert second.name not in left.text
