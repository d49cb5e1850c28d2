"""The plug-ins of Slack, Discord and the web page: what they build, and what their doctors check."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from answerback.core.ask import Destination
from answerback.ports.plugin import DoctorContext, Host
from answerback.runtime.clock import SystemClock
from answerback.service.service import Service
from answerback_discord.plugin import DiscordPlugin, DiscordSettings
from answerback_slack.plugin import SlackPlugin, SlackSettings
from answerback_storage.sqlite.store import SqliteStore
from answerback_web.plugin import WebPlugin, WebSettings
from tests.surface_setups import create_host

KEY = "0" * 64
ASKS = Service(SqliteStore("never opened"), SystemClock(), {}, known_surfaces=frozenset())


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    for plugin in (SlackPlugin(), DiscordPlugin(), WebPlugin()):
        await asyncio.to_thread(plugin.load)
    async with aiohttp.ClientSession() as http:
        yield create_host(http)


def slack(**settings: object) -> SlackSettings:
    return SlackSettings.model_validate({"bot_token": "xoxb-1", "app_token": "xapp-1", **settings})


def discord(**settings: object) -> DiscordSettings:
    return DiscordSettings.model_validate({"bot_token": "d", **settings})


@pytest.mark.rule("PLUGIN-6")
async def test_a_chat_is_built_as_it_is_configured(host: Host) -> None:
    chats = [
        await SlackPlugin().build(slack(responders=["U1", "@S1"]), host, ASKS),
        await DiscordPlugin().build(discord(responders=["@7"]), host, ASKS),
    ]
    assert [chat.surface.name for chat in chats] == ["slack", "discord"]
    responders = [
        chat.surface.default_responders(Destination(surface=chat.surface.name, channel="C"))
        for chat in chats
    ]
    assert responders == [("U1", "@S1"), ("@7",)]
    assert all(chat.surface.unready_reason() for chat in chats), (
        "nothing is connected before the start"
    )


async def test_hooks_are_served_only_if_the_platform_calls_us(host: Host) -> None:
    over_sockets = [
        await SlackPlugin().build(slack(), host, ASKS),
        await DiscordPlugin().build(discord(), host, ASKS),
    ]
    assert [list(chat.hooks) for chat in over_sockets] == [[], []]
    by_http = [
        await SlackPlugin().build(slack(app_token=None, signing_secret="s"), host, ASKS),
        await DiscordPlugin().build(discord(public_key=KEY), host, ASKS),
    ]
    paths = [[hook.path for hook in chat.hooks] for chat in by_http]
    assert paths == [["/slack/events"], ["/discord/interactions"]]


async def test_the_page_needs_no_settings_and_is_also_public(host: Host) -> None:
    page = await WebPlugin().build(WebSettings(), host, ASKS)
    assert WebSettings().configured()
    assert page.operator_pages is not None
    assert {route.path for route in page.public_pages} == {route.path for route in page.pages}


@pytest.mark.parametrize(
    ("settings", "by_http"),
    [
        (SlackSettings(), None),
        (slack(), None),
        (slack(app_token=None, signing_secret="s"), "slack.signing_secret without slack.app_token"),
        (discord(), None),
        (discord(public_key=KEY), "discord.public_key"),
    ],
)
def test_settings_say_whether_they_need_the_public_listener(
    settings: SlackSettings | DiscordSettings, by_http: str | None
) -> None:
    assert settings.http_actions_setting() == by_http


async def test_a_surface_without_its_token_is_not_configured(host: Host) -> None:
    for plugin, nothing in ((SlackPlugin(), SlackSettings()), (DiscordPlugin(), DiscordSettings())):
        assert not nothing.configured()
        with pytest.raises(AssertionError):
            await plugin.build(nothing, host, ASKS)  # type: ignore[arg-type]  # each its own


def test_the_doctors_check_all_groups_among_the_responders(host: Host) -> None:
    checkup = DoctorContext(host.http, responders=["U2", "@S2"])
    assert slack(responders=["@S1"]).groups(checkup) == ["S1", "S2"]
    assert discord().groups(checkup) == ["S2"]
