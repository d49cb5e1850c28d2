"""Kill -9 in the middle of a batch: every ask is decided or not, and repeating the batch decides the rest."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance.process import QUIET, serving
from tests.person_keys import bearer, read_person_key
from tests.postgres import STORES, database_of
from tests.unit.adapters.web.reader import reader

ROUNDS = 4
ASKS = 100
CALL = {
    "name": "PermissionRequest",
    "dialect": "approval",
    "arguments": {"tool_name": "Bash", "tool_input": {"command": "make"}},
    "to": "web",
}


@pytest.fixture(params=STORES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return a folder that configures its store."""
    with database_of(request, tmp_path) as url:
        (tmp_path / "answerback.toml").write_text(f"[storage]\nurl = '{url}'\n")
        yield tmp_path


async def ask(http: aiohttp.ClientSession) -> dict[str, Any]:
    async with http.post("/v1/asks", json=CALL) as response:
        made: dict[str, Any] = await response.json()
        return {"id": made["id"], "revision": made["revision"]}


async def read_decisions(http: aiohttp.ClientSession) -> dict[str, bool]:
    """Return for each ask whether it is decided, and assert that it is so as a whole."""
    async with http.get("/v1/export") as response:
        lines = [json.loads(line) for line in (await response.read()).splitlines()]
    kinds: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        if line["type"] == "entry":
            kinds[line["ask_id"]].append(line["entry"]["type"])
    asks = {line["ask"]["id"]: line["ask"] for line in lines if line["type"] == "ask"}
    assert lines[-1]["lines"]["ask"] == len(asks), "the export is incomplete"
    for ask_id, stored in asks.items():
        if stored["status"] == "open":
            undecided: tuple[Any, ...] = ({}, 1, ["request"])
            assert (stored["answers"], stored["revision"], kinds[ask_id]) == undecided
        else:
            assert stored["answers"] == {"decision": "allow"}
            assert stored["ended_by"] is not None
            assert kinds[ask_id] == ["request", "response", "ended"]
    return {ask_id: stored["status"] != "open" for ask_id, stored in asks.items()}


async def assert_all_decided(http: aiohttp.ClientSession, count: int) -> None:
    """Assert that there are this many asks, and that each is decided."""
    assert [*(await read_decisions(http)).values()] == [True] * count


@pytest.mark.long
@pytest.mark.rule("BATCH-2")
@pytest.mark.acceptance
@pytest.mark.timeout(480)
async def test_a_service_killed_in_a_batch_leaves_every_ask_decided_or_not(folder: Path) -> None:
    rng = random.Random(7)
    for number in range(ROUNDS):
        async with (
            serving(folder, QUIET) as (process, url),
            aiohttp.ClientSession(url, headers=bearer(folder)) as http,
        ):
            asks = [await ask(http) for _ in range(ASKS)]
            batch = {"asks": asks, "decision": "allow_once"}
            key = {"Idempotency-Key": f"round {number}"}
            sent = asyncio.create_task(_post(http, batch, key))
            await asyncio.sleep(rng.uniform(0.0, 0.15))  # any moment may be the critical one
            process.signal(signal.SIGKILL)
            async with asyncio.timeout(60):
                await sent
        async with (
            serving(folder, QUIET) as (_, url),
            aiohttp.ClientSession(url, headers=bearer(folder)) as http,
        ):
            await read_decisions(http)
            results = await _post(http, batch, key)
            assert results is not None
            assert [each["status"] for each in results] == [200] * ASKS
            await assert_all_decided(http, ASKS * (number + 1))


@pytest.mark.long
@pytest.mark.rule("BATCH-4")
@pytest.mark.acceptance
@pytest.mark.timeout(480)
async def test_a_service_killed_at_the_inboxs_ticks_leaves_every_ask_decided_or_not(
    folder: Path,
) -> None:
    rng = random.Random(11)
    for number in range(ROUNDS):
        async with (
            serving(folder, QUIET) as (process, url),
            aiohttp.ClientSession(url, headers=bearer(folder)) as http,
        ):
            asks = [await ask(http) for _ in range(ASKS)]
            sent = asyncio.create_task(_tick(folder, url, asks))
            await asyncio.sleep(rng.uniform(0.05, 0.25))  # any moment may be the critical one
            process.signal(signal.SIGKILL)
            async with asyncio.timeout(60):
                await sent
        async with (
            serving(folder, QUIET) as (_, url),
            aiohttp.ClientSession(url, headers=bearer(folder)) as http,
        ):
            await read_decisions(http)
            await _tick(folder, url, asks)
            await assert_all_decided(http, ASKS * (number + 1))


async def _tick(folder: Path, url: str, asks: list[dict[str, Any]]) -> None:
    """Tick asks in the inbox and allow them; the service may be killed meanwhile."""
    async with reader(url) as visitor:
        with suppress(aiohttp.ClientError):
            page = await visitor.open(f"/?key={read_person_key(folder)}")
            name = str(page.action).rpartition("/")[2]
            ticks = [("ask", f"{each['id']}:{each['revision']}") for each in asks]
            await visitor.press(page, f"/inbox/{name}", "allow_once", ticks)


async def _post(
    http: aiohttp.ClientSession, batch: dict[str, Any], key: dict[str, str]
) -> list[dict[str, Any]] | None:
    """Send a batch; returns its results, or None if the service was killed before it had answered."""
    try:
        async with http.post("/v1/batches", json=batch, headers=key) as response:
            results: list[dict[str, Any]] = (await response.json())["results"]
            return results
    except aiohttp.ClientError:
        return None
