"""Requests to Discord: none is made that a limit or an old token rules out, and a note waits until Discord is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from answerback.core.errors import RateLimitedError
from answerback.http.unverified_connections import UnverifiedConnections
from answerback.runtime.sockets import bind_socket, serve_app, socket_url
from answerback_discord import api_client
from answerback_discord.api_client import DiscordApi
from answerback_discord.components import Json
from tests.fakes.discord.server import FakeDiscord
from tests.service_support import WAIT

ME, GATEWAY = "/users/@me", "/gateway"


@pytest.fixture
async def discord() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as made:
        yield made


@pytest.fixture
async def calls(discord: FakeDiscord) -> AsyncIterator[DiscordApi]:
    async with aiohttp.ClientSession() as http:
        yield DiscordApi(http, discord.application.token, discord.api_url)


async def limited(calls: DiscordApi, path: str) -> float:
    """Return how long a call has to wait."""
    with pytest.raises(RateLimitedError) as raised:
        await calls.get(path)
    return raised.value.retry_after


@pytest.mark.rule("DATA-7")
async def test_a_global_limit_holds_for_all_routes_until_it_is_over(
    discord: FakeDiscord, calls: DiscordApi
) -> None:
    discord.faults.rate_limit(f"GET {ME}", scope="global", retry_after=0.2)
    assert await limited(calls, ME) == 0.2
    assert 0 < await limited(calls, GATEWAY) <= 0.2
    assert discord.faults.count("GET *") == 1
    async with asyncio.timeout(WAIT):
        while True:
            try:
                assert await calls.get(GATEWAY)
                break
            except RateLimitedError as limit:
                await asyncio.sleep(limit.retry_after)
    assert discord.faults.count("GET *") == 2


@pytest.mark.rule("DATA-7")
async def test_a_used_up_route_is_not_called_and_not_forgotten(
    discord: FakeDiscord, calls: DiscordApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_client, "MAX_BUCKETS", 1)
    discord.rate_limits.limit, discord.rate_limits.window = 1, 60.0
    await calls.get(ME)
    await calls.get(GATEWAY)
    assert await limited(calls, ME) > 50
    assert discord.faults.count(f"GET {ME}") == 1


@pytest.mark.rule("SURFACE-10")
async def test_a_note_is_sent_once_discord_can_be_reached() -> None:
    refused, notes = asyncio.Event(), []

    async def on_refused(*_: object) -> None:
        refused.set()

    async def take(request: web.Request) -> web.Response:
        notes.append(await request.json())
        return web.json_response({})

    tracing = aiohttp.TraceConfig()
    tracing.on_request_exception.append(on_refused)
    free = await bind_socket("127.0.0.1", 0, "public")
    url, port = socket_url(free), free.getsockname()[1]
    free.close()
    async with aiohttp.ClientSession(trace_configs=[tracing]) as http, asyncio.timeout(WAIT):
        calls = DiscordApi(http, "1.token", url)
        interaction: Json = {"id": "1", "application_id": "2", "token": "t"}
        sending = asyncio.create_task(calls.send_followup(interaction, {"content": "a note"}))
        await refused.wait()
        app = web.Application()
        app.router.add_post("/webhooks/2/t", take)
        runner = await serve_app(
            app, [await bind_socket("127.0.0.1", port, "public")], UnverifiedConnections(10)
        )
        await sending
        await runner.cleanup()
    assert notes == [{"content": "a note"}]


async def test_a_note_that_is_too_late_is_tried_once_and_the_log_says_why(
    discord: FakeDiscord, calls: DiscordApi, caplog: pytest.LogCaptureFixture
) -> None:
    discord.faults.code("POST /webhooks/*/*", 50027)
    interaction: Json = {"id": "1", "application_id": "2", "token": "t"}
    await calls.send_followup(interaction, {"content": "a note"})
    assert discord.faults.count("POST /webhooks/*/*") == 1
    assert (
        "notes can follow an interaction for 15 minutes only (Invalid Webhook Token)" in caplog.text
    )
