"""Kill -9 while a person decides about several permissions in a list: each is decided or not, and the rest can be."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance.process import QUIET, serving
from tests.acceptance.test_batches import assert_all_decided, read_decisions
from tests.fakes import long_timeouts
from tests.ports import free_port
from tests.unit.adapters.batch_platforms import PLATFORMS, Town

KILLS = 3
ASKS = 6
"""As many as the smallest page of a list has."""


@pytest.fixture(params=PLATFORMS)
async def town(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Town]:
    for patch in (long_timeouts.slack, long_timeouts.discord):
        patch(monkeypatch)
    port = free_port()
    async with PLATFORMS[request.param].run_town(port) as made:
        made.environment["ANSWERBACK_PUBLIC__PORT"] = str(port)
        yield made


async def submit(http: aiohttp.ClientSession, town: Town, number: int) -> str:
    call = {
        "name": "PermissionRequest",
        "dialect": "approval",
        "arguments": {"tool_name": "Bash", "tool_input": {"command": f"make {number}"}},
        "to": town.place,
        "responders": [town.user_id],
    }
    async with http.post("/v1/asks", json=call) as response:
        made: dict[str, Any] = await response.json()
        assert response.status == 201, made
        return str(made["id"])


@pytest.mark.long
@pytest.mark.rule("BATCH-5", "BATCH-2")
@pytest.mark.acceptance
@pytest.mark.timeout(480)
async def test_a_service_killed_while_a_list_is_decided_leaves_every_ask_decided_or_not(
    town: Town, tmp_path: Path
) -> None:
    chance = random.Random(5)
    environment = QUIET | town.environment
    for kill in range(KILLS):
        async with (
            serving(tmp_path, environment) as (process, url),
            aiohttp.ClientSession(url) as http,
        ):
            asks = [await submit(http, town, kill * ASKS + n) for n in range(ASKS)]
            assert [*await town.lists.list_tickable(allow=True)] == asks
            deciding = asyncio.create_task(town.lists.decide_ticked(asks, allow=True))
            await asyncio.sleep(
                chance.uniform(0.0, town.seconds)
            )  # any moment may be the critical one
            process.signal(signal.SIGKILL)
            await process.child.wait()
        async with serving(tmp_path, environment) as (_, url), aiohttp.ClientSession(url) as http:
            # The platform may send the click again, or tell the person that it failed.
            await asyncio.gather(deciding, return_exceptions=True)
            await read_decisions(http)
            while rows := await town.lists.list_tickable(allow=True):
                await town.lists.decide_ticked([*rows], allow=True)
            await assert_all_decided(http, (kill + 1) * ASKS)
