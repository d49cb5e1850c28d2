"""Clicks are answered whatever else hangs that Answerback calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from answerback.runtime.config import InquirySettings
from answerback.service.question_routing import ToolRule
from answerback.service.submission_request import Submission
from answerback_discord import api_client
from answerback_discord.plugin import DiscordSettings
from tests.fakes.discord.server import FakeDiscord
from tests.service_support import WAIT
from tests.unit.bot.agent_support import served

MANY = 60
"""With as many for the other backend, more than a session's default number of connections."""
INQUIRED = {"target": "assistant"}
GO = {"id": "go", "text": "Go on?", "answer_type": "boolean"}
CHECK = {"id": "check", "text": "Is it done?", "answer_type": "boolean"}


@pytest.mark.rule("DISCORD-7", "DATA-4")
async def test_a_click_is_answered_while_discord_and_the_inquiry_backend_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_client, "PER_SECOND", 10 * MANY)
    async with FakeDiscord() as discord, hanging_backend() as (address, asked):
        guild = discord.add_guild()
        channel, ann = discord.add_channel(guild), discord.person("ann", guild)
        tables: dict[str, Any] = {
            "discord": DiscordSettings(
                bot_token=SecretStr(discord.application.token), api_url=discord.api_url
            ),
            "inquiry": InquirySettings(url=address),
            "tools": {"git": ToolRule.model_validate({"questions": {"check": INQUIRED}})},
        }
        async with served(tmp_path, **tables) as service:
            asks = service.running.service
            check = {"tool": "git", "question": CHECK}
            to = {"to": f"discord:{channel.id}", "responders": [str(ann.id)]}
            ask = (await asks.submit(submission("ask_user", {"questions": [GO]}, **to))).ask
            await ann.until(lambda: bool(ann.visible(channel)))
            for _ in range(MANY):
                await asks.submit(submission("tool_question", check, to="web"))
                async with asyncio.timeout(WAIT):
                    await asked.acquire()
            discord.faults.hang("GET /channels/*", times=MANY)
            for _ in range(MANY):
                ann.types(discord.add_channel(guild), f"<@{discord.bot.id}> something else")
            await ann.until(lambda: discord.faults.count("GET /channels/*") >= MANY)
            assert (await ann.click("Yes", channel=channel)).answered
            stored = await asks.get(ask.id)
            assert stored is not None
            assert stored.status == "answered"
            discord.faults.clear()


def submission(name: str, arguments: dict[str, Any], **fields: Any) -> Submission:
    return Submission.model_validate({"name": name, "arguments": arguments, **fields})


@asynccontextmanager
async def hanging_backend() -> AsyncIterator[tuple[str, asyncio.Semaphore]]:
    """An inquiry backend that never answers, and a semaphore that is released at every question."""
    asked = asyncio.Semaphore(0)

    async def hang(_request: web.Request) -> web.Response:
        asked.release()
        await asyncio.Event().wait()
        return web.Response()

    backend = web.Application()
    backend.router.add_post("/", hang)
    runner = web.AppRunner(backend, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}/", asked
    finally:
        await runner.cleanup()
