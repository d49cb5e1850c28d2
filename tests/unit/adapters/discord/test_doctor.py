"""`answerback doctor` for Discord: each problem is named with its fix, and --fix changes what can be changed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.labels import Labels
from answerback.ports.plugin import Finding
from answerback_discord import manifest, slash_commands
from answerback_discord.plugin import DiscordPlugin
from answerback_testing.example_commands import EXAMPLE_COMMANDS
from tests import surface_setups
from tests.acceptance.process import command
from tests.fakes.discord.core import Application
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.spec import check_schema
from tests.fakes.discord.world import Can, Channel
from tests.unit.adapters.discord.rig import rig

ROOT = Path(__file__).parents[4]


@pytest.fixture
async def discord() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as made:
        yield made


def create_setup(discord: FakeDiscord, *channels: Channel, **changes: Any) -> dict[str, Any]:
    """A set-up with nothing wrong, which uses the gateway."""
    named = [str(channel.id) for channel in channels]
    token = {"bot_token": discord.application.token, "api_url": discord.api_url}
    return {**token, "channels": named, **changes}


async def run_doctor(setup: dict[str, Any]) -> list[Finding]:
    return await surface_setups.run_doctor(DiscordPlugin(), setup)


@pytest.mark.rule("DISCORD-9")
async def test_the_doctor_names_what_is_missed_without_the_gateway(
    discord: FakeDiscord,
) -> None:
    [said] = [
        finding.what
        for finding in await run_doctor(
            create_setup(discord, public_key="0" * 64, message_content=False, gateway=False)
        )
        if "gateway, as configured" in finding.what
    ]
    assert "typed answers are not read" in said


@pytest.mark.rule("CLI-8")
async def test_a_correct_setup_has_no_problems(discord: FakeDiscord) -> None:
    guild = discord.add_guild(bot_permissions=manifest.PERMISSION_BITS)
    channel = discord.add_channel(guild)
    role = discord.add_role(guild, "admins")
    setup = create_setup(discord, channel, discord.add_thread(channel), responders=[f"@{role.id}"])
    discord.application.commands += slash_commands.definitions(Labels(), EXAMPLE_COMMANDS)
    setup = setup | {"commands": EXAMPLE_COMMANDS}
    assert [finding.wrong for finding in await run_doctor(setup)] == [None] * 9


@pytest.mark.rule("CLI-8")
async def test_each_problem_comes_with_its_fix(discord: FakeDiscord) -> None:
    guild = discord.add_guild()
    channel = discord.add_channel(guild)
    discord.deny(channel, Can.CREATE_PUBLIC_THREADS)
    discord.application.message_content = False
    setup = create_setup(
        discord,
        public_key="00" * 32,
        responders=["@1"],
        channels=[str(channel.id), "7"],
    )
    wrong = [finding for finding in await run_doctor(setup) if not finding.is_ok]
    assert [finding.what.removeprefix("Discord: ") for finding in wrong] == [
        "Message Content intent",
        "interactions",
        "command /inbox",
        f"channel {channel.id}",
        "channel 7",
        "responders' roles",
    ]
    assert "Create Public Threads" in (wrong[3].wrong or "")
    assert all(finding.fix for finding in wrong)


@pytest.mark.rule("CLI-8", "FILE-12")
async def test_a_place_where_no_files_may_be_attached_is_reported_as_a_warning(
    discord: FakeDiscord,
) -> None:
    channel = discord.add_channel(discord.add_guild(bot_permissions=manifest.PERMISSION_BITS))
    discord.deny(channel, Can.ATTACH_FILES)
    found = {each.what: each for each in await run_doctor(create_setup(discord, channel))}
    problem = found[f"Discord: channel {channel.id}"]
    assert "Attach Files" in (problem.wrong or "")
    assert problem.warning


async def test_an_endpoint_without_a_public_key_is_reported(discord: FakeDiscord) -> None:
    discord.application.interactions_endpoint_url = "https://old.example"
    wrong = [finding for finding in await run_doctor(create_setup(discord)) if not finding.is_ok]
    assert "none arrive over the gateway" in (wrong[0].wrong or "")
    assert "oauth2/authorize" in wrong[1].fix


async def test_what_needs_no_check_is_said_as_it_is_configured(discord: FakeDiscord) -> None:
    discord.add_guild()
    application = discord.application
    setup = create_setup(
        discord, public_key=application.public_key, message_content=False, responders=["@1"]
    )
    discord.faults.code("GET /guilds/*/roles", 50001)
    reported = {finding.what: finding for finding in await run_doctor(setup)}
    typed = "Discord: typed answers by mention, reply and direct message only, as configured"
    assert reported[typed].is_ok
    assert "public.url" in reported["Discord: interactions"].fix
    assert "cannot see" in reported["Discord: roles"].fix


async def test_a_wrong_token_is_the_only_problem_reported(discord: FakeDiscord) -> None:
    result = await run_doctor(create_setup(discord, bot_token="1.not.it"))
    assert len(result) == 1
    assert "discord.bot_token" in (result[0].wrong or "") + result[0].fix


async def test_fix_sets_the_endpoint_and_the_intent(tmp_path: Path) -> None:
    async with rig(tmp_path, "http", gateway=False) as up:
        application = up.discord.application
        url = str(application.interactions_endpoint_url).removesuffix("/discord/interactions")
        application.interactions_endpoint_url = None
        application.message_content = False
        application.commands.clear()
        setup = create_setup(
            up.discord, public_key=application.public_key, public_url=url, fix=True
        )
        setup = setup | {"commands": EXAMPLE_COMMANDS}
        assert all(finding.is_ok for finding in await run_doctor(setup))
        assert saved_in(application) == (manifest.interactions_url(url), 1 << 19)
        assert [each["name"] for each in application.commands] == ["inbox", "answerback"]


def saved_in(application: Application) -> tuple[str | None, int]:
    return application.interactions_endpoint_url, application.flags


async def test_fix_reports_an_endpoint_that_does_not_answer(discord: FakeDiscord) -> None:
    discord.add_guild()
    key = discord.application.public_key
    setup = create_setup(discord, public_key=key, public_url="http://127.0.0.1:9", fix=True)
    wrong = [finding for finding in await run_doctor(setup) if not finding.is_ok]
    assert [finding.what for finding in wrong] == ["Discord: interactions"]


async def test_a_failed_lookup_of_the_command_is_reported(discord: FakeDiscord) -> None:
    discord.faults.code("GET /applications/*/commands", 50001)
    said = [each for each in await run_doctor(create_setup(discord)) if "commands" in each.what]
    assert [each.is_ok for each in said] == [False]


async def test_the_doctor_command_checks_discord(discord: FakeDiscord, tmp_path: Path) -> None:
    environment = {
        "DISCORD_BOT_TOKEN": discord.application.token,
        "ANSWERBACK_DISCORD__API_URL": discord.api_url,
    }
    async with command("doctor", folder=tmp_path, environment=environment) as process:
        code, _, result = await process.ended()
    assert code == 1, result
    assert "✓ Discord: bot token, of Answerback" in result
    assert "✗ Discord: servers: the app is not in any server" in result


def test_the_manifest_is_valid_and_matches_the_code() -> None:
    body = json.loads((ROOT / "manifests/discord/application.json").read_text("utf-8"))
    assert body == manifest.application_settings(manifest.EXAMPLE_URL)
    # The document types `description` as an object; the documentation, which wins, as a string.
    del body["description"]
    assert check_schema("ApplicationFormPartial", body) == []


@pytest.mark.rule("CLI-8", "COMMAND-3")
async def test_a_command_that_lacks_what_is_offered_is_reported(discord: FakeDiscord) -> None:
    discord.application.commands += slash_commands.definitions(Labels(), EXAMPLE_COMMANDS[:1])
    reported = await run_doctor(create_setup(discord, commands=EXAMPLE_COMMANDS))
    [found] = [each for each in reported if each.what == "Discord: command /answerback"]
    assert "not registered" in (found.wrong or "")
    reported = await run_doctor(create_setup(discord, commands=EXAMPLE_COMMANDS[:1]))
    assert [each.wrong for each in reported if each.what == found.what] == [None]
