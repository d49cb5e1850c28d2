"""/inbox lists privately what is waiting for a person; the command exists once the service has started."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.ask import Destination, Thread
from answerback.core.errors import UnreadableRowError
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.labels import Labels
from answerback.ports.store import Write
from answerback.ports.store_values import Page
from answerback.service.submission_request import Agent, Submission
from answerback_discord import inbox, inbox_view, slash_commands
from answerback_discord.api_client import DiscordApi
from answerback_discord.command_use import INBOX
from answerback_testing.example_asks import new_ask
from answerback_testing.example_commands import EXAMPLE_COMMANDS
from tests import matrix
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import Sight
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig
from tests.unit.adapters.discord.sight import remove_escapes

LABELS = Labels()
COMMANDS = "/applications/*/commands"


pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        await made.discord.faults.called(f"POST {COMMANDS}")
        yield made


def yes_no_question(text: str) -> list[dict[str, Any]]:
    return [{"id": "go", "text": text, "answer_type": "boolean"}]


LATE_AFTER = inbox._TIMEOUT
"""Seconds, unless a test changes it."""


async def open_inbox(up: Rig) -> Sight:
    """Return the list that the command shows Ann."""
    assert (await up.ann.command(INBOX, up.channel)).answered
    return up.ann.notes()[0]


def addresses(sight: Sight) -> list[str]:
    return [str(c.component["url"]) for c in sight.controls if c.is_link]


@pytest.mark.rule("DISCORD-14")
async def test_the_inbox_is_private_and_lists_asks_oldest_first_with_who_asks_and_links(
    up: Rig,
) -> None:
    other = up.discord.add_channel(up.guild, "deploys")
    bob = up.discord.person("bob", up.guild)
    body = {"name": "ask_user", "arguments": {"questions": yes_no_question("Ship _it_?")}}
    to = {"to": f"discord:{up.channel.id}", "responders": [str(up.ann.id)]}
    submission = Submission.model_validate({**body, **to})
    by_agent = await up.service.submit(submission, agent=Agent(name="deployer", label="Deployer"))
    first = await up.shown(by_agent.ask)
    second = await up.shown(await up.submit(yes_no_question("Merge?"), to=f"discord:{other.id}"))
    await up.shown(await up.submit(yes_no_question("For Bob?"), responders=[str(bob.id)]))
    done = await up.shown(await up.submit(yes_no_question("Over?")))
    await up.service.withdraw(done.id)
    await up.shown(done)
    seen = await open_inbox(up)
    text = remove_escapes(seen.text)
    assert seen.message.only_for == up.ann.id
    assert text.index("Ship _it_?") < text.index("Merge?")
    assert "For Bob?" not in text
    assert "Over?" not in text
    assert "Deployer asks" in text
    assert f"<t:{int(first.created_at)}:R>" in text
    messages = [str((ask.placement.message or {})["id"]) for ask in (first, second)]
    assert [address.rpartition("/")[2] for address in addresses(seen)] == messages
    assert [c.label for c in seen.controls if c.is_link] == ["Open 1", "Open 2"]


@pytest.mark.rule("DISCORD-14")
async def test_a_long_inbox_has_pages_and_can_be_refreshed(up: Rig) -> None:
    made = [
        await up.submit(yes_no_question(f"Question {n}?"))
        for n in range(inbox_view.ASKS_PER_PAGE + 2)
    ]
    for ask in made:
        await up.shown(ask)
    first = await open_inbox(up)
    assert len(addresses(first)) == inbox_view.ASKS_PER_PAGE
    assert (await up.ann.click(LABELS.next, on=first.message)).answered
    second = up.ann.sees(first.message)
    assert "Question 8?" in second.text
    assert len(addresses(second)) == 2
    assert LABELS.next not in second.labels
    await up.service.withdraw(made[0].id)
    assert (await up.ann.click(LABELS.refresh, on=first.message)).answered
    assert "Question 0?" not in up.ann.sees(first.message).text
    assert "Question 8?" in up.ann.sees(first.message).text
    assert len(up.ann.notes()) == 1


@pytest.mark.rule("DISCORD-14", "BATCH-5")
async def test_once_a_later_page_is_decided_the_first_one_is_shown(up: Rig) -> None:
    options = (Option(value="deny", label="Deny", kind=OptionKind.DENY),)
    to = Destination(surface="discord", channel=str(up.channel.id))
    for number in range(inbox_view.ASKS_PER_PAGE + 1):
        asked = Question(
            id="q", text=f"Run {number}", answer_type=AnswerType.SELECT, options=options
        )
        form, who = Form(questions=(asked,)), (str(up.ann.id),)
        ask = new_ask(f"{number:024x}", to=to, form=form, responders=who)
        await up.service.store.asks.create(Write(ask), None)
    inbox = await open_inbox(up)
    assert LABELS.allow_several not in inbox.labels, "nothing here allows once"
    assert (await up.ann.click(LABELS.next, on=inbox.message)).answered
    assert (await up.ann.click(LABELS.deny_several, on=inbox.message)).answered
    up.ann.fill(LABELS.deny, [f"1. Run {inbox_view.ASKS_PER_PAGE}"])
    assert (await up.ann.submit()).answered
    assert "Run 0" in up.ann.sees(inbox.message).text
    assert (await up.ann.click(LABELS.deny_several, on=inbox.message)).answered
    assert up.ann.modal is not None
    assert "Run 0" in up.ann.modal.everything


@pytest.mark.rule("DISCORD-14")
async def test_a_button_for_permissions_that_were_decided_meanwhile_shows_the_inbox(
    up: Rig,
) -> None:
    options = (Option(value="deny", label="Deny", kind=OptionKind.DENY),)
    asked = Question(id="q", text="Run it", answer_type=AnswerType.SELECT, options=options)
    to = Destination(surface="discord", channel=str(up.channel.id))
    ask = new_ask(1, to=to, form=Form(questions=(asked,)), responders=(str(up.ann.id),))
    await up.service.store.asks.create(Write(ask), None)
    inbox = await open_inbox(up)
    await up.service.withdraw(ask.id)
    assert (await up.ann.click(LABELS.deny_several, on=inbox.message)).answered
    assert up.ann.modal is None
    assert LABELS.inbox_empty in remove_escapes(up.ann.sees(inbox.message).text)


async def test_an_empty_inbox_says_so(up: Rig) -> None:
    assert LABELS.inbox_empty in remove_escapes((await open_inbox(up)).text)


@pytest.mark.rule("INBOX-1")
async def test_an_empty_inbox_says_where_questions_are_open_to_anyone(up: Rig) -> None:
    other = up.discord.add_channel(up.guild)
    for text, channel in (("One?", up.channel), ("Two?", other), ("Three?", other)):
        asked = yes_no_question(text)
        await up.shown(await up.submit(asked, responders="anyone", to=f"discord:{channel.id}"))
    text = remove_escapes((await open_inbox(up)).text)
    assert (
        LABELS.inbox_empty_mine.format(count=3, where=f"<#{up.channel.id}>, <#{other.id}>") in text
    )
    assert "One?" not in text  # whoever asks may not see that channel


@pytest.mark.rule("DISCORD-8", "DISCORD-14")
async def test_the_inbox_in_direct_messages_includes_asks_for_a_persons_roles(up: Rig) -> None:
    role = up.discord.add_role(up.guild, "admins")
    eve = up.discord.person("eve", up.guild, roles=(role,))
    await up.shown(await up.submit(yes_no_question("Deploy?"), responders=[f"@{role.id}"]))
    for place in (up.channel, up.discord.direct(eve.user)):
        assert (await eve.command(INBOX, place)).answered
        assert "Deploy?" in eve.notes()[0].text
    assert LABELS.inbox_empty in remove_escapes((await open_inbox(up)).text)


async def test_an_inbox_that_cannot_be_read_is_not_a_failed_interaction(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreadable(*_: object) -> None:
        raise UnreadableRowError("torn")

    monkeypatch.setattr(up.service, "list_waiting_for", unreadable)
    assert LABELS.unavailable in remove_escapes((await open_inbox(up)).text)


async def test_an_inbox_whose_roles_take_too_long_is_answered_in_time(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LATE_AFTER < 3
    monkeypatch.setattr(inbox, "_TIMEOUT", 0.3)
    role = up.discord.add_role(up.guild, "admins")
    await up.shown(await up.submit(yes_no_question("Deploy?"), responders=[f"@{role.id}"]))
    up.discord.faults.hang("GET /guilds/*/members/*")
    assert LABELS.inbox_late in remove_escapes((await open_inbox(up)).text)


async def test_an_unknown_inbox_cursor_shows_the_first_page(up: Rig) -> None:
    await up.shown(await up.submit(yes_no_question("Ship it?")))
    seen = await open_inbox(up)
    control = seen.button(LABELS.refresh)
    assert control is not None
    control.component["custom_id"] += ":forged"
    assert (await up.ann._use(seen.message, control, [], wait=True)).answered
    assert "Ship it?" in up.ann.notes()[0].text


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.rule("DISCORD-14")
async def test_the_command_is_registered_once_and_other_commands_are_left_alone(
    tmp_path: Path,
) -> None:
    async with FakeDiscord() as discord, aiohttp.ClientSession() as http:
        other = {"name": "deploy", "description": "Deploys", "type": 1}
        discord.application.commands.append(other)
        calls = DiscordApi(http, discord.application.token, discord.api_url)
        register, definitions = slash_commands.register_with_retry, slash_commands.definitions
        for _ in range(2):
            await register(calls, definitions(LABELS, EXAMPLE_COMMANDS))
            discord.application.commands[-1]["contexts"].reverse()  # as Discord may list them
            discord.application.commands[-1]["options"].reverse()
        assert discord.faults.count(f"POST {COMMANDS}") == 2
        renamed = Labels(inbox_command="Was auf dich wartet")
        await register(calls, definitions(renamed, EXAMPLE_COMMANDS[:1]))
        assert discord.faults.count(f"POST {COMMANDS}") == 4, "a subcommand is gone"
        texts = {each["name"]: each["description"] for each in discord.application.commands}
        inbox_text = "Was auf dich wartet"
        assert texts == {"deploy": "Deploys", "inbox": inbox_text, "answerback": LABELS.commands}
        await register(calls, definitions(renamed))
        assert discord.faults.count(f"POST {COMMANDS}") == 4, "without any, none is registered"


@pytest.mark.rule("DISCORD-14")
@pytest.mark.parametrize("mode", MODES)
async def test_asking_works_even_if_the_command_cannot_be_registered(
    tmp_path: Path, mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeDiscord() as discord:
        discord.faults.code(f"GET {COMMANDS}", 50001)
        async with rig(tmp_path, mode, discord=discord) as up:
            await up.shown(await up.submit(yes_no_question("Ship it?")))
            assert (await up.ann.click("Yes")).answered
        assert "/inbox, /answerback could not be registered" in caplog.text


@pytest.mark.rule("DISCORD-14")
async def test_a_rate_limited_registration_of_the_command_is_retried(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        discord.faults.rate_limit(f"POST {COMMANDS}", retry_after=0.1)
        async with rig(tmp_path, "http", discord=discord):
            await discord.faults.called(f"POST {COMMANDS}", 2)
            await discord.bell.until(lambda: bool(discord.application.commands))


async def test_an_unknown_command_is_answered_with_a_note(up: Rig) -> None:
    up.discord.application.commands.append({"name": "deploy", "description": "D", "type": 1})
    assert (await up.ann.command("deploy", up.channel)).answered
    assert LABELS.not_found in remove_escapes(up.ann.notes()[0].text)


@pytest.mark.rule("PEOPLE-4")
@pytest.mark.parametrize("url", ["https://slack.example/archives/C1/p1", None])
def test_an_ask_on_another_surface_has_that_surfaces_link(url: str | None) -> None:
    thread = Thread(channel="C1", id="1", url=url)
    there = Destination(surface="slack", channel="C1")
    ask = new_ask(1, to=there, message={"channel": "C1", "ts": "1"}, thread=thread)
    shown = inbox_view.page(Page((ask,), None), LABELS)
    assert (f'"{url}"' in json.dumps(shown)) is (url is not None)
    assert "discord.com" not in json.dumps(shown)
