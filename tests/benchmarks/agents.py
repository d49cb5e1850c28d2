"""Delivery latency from commit to agent: long-poll, SSE, MCP and webhook, with 1, 300 and 3,000 waiting agents.

The service runs in its own process; this process plays all agents. Times run from the moment when the person's action
reaches the service (the ask's ``updated_at``, to the millisecond, so the commit is included) to the moment when the
agent has read the answer. The baseline is a bare aiohttp handler in its own process, which releases its waiter through
an event: the same sockets and the same client, with nothing in between. Then the memory of 10,000 agents that wait by
long-poll is measured. Every figure is for one answer at a time, not for bursts.

``BENCH_AGENTS=1,300`` measures other numbers of waiting agents.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import aiohttp
import uvloop
from aiohttp import web

from tests.person_keys import bearer

COUNTS: Final = tuple(
    int(count) for count in os.environ.get("BENCH_AGENTS", "1,300,3000").split(",")
)
ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "60"))
"""Timed answers for each number of waiting agents."""
MANY: Final = 10_000
SECRET: Final = "whsec_" + base64.b64encode(b"a secret of the benchmark, long.").decode()
CALL: Final = {"name": "ask_user", "arguments": {"question": "Go?", "answer_type": "boolean"}}
ANSWER: Final = {"action": "answer", "value": True}
PATIENCE: Final = 120.0

Json = dict[str, Any]
Wait = Callable[[Json], Awaitable[object]]


# --- what is measured ------------------------------------------------------------------------------


@asynccontextmanager
async def process(*arguments: str, environment: dict[str, str]) -> AsyncIterator[tuple[str, int]]:
    """Start a child process, and yield the address that it prints first and its process id."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        line = (await asyncio.wait_for(child.stdout.readline(), PATIENCE)).decode()
        if not line:
            raise RuntimeError((await child.communicate())[1].decode())
        yield line.split()[-1], child.pid
    finally:
        if child.returncode is None:
            child.terminate()
        await child.communicate()


def bare() -> None:
    """Run the baseline: a handler that waits for an event, and one that sets it."""
    waiting: dict[str, asyncio.Event] = {}
    waiters: Counter[str] = Counter()

    async def wait(request: web.Request) -> web.Response:
        name = request.match_info["id"]
        waiters[name] += 1
        try:
            await waiting.setdefault(name, asyncio.Event()).wait()
        finally:
            waiters[name] -= 1
            if not waiters[name]:
                del waiting[name]
        return web.json_response({"status": "answered"})

    async def release(request: web.Request) -> web.Response:
        await request.json()
        at = time.time()
        waiting[request.match_info["id"]].set()
        return web.json_response({"at": at})

    async def count(_: web.Request) -> web.Response:
        return web.Response(text=f"answerback_waiters {waiters.total()}")

    async def serve() -> None:
        app = web.Application()
        app.router.add_get("/metrics", count)
        app.router.add_get("/{id}", wait)
        app.router.add_post("/{id}", release)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        sys.stdout.write(f"listening on http://127.0.0.1:{runner.addresses[0][1]}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())


class Agents:
    """Many agents in this process, with one connection each."""

    def __init__(
        self, url: str, http: aiohttp.ClientSession, person: dict[str, str] | None = None
    ) -> None:
        self.url = url
        self.person = person
        self.http = http
        self.hooks: dict[str, asyncio.Event] = {}

    async def submit(self, callback: str | None = None) -> Json:
        """Submit a new ask."""
        body = CALL | ({"callback": {"url": callback}} if callback else {})
        async with self.http.post(f"{self.url}/v1/asks", json=body) as response:
            ask: Json = await response.json()
            assert response.status == 201, ask
            return ask

    async def answer(self, ask: Json) -> float:
        """Answer as a person, and return when the service received it, in seconds since the epoch."""
        async with self.http.post(
            f"{self.url}/v1/asks/{ask['id']}/actions", json=ANSWER, headers=self.person
        ) as response:
            found: Json = await response.json()
            assert response.status == 200, found
            # The value is truncated to the millisecond, so the actual time is half a millisecond later on average.
            return datetime.fromisoformat(found["updated_at"]).timestamp() + 0.0005

    async def long_poll(self, ask: Json) -> None:
        """Wait with Prefer: wait."""
        headers = {"Prefer": "wait=300"}
        async with self.http.get(f"{self.url}/v1/asks/{ask['id']}", headers=headers) as response:
            assert (await response.json())["status"] == "answered"

    async def events(self, ask: Json) -> None:
        """Wait for the outcome among the ask's Server-Sent Events."""
        async with self.http.get(f"{self.url}/v1/asks/{ask['id']}/events") as response:
            async for line in response.content:
                if line.startswith(b"event: outcome"):
                    return
        raise AssertionError("the events ended without an outcome")

    async def mcp(self, ask: Json) -> None:
        """Wait with the MCP tool, using hand-written messages, so that the client library's cost is not measured."""
        call = {"name": "wait_for_answer", "arguments": {"ask_id": ask["id"], "wait_seconds": 300}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }
        async with self.http.post(f"{self.url}/mcp", json=body, headers=headers) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    assert b'"answer":true' in line.replace(b" ", b"").replace(b"\\", b"")
                    return
        raise AssertionError("the stream ended without a result")

    async def webhook(self, ask: Json) -> None:
        """Wait for the webhook."""
        await self.hooks.setdefault(ask["id"], asyncio.Event()).wait()

    async def receive_webhook(self, request: web.Request) -> web.Response:
        """Handle an incoming webhook."""
        event = json.loads(await request.read())
        self.hooks.setdefault(event["data"]["id"], asyncio.Event()).set()
        return web.Response(status=204)


class Bare(Agents):
    """The same agents against the baseline."""

    number = 0

    async def submit(self, callback: str | None = None) -> Json:
        """Return a name to wait for."""
        self.number += 1
        return {"id": str(self.number)}

    async def answer(self, ask: Json) -> float:
        """Release whoever waits for it."""
        async with self.http.post(f"{self.url}/{ask['id']}", json=ANSWER) as response:
            return float((await response.json())["at"])

    async def long_poll(self, ask: Json) -> None:
        """Wait."""
        async with self.http.get(f"{self.url}/{ask['id']}") as response:
            await response.json()


# --- measuring -------------------------------------------------------------------------------------


async def timed(agents: Agents, wait: Wait, count: int, callback: str | None) -> list[float]:
    """Return the milliseconds from answer to agent, with ``count`` agents waiting at the start."""
    gate = asyncio.Semaphore(64)

    async def submit() -> Json:
        async with gate:
            return await agents.submit(callback)

    asks = await asyncio.gather(*(submit() for _ in range(count)))
    waiting = dict(zip([ask["id"] for ask in asks], await connected(wait, asks), strict=True))
    if callback is None:
        await waited(agents, count)
    took = [await once(agents, ask, waiting.pop(ask["id"])) for ask in asks[:ROUNDS]]
    while len(took) < ROUNDS:
        ask = await agents.submit(callback)
        task = asyncio.ensure_future(wait(ask))
        if callback is None:
            await waited(agents, 1)
        took.append(await once(agents, ask, task))
    for task in waiting.values():
        task.cancel()
    await asyncio.gather(*waiting.values(), return_exceptions=True)
    return took


async def connected(wait: Wait, asks: list[Json]) -> list[asyncio.Future[object]]:
    """Connect all waiters, but not all at once: no kernel queues so many new connections."""
    waiting: list[asyncio.Future[object]] = []
    for number, ask in enumerate(asks, 1):
        waiting.append(asyncio.ensure_future(wait(ask)))
        if number % 100 == 0:
            await asyncio.sleep(0.1)
    return waiting


async def once(agents: Agents, ask: Json, waiting: asyncio.Future[object]) -> float:
    """Time one answer, after a pause that lets the previous one settle."""
    await asyncio.sleep(0.005)
    done: list[float] = []
    waiting.add_done_callback(lambda _: done.append(time.time()))
    at = await agents.answer(ask)
    await asyncio.wait_for(waiting, PATIENCE)
    return (done[0] - at) * 1_000


async def waited(agents: Agents, count: int) -> None:
    """Return once the given number of agents is known to wait."""
    async with asyncio.timeout(PATIENCE):
        while await waiters(agents) != count:  # noqa: ASYNC110 - another process signals nothing
            await asyncio.sleep(0.002 if count == 1 else 0.2)


def resident(pid: int) -> int:
    """Return the bytes of memory that a process uses."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def memory(agents: Agents, pid: int, many: int = MANY) -> float:
    """Return the kilobytes that each waiting long-poll costs the service."""
    ask = await agents.submit()
    before = resident(pid)
    waiting: list[asyncio.Future[object]] = []
    while len(waiting) < many:  # a hundred at a time: no kernel queues so many new connections
        waiting += await connected(agents.long_poll, [ask] * min(100, many - len(waiting)))
        await waited(agents, len(waiting))
    each = (resident(pid) - before) / many / 1_024
    began = time.perf_counter()
    await agents.answer(ask)
    await asyncio.gather(*waiting)
    took = time.perf_counter() - began
    say(f"  one answer wakes all {many:,} of them within {took:.2f} s")
    return each


async def waiters(agents: Agents) -> float:
    """Return how many agents wait, according to the service."""
    async with agents.http.get(f"{agents.url}/metrics") as response:
        lines = (await response.text()).splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith("answerback_waiters"))


def say(line: str) -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def row(name: str, count: int, took: list[float], floor: float | None) -> float:
    """Print one line, and return its median."""
    middle = statistics.median(took)
    late = statistics.quantiles(took, n=20)[18]
    ratio = "" if floor is None else f"   {middle / floor:4.1f} × the bare handler"
    say(f"  {name:<13} {count:>5,} waiting   p50 {middle:6.2f} ms   p95 {late:6.2f} ms{ratio}")
    return middle


def raise_file_limit() -> None:
    """Allow this process and its children as many connections as the system permits."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def main() -> None:
    """Run all measurements."""
    raise_file_limit()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "ANSWERBACK_SERVER__PORT": "0",
            "ANSWERBACK_STORAGE__URL": f"sqlite:///{folder}/asks.db",
            "ANSWERBACK_CALLBACKS__SECRET": SECRET,
            "ANSWERBACK_LOG__LEVEL": "error",
        }
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as http,
            process("-m", "tests.benchmarks.agents", "bare", environment={}) as (floor_url, _),
            process("-m", "answerback.cli.main", "serve", environment=environment) as (url, _),
        ):
            floor, agents = Bare(floor_url, http), Agents(url, http, bearer(Path(folder)))
            receiver = web.Application()
            receiver.router.add_post("/hook", agents.receive_webhook)
            runner = web.AppRunner(receiver, access_log=None)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            callback = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
            say("From the person's answer (commit included) to the agent having it:")
            for count in COUNTS:
                least = row(
                    "bare handler", count, await timed(floor, floor.long_poll, count, None), None
                )
                ways: list[tuple[str, Wait, str | None]] = [
                    ("long-poll", agents.long_poll, None),
                    ("SSE", agents.events, None),
                    ("MCP", agents.mcp, None),
                    ("webhook", agents.webhook, callback),
                ]
                for name, wait, to in ways:
                    row(name, count, await timed(agents, wait, count, to), least)
            await runner.cleanup()
        say(f"Memory of {MANY:,} agents that wait by long-poll:")
        many = Path(folder, "many")
        many.mkdir()
        environment["ANSWERBACK_STORAGE__URL"] = f"sqlite:///{many}/asks.db"
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as http,
            process("-m", "answerback.cli.main", "serve", environment=environment) as (url, pid),
        ):
            say(f"  {await memory(Agents(url, http, bearer(many)), pid):.1f} KiB an agent")


if __name__ == "__main__":
    if sys.argv[1:] == ["bare"]:
        bare()
    else:
        asyncio.run(main())
