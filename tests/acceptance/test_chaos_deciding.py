"""Kill -9 while several people decide together: the rules hold by the record alone, on each store and over replicas.

`CHAOS_ROUNDS` and `CHAOS_SEED` mean the same as in `test_chaos`: `make chaos` sets both.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from tests.acceptance.chaos.deciding import LONGEST, Deciders, verify_chain
from tests.acceptance.chaos.deciding_forms import AGENT, configure
from tests.acceptance.process import QUIET
from tests.acceptance.replicas import Town, town
from tests.fakes.receiver import receiving
from tests.postgres import STORES, database_of

KILLS: Final = max(4, int(os.environ.get("CHAOS_ROUNDS", "4")) // 4)
SEED: Final = int(os.environ.get("CHAOS_SEED", "1"))
FORMS: Final = 6
"""The number of forms that are open at once."""


async def kill_and_start(served: Town, chance: random.Random) -> None:
    """Kill a process at any moment, and start another one."""
    await asyncio.sleep(chance.uniform(0.3, 1.5))
    killed = chance.choice(served.replicas)
    await served.kill(killed)
    served.api.targets.remove(killed.url)
    await served.add()


async def until_delivered(http: aiohttp.ClientSession, served: Town, token: str) -> None:
    """Return once every webhook has been delivered."""
    headers = {"Authorization": f"Bearer {token}"}
    async with asyncio.timeout(LONGEST):
        while True:
            states = []
            for state in ("pending", "dead"):
                url = f"{served.api.url}/v1/deliveries?state={state}"
                async with http.get(url, headers=headers) as response:
                    states += (await response.json())["deliveries"]
            if not states:
                return
            await asyncio.sleep(0.2)


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    return configure(tmp_path)


@pytest.mark.long
@pytest.mark.rule("CONFIRM-1", "CONFIRM-3", "CONFIRM-8", "HANDOVER-1", "DATA-1", "RCPT-2", "RCPT-8")
@pytest.mark.acceptance
@pytest.mark.timeout(900)
@pytest.mark.parametrize("store", STORES)
async def test_people_decide_together_while_processes_are_killed(
    request: pytest.FixtureRequest, keys: dict[str, str], tmp_path: Path, store: str
) -> None:
    print(f"CHAOS_SEED={SEED} CHAOS_ROUNDS={4 * KILLS}")  # noqa: T201 pytest shows it if the test fails
    chance, over = random.Random(SEED), False
    replicas = 1 if store == "sqlite" else 2
    with database_of(request, tmp_path, store) as database:
        async with (
            receiving() as receiver,
            town(tmp_path, database, QUIET, replicas) as served,
            aiohttp.ClientSession() as http,
        ):
            people = Deciders(served.api.url, tmp_path, keys, receiver, chance)

            async def one_after_the_other(name: str) -> None:
                number = 0
                while not over:
                    number += 1
                    await people.decide(http, f"{name}-{number}")

            async with asyncio.TaskGroup() as everybody:
                for number in range(FORMS):
                    everybody.create_task(one_after_the_other(f"form{number}"))
                for _ in range(KILLS):
                    await kill_and_start(served, chance)
                over = True
            await until_delivered(http, served, keys[AGENT])
            receipts = await people.verify(http)
            assert await verify_chain(served, receipts) == len(people.decisions)
    print(f"{len(people.decisions)} forms")  # noqa: T201
    assert {each.outcomes["stored"]["status"] for each in people.decisions} >= {"answered"}
