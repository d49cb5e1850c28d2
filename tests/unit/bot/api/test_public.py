"""The public listener serves single asks by their links, and nothing of the agents' API."""

from __future__ import annotations

import aiohttp
import pytest
from pydantic import SecretStr

from answerback.runtime.config import PublicSettings
from answerback_discord.plugin import DiscordSettings
from tests.unit.bot.api.conftest import Serve


@pytest.mark.rule("API-15")
async def test_the_public_listener_serves_links_and_nothing_else(serve: Serve) -> None:
    async with serve(public=PublicSettings(port=0)) as api:
        ask = await api.asked()
        public = api.running.public_url
        assert public is not None
        assert ask["thread"]["url"].startswith(f"{public}/a/")
        async with aiohttp.ClientSession() as http:
            headers = {"Host": "ask.example", "Sec-Fetch-Site": "cross-site"}
            async with http.get(ask["thread"]["url"], headers=headers) as response:
                assert response.status == 200
                assert "Apply the proposed migration?" in await response.text()
            for path in ("/v1/asks", f"/v1/asks/{ask['id']}", "/mcp", "/metrics", "/healthz"):
                async with http.get(public + path) as response:
                    assert response.status == 404, path
                    assert response.content_type == "application/problem+json"
            async with http.get(public + "/") as response:  # which people open in a browser
                assert response.status == 404
                assert response.content_type == "text/html"


@pytest.mark.rule("API-21")
async def test_the_public_address_is_the_configured_one_if_set(serve: Serve) -> None:
    public = PublicSettings(port=0, url="https://ask.example/")
    async with serve(public=public) as api:
        ask = await api.asked()
        assert api.running.public_url == "https://ask.example/"
        assert ask["thread"]["url"].startswith("https://ask.example/a/")


@pytest.mark.rule("API-15")
async def test_platform_requests_are_handled_by_their_surface_alone(serve: Serve) -> None:
    discord = DiscordSettings(
        bot_token=SecretStr("t"), public_key="0" * 64, gateway=False, api_url="http://127.0.0.1:9"
    )
    async with (
        serve(public=PublicSettings(port=0), discord=discord) as api,
        aiohttp.ClientSession() as http,
    ):
        hook = f"{api.running.public_url}/discord/interactions"
        async with http.post(hook, data=b"{}") as response:
            assert response.status == 401
            assert await response.text() == "invalid request signature"
        async with http.get(hook) as response:
            assert response.status == 405
            assert (await response.json())["detail"] == "GET is not allowed here; use POST."
