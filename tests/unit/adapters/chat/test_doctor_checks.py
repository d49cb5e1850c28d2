"""The checks of `answerback doctor` that the chat platforms share."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from answerback.ports.plugin import Finding
from answerback_chat import doctor_checks
from answerback_discord.plugin import DiscordPlugin
from answerback_slack.plugin import SlackPlugin
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.slack.server import FakeSlack
from tests.surface_setups import run_doctor

RunChecks = Callable[[], Awaitable[list[Finding]]]
HTTP = {"public_url": "https://a.example"}


async def _slack() -> list[Finding]:
    async with FakeSlack() as slack:
        setup = {"bot_token": slack.bot_token, "signing_secret": "0" * 32, "api_url": slack.api_url}
        return await run_doctor(SlackPlugin(), setup | HTTP)


async def _discord() -> list[Finding]:
    async with FakeDiscord() as discord:
        keys = {
            "bot_token": discord.application.token,
            "public_key": discord.application.public_key,
        }
        return await run_doctor(DiscordPlugin(), keys | HTTP | {"api_url": discord.api_url})


@pytest.mark.rule("CLI-8")
@pytest.mark.parametrize("run_checks", [_slack, _discord])
@pytest.mark.parametrize(("off", "well"), [(0, True), (50, True), (70, False), (-70, False)])
async def test_a_wrong_clock_is_reported_if_clicks_arrive_by_http(
    monkeypatch: pytest.MonkeyPatch, run_checks: RunChecks, off: int, well: bool
) -> None:
    ours = SimpleNamespace(time=lambda: time.time() + off)  # the fakes use the real clock
    monkeypatch.setattr(doctor_checks, "time", ours)
    findings = await run_checks()
    [clock] = [finding for finding in findings if finding.what.endswith(": clock")]
    assert clock.is_ok is well
    assert well or "Synchronise it with NTP; once it is off by 5 minutes" in clock.fix
