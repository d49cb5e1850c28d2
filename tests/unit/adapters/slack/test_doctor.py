"""`answerback doctor` for Slack names everything that can be wrong, and how to fix it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.ports.plugin import Finding
from answerback_slack.plugin import SlackPlugin
from answerback_testing.example_commands import EXAMPLE_COMMANDS
from tests import surface_setups
from tests.acceptance.process import command
from tests.fakes.slack.server import FakeSlack
from tests.service_support import WAIT


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as made:
        made.workspace.add_channel("C0OPS")
        made.workspace.add_channel("C0ELSE", bot=False)
        made.workspace.add_group("S0OPS", made.person("U0ADA", "ada").id, handle="oncall")
        yield made


def create_setup(slack: FakeSlack, **changes: Any) -> dict[str, Any]:
    """A setup without problems."""
    tokens = {"bot_token": slack.bot_token, "app_token": slack.app_token}
    places = {"api_url": slack.api_url, "channels": ["C0OPS"], "responders": ["@S0OPS"]}
    return tokens | places | changes


async def run_doctor(setup: dict[str, Any]) -> list[Finding]:
    return await surface_setups.run_doctor(SlackPlugin(), setup)


@pytest.mark.rule("CLI-8")
async def test_a_correct_setup_has_no_problems(slack: FakeSlack) -> None:
    findings = await run_doctor(create_setup(slack))
    assert [finding.wrong for finding in findings] == [None] * 10
    assert slack.messages("C0OPS") == []


@pytest.mark.rule("CLI-8")
async def test_each_problem_comes_with_its_fix(slack: FakeSlack) -> None:
    slack.scopes -= {"reactions:write", "im:write"}
    setup = create_setup(
        slack,
        app_token="xoxb-not-an-app-token",
        channels=["C0ELSE", "C0NONE"],
        responders=["@S0NONE"],
    )
    wrong = [finding for finding in await run_doctor(setup) if not finding.is_ok]
    assert [finding.what.removeprefix("Slack: ") for finding in wrong] == [
        "scopes",
        "Socket Mode",
        "channel C0ELSE",
        "channel C0NONE",
        "user group S0NONE",
    ]
    assert wrong[0].wrong == "missing: im:write, reactions:write"
    assert "invite" in wrong[2].fix.lower()
    assert all(finding.fix for finding in wrong)


@pytest.mark.rule("CLI-8", "SLACK-8")
async def test_a_group_that_nobody_is_in_is_reported_and_others_say_when_they_changed(
    slack: FakeSlack,
) -> None:
    slack.workspace.add_group("S0PAIR", "U0ADA", "U0BOB", handle="pair")
    slack.workspace.add_group("S0NIGHT", handle="night")
    slack.workspace.add_group("S0OLD", "U0ADA", handle="old")
    slack.workspace.disabled_groups.add("S0OLD")
    groups = ["S0OPS", "S0PAIR", "S0NIGHT", "S0OLD", "S0OPS", "S0NONE"]
    findings = await run_doctor(create_setup(slack, responders=[f"@{each}" for each in groups]))
    result = [each for each in findings if "user group" in each.what]
    changed = "last changed 2025-11-24 16:00 UTC"
    assert [each.what.removeprefix("Slack: user group ") for each in result] == [
        f"S0OPS (@oncall), 1 member, {changed}",
        f"S0PAIR (@pair), 2 members, {changed}",
        "S0NIGHT (@night)",
        "S0OLD (@old)",
        "S0NONE",
    ]
    assert [bool(each.wrong) for each in result] == [False, False, True, True, True]
    assert [each.warning for each in result] == [False, False, True, False, False]
    slack.faults.add("usergroups.list", error="missing_scope")
    [finding] = [
        each for each in await run_doctor(create_setup(slack)) if "user group" in each.what
    ]
    assert finding.wrong


@pytest.mark.rule("CLI-8", "SLACK-19")
async def test_connections_are_counted_and_the_eleventh_is_reported_with_advice(
    slack: FakeSlack,
) -> None:
    async with aiohttp.ClientSession() as session, AsyncExitStack() as stack:
        for others in range(10):
            finding = await _socket_mode_finding(slack)
            assert finding.wrong is None
            assert f", {others} other connections of the ten" in finding.what
            url = f"{slack.url}link/?ticket={slack.socket.ticket()}"
            socket = await stack.enter_async_context(session.ws_connect(url))
            assert (await socket.receive_json())["type"] == "hello"
        finding = await _socket_mode_finding(slack)
        assert finding.wrong == "there are too many connections"
        assert "Run fewer replicas" in finding.fix


async def _socket_mode_finding(slack: FakeSlack) -> Finding:
    """The finding about Socket Mode, once the connection that was opened for it is closed."""
    before = len(slack.socket.connections)
    [finding] = [one for one in await run_doctor(create_setup(slack)) if "Socket Mode" in one.what]
    async with asyncio.timeout(WAIT):
        while len(slack.socket.connections) > before:  # noqa: ASYNC110 there is no event to wait for
            await asyncio.sleep(0.01)
    return finding


@pytest.mark.rule("CLI-8")
async def test_a_socket_that_cannot_be_opened_is_reported(
    slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(_session: aiohttp.ClientSession, url: str, **_options: object) -> None:
        raise aiohttp.ClientConnectionError(url)

    monkeypatch.setattr(aiohttp.ClientSession, "_ws_connect", lost)
    [finding] = [one for one in await run_doctor(create_setup(slack)) if not one.is_ok]
    assert finding.wrong == "no connection could be made"
    assert "WebSockets" in finding.fix


@pytest.mark.rule("CLI-8", "SLACK-12")
async def test_whether_the_app_is_an_agent_is_reported_but_is_not_a_problem(
    slack: FakeSlack,
) -> None:
    def about(findings: list[Finding]) -> str:
        [what] = [finding.what for finding in findings if "agent sessions" in finding.what]
        return what

    assert "socket-agent" in about(await run_doctor(create_setup(slack)))
    slack.scopes |= {"assistant:write"}
    assert about(await run_doctor(create_setup(slack))) == "Slack: agent sessions"


@pytest.mark.rule("CLI-8", "SLACK-11")
async def test_a_home_tab_that_is_off_is_a_warning(slack: FakeSlack) -> None:
    slack.home_tab = False
    findings = await run_doctor(create_setup(slack))
    [off] = [finding for finding in findings if finding.wrong]
    assert off.what == "Slack: Home tab"
    assert off.is_ok
    assert "app_home_opened" in off.fix


@pytest.mark.rule("CLI-8", "SLACK-11")
async def test_a_home_tab_that_cannot_be_checked_is_a_warning(slack: FakeSlack) -> None:
    slack.faults.add("views.publish", error="fatal_error")
    [unchecked] = [each for each in await run_doctor(create_setup(slack)) if each.wrong]
    assert unchecked.what == "Slack: Home tab"
    assert unchecked.is_ok
    assert "fatal_error" in (unchecked.wrong or "")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"bot_token": "xapp-1"}, "not a bot token"),
        ({"bot_token": "xoxb-other"}, "invalid_auth"),
        ({"api_url": "http://127.0.0.1:1/api/"}, "could not be reached"),
        ({"app_token": "xapp-other"}, "invalid_auth"),
        ({"app_token": None, "signing_secret": "xoxb-1"}, "does not look like a signing secret"),
        ({"app_token": None, "signing_secret": "0" * 32}, "public.url is not set"),
    ],
)
async def test_wrong_credentials_are_reported(
    slack: FakeSlack, changes: dict[str, str | None], word: str
) -> None:
    setup = create_setup(slack, **changes)
    wrong = [finding for finding in await run_doctor(setup) if not finding.is_ok]
    assert len(wrong) == 1
    assert word in f"{wrong[0].wrong}"
    assert wrong[0].fix


@pytest.mark.acceptance
async def test_the_command_prints_what_is_right_and_what_is_wrong(
    slack: FakeSlack, tmp_path: Path
) -> None:
    config = f"""
        default_route = "ops"
        [routes.ops]
        to = "slack:C0ELSE"
        responders = ["@S0OPS"]
        [slack]
        bot_token = "{slack.bot_token}"
        app_token = "{slack.app_token}"
        api_url = "{slack.api_url}"
    """
    (tmp_path / "answerback.toml").write_text(config, "utf-8")
    async with command("doctor", folder=tmp_path) as process:
        code, _, output = await process.ended()
    assert code == 1
    assert "✓ Slack: scopes" in output
    assert "✗ Slack: channel C0ELSE: Slack refused conversations.history (not_in_channel)" in output
    assert "/invite" in output


@pytest.mark.rule("CLI-8", "COMMAND-3")
@pytest.mark.parametrize("offered", [False, True])
async def test_an_app_without_the_command_is_reported_where_there_is_something_to_type(
    slack: FakeSlack, offered: bool
) -> None:
    slack.scopes.discard("commands")
    findings = await run_doctor(create_setup(slack, commands=EXAMPLE_COMMANDS if offered else ()))
    reported = [each for each in findings if "/answerback" in each.what]
    assert [(each.warning, "scope commands" in (each.wrong or "")) for each in reported] == [
        (True, True)
    ][: int(offered)]
    assert [each for each in findings if not each.is_ok and each not in reported] == []
    slack.scopes.add("commands")
    findings = await run_doctor(create_setup(slack, commands=EXAMPLE_COMMANDS if offered else ()))
    assert [each.wrong for each in findings if "/answerback" in each.what] == [None][: int(offered)]


@pytest.mark.rule("FILE-11", "CLI-8")
async def test_an_app_that_cannot_upload_pictures_is_reported(slack: FakeSlack) -> None:
    slack.scopes.discard("files:write")
    reported = [each for each in await run_doctor(create_setup(slack)) if each.wrong]
    assert [(each.what, each.warning) for each in reported] == [("Slack: pictures", True)]
    assert "files:write" in (reported[0].wrong or "")


@pytest.mark.rule("FILE-22", "CLI-8")
async def test_an_app_that_cannot_read_what_people_send_is_reported(slack: FakeSlack) -> None:
    slack.scopes.discard("files:read")
    reported = [each for each in await run_doctor(create_setup(slack)) if each.wrong]
    assert [(each.what, each.warning) for each in reported] == [
        ("Slack: files that people send", True)
    ]
    assert "files:read" in (reported[0].wrong or "")
