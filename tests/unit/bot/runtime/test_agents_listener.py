"""Strangers never use up what agents need to reach the service."""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from answerback.ports.person_key import hash_of
from answerback.runtime.agent_settings import AgentSettings
from answerback.runtime.app import run_service
from answerback.runtime.config import ServerSettings, StorageSettings, settings_type
from tests.service_support import WAIT

TOKEN = "abt_the-agent's"
DESCRIPTORS = 64
STRANGERS = DESCRIPTORS // 2
ASK = {"name": "ask_user", "arguments": {"question": "Which port?"}, "to": "web"}
UNKNOWN = b"GET /v1/asks HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer guessed\r\n\r\n"


@contextlib.asynccontextmanager
async def service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, tokens: bool
) -> AsyncIterator[str]:
    """A service that has few descriptors."""
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (DESCRIPTORS, DESCRIPTORS))
    settings = settings_type().model_construct(
        server=ServerSettings(port=0),
        storage=StorageSettings(url=f"sqlite:///{tmp_path / 'asks.db'}"),
        agents={"bot": AgentSettings(token_hash=hash_of(TOKEN))} if tokens else {},
    )
    async with run_service(settings) as running:
        yield running.api_url


@pytest.mark.rule("DATA-11")
@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "no tokens"])
async def test_strangers_never_take_the_connections_of_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokens: bool
) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"} if tokens else {}
    async with (
        service(tmp_path, monkeypatch, tokens=tokens) as url,
        aiohttp.ClientSession(url, headers=headers) as agent,
        asyncio.timeout(2 * WAIT),
    ):
        async with agent.post("/v1/asks", json=ASK) as response:
            assert response.status == 201
            ask = await response.json()
        address = f"/v1/asks/{ask['id']}"
        waiting = asyncio.create_task(agent.get(address, headers={"Prefer": "wait=60"}))
        port = urlsplit(url).port
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2 * STRANGERS)]
        for _, writer in silent[:: 2 if tokens else len(silent)]:
            writer.write(UNKNOWN if tokens else b"GET /v1/as")
        # The next agent gets through, and the one that waits still does.
        async with (
            aiohttp.ClientSession(url, headers=headers) as other,
            other.delete(address) as withdrawn,
        ):
            assert withdrawn.status in {200, 204}
        async with await waiting as answer:
            assert (await answer.json())["status"] == "withdrawn"
        closed = 0
        for reader, _ in silent:
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                while await asyncio.wait_for(reader.read(4_096), 0.001):
                    pass
            closed += reader.at_eof() or reader.exception() is not None
        assert closed >= len(silent) - STRANGERS
        for _, writer in silent:
            writer.close()


@pytest.mark.rule("DATA-11")
async def test_agents_that_connect_at_the_same_moment_are_all_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get = b"GET /v1/asks HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    async with service(tmp_path, monkeypatch, tokens=False) as url, asyncio.timeout(2 * WAIT):
        port = urlsplit(url).port
        agents = [await asyncio.open_connection("127.0.0.1", port) for _ in range(STRANGERS - 2)]
        for _, writer in agents:
            writer.write(get)
        responses = [await reader.read() for reader, _ in agents]
        assert all(each.startswith(b"HTTP/1.1 200 ") for each in responses)
        for _, writer in agents:
            writer.close()
