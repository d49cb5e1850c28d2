"""A service whose people sign in with a provider, and what the script of its page does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.ask import Ask
from answerback.runtime.app import RunningService, run_service
from answerback.runtime.config import Settings, settings_type
from answerback_web.adapter import WebSurface
from tests.fakes.oidc_provider import CLIENT, SECRET, FakeProvider, oidc_provider
from tests.ports import free_port

Json = dict[str, Any]


@dataclass
class SignInService:
    """A running service, and a browser's requests to its public listener."""

    running: RunningService
    http: aiohttp.ClientSession
    provider: FakeProvider
    address: str
    """The address of its pages, which replicas share."""

    def link(self, ask: Ask) -> str:
        """Return the link that only shows an ask."""
        surface = self.running.service.surfaces["web"]
        assert isinstance(surface, WebSurface)
        return surface.url(ask.id).rpartition("/")[2]

    async def post(self, step: str, /, **fields: str) -> tuple[int, Json]:
        """Post what the script of the page posts."""
        own = {"Origin": self.address, "Sec-Fetch-Site": "same-origin"}
        async with self.http.post(f"/oidc/{step}", data=fields, headers=own) as response:
            assert "Set-Cookie" not in response.headers
            return response.status, await response.json(content_type=None)

    async def begin(self, to: str = "") -> tuple[str, str]:
        """Begin a sign-in; return what the tab keeps, and what the browser goes back with."""
        status, begun = await self.post("begin", to=to)
        assert status == 200, begun
        return begun["attempt"], self.provider.sign_in(begun["url"])

    async def sign_in(self, to: str = "") -> Json:
        attempt, response = await self.begin(to)
        status, done = await self.post("finish", attempt=attempt, response=response)
        assert status == 200, done
        return done

    async def read(self, path: str) -> tuple[int, str]:
        async with self.http.get(path) as response:
            assert "Set-Cookie" not in response.headers
            return response.status, await response.text()


MakeService = Callable[..., AbstractAsyncContextManager[SignInService]]


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with oidc_provider() as running:
        yield running


def settings_for(provider_url: str, port: int, store: str, **more: Any) -> Settings:
    tables: Json = {
        "server": {"port": 0},
        "public": {"port": port, "url": f"http://127.0.0.1:{port}"},
        "storage": {"url": store},
        "oidc": {"issuer": provider_url, "client_id": CLIENT, "client_secret": SECRET},
        "people": {"ann": {"ids": [f"oidc:{provider_url}#248289761001"], "name": "Ann"}},
    }
    return settings_type().model_validate({**tables, **more})


@pytest.fixture
def make_service(provider: FakeProvider, tmp_path: Path) -> MakeService:
    @asynccontextmanager
    async def make(**more: Any) -> AsyncIterator[SignInService]:
        store = more.pop("store", f"sqlite:///{tmp_path / 'asks.db'}")
        port = free_port()
        own = f"http://127.0.0.1:{port}"
        address = more.pop("address", own)
        public = {"port": port, "url": address}
        settings = settings_for(provider.url, port, store, public=public, **more)
        async with run_service(settings) as running, aiohttp.ClientSession(own) as http:
            yield SignInService(running, http, provider, address)

    return make


@pytest.fixture
async def up(make_service: MakeService) -> AsyncIterator[SignInService]:
    async with make_service() as service:
        yield service
