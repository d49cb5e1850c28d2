"""Kill -9 while people answer, hand over and confirm: every step that counted is stored, once, and the rest can go on.

With PostgreSQL two replicas serve the people; one of them is killed, and the other one goes on at once. With SQLite the
process is killed once: the simulation does that at more moments.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from answerback.ports.person_key import hash_of, new_token
from tests.acceptance.process import QUIET, Process, serving
from tests.postgres import STORES, database_of

ROUNDS: Final = {1: 1, 2: 4}
"""Kills, by the number of replicas."""
ASKS: Final = 12
STEPS: Final[tuple[tuple[str, dict[str, Any], list[str]], ...]] = (
    ("ann", {"action": "answer", "value": "sesame"}, ["response"]),
    ("ann", {"action": "hand_over", "to": "cy"}, ["handed_over"]),
    ("bob", {"action": "confirm"}, ["confirmed"]),
    ("bob", {"action": "hand_over", "to": "dee"}, ["handed_over"]),
    ("cy", {"action": "confirm"}, ["confirmed", "ended"]),
)
"""Who does what with each ask, and which lines of the record follow."""


@dataclass
class Town:
    """The service, as one process or two, and the tokens of the agent and of the people's front end."""

    folder: Path
    replicas: int
    agent: dict[str, str]
    people: dict[str, str]


@dataclass
class Decision:
    """An ask, and how many steps are known to have counted."""

    id: str
    done: int = 0


@pytest.fixture(params=STORES)
def town(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Town]:
    tokens = {"ci": new_token(), "console": new_token()}
    with database_of(request, tmp_path) as url:
        (tmp_path / "answerback.toml").write_text(
            f"""
            [storage]
            url = '{url}'
            [agents.ci]
            token_hash = "{hash_of(tokens["ci"])}"
            [agents.console]
            role = "surface"
            token_hash = "{hash_of(tokens["console"])}"
            [limits]
            asks_per_minute = 0
            [routes.prod]
            to = "web"
            responders = ["ann", "bob", "cy", "dee"]
            confirmations = 2
            """
        )
        headers = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
        yield Town(
            tmp_path, 1 if request.param == "sqlite" else 2, headers["ci"], headers["console"]
        )


async def submit(http: aiohttp.ClientSession, town: Town) -> Decision:
    question = {"id": "word", "text": "Which word?", "answer_type": "text"}
    body = {
        "name": "ask_user",
        "arguments": {"questions": [question]},
        "to": "prod",
        "responders": ["ann", "bob", "cy"],
    }
    async with http.post("/v1/asks", json=body, headers=town.agent) as response:
        assert response.status == 201, await response.text()
        return Decision((await response.json())["id"])


async def walk(
    decision: Decision, town: Town, http: aiohttp.ClientSession, chance: random.Random | None = None
) -> None:
    """Take all steps that are left; a step may be sent again under its own key."""
    for number in range(decision.done, len(STEPS)):
        who, action, _ = STEPS[number]
        key = {"Idempotency-Key": f"{decision.id}-{number}"}
        body = {**action, "actor": {"user_id": who}}
        path = f"/v1/asks/{decision.id}/actions"
        async with http.post(path, json=body, headers={**town.people, **key}) as response:
            assert response.status == 200, (number, await response.text())
        decision.done = number + 1
        if chance is not None:
            await asyncio.sleep(chance.uniform(0, 0.03))


async def verify(decision: Decision, town: Town, http: aiohttp.ClientSession) -> int:
    """Assert that what is stored is a whole number of steps, in order, at least those that counted; return how many."""
    path = f"/v1/asks/{decision.id}"
    async with http.get(f"{path}/record", headers=town.people) as response:
        lines = [each["type"] for each in (await response.json())["entries"]]
    kinds = [each for each in lines if each != "note"]  # of reminders
    async with http.get(path, headers=town.people) as response:
        ask = await response.json()
    async with http.get(path, headers=town.agent) as response:
        body = await response.json()
    expected, steps = ["request"], 0
    while kinds != expected:
        assert kinds[: len(expected)] == expected, kinds
        expected += STEPS[steps][2]
        steps += 1
    assert steps >= decision.done
    assert ask["revision"] == steps + 1
    if steps < len(STEPS):
        assert (ask["status"], body["answers"]) == ("open", {})
    else:
        confirmed = [each["user_id"] for each in ask["confirmed_by"]]
        assert (ask["status"], confirmed) == ("answered", ["bob", "cy"])
        assert body["answers"] == {"word": "sesame"}
    return steps


async def _until_cut_off(
    decisions: list[Decision], town: Town, url: str, chance: random.Random
) -> None:
    async with aiohttp.ClientSession(url) as http:
        for decision in decisions:
            try:
                await walk(decision, town, http, chance)
            except aiohttp.ClientError:
                return


@pytest.mark.long
@pytest.mark.rule("CONFIRM-1", "CONFIRM-8", "HANDOVER-1", "HANDOVER-3", "DATA-1")
@pytest.mark.acceptance
@pytest.mark.timeout(480)
async def test_every_step_counts_once_whenever_a_process_is_killed(town: Town) -> None:
    chance = random.Random(33)
    async with AsyncExitStack() as up:

        async def started() -> tuple[Process, str]:
            return await up.enter_async_context(serving(town.folder, QUIET))

        processes = [await started() for _ in range(town.replicas)]
        for _ in range(ROUNDS[town.replicas]):
            killed = chance.randrange(len(processes))
            async with aiohttp.ClientSession(processes[killed][1]) as http:
                decisions = [await submit(http, town) for _ in range(ASKS)]
            half = len(decisions) // len(processes)
            shares = [decisions[i * half : (i + 1) * half] for i in range(len(processes))]
            acting = [
                asyncio.create_task(_until_cut_off(share, town, url, random.Random(number)))
                for number, (share, (_, url)) in enumerate(zip(shares, processes, strict=True))
            ]
            await asyncio.sleep(chance.uniform(0.05, 0.5))  # any moment may be the critical one
            processes[killed][0].signal(signal.SIGKILL)
            async with asyncio.timeout(120):
                await asyncio.gather(*acting)
            alive = next((each for each in processes if each is not processes[killed]), None)
            processes[killed] = await started() if alive is None else processes[killed]
            _, url = alive or processes[killed]
            async with aiohttp.ClientSession(url) as http:
                for decision in decisions:
                    await verify(decision, town, http)
                    await walk(decision, town, http)
                    assert await verify(decision, town, http) == len(STEPS)
            if alive is not None:
                processes[killed] = await started()
