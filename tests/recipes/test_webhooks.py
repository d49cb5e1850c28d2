"""The recipes for webhooks, in Python and in JavaScript: they accept signed outcomes and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

import aiohttp
import pytest
from pydantic import JsonValue

from answerback_client import Ask, AsyncClient
from tests.meta.project import RECIPES
from tests.recipes.conftest import PATIENCE, Person, Served
from tests.recipes.receiving import listening, send_again

QUESTION: dict[str, JsonValue] = {"question": "Deploy now?", "answer_type": "boolean"}


@pytest.fixture
async def agent(served: Served) -> AsyncIterator[AsyncClient]:
    """The agent whose outcomes are sent."""
    async with AsyncClient(served.url, served.token) as client:
        yield client


async def wait_until_delivered(agent: AsyncClient, ask_id: str, tries: int) -> None:
    """Return once the ask's record shows the given number of accepted deliveries."""
    async with asyncio.timeout(PATIENCE):
        while True:
            record = (await agent.call("GET", f"/v1/asks/{ask_id}/record"))["entries"]
            assert isinstance(record, list)
            if str(record).count("'status': 204") >= tries:
                return
            await asyncio.sleep(0.02)


async def status_without_secret(url: str) -> int:
    """Return the status that a sender without the secret gets."""
    forged = {"webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,bm8="}
    async with (
        aiohttp.ClientSession() as stranger,
        stranger.post(url, json={"type": "ask.answered"}, headers=forged) as response,
    ):
        return response.status


async def test_python_gets_each_outcome_once_and_nothing_unsigned(
    recipe: Callable[[str], ModuleType], agent: AsyncClient, person: Person
) -> None:
    got: asyncio.Queue[Ask] = asyncio.Queue()

    async def ended(ask: Ask) -> None:
        got.put_nowait(ask)

    async with listening(recipe("webhook_receiver").receiver(ended)) as url:
        callback = {"url": f"{url}/answers"}
        asked = await agent.submit("ask_user", QUESTION, to="web", callback=callback)
        await person.answers(True)
        async with asyncio.timeout(PATIENCE):
            ask = await got.get()
        assert (ask.id, ask.answers) == (asked.id, {"answer": True})
        await wait_until_delivered(agent, asked.id, 1)
        await send_again(agent)
        await wait_until_delivered(agent, asked.id, 2)
        assert got.empty()
        assert await status_without_secret(f"{url}/answers") == 401


@asynccontextmanager
async def node(folder: Path, modules: Path) -> AsyncIterator[tuple[str, asyncio.StreamReader]]:
    """Run the receiver under Node.js; yield its address and its output."""
    (folder / "receiver.mjs").symlink_to(RECIPES / "webhook_receiver.mjs")
    (folder / "node_modules").symlink_to(modules)
    child = await asyncio.create_subprocess_exec(
        "node",
        "--preserve-symlinks",
        "--preserve-symlinks-main",
        "receiver.mjs",
        cwd=folder,
        env={**os.environ, "PORT": "0"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE):
            line = (await child.stderr.readline()).decode()
        assert line.startswith("listening on "), line
        yield line.removeprefix("listening on ").strip(), child.stdout
    finally:
        child.kill()
        await child.communicate()


async def test_javascript_gets_each_outcome_once_and_nothing_unsigned(
    environment: None, node_modules: Path, agent: AsyncClient, person: Person, tmp_path: Path
) -> None:
    async with node(tmp_path, node_modules) as (url, printed):
        asked = await agent.submit("ask_user", QUESTION, to="web", callback={"url": url})
        await person.replies("After lunch.")
        async with asyncio.timeout(PATIENCE):
            ask = json.loads(await printed.readline())
        assert (ask["id"], ask["status"]) == (asked.id, "cancelled")
        assert ask["result"]["structured"]["reply"] == "After lunch."
        await wait_until_delivered(agent, asked.id, 1)
        await send_again(agent)
        await wait_until_delivered(agent, asked.id, 2)
        again = await agent.submit("ask_user", QUESTION, to="web", callback={"url": url})
        await person.answers(False)
        async with asyncio.timeout(PATIENCE):
            assert json.loads(await printed.readline())["id"] == again.id
        assert await status_without_secret(url) == 401
