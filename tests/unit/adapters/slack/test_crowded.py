"""Slack allows an app ten Socket Mode connections, or cannot be reached: a process reports it, once and with advice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from answerback_chat import chat_surface
from answerback_slack import connection
from tests.service_support import WAIT
from tests.unit.adapters.slack.rig import run_app, workspace


@pytest.mark.rule("SLACK-19")
async def test_one_connection_too_many_is_logged_and_makes_the_process_unready_until_one_is_free(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with workspace() as (slack, _, _), aiohttp.ClientSession() as session:
        others = []
        for _ in range(10):
            url = f"{slack.url}link/?ticket={slack.socket.ticket()}"
            others.append(await session.ws_connect(url))
        async with run_app(slack, tmp_path / "db", "socket") as app, asyncio.timeout(WAIT):
            while "Run fewer replicas" not in (app.surface.unready_reason() or ""):  # noqa: ASYNC110 as below
                await asyncio.sleep(0.05)
            assert f"Socket Mode: {connection.TOO_MANY_CONNECTIONS}" in caplog.text
            for other in others:
                await other.close()
            while app.surface.unready_reason() is not None:  # noqa: ASYNC110 there is no event to wait for
                await asyncio.sleep(0.05)
            await slack.socket.connected(connection.CONNECTIONS)


@pytest.mark.rule("PLACE-3")
async def test_an_unreachable_slack_is_logged_once_and_not_at_every_attempt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_FIRST_PAUSE", 0.01)
    for module in (connection, chat_surface):
        monkeypatch.setattr(module, "_LONGEST_PAUSE", 0.02)
    async with workspace() as (slack, _, _):
        slack.faults.add("*", times=None, status=503)
        async with run_app(slack, tmp_path / "db", "socket"):
            await slack.until(lambda: slack.count("apps.connections.open") > 20)
            await slack.until(lambda: slack.count("auth.test") > 10)
            warnings = [each for each in caplog.records if each.levelname == "WARNING"]
            assert [each.name for each in warnings] == ["answerback_slack.adapter"]
            assert "Slack cannot be reached" in warnings[0].getMessage()


async def test_a_stopped_service_sends_no_more_pings(tmp_path: Path) -> None:
    def count_pings() -> int:
        timers = vars(asyncio.get_running_loop())["_scheduled"]
        return sum("heartbeat" in repr(each) and not each.cancelled() for each in timers)

    async with workspace() as (slack, _, _):
        async with run_app(slack, tmp_path / "db", "socket"):
            async with asyncio.timeout(WAIT):
                while count_pings() < connection.CONNECTIONS:  # noqa: ASYNC110 nothing signals it
                    await asyncio.sleep(0.01)
        assert count_pings() == 0
