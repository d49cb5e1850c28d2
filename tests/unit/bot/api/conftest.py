"""The whole service in this process, called over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.ports.person_key import hash_of, new_token
from answerback.runtime import app
from answerback.runtime.agent_settings import AgentSettings
from answerback.runtime.config import ServerSettings, StorageSettings
from tests.person_keys import bearer
from tests.service_support import WAIT, settings_with

Json = dict[str, Any]
"""The parsed body of a response, untyped so that tests can index into it."""

FORM: Json = {
    "questions": [
        {"id": "apply", "text": "Apply the proposed migration?", "answer_type": "boolean"},
        {
            "id": "env",
            "text": "Which environment?",
            "answer_type": "select",
            "options": ["staging", "production"],
            "when": {"question_id": "apply", "equals": True},
        },
    ]
}


@dataclass(frozen=True)
class Served:
    """A running service, a client of its API, and the tokens created for it."""

    running: app.RunningService
    http: aiohttp.ClientSession
    tokens: dict[str, str]
    person: dict[str, str]
    """The header of a person's call: their key."""

    def bearer(self, name: str) -> dict[str, str]:
        """The header of an agent's call: its token."""
        return {"Authorization": f"Bearer {self.tokens[name]}"}

    async def asked(self, arguments: Json | None = None, **more: object) -> Json:
        """Submit an ask on the web surface."""
        headers = more.pop("headers", None)
        body = {"name": "ask_user", "arguments": arguments or FORM, "to": "web", **more}
        async with self.http.post("/v1/asks", json=body, headers=headers) as response:  # type: ignore[arg-type]  # a dict of strings
            assert response.status == 201, await response.text()
            ask: Json = await response.json()
            return ask

    async def act(self, ask: Json, *, key: str | None = None, **action: object) -> tuple[int, Json]:
        """Act on an ask; return the status and the body."""
        path = f"/v1/asks/{ask['id']}/actions"
        headers = self.person if key is None else {**self.person, "Idempotency-Key": key}
        async with self.http.post(path, json=action, headers=headers) as response:
            return response.status, await response.json(content_type=None)

    async def waiters(self, count: int) -> None:
        """Wait until the given number of callers wait."""

        async def so_many() -> bool:
            return self.running.service.signals.count == count

        await until(so_many)

    async def get(self, path: str, **headers: str) -> tuple[int, Json]:
        """Get a path; return the status and the body."""
        async with self.http.get(path, headers=headers) as response:
            return response.status, await response.json(content_type=None)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Poll until a condition holds that sends no notification, such as a metric's value."""
    async with asyncio.timeout(WAIT):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.005)


Serve = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Start a service.

    ``roles`` are agents to make tokens for, ``labels`` and ``owners`` theirs, the rest are tables of the settings. With
    ``tokens``, the agents have those of an earlier service.
    """

    @asynccontextmanager
    async def serving(
        roles: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        owners: dict[str, str] | None = None,
        tokens: dict[str, str] | None = None,
        **tables: object,
    ) -> AsyncIterator[Served]:
        tokens = tokens or {name: new_token() for name in roles or {}}
        agents = {
            name: AgentSettings.model_validate(
                {
                    "token_hash": hash_of(tokens[name]),
                    "role": role,
                    "label": (labels or {}).get(name),
                    "owner": (owners or {}).get(name),
                    "callback_secret": "whsec_" + "QUJD" * 8,
                }
            )
            for name, role in (roles or {}).items()
        }
        settings = settings_with(
            server=ServerSettings(port=0),
            storage=StorageSettings(url=f"sqlite:///{tmp_path / 'asks.db'}"),
            agents=agents,
            **tables,
        )
        timeout = aiohttp.ClientTimeout(total=60)
        async with (
            app.run_service(settings) as running,
            aiohttp.ClientSession(
                running.api_url, timeout=timeout, cookie_jar=aiohttp.CookieJar(unsafe=True)
            ) as http,
        ):
            yield Served(running, http, tokens, bearer(tmp_path))

    return serving


@pytest.fixture
async def api(serve: Serve) -> AsyncIterator[Served]:
    """A service without tokens."""
    async with serve() as served:
        yield served
