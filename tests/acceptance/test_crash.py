"""Kill -9 at random moments while clients act: everything acknowledged is stored, and nothing happened twice.

The simulation kills at more moments, of every part; here the process and the file are real.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance.process import PATIENCE, QUIET, serving
from tests.person_keys import bearer
from tests.postgres import STORES, database_of

POINTS = int(os.environ.get("CRASH_POINTS", "10"))
CLIENTS = 6
QUESTIONS = 4
FORM = {
    "questions": [
        {"id": f"q{n}", "text": f"Question {n}?", "answer_type": "text"} for n in range(QUESTIONS)
    ]
}


@dataclass
class Known:
    """A client's knowledge of one ask: what was acknowledged, and what it had sent when the connection was cut."""

    key: str
    id: str | None = None
    acknowledged: int = 0
    sent: int = 0

    @property
    def answers(self) -> list[str]:
        """Return the answers, all different, in the order in which the client gives them."""
        return [f"{self.key}-{n}" for n in range(QUESTIONS)]


class Client:
    """Submits asks and walks them, one after the other, remembering what was acknowledged."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.asks: list[Known] = []
        self.acknowledged = asyncio.Event()
        """Set once anything has been acknowledged since the service started."""

    async def act_until_cut_off(self, url: str, headers: dict[str, str]) -> None:
        """Continue for as long as the service answers."""
        async with aiohttp.ClientSession(url, headers=headers) as http:
            try:
                while True:
                    await self._step(http)
                    self.acknowledged.set()
            except aiohttp.ClientError:
                return

    async def _step(self, http: aiohttp.ClientSession) -> None:
        ask = self.asks[-1] if self.asks else None
        if ask is None or ask.acknowledged == QUESTIONS:
            ask = Known(f"c{self.number}-{len(self.asks)}")
            self.asks.append(ask)
        if ask.id is None:
            body = {"name": "ask_user", "arguments": FORM, "to": "web"}
            headers = {"Idempotency-Key": ask.key}
            async with http.post("/v1/asks", json=body, headers=headers) as response:
                assert response.status in {200, 201}, await response.text()
                ask.id = (await response.json())["id"]
            return
        ask.sent = ask.acknowledged + 1
        action = {"action": "answer", "value": ask.answers[ask.acknowledged]}
        async with http.post(
            f"/v1/asks/{ask.id}/actions", json=action | {"revision": ask.acknowledged + 1}
        ) as response:
            assert response.status == 200, await response.text()
            assert (await response.json())["revision"] == ask.sent + 1
        ask.acknowledged = ask.sent


async def verify(http: aiohttp.ClientSession, known: Known) -> None:
    """Assert that the stored ask is as its client knows it, or one step further, with each step there once."""
    assert known.id is not None
    async with http.get(f"/v1/asks/{known.id}") as response:
        assert response.status == 200, f"{known.id} was acknowledged and is lost"
        ask: dict[str, Any] = await response.json()
    async with http.get(f"/v1/asks/{known.id}/record") as response:
        entries = (await response.json())["entries"]
    values = [
        entry["response"]["answered"]["value"] for entry in entries if entry["type"] == "response"
    ]
    stored = len(values)
    assert known.acknowledged <= stored <= known.sent
    assert values == known.answers[:stored]
    assert ask["answers"] == {f"q{n}": value for n, value in enumerate(values)}
    assert ask["revision"] == stored + 1
    assert [entry["type"] for entry in entries].count("ended") == (stored == QUESTIONS)
    if stored == QUESTIONS:
        assert ask["status"] == "answered"
    else:
        assert ask["prompt"]["question_id"] == f"q{stored}"
    # If something was stored unacknowledged, the client sees it now and continues from there.
    known.acknowledged = known.sent = stored


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Configure a store."""
    with database_of(request, tmp_path) as url:
        (tmp_path / "answerback.toml").write_text(f"[storage]\nurl = '{url}'\n")
        yield


@pytest.mark.long
@pytest.mark.rule("DATA-1", "DATA-3")
@pytest.mark.acceptance
@pytest.mark.timeout(480)
@pytest.mark.usefixtures("store")
async def test_everything_acknowledged_is_stored_once_whenever_the_service_is_killed(
    tmp_path: Path,
) -> None:
    rng = random.Random(31)
    clients = [Client(number) for number in range(CLIENTS)]
    for _ in range(POINTS):
        async with serving(tmp_path, QUIET) as (process, url):
            async with aiohttp.ClientSession(url) as http:
                for client in clients:
                    for known in client.asks[-3:]:
                        if known.id is not None:
                            await verify(http, known)
            clients[0].acknowledged.clear()
            person = bearer(tmp_path)
            acting = [
                asyncio.create_task(client.act_until_cut_off(url, person)) for client in clients
            ]
            if rng.random() < 0.8:
                async with asyncio.timeout(PATIENCE):
                    await clients[0].acknowledged.wait()
            await asyncio.sleep(rng.uniform(0.0, 0.12))  # any moment may be the critical one
            process.signal(signal.SIGKILL)
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*acting)
        assert await asyncio.to_thread(is_intact, tmp_path / "answerback.db")
    async with serving(tmp_path) as (_, url), aiohttp.ClientSession(url) as http:
        asks = [known for client in clients for known in client.asks if known.id is not None]
        for known in asks:
            await verify(http, known)
        count = await count_asks(http)
        assert count == len(asks) + await count_unacknowledged(http, clients)
    steps = sum(1 + known.acknowledged for known in asks)
    assert steps > POINTS // 2, "too little was in progress when the service was killed"


async def count_asks(http: aiohttp.ClientSession) -> int:
    """Return how many asks there are."""
    count = 0
    after: str | None = ""
    while after is not None:
        async with http.get(f"/v1/asks?limit=200&after={after}") as response:
            body = await response.json()
        count, after = count + len(body["asks"]), body["next"]
    return count


async def count_unacknowledged(http: aiohttp.ClientSession, clients: list[Client]) -> int:
    """Return how many submissions were stored without an acknowledgement: their keys find them."""
    found = 0
    for client in clients:
        for known in client.asks:
            if known.id is None:
                headers = {"Idempotency-Key": known.key}
                body = {"name": "ask_user", "arguments": FORM, "to": "web"}
                async with http.post("/v1/asks", json=body, headers=headers) as response:
                    found += response.status == 200
    return found


def is_intact(path: Path) -> bool:
    """Return whether SQLite finds the file intact."""
    if not path.exists():
        return True  # killed before the first ask was stored, or the store is not SQLite
    database = sqlite3.connect(path)
    try:
        return bool(database.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    finally:
        database.close()
