"""Shared parts of the agents' acceptance tests: a service that can be killed and restarted at the same address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from tests.acceptance.process import PATIENCE, Process, serving
from tests.person_keys import bearer
from tests.ports import free_port
from tests.unit.bot.outbox_support import SECRET

Json = dict[str, Any]
T = TypeVar("T")


async def eventually(look: Callable[[], Awaitable[T]]) -> T:
    """Poll ``look`` until it finds something, for what another process signals to nobody; return what it found."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await look()):  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)
    return found


class Service:
    """``answerback serve`` in a folder, at the same address across restarts."""

    def __init__(
        self, folder: Path, http: aiohttp.ClientSession, more: Mapping[str, str] | None = None
    ) -> None:
        self._folder = folder
        self._more = more or {}
        self._http = http
        self._stack = AsyncExitStack()
        self._process: Process | None = None
        self._port = str(free_port())
        self.url = ""

    async def start(self) -> None:
        """Start the service, each time on the same port."""
        environment: Mapping[str, str] = {
            "ANSWERBACK_SERVER__PORT": self._port,
            "ANSWERBACK_CALLBACKS__SECRET": SECRET,
            **self._more,
        }
        self._process, self.url = await self._stack.enter_async_context(
            serving(self._folder, environment)
        )

    async def kill(self) -> None:
        """Kill -9."""
        assert self._process is not None
        self._process.child.kill()
        await self._stack.aclose()

    async def close(self) -> None:
        """Stop the service for good."""
        await self._stack.aclose()

    async def call(self, method: str, path: str, body: object = None) -> Json:
        """Make an API call that has to succeed."""
        async with self._http.request(
            method, self.url + path, json=body, headers=bearer(self._folder)
        ) as response:
            assert response.status < 400, await response.text()
            found: Json = await response.json()
            return found

    async def has_waiter(self) -> bool:
        """Return True if a call waits for an ask right now. That its agent counts as waiting begins and ends with a
        delay."""
        async with self._http.get(f"{self.url}/metrics", headers=bearer(self._folder)) as response:
            return "answerback_waiters 1.0" in (await response.text()).splitlines()

    async def answer(self, ask_id: str, value: object = True) -> Json:
        """Answer as a person."""
        action = {"action": "answer", "value": value}
        return await self.call("POST", f"/v1/asks/{ask_id}/actions", action)

    async def newest(self) -> Json:
        """Return the newest ask, once there is one."""

        async def found() -> list[Json]:
            asks: list[Json] = (await self.call("GET", "/v1/asks?limit=1"))["asks"]
            return asks

        return (await eventually(found))[0]


@asynccontextmanager
async def restartable(
    folder: Path, more: Mapping[str, str] | None = None
) -> AsyncIterator[Service]:
    """Yield a running service, with more environment variables."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE)) as http:
        service = Service(folder, http, more)
        await service.start()
        try:
            yield service
        finally:
            await service.close()
