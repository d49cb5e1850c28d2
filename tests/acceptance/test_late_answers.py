"""Kill -9 of the agent and of the service around an answer: the agent gets it when it comes back, exactly once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.acceptance.process import PATIENCE, QUIET, serving
from tests.person_keys import bearer

Json = dict[str, Any]
POINTS = 12
ASK: Json = {
    "name": "ask_user",
    "arguments": {"question": "Deploy?", "answer_type": "boolean"},
    "to": "web",
    "conversation": "c1",
}
WAITS = """
import socket, sys
host, port, ask = sys.argv[1:]
line = socket.create_connection((host, int(port)))
line.sendall(f"GET /v1/asks/{ask} HTTP/1.1\\r\\nHost: localhost\\r\\nPrefer: wait=60\\r\\n\\r\\n".encode())
print("waiting", flush=True)
sys.stdin.readline()
print(b"answered" in line.recv(100000), flush=True)
sys.stdin.readline()
"""
"""An agent that waits for an ask, reads the response only when instructed to, and stays."""


async def submit(http: aiohttp.ClientSession) -> str:
    """Submit a new ask; return its id."""
    async with http.post("/v1/asks", json=ASK) as response:
        assert response.status == 201, await response.text()
        return str((await response.json())["id"])


async def answer(http: aiohttp.ClientSession, ask_id: str, person: dict[str, str]) -> None:
    """Answer yes, as a person."""
    action = {"action": "answer", "value": True}
    path = f"/v1/asks/{ask_id}/actions"
    async with http.post(path, json=action, headers=person) as response:
        assert response.status == 200, await response.text()


async def late(http: aiohttp.ClientSession, query: str = "") -> tuple[list[str], int | None]:
    """Return the late answers, and the number that acknowledges them."""
    async with http.get(f"/v1/answers?conversation=c1{query}") as response:
        assert response.status == 200, await response.text()
        found = await response.json()
        return [one["id"] for one in found["answers"]], found["next"]


async def agent(url: str, ask_id: str) -> asyncio.subprocess.Process:
    """Start a process that waits for an ask."""
    address = urlsplit(url)
    made = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WAITS, str(address.hostname), str(address.port), ask_id,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert made.stdout is not None
    assert await made.stdout.readline() == b"waiting\n"
    return made


@pytest.mark.rule("LATE-1", "LATE-4")
@pytest.mark.acceptance
@pytest.mark.parametrize("killed", ["before the answer", "with the answer unread", "afterwards"])
async def test_a_killed_agent_gets_the_answer_once_when_it_comes_back(
    tmp_path: Path, killed: str
) -> None:
    async with serving(tmp_path) as (_, url), aiohttp.ClientSession(url) as http:
        person = bearer(tmp_path)
        ask_id = await submit(http)
        process = await agent(url, ask_id)
        assert process.stdin is not None
        assert process.stdout is not None
        if killed == "before the answer":
            process.kill()
            await process.wait()
        await answer(http, ask_id, person)
        if killed == "with the answer unread":
            os.kill(process.pid, signal.SIGSTOP)
        if killed == "afterwards":
            process.stdin.write(b"read\n")
            assert await process.stdout.readline() == b"True\n"
        if killed != "before the answer":
            assert await late(http) == ([], None), "the waiting call gets the answer"
            process.kill()
            await process.wait()
        expected = [] if killed == "afterwards" else [ask_id]
        async with asyncio.timeout(PATIENCE):
            found: list[str] = []
            while found != expected:
                found, _ = await late(http)
        assert await late(http) == ([], None)


@pytest.mark.rule("LATE-3", "LATE-5", "DATA-1")
@pytest.mark.acceptance
async def test_an_agent_that_keeps_its_number_gets_each_answer_once_whatever_is_killed(
    tmp_path: Path,
) -> None:
    rng = random.Random(7)
    asked: list[str] = []
    got: list[str] = []
    number = 0
    answered = asyncio.Semaphore(0)
    for _ in range(POINTS):
        async with serving(tmp_path, QUIET) as (process, url), aiohttp.ClientSession(url) as http:
            person = bearer(tmp_path)

            async def work(
                http: aiohttp.ClientSession = http, person: dict[str, str] = person
            ) -> None:
                nonlocal number
                while True:
                    found, following = await late(http, f"&after={number}")
                    if rng.random() < 0.3:
                        continue  # the agent was killed before it had stored anything
                    got.extend(found)
                    number = following or number
                    ask_id = await submit(http)
                    asked.append(ask_id)
                    await answer(http, ask_id, person)
                    answered.release()

            working = asyncio.create_task(work())
            for _ in range(rng.randint(1, 4)):
                await answered.acquire()
            await asyncio.sleep(rng.uniform(0.0, 0.03))  # any moment may be the critical one
            process.signal(signal.SIGKILL)
            with pytest.raises(aiohttp.ClientError):
                await working
    async with serving(tmp_path) as (_, url), aiohttp.ClientSession(url) as http:
        found, following = await late(http, f"&after={number}")
        got += found
        assert await late(http, f"&after={following}") == ([], following)
        for ask_id in set(asked) - set(got):
            async with http.get(f"/v1/asks/{ask_id}") as response:
                assert (await response.json())["status"] == "open", "killed before it was answered"
    assert len(got) == len(set(got)), "delivered twice"
    assert len(got) > POINTS


def test_a_process_that_dies_with_unread_bytes_resets_the_connection() -> None:
    """A process that dies with unread bytes resets the connection; one that has read them all closes it."""
    for read, error in ((False, ConnectionResetError), (True, None)):
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = socket.create_connection(server.getsockname())
            line, _ = server.accept()
            line.sendall(b"answer")
            if read:
                client.recv(10)
            else:
                client.recv(10, socket.MSG_PEEK)
            client.close()
            if error is None:
                assert line.recv(1) == b""
            else:
                with pytest.raises(error):
                    line.recv(1)
            line.close()
