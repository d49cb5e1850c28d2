"""Slack allows an app ten Socket Mode connections; a process that has one too many reports it, with advice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from answerback_slack import socket_mode_client
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
        async with run_app(slack, tmp_path / "db", "socket") as app, asyncio.timeout(20):
            while "Run fewer replicas" not in (app.surface.unready_reason() or ""):  # noqa: ASYNC110 as below
                await asyncio.sleep(0.05)
            assert f"Socket Mode: {socket_mode_client.TOO_MANY_CONNECTIONS}" in caplog.text
            for other in others:
                await other.close()
            while app.surface.unready_reason() is not None:  # noqa: ASYNC110 there is no event to wait for
                await asyncio.sleep(0.05)
            await slack.socket.connected(socket_mode_client.CONNECTIONS)
