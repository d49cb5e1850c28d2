"""The checks of `answerback doctor` that the chat platforms share."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import aiohttp
import pytest

from answerback.ports.plugin import Finding
from answerback_chat import doctor_checks
from answerback_discord import doctor as discord_doctor
from answerback_slack import doctor as slack_doctor
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.slack.server import FakeSlack

RunChecks = Callable[[aiohttp.ClientSession], Awaitable[list[Finding]]]


async def _slack(http: aiohttp.ClientSession) -> list[Finding]:
    async with FakeSlack() as slack:
        setup = slack_doctor.Setup(
            slack.bot_token, None, "0" * 32, "https://a.example", slack.api_url
        )
        return [finding async for finding in slack_doctor.check(setup, http)]


async def _discord(http: aiohttp.ClientSession) -> list[Finding]:
    async with FakeDiscord() as discord:
        application = discord.application
        key = application.public_key
        setup = discord_doctor.Setup(application.token, key, "https://a.example", discord.api_url)
        return [finding async for finding in discord_doctor.check(setup, http)]


@pytest.mark.rule("CLI-8")
@pytest.mark.parametrize("run_checks", [_slack, _discord])
@pytest.mark.parametrize(("off", "well"), [(0, True), (50, True), (70, False), (-70, False)])
async def test_a_wrong_clock_is_reported_if_clicks_arrive_by_http(
    monkeypatch: pytest.MonkeyPatch, run_checks: RunChecks, off: int, well: bool
) -> None:
    ours = SimpleNamespace(time=lambda: time.time() + off)  # the fakes use the real clock
    monkeypatch.setattr(doctor_checks, "time", ours)
    async with aiohttp.ClientSession() as http:
        findings = await run_checks(http)
    [clock] = [finding for finding in findings if finding.what.endswith(": clock")]
    assert clock.is_ok is well
    assert well or "Synchronise it with NTP; once it is off by 5 minutes" in clock.fix
