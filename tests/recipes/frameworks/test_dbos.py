"""The recipe for DBOS: the real framework on SQLite; its process is killed while the workflow is parked."""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import aiohttp
import pytest

from answerback_client import AsyncClient
from tests.meta.project import PYTHONPATH, RECIPES
from tests.recipes.children import Child, child
from tests.recipes.conftest import Person, Served
from tests.recipes.receiving import send_again

_START = 120.0


class Host:
    """The recipe's user: a folder with the workflows' database, and the port for webhooks."""

    def __init__(self, folder: Path, served: Served) -> None:
        self._folder, self._served = folder, served
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def process(self, version: str) -> AbstractAsyncContextManager[Child]:
        """Start a process of the recipe, which starts the workflow, or finds it parked."""
        environment = {
            "ANSWERBACK_URL": self._served.url,
            "ANSWERBACK_TOKEN": self._served.token,
            "WEBHOOK_SECRET": self._served.webhook_secret,
            "PORT": str(self.port),
            "PYTHONPATH": PYTHONPATH,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return child(
            sys.executable,
            RECIPES / "dbos_workflow.py",
            version,
            folder=self._folder,
            environment=environment,
            seconds=_START,
        )

    async def wait_until_receiving(self) -> None:
        """Return once webhooks are received, that is, once an unsigned one is refused."""
        async with asyncio.timeout(_START), aiohttp.ClientSession() as stranger:
            while True:
                try:
                    url = f"http://127.0.0.1:{self.port}/answers"
                    async with stranger.post(url, json={}) as response:
                        assert response.status == 401
                        return
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.05)


@pytest.fixture
def host(tmp_path: Path, served: Served) -> Host:
    """The recipe's user."""
    return Host(tmp_path, served)


async def test_a_workflow_whose_process_was_killed_gets_the_answer_once(
    host: Host, served: Served, person: Person
) -> None:
    async with host.process("7"):
        first = await person.sees()
    answered = await person.answers(True)  # the receiver is down, so the webhook is sent again
    async with host.process("7") as second, AsyncClient(served.url, served.token) as agent:
        await host.wait_until_receiving()
        await send_again(agent)
        assert await second.line() == "Version 7 is out."
    assert answered.id == first.id


async def test_an_answer_delivered_twice_is_received_once_and_a_refusal_releases_nothing(
    host: Host, served: Served, person: Person
) -> None:
    async with host.process("8") as process, AsyncClient(served.url, served.token) as agent:
        await person.replies("Not this week.")
        assert await process.line() == "Version 8 stays where it is."
        await send_again(agent)
    async with host.process("8") as again:
        assert await again.line() == "Version 8 stays where it is."
    assert await person.front.open_asks() == []
