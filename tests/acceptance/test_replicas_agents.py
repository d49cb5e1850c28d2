"""An agent whose calls go to two services in turn: it waits for an ask at one and withdraws it at the other."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp import Client
from mcp_types import CallToolResult

from tests.acceptance.replicas import Town, ended, town

pytestmark = pytest.mark.acceptance

PORT = {"question": "Which port?"}


@pytest.fixture
async def two(database: str, tmp_path: Path) -> AsyncIterator[Town]:
    async with town(tmp_path, database, {}) as made:
        yield made


def structured(result: CallToolResult) -> dict[str, Any]:
    """Return the structured result of a call."""
    assert not result.is_error, result
    assert result.structured_content is not None
    return dict(result.structured_content)


async def wait_for_a_waiter(two: Town) -> None:
    """Return once a replica has somebody waiting."""
    for replica in itertools.cycle(two.replicas):
        async with aiohttp.ClientSession(replica.url) as http, http.get("/metrics") as response:
            if "answerback_waiters 1.0" in await response.text():
                return


async def answer(http: aiohttp.ClientSession, ask_id: str, value: object) -> None:
    """Answer an ask, as a person."""
    action = {"action": "answer", "value": value}
    async with http.post(f"/v1/asks/{ask_id}/actions", json=action) as response:
        assert response.status == 200, await response.text()


@pytest.mark.rule("CLAIM-12")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_ask_submitted_at_one_replica_can_be_awaited_at_the_other(
    two: Town, mode: str
) -> None:
    async with two.agent() as http, Client(f"{two.api.url}/mcp", mode=mode) as client:
        pending = structured(await client.call_tool("ask_user", PORT | {"wait_seconds": 0}))
        assert pending["status"] == "pending"
        ask = {"ask_id": pending["ask_id"]}
        for _ in two.replicas:
            waiting = asyncio.create_task(client.call_tool("wait_for_answer", ask))
            await wait_for_a_waiter(two)
            await answer(http, pending["ask_id"], "8420")
            assert structured(await waiting) == {"answer_type": "text", "answer": "8420"}
            pending = structured(await client.call_tool("ask_user", PORT | {"wait_seconds": 0}))
            ask = {"ask_id": pending["ask_id"]}
        assert structured(await client.call_tool("get_answer", ask))["status"] == "pending"
        structured(await client.call_tool("withdraw_ask", ask))
        assert (await ended(http, pending["ask_id"]))["status"] == "withdrawn"
    assert len(set(two.api.taken)) == 2, "both have taken calls"


@pytest.mark.rule("CLAIM-12")
async def test_a_late_answer_is_delivered_once_whichever_replica_is_asked_for_it(two: Town) -> None:
    async with two.agent() as http, Client(f"{two.api.url}/mcp") as client:
        conversation = {"conversation": "one"}
        asked = structured(
            await client.call_tool("ask_user", PORT | conversation | {"mode": "async"})
        )
        await answer(http, asked["ask_id"], "8420")
        found = [await client.call_tool("check_answers", conversation) for _ in range(4)]
        assert sum("8420" in str(result.content) for result in found) == 1
