"""Replicas on one PostgreSQL while everything breaks: nothing accepted is lost, and nothing happens twice.

A round is one fault, while people answer and agents wait; see `tests.acceptance.chaos`. `CHAOS_ROUNDS` sets the number
of rounds, at most a dozen per run, and `CHAOS_SEED` the random seed of the first run. `make chaos ARGS=1000` sets both.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from pathlib import Path
from typing import Final

import pytest

from tests import postgres
from tests.acceptance.chaos import fencing, walks
from tests.acceptance.chaos.cluster import Stage, stage
from tests.acceptance.chaos.deciding import verify_chain
from tests.acceptance.chaos.deciding_forms import FRONT_END, configure
from tests.acceptance.chaos.faults import Faults
from tests.acceptance.chaos.people import People, request_until_answered
from tests.pooler import program

ROUNDS: Final = int(os.environ.get("CHAOS_ROUNDS", "24"))
SEED: Final = int(os.environ.get("CHAOS_SEED", "1"))
ROUNDS_PER_RUN: Final = 12
"""Rounds per run, at most: in twelve, each fault comes once."""
RUNS: Final = [
    (SEED + number, min(ROUNDS_PER_RUN, ROUNDS - first))
    for number, first in enumerate(range(0, ROUNDS, ROUNDS_PER_RUN))
]
"""The seed and the rounds of each run. An odd seed uses Slack over HTTP, an even one Socket Mode."""
SOON: Final = 60.0
"""Seconds within which every decision is delivered and shown: the longest pause between a webhook's first tries."""


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    return configure(tmp_path)


@pytest.mark.long
@pytest.mark.rule(
    "CONFIRM-1",
    "CONFIRM-3",
    "CONFIRM-8",
    "HANDOVER-1",
    "RCPT-2",
    "DATA-20",
    "CLAIM-12",
    "CLAIM-13",
    "CLAIM-10",
    "CLAIM-6",
    "DATA-3",
    "CLAIM-1",
    "CLAIM-3",
)
@pytest.mark.acceptance
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("seed", "rounds"), RUNS)
async def test_whatever_breaks_accepted_actions_hold_and_nothing_happens_twice(
    postgres_server: postgres.Server,
    database: str,
    keys: dict[str, str],
    tmp_path: Path,
    seed: int,
    rounds: int,
) -> None:
    if program() is None:
        pytest.skip("pgbouncer is missing: run .ci/system-packages, which installs it")
    print(f"CHAOS_SEED={seed} CHAOS_ROUNDS={rounds}")  # noqa: T201 pytest shows it if the test fails
    chance = random.Random(seed)
    async with stage(
        postgres_server, database, tmp_path, keys, socket_mode=seed % 2 == 0
    ) as staged:
        fencing.watch(staged)
        try:
            people, faults = People(staged, chance), Faults(staged, chance)
            try:
                async with asyncio.TaskGroup() as group:
                    watching = group.create_task(_measure_stalls(stalls := [0.0]))
                    group.create_task(people.act())
                    async with asyncio.TaskGroup() as healing:
                        for _ in range(rounds):
                            await faults.round(healing)
                    people.over()
                    watching.cancel()
            finally:
                print(", ".join(faults.story))  # noqa: T201
                print(f"this process itself stalled for {max(stalls):.1f} s at most")  # noqa: T201
            await _verify(staged, people)
        finally:
            fencing.forget(staged)


async def _verify(staged: Stage, people: People) -> None:
    """Assert that everything accepted holds, happened once, and was delivered and shown."""
    await _wait_until_settled(staged)
    bodies: dict[str, set[bytes]] = {}
    for delivery in staged.receiver.received:
        bodies.setdefault(delivery.event["data"]["id"], set()).add(delivery.body)
    async with staged.client(FRONT_END) as http:
        for walk in people.walks:
            ask = await request_until_answered(http, "GET", f"/v1/asks/{walk.ask_id}")
            record = await request_until_answered(
                http, "GET", f"/v1/asks/{walk.ask_id}/record?limit=1000"
            )
            walks.verify(walk, ask, record["entries"])
            if walk.surface != "mcp":  # MCP has no webhooks
                assert len(bodies[walk.ask_id]) == 1, (
                    f"{walk.name} was delivered with different bodies"
                )
            web = walk.surface in {"api", "mcp"}
            assert web or people.in_slack.of(walk) or people.in_discord.of(walk)
        receipts = await people.together.verify(http)
    await verify_chain(staged.town, receipts)
    asked = staged.run("SELECT count(*) FROM asks")
    assert asked == [(len(people.walks) + len(receipts),)], "no form was asked twice"
    typed = {walk.ask_id for walk in people.walks if walk.surface == "words"}
    epochs = fencing.verify(staged, typed)
    assert epochs >= 1
    print(f"{len(people.walks)} and {len(receipts)} forms, {epochs} epochs")  # noqa: T201


async def _measure_stalls(stalls: list[float]) -> None:
    """Measure how long this process stalls: on a busy machine, the people and the platforms may be the slow ones."""
    while True:
        since = time.monotonic()
        await asyncio.sleep(0.1)
        stalls.append(time.monotonic() - since - 0.1)


async def _wait_until_settled(staged: Stage) -> None:
    """Return once every webhook has been delivered, and every message shows what is stored."""
    pending = """SELECT (SELECT count(*) FROM deliveries WHERE state <> 'delivered')
        + (SELECT count(*) FROM asks WHERE shown_revision < revision OR status = 'open')"""
    async with asyncio.timeout(SOON):
        while await asyncio.to_thread(staged.run, pending) != [(0,)]:  # noqa: ASYNC110 it signals nobody
            await asyncio.sleep(0.2)
