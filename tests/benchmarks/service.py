"""The whole service as a process on one core, measured from outside: beside baselines and another commit, in turns.

Run as ``python -m tests.benchmarks.service [--against COMMIT] [PART …]``; the parts are the functions in `PARTS`.
People, agents and Slack, which answers after 80 ms, are on the other cores. Rates depend on the machine's other load;
the CPU time of a click hardly does.

``clicks``: signed clicks on open asks, each committed, while messages are updated. Bare bolt spends most of its time on
parsing the copy of the message in a click, which the service skips, so that the figure depends on the message's size:
that of a small message is the comparison, that of a whole message shows the difference.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import aiohttp
from aiohttp import web

from answerback.core.form import Form
from tests.benchmarks.commits import NOW, checked_out
from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import (
    OTHERS,
    SERVE,
    SLACK_SECONDS,
    Process,
    environment,
    process,
    slow_slack,
)
from tests.benchmarks.slack_clicks import CLIENTS, FORM, Clicker, channel_of, hammer
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.slack.server import FakeSlack
from tests.person_keys import bearer

ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS: Final = 2.0
"""The length of each burst of clicks: longer than the second between two updates of a message."""
LONG: Final = Form(
    questions=tuple(FORM.questions[0].model_copy(update={"id": f"q{n}"}) for n in range(100))
)
WAITERS: Final = tuple(
    int(count) for count in os.environ.get("BENCH_AGENTS", "1,300,10000").split(",")
)
TIMED: Final = 200
"""Answers that are timed for each number of waiting agents."""
SECRET: Final = f"whsec_{'A' * 32}"
BASELINES: Final = ("-m", "tests.benchmarks.baselines")

Codes = Mapping[str, Mapping[str, str]]
Json = dict[str, Any]


def call(form: Form, to: str, **more: object) -> Json:
    """Return a submission."""
    questions = [
        question.model_dump(mode="json", exclude_defaults=True) for question in form.questions
    ]
    return {"name": "ask_user", "arguments": {"questions": questions}, "to": to, **more}


# --- clicks ------------------------------------------------------------------------------------------


async def _asked(url: str, form: Form) -> list[tuple[str, int]]:
    """Submit asks, each in its own channel, because posts are limited in each; return ids and revisions."""
    async with aiohttp.ClientSession(url) as http:

        async def ask(number: int) -> tuple[str, int]:
            body = call(form, f"slack:{channel_of(number)}", responders=["anyone"])
            async with http.post("/v1/asks", json=body) as response:
                found: Json = await response.json()
                assert response.status == 201, found
                return found["id"], found["revision"]

        return await asyncio.gather(*(ask(number) for number in range(CLIENTS)))


async def _verify_counted(url: str, clickers: Sequence[Clicker]) -> None:
    async with aiohttp.ClientSession(url) as http:
        for clicker in clickers:
            async with http.get(f"/v1/asks/{clicker.ask.id}") as response:
                found = (await response.json())["revision"]
                assert found == clicker.revision, "a click was acknowledged and did not count"


@asynccontextmanager
async def _clicked(codes: Codes) -> AsyncIterator[dict[str, tuple[Process, str, list[Clicker]]]]:
    """Run bare bolt and the services, and yield each with its public address and its people."""
    async with AsyncExitStack() as stack:
        api_url = await stack.enter_async_context(slow_slack())
        bolt = await stack.enter_async_context(process(*BASELINES, "bolt", ""))
        found: dict[str, tuple[Process, str, list[Clicker]]] = {}
        address = await bolt.line()
        for name, small in (("bolt", True), ("bolt, whole message", False)):
            found[name] = bolt, address, [Clicker(n, small=small) for n in range(CLIENTS)]
        for name, code in codes.items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            settings = {**environment(folder, api_url), **code}
            up = await stack.enter_async_context(process(*SERVE, environment=settings))
            url, public = await up.line(), await up.line()
            kinds = {name: (FORM, True), f"{name}, 100 questions": (LONG, True)}
            if name == NOW:
                kinds[f"{name}, whole message"] = (FORM, False)
            asked: list[Clicker] = []
            for kind, (form, small) in kinds.items():
                clickers = [
                    Clicker(n, form, ask_id, revision, small=small)
                    for n, (ask_id, revision) in enumerate(await _asked(url, form))
                ]
                asked += clickers
                found[kind] = up, public, clickers
            stack.push_async_callback(_verify_counted, url, asked)
        await asyncio.sleep(2)  # the first messages are posted
        yield found


async def clicks(figures: Figures, codes: Codes) -> None:
    """Clicks by HTTP, 32 at once and one at a time."""
    rate, used, alone = (defaultdict[str, list[float]](list) for _ in range(3))
    async with _clicked(codes) as servers:
        for number in range(ROUNDS + 1):
            for kind, (server, public, clickers) in servers.items():
                port = int(public.rpartition(":")[2])
                before = server.processor
                times = await hammer(port, clickers, SECONDS)
                taken = (server.processor - before) / len(times) * 1e6
                single = await hammer(port, clickers[:1], SECONDS / 4)
                if number:  # the first round warms up
                    rate[kind].append(len(times) / SECONDS)
                    used[kind].append(taken)
                    alone[kind].append(median(single) * 1e3)
                # Let pending updates finish, so that they do not disturb the next server.
                await asyncio.sleep(1 + 2 * SLACK_SECONDS)
    for kind in servers:
        base = "bolt, whole message" if "whole" in kind else "bolt"
        base = kind.partition(",")[0] if "100" in kind else base
        figures.add(f"clicks, {CLIENTS} at once", kind, rate[kind], "/s", rate[base], base)
        figures.add("  CPU time", kind, used[kind], "µs", used[base], base)
        figures.add("  one at a time, p50", kind, alone[kind], "ms", alone[base], base)


# --- agents ------------------------------------------------------------------------------------------


@asynccontextmanager
async def served(
    code: Mapping[str, str] | None, kind: str = "", **more: str
) -> AsyncIterator[tuple[Process, aiohttp.ClientSession]]:
    """Run a service without chats, or a baseline if the code is None, and yield it with an agent's session."""
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
    with tempfile.TemporaryDirectory() as name:
        settings = {
            "ANSWERBACK_SERVER__PORT": "0",
            "ANSWERBACK_STORAGE__URL": f"sqlite:///{name}/asks.db",
            "ANSWERBACK_CALLBACKS__SECRET": SECRET,
            "ANSWERBACK_CALLBACKS__ALLOW": "127.0.0.1",
            "ANSWERBACK_LOG__LEVEL": "error",
            **more,
            **(code or {}),
        }
        arguments = SERVE if code is not None else (*BASELINES, kind, name)
        async with process(*arguments, environment=settings) as up:
            url = await up.line()
            up.person = bearer(Path(name)) if code is not None else {}
            async with aiohttp.ClientSession(url, connector=connector, timeout=timeout) as http:
                yield up, http


async def submit(http: aiohttp.ClientSession, form: Form, **more: object) -> str:
    """Submit an ask, and return its id."""
    async with http.post("/v1/asks", json=call(form, "web", **more)) as response:
        assert response.status == 201, await response.text()
        return str((await response.json())["id"])


async def answer(up: Process, http: aiohttp.ClientSession, ask_id: str) -> None:
    """Answer an ask's current question, as a person."""
    action, path = {"action": "answer", "value": True}, f"/v1/asks/{ask_id}/actions"
    async with http.post(path, json=action, headers=up.person) as response:
        assert response.status < 300, await response.text()
        await response.read()


ONE: Final = Form(questions=FORM.questions[:1])


async def waiters(figures: Figures, codes: Codes) -> None:
    """Memory of agents that wait by long-poll, and the time from an answer to the agent that has it."""
    floor = None
    contestants: dict[str, Mapping[str, str] | None] = {"bare long-poll": None, **codes}
    for name, code in contestants.items():
        async with served(code, "long-poll") as (up, http):
            each, first = 0.0, list[float]()
            for count in WAITERS:
                each, took = await _waited(up, http, count)
                figures.add(
                    f"answer → long-poll, {count:,} waiting",
                    name,
                    took,
                    "ms",
                    first or took,
                    "of 1",
                )
                first = first or took
            floor = floor or each
            figures.add(f"memory a waiter, of {count:,}", name, [each], "kB", [floor], "bare")


async def _waited(
    up: Process, http: aiohttp.ClientSession, count: int
) -> tuple[float, list[float]]:
    """Return the kilobytes a waiter takes, and the milliseconds of answers to some of them."""
    ids = [await submit(http, ONE) for _ in range(count)]
    before, got = up.resident, dict[str, float]()

    async def wait(ask_id: str) -> None:
        async with http.get(f"/v1/asks/{ask_id}", headers={"Prefer": "wait=300"}) as response:
            assert (await response.json())["status"] == "answered"
            got[ask_id] = time.perf_counter()

    tasks = []
    for number, ask_id in enumerate(ids, 1):
        tasks.append(asyncio.create_task(wait(ask_id)))
        if number % 100 == 0:  # no kernel queues more new connections
            await asyncio.sleep(0.1)
    async with asyncio.timeout(60):
        while await _counted(http) < count:  # noqa: ASYNC110 - another process signals nothing
            await asyncio.sleep(0.1)
    each = (up.resident - before) / count / 1_024
    took = []
    for ask_id in (ids * TIMED)[:TIMED] if count == 1 else ids[:: max(1, count // TIMED)]:
        if ask_id in got:  # the only one was answered: the next one waits
            ask_id = await submit(http, ONE)
            tasks.append(asyncio.create_task(wait(ask_id)))
            while await _counted(http) < 1:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.002)
        began = time.perf_counter()
        await answer(up, http, ask_id)
        while ask_id not in got:  # noqa: ASYNC110 - this process is to notice at once
            await asyncio.sleep(0)
        took.append((got[ask_id] - began) * 1e3)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return each, took[len(took) // 10 :]  # the first ones warm up


async def _counted(http: aiohttp.ClientSession) -> float:
    """Return how many agents wait, according to the service."""
    async with http.get("/metrics") as response:
        lines = (await response.text()).splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith("answerback_waiters"))


async def webhooks(figures: Figures, codes: Codes) -> None:
    """The time in which an ask is created, and from its last answer to the webhook."""
    seen: dict[str, float] = {}

    async def receive(request: web.Request) -> web.Response:
        seen[(await request.json())["data"]["id"]] = time.perf_counter()
        return web.Response(status=204)

    app = web.Application()
    app.router.add_post("/hook", receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    callback = {"url": f"http://127.0.0.1:{runner.addresses[0][1]}/hook"}
    created, answered, hooked = (defaultdict[str, list[float]](list) for _ in range(3))
    async with AsyncExitStack() as stack:
        up = {name: await stack.enter_async_context(served(code)) for name, code in codes.items()}
        for _ in range(TIMED):
            for name, (server, http) in up.items():
                began = time.perf_counter()
                ask_id = await submit(http, FORM, callback=callback)
                created[name].append((time.perf_counter() - began) * 1e3)
                for _ in FORM.questions:
                    began = time.perf_counter()
                    await answer(server, http, ask_id)
                    answered[name].append((time.perf_counter() - began) * 1e3)
                while ask_id not in seen:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0)
                hooked[name].append((seen.pop(ask_id) - began) * 1e3)
    await runner.cleanup()
    for name in codes:
        figures.add("ask created, p50", name, created[name], "ms")
        figures.add("last answer → webhook, p50", name, hooked[name], "ms")
        figures.add("answer, p50", name, answered[name], "ms")
        first, middle = answered[name][0], median(answered[name])
        figures.add("first answer of a process", name, [first], "ms", [middle], "the median")


# --- the start -----------------------------------------------------------------------------------------


async def start(figures: Figures, codes: Codes) -> None:
    """Time from process start to readiness with both chats, and the memory used then."""
    imports = ("-c", "import slack_bolt.async_app, discord, aiohttp, pydantic")
    took, idle = (defaultdict[str, list[float]](list) for _ in range(2))
    async with FakeSlack() as slack, FakeDiscord() as discord, aiohttp.ClientSession() as http:
        for _ in range(ROUNDS):
            began = time.perf_counter()
            async with process(*imports) as importing:
                await importing.child.wait()
            took["imports"].append(time.perf_counter() - began)
            for name, code in codes.items():
                with tempfile.TemporaryDirectory() as folder:
                    settings = {
                        **environment(Path(folder), slack.api_url),
                        "SLACK_BOT_TOKEN": slack.bot_token,
                        "SLACK_APP_TOKEN": slack.app_token,
                        "SLACK_SIGNING_SECRET": slack.signing_secret,
                        "DISCORD_BOT_TOKEN": discord.application.token,
                        "ANSWERBACK_DISCORD__API_URL": discord.api_url,
                        **code,
                    }
                    began = time.perf_counter()
                    async with process(*SERVE, environment=settings) as up:
                        url = await up.line()
                        while await _ready(http, url) != 200:  # noqa: ASYNC110 - another process signals nothing
                            await asyncio.sleep(0.01)
                        took[name].append(time.perf_counter() - began)
                        await asyncio.sleep(2)
                        idle[name].append(up.resident / 1e6)
    for name in codes:
        figures.add("start to ready, both chats", name, took[name], "s", took["imports"], "imports")
        figures.add("idle memory", name, idle[name], "MB")


async def _ready(http: aiohttp.ClientSession, url: str) -> int:
    async with http.get(f"{url}/readyz") as response:
        return response.status


PARTS: Final[Mapping[str, Callable[[Figures, Codes], Awaitable[None]]]] = {
    part.__name__: part for part in (start, clicks, waiters, webhooks)
}


async def main(requested: Sequence[str], commit: str | None) -> None:
    """Run the measurements and print a table."""
    os.sched_setaffinity(0, OTHERS)
    figures = Figures("Answerback as a process on one core")
    with checked_out(commit) as codes:
        for name in requested or PARTS:
            sys.stderr.write(f"  {name}\n")
            await PARTS[name](figures, codes)
    figures.print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--against", metavar="COMMIT")
    given = parser.parse_args()
    asyncio.run(main(given.parts, given.against))
