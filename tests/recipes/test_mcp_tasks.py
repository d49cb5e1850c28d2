"""The official client of MCP's tasks extension, under Node.js: a task survives the death of client and service."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from answerback_client import AsyncClient
from tests.acceptance.process import serving
from tests.person_keys import bearer
from tests.recipes.children import Child, child
from tests.recipes.conftest import Person

pytestmark = pytest.mark.acceptance


@pytest.fixture
def driver(node_modules: Path, tmp_path: Path) -> Path:
    """Install the driver next to the packages that it imports."""
    (tmp_path / "node_modules").symlink_to(node_modules)
    name = "drive_tasks.mjs"
    file = tmp_path / name
    file.write_text(Path(__file__).with_name("environments").joinpath(name).read_text())
    return file


def tasks(driver: Path, url: str, *arguments: str) -> AbstractAsyncContextManager[Child]:
    """Run the client."""
    environment = {"ANSWERBACK_URL": url}
    folder = driver.parent
    return child("node", driver, *arguments, folder=folder, environment=environment, seconds=40)


def key(folder: Path) -> str:
    """Return the key of the person who answers."""
    return bearer(folder)["Authorization"].removeprefix("Bearer ")


@pytest.mark.rule("MCP-12")
async def test_a_task_is_resumed_after_client_and_service_were_killed(driver: Path) -> None:
    folder = driver.parent
    async with serving(folder) as (_, url), tasks(driver, url, "start") as client:
        reference = await client.read_json()
    async with (
        serving(folder) as (_, url),
        AsyncClient(url, key(folder)) as front,
        tasks(driver, url, "resume", json.dumps(reference)) as client,
    ):
        assert await client.read_json() == reference
        answered = await Person(front).answers(True)
        came = await client.read_json()
    assert answered.id == reference["taskId"]
    assert came["result"]["structuredContent"] == {"answer_type": "boolean", "answer": True}


@pytest.mark.rule("MCP-12")
async def test_cancelling_the_task_withdraws_the_ask(driver: Path) -> None:
    folder = driver.parent
    async with serving(folder) as (_, url), tasks(driver, url, "cancel") as client:
        reference = await client.read_json()
        assert (await client.read_json())["result"] is None
        async with AsyncClient(url, key(folder)) as front:
            assert (await front.get(reference["taskId"])).status == "withdrawn"
