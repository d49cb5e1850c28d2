"""Receipts of real services, with a file or two on one PostgreSQL: one chain and one door, whichever is killed."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.ports.receipt_key import new_private_key
from answerback_receipts.key_file import ReceiptKeyFile
from tests import postgres
from tests.acceptance.agents import restartable
from tests.acceptance.process import NotServingError, run
from tests.acceptance.replicas import Town, town
from tests.person_keys import bearer

pytestmark = pytest.mark.acceptance

APPROVAL: dict[str, Any] = {
    "name": "PermissionRequest",
    "dialect": "approval",
    "arguments": {"tool_name": "Bash", "tool_input": {"command": "make deploy"}},
    "to": "web",
}
KILLS = 4
ASKS_BETWEEN = 12


async def decide(http: aiohttp.ClientSession) -> str | None:
    """Have an approval allowed; return its id, or None if a replica died over it."""
    try:
        async with http.post("/v1/asks", json=APPROVAL) as response:
            if response.status != 201:
                return None
            ask_id = str((await response.json())["id"])
        action = {"action": "answer", "value": "allow"}
        async with http.post(f"/v1/asks/{ask_id}/actions", json=action) as response:
            return ask_id if response.status == 200 else None
    except aiohttp.ClientError:
        return None


async def linked(http: aiohttp.ClientSession, ask_id: str) -> dict[str, Any]:
    """Return the receipt of an ask, once it is in the chain."""
    async with asyncio.timeout(60):
        while True:
            async with http.get(f"/v1/asks/{ask_id}/receipt") as response:
                body: dict[str, Any] = await response.json()
            if response.status == 200 and body["link"] is not None:
                return body
            await asyncio.sleep(0.05)


async def verify(two: Town, *arguments: str) -> dict[str, Any]:
    environment = {"ANSWERBACK_STORAGE__URL": two.database}
    _, out, err = await run(
        "verify", *arguments, "--json", folder=two.folder, environment=environment
    )
    assert out, err
    result: dict[str, Any] = json.loads(out)
    return result


@pytest.mark.long
@pytest.mark.rule("RCPT-2")
@pytest.mark.rule("RCPT-8")
async def test_killed_linkers_leave_no_gap_and_no_fork(
    tmp_path: Path, postgres_server: postgres.Server
) -> None:
    with postgres_server.database() as name:
        async with town(tmp_path, postgres_server.url(name), {}) as two, two.agent() as http:
            decided: list[str] = []
            for number in range(KILLS):
                asking = [asyncio.create_task(decide(http)) for _ in range(ASKS_BETWEEN)]
                await asyncio.sleep(0.1 * number)  # another moment each time
                await two.kill(two.replicas[0])
                decided += [ask_id for ask_id in await asyncio.gather(*asking) if ask_id]
                await two.add()
            decided += [ask_id for ask_id in [await decide(http)] if ask_id]
            receipts = [await linked(http, ask_id) for ask_id in decided]
            assert receipts
            (tmp_path / "kept.json").write_text(json.dumps(receipts[-1]))
            found = await verify(two, "kept.json", "--store")
            assert found["receipt"]["faults"] == []
            assert found["store"]["fault"] is None
            assert found["store"]["lines"] >= len(decided)
            assert len({body["link"]["n"] for body in receipts}) == len(decided)


@pytest.mark.long
@pytest.mark.rule("RCPT-2")
@pytest.mark.rule("RCPT-8")
async def test_a_killed_service_with_a_file_of_its_own_leaves_one_chain(tmp_path: Path) -> None:
    decided: list[str] = []
    async with restartable(tmp_path) as service:

        async def decide_one() -> None:
            with suppress(aiohttp.ClientError):
                ask = await service.call("POST", "/v1/asks", APPROVAL)
                await service.answer(ask["id"], "allow")
                decided.append(ask["id"])

        for number in range(KILLS):
            deciding = [asyncio.create_task(decide_one()) for _ in range(ASKS_BETWEEN)]
            await asyncio.sleep(0.1 * number)  # another moment each time
            await service.kill()
            await asyncio.gather(*deciding)
            await service.start()
        await decide_one()
        headers = bearer(tmp_path)
        async with aiohttp.ClientSession(service.url, headers=headers) as http:
            receipts = [await linked(http, ask_id) for ask_id in decided]
        assert sorted({body["link"]["n"] for body in receipts}) == sorted(
            body["link"]["n"] for body in receipts
        )
    (tmp_path / "kept.json").write_text(json.dumps(receipts[-1]))
    _, out, err = await run("verify", "kept.json", "--store", "--json", folder=tmp_path)
    assert out, err
    found = json.loads(out)
    assert (found["receipt"]["faults"], found["store"]["fault"]) == ([], None)
    assert found["store"]["lines"] >= len(decided)


@pytest.mark.rule("RCPT-4")
@pytest.mark.rule("RCPT-7")
async def test_one_approval_opens_one_door_over_replicas_with_one_key(
    tmp_path: Path, postgres_server: postgres.Server
) -> None:
    with postgres_server.database() as name:
        async with town(tmp_path, postgres_server.url(name), {}) as two, two.agent() as http:
            ask_id = await decide(http)
            assert ask_id is not None

            async def consume() -> int:
                async with http.post(f"/v1/asks/{ask_id}/consume") as response:
                    return response.status

            statuses = await asyncio.gather(*(consume() for _ in range(16)))
            assert sorted(statuses) == [200, *[409] * 15]
            assert len(two.replicas) == 2
            with pytest.raises(NotServingError, match="signed with another key"):
                await two.add(ANSWERBACK_RECEIPTS__KEY=new_private_key())
            [key] = await asyncio.to_thread(ReceiptKeyFile(tmp_path / "answerback.db").read)
            await two.add(ANSWERBACK_RECEIPTS__KEY=key)
            assert len(two.replicas) == 3
