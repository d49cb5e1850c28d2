"""Helpers for tests of agents' integrations: a whole service in this process, and people who answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from answerback.core.ask import Ask, Reason
from answerback.ports.person_key import hash_of, new_token
from answerback.runtime import app
from answerback.runtime.agent_settings import AgentSettings
from answerback.runtime.config import ServerSettings, StorageSettings
from tests.person_keys import bearer
from tests.service_support import WAIT, settings_with

T = TypeVar("T")

Json = dict[str, Any]


@dataclass
class Served:
    """A running service, a client of its API, and its tokens."""

    running: app.RunningService
    http: aiohttp.ClientSession
    tokens: dict[str, str]
    acting: dict[str, str]
    """The header for people's actions: a front end's token, or else the person's key."""

    @property
    def key(self) -> str:
        """The token that a person's tools send."""
        return self.acting["Authorization"].removeprefix("Bearer ")

    @property
    def url(self) -> str:
        """The address of the agents' API."""
        return self.running.api_url

    async def newest(self, count: int = 1) -> Ask:
        """Wait for the given number of asks, and return the newest."""
        async with asyncio.timeout(WAIT):
            with self.running.service.signals.follow("web") as follower:
                while (
                    len(rows := (await self.running.service.store.asks.page(limit=200)).rows)
                    < count
                ):
                    await follower.next_commit()
        return rows[0]

    async def end_newest_without_person(self, ending: str) -> None:
        """Withdraw, expire or fail the newest ask once its agent waits for it."""
        ask, service = await self.newest(), self.running.service
        await self.wait_for_waiters(ask)
        if ending == "failed":
            await service.fail(ask.id, Reason.BACKEND_ERROR, "Broken. Do not retry.")
        else:
            await (service.withdraw(ask.id) if ending == "withdrawn" else service.expire(ask.id))

    async def wait_for_waiters(self, ask: Ask, waiters: int = 1) -> None:
        """Wait until an ask has the given number of waiters."""
        async with asyncio.timeout(WAIT):
            while self.waiters(ask.id) != waiters:  # noqa: ASYNC110 - nothing tells of waiters
                await asyncio.sleep(0.005)

    def waiters(self, ask_id: str) -> int:
        """The number of waiters for an ask."""
        return len(self.running.service.signals.followers_of(ask_id))

    async def act(self, ask: Ask, **action: Any) -> Json:
        """Act on an ask as a person."""
        path = f"{self.url}/v1/asks/{ask.id}/actions"
        async with self.http.post(path, json=action, headers=self.acting) as response:
            assert response.status == 200, await response.text()
            found: Json = await response.json()
            return found


@asynccontextmanager
async def served(
    folder: Path, roles: dict[str, str] | None = None, **tables: Any
) -> AsyncIterator[Served]:
    """Run a service on a free port; ``roles`` are the agents with tokens, the rest are tables of the settings."""
    tokens = {name: new_token() for name in roles or {}}
    agents = {
        name: AgentSettings.model_validate({"token_hash": hash_of(tokens[name]), "role": role})
        for name, role in (roles or {}).items()
    }
    storage = StorageSettings(url=f"sqlite:///{folder / 'asks.db'}")
    settings = settings_with(
        **{"server": ServerSettings(port=0), "storage": storage, **tables}, agents=agents
    )
    surface = next((name for name, role in (roles or {}).items() if role == "surface"), None)
    async with (
        app.run_service(settings) as running,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http,
    ):
        acting = {"Authorization": f"Bearer {tokens[surface]}"} if surface else bearer(folder)
        yield Served(running, http, tokens, acting)


async def nobody(_request: object) -> None:
    """No agent: callers need no tokens."""


async def run_to_completion(change: Coroutine[object, object, T]) -> T:
    """Run a change to its end, even if the caller hangs up, for `Callers` without an API."""
    return await asyncio.shield(asyncio.ensure_future(change))
