"""The whole service, `answerback serve`, pinned to one core, against bare bolt on the same core in the same rounds.

Run as ``python -m tests.benchmarks.service [PART …]``; the parts are the functions in `PARTS`. Messages are updated,
and Slack answers after 80 ms. This process plays Slack and the people, on the other cores. The table shows each figure
next to its baseline and its target. Rates depend on the machine's other load, even within a round; the CPU time of a
click hardly does.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Final

import aiohttp
from rich.console import Console
from rich.table import Table

from answerback.cli.main import COMMANDS
from answerback.core.form import Form
from tests.benchmarks import agents
from tests.benchmarks.processes import (
    OTHERS,
    SERVE,
    SLACK_SECONDS,
    Process,
    environment,
    process,
    service,
    slow_slack,
)
from tests.benchmarks.slack import CHANNEL, CLIENTS, FORM, Clicker, hammer, verify_all_stored
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.slack.server import FakeSlack
from tests.person_keys import bearer

ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "8"))
SECONDS: Final = 1.0
"""The length of each burst of clicks."""
LONG: Final = Form(
    questions=tuple(FORM.questions[0].model_copy(update={"id": f"q{n}"}) for n in range(100))
)
MANY: Final = 3_000
APPROVAL: Final = {
    "name": "PermissionRequest",
    "dialect": "approval",
    "arguments": {"tool_name": "Bash", "tool_input": {"command": "make deploy"}},
    "to": "web",
}
ENDINGS: Final = 60
"""Asks that are ended in one round."""
LINKED: Final = 0.5
"""Seconds within which their receipts are linked."""


# --- the parts ---------------------------------------------------------------------------------------


class Figures:
    """The measurements, as rows of a table."""

    def __init__(self) -> None:
        self.table = Table(
            "figure", "baseline", "measured", "target", title="Answerback as a process, on one core"
        )

    def add(self, figure: str, measured: str, target: str, floor: str = "") -> None:
        """Add a row."""
        self.table.add_row(figure, floor, measured, target)


async def clicks(figures: Figures) -> None:
    """Clicks by HTTP: 32 at once and one at a time, with 3 and with 100 questions."""
    kinds = ("bolt", "3", "100")
    many: dict[str, list[tuple[int, float]]] = {kind: [] for kind in kinds}
    one: dict[str, list[float]] = {kind: [] for kind in kinds}
    clickers = {
        kind: [Clicker(n, LONG if kind == "100" else FORM) for n in range(CLIENTS)]
        for kind in kinds
    }
    async with AsyncExitStack() as stack:
        api_url = await stack.enter_async_context(slow_slack())
        bolt = await stack.enter_async_context(
            process("-m", "tests.benchmarks.slack", "serve", "bolt", "0", "", "")
        )
        servers: dict[str, tuple[Process, int]] = {"bolt": (bolt, int(await bolt.line()))}
        folders = {}
        for kind, form in (("3", FORM), ("100", LONG)):
            up, _, public, folders[kind] = await stack.enter_async_context(service(form, api_url))
            servers[kind] = up, int(public.rpartition(":")[2])
        for number in range(ROUNDS + 1):
            for kind, (server, port) in servers.items():
                before = server.processor
                times = await hammer(port, clickers[kind], SECONDS)
                used = server.processor - before
                alone = await hammer(port, clickers[kind][:1], SECONDS / 2)
                if number:  # the first round warms up
                    many[kind].append((len(times), used))
                    one[kind].append(median(alone))
                # Let pending updates finish, so that they do not disturb the next server.
                await asyncio.sleep(2 * SLACK_SECONDS)
        for kind, folder in folders.items():
            await verify_all_stored(folder / "asks.db", clickers[kind])
    report(figures, many, one)


def report(
    figures: Figures, many: Mapping[str, list[tuple[int, float]]], one: Mapping[str, list[float]]
) -> None:
    """Add the rows of `clicks`."""
    rate = {kind: [count / SECONDS for count, _ in rounds] for kind, rounds in many.items()}
    each = {
        kind: sum(used for _, used in rounds) / sum(count for count, _ in rounds) * 1e6
        for kind, rounds in many.items()
    }

    def ratio(of: Mapping[str, list[float]], kind: str, floor: str) -> str:
        return f"{median(a / b for a, b in zip(of[kind], of[floor], strict=True)):.2f}"

    cells = {kind: f"{median(rate[kind]):,.0f}/s, {each[kind]:.0f} µs" for kind in many}
    late = {kind: f"{median(one[kind]) * 1e3:.2f} ms" for kind in one}
    by_cpu_time = "  by CPU time"
    figures.add(
        "clicks, 32 at once, 3 questions",
        f"{cells['3']}: {ratio(rate, '3', 'bolt')} × bolt",
        "1.4 × bolt",
        f"bolt {cells['bolt']}",
    )
    figures.add(by_cpu_time, f"{each['bolt'] / each['3']:.2f} × bolt", "1.4 × bolt")
    figures.add(
        "one at a time, p50",
        f"{late['3']}: {ratio(one, '3', 'bolt')} × bolt",
        "at most 1.8 × bolt",
        f"bolt {late['bolt']}",
    )
    figures.add(
        "clicks, 32 at once, 100 questions",
        f"{cells['100']}: {ratio(rate, '100', '3')} × 3 questions",
        "0.7 × 3 questions",
        cells["3"],
    )
    figures.add(by_cpu_time, f"{each['3'] / each['100']:.2f} × 3 questions", "0.7 × 3 questions")


async def endings(figures: Figures) -> None:
    """Clicks that end an ask, one at a time, with a receipt and without one: in Slack, and by the API."""
    await _endings_in_slack(figures)
    await _endings_by_api(figures)


async def _endings_in_slack(figures: Figures) -> None:
    alone: dict[str, list[float]] = {"none": [], "receipt": []}
    used: dict[str, list[float]] = {kind: [] for kind in alone}
    form = Form(questions=FORM.questions[:1])
    clickers = [Clicker(number, form) for number in range((ROUNDS + 1) * ENDINGS)]
    async with AsyncExitStack() as stack:
        api_url = await stack.enter_async_context(slow_slack())
        servers: dict[str, tuple[Process, int]] = {}
        for kind in alone:
            enabled = str(kind == "receipt").lower()
            running = service(
                form, api_url, SERVE, len(clickers), ANSWERBACK_RECEIPTS__ENABLED=enabled
            )
            up, _, public, _ = await stack.enter_async_context(running)
            servers[kind] = up, int(public.rpartition(":")[2])
        for number in range(ROUNDS + 1):
            before = {kind: up.processor for kind, (up, _) in servers.items()}
            times: dict[str, list[float]] = {kind: [] for kind in alone}
            for n, clicker in enumerate(clickers[number * ENDINGS : (number + 1) * ENDINGS]):
                for kind in in_turn(n):
                    clicker.revision = 1  # the other service has its own ask of this number
                    times[kind] += await hammer(servers[kind][1], [clicker], 0)
            await asyncio.sleep(LINKED + 2 * SLACK_SECONDS)
            for kind, (up, _) in servers.items() if number else ():  # the first round warms up
                alone[kind].append(median(times[kind]))
                used[kind].append((up.processor - before[kind]) / ENDINGS)
    _report_endings(figures, "in Slack", alone, used)


async def _endings_by_api(figures: Figures) -> None:
    alone: dict[str, list[float]] = {"none": [], "receipt": []}
    used: dict[str, list[float]] = {kind: [] for kind in alone}
    async with AsyncExitStack() as stack:
        servers: dict[str, tuple[Process, aiohttp.ClientSession]] = {}
        for kind in alone:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            settings = {
                "ANSWERBACK_SERVER__PORT": "0",
                "ANSWERBACK_STORAGE__URL": f"sqlite:///{folder}/asks.db",
                "ANSWERBACK_LOG__LEVEL": "error",
                "ANSWERBACK_RECEIPTS__ENABLED": str(kind == "receipt").lower(),
            }
            up = await stack.enter_async_context(
                process("-m", "answerback.cli.main", "serve", environment=settings)
            )
            url = await up.line()
            http = aiohttp.ClientSession(url, headers=bearer(folder))
            servers[kind] = up, await stack.enter_async_context(http)
        for number in range(ROUNDS + 1):
            before = {kind: up.processor for kind, (up, _) in servers.items()}
            times: dict[str, list[float]] = {kind: [] for kind in alone}
            for n in range(ENDINGS):
                for kind in in_turn(n):
                    _, http = servers[kind]
                    ask_id = await submit_approval(http)
                    began = time.perf_counter()
                    await allow(http, ask_id)
                    times[kind].append(time.perf_counter() - began)
            await asyncio.sleep(LINKED)
            for kind, (up, _) in servers.items() if number else ():  # the first round warms up
                alone[kind].append(median(times[kind]))
                used[kind].append((up.processor - before[kind]) / ENDINGS)
    _report_endings(figures, "by the API", alone, used)


def in_turn(number: int) -> tuple[str, str]:
    """Return which service is clicked first and which second.

    They take turns click by click: a machine that becomes slower for a while must slow both.
    """
    return ("none", "receipt") if number % 2 else ("receipt", "none")


def _report_endings(
    figures: Figures, where: str, alone: Mapping[str, list[float]], used: Mapping[str, list[float]]
) -> None:
    click = f"a click that ends an ask {where}, p50"
    for figure, of in ((click, alone), ("  by CPU time, linked", used)):
        cells = {kind: f"{median(found) * 1e6:.0f} µs" for kind, found in of.items()}
        more = median(a / b for a, b in zip(of["receipt"], of["none"], strict=True)) - 1
        figures.add(figure, f"{cells['receipt']}: {more:+.0%}", "at most +5%", cells["none"])


async def submit_approval(http: aiohttp.ClientSession) -> str:
    """Ask for permission; return the ask's id."""
    async with http.post("/v1/asks", json=APPROVAL) as response:
        return str((await response.json())["id"])


async def allow(http: aiohttp.ClientSession, ask_id: str) -> None:
    """Allow what an ask asks for."""
    action = {"action": "answer", "value": "allow"}
    async with http.post(f"/v1/asks/{ask_id}/actions", json=action) as response:
        assert response.status == 200, await response.text()
        await response.read()


async def waiters(figures: Figures) -> None:
    """Memory of agents that wait by long-poll."""
    bare = await waiting(agents.Bare, "-m", "tests.benchmarks.agents", "bare")
    ours = await waiting(agents.Agents, "-m", "answerback.cli.main", "serve")
    what = f"memory of a waiting long-poll, of {MANY:,}"
    figures.add(what, f"{ours:.1f} KiB", "at most 15 kB", f"bare aiohttp {bare:.1f} KiB")


async def waiting(kind: type[agents.Agents], *arguments: str) -> float:
    """Return the kilobytes that each of many waiting agents takes at a server."""
    timeout, connector = aiohttp.ClientTimeout(total=None), aiohttp.TCPConnector(limit=0)
    with tempfile.TemporaryDirectory() as name:
        settings = {
            "ANSWERBACK_SERVER__PORT": "0",
            "ANSWERBACK_STORAGE__URL": f"sqlite:///{name}/asks.db",
            "ANSWERBACK_LOG__LEVEL": "error",
        }
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as http,
            process(*arguments, environment=settings) as up,
        ):
            url = await up.line()
            person = bearer(Path(name)) if kind is agents.Agents else None
            return await agents.memory(kind(url, http, person), up.pid, MANY)


async def start(figures: Figures) -> None:
    """Time from process start to readiness with both chat surfaces and MCP, and the memory used then."""
    took, used, idle = [], [], []
    async with FakeSlack() as slack, FakeDiscord() as discord, aiohttp.ClientSession() as http:
        for _ in range(5):
            with tempfile.TemporaryDirectory() as name:
                settings = {
                    **environment(Path(name), slack.api_url),
                    "SLACK_BOT_TOKEN": slack.bot_token,
                    "SLACK_APP_TOKEN": slack.app_token,
                    "SLACK_SIGNING_SECRET": slack.signing_secret,
                    "DISCORD_BOT_TOKEN": discord.application.token,
                    "ANSWERBACK_DISCORD__API_URL": discord.api_url,
                }
                began = time.perf_counter()
                async with process(
                    "-m", "answerback.cli.main", "serve", environment=settings
                ) as up:
                    url = await up.line()
                    while await ready(http, url) != 200:  # noqa: ASYNC110 - another process signals nothing
                        await asyncio.sleep(0.01)
                    took.append(time.perf_counter() - began)
                    used.append(up.processor)
                    await asyncio.sleep(1)
                    idle.append(agents.resident(up.pid) / 1e6)
    figures.add(
        "start to ready, both chat surfaces and MCP",
        f"{min(took):.2f} s ({min(used):.2f} s of CPU time)",
        "at most 1.2 s",
    )
    figures.add("idle memory", f"{min(idle):.0f} MB", "at most 105 MB")


async def ready(http: aiohttp.ClientSession, url: str) -> int:
    """Return the status of /readyz."""
    async with http.get(f"{url}/readyz") as response:
        return response.status


async def commands(figures: Figures) -> None:
    """`--help` of every command: the fastest of five runs."""
    floor = await helped("-c", "import typer, rich.markdown, rich.console, pydantic.types")
    slowest = {}
    for name in ("", *COMMANDS):
        slowest[name] = await helped(
            "-m", "answerback.cli.main", *([name] if name else []), "--help"
        )
    name = max(slowest, key=lambda name: slowest[name])
    figures.add(
        "answerback --help",
        f"{slowest['']:.2f} s",
        "within 0.4 s",
        f"imports of typer {floor:.2f} s",
    )
    figures.add(f"slowest command's --help ({name})", f"{slowest[name]:.2f} s", "within 0.4 s")


async def helped(*arguments: str) -> float:
    """Return the seconds of the fastest of five runs."""
    took = []
    for _ in range(5):
        began = time.perf_counter()
        async with process(*arguments) as up:
            assert up.child.stdout is not None
            await up.child.stdout.read()
            await up.child.wait()
        took.append(time.perf_counter() - began)
    return min(took)


async def socket(figures: Figures) -> None:
    """Clicks over Socket Mode, one at a time."""
    async with FakeSlack() as slack:
        slack.workspace.add_channel(CHANNEL)
        more = {"SLACK_APP_TOKEN": slack.app_token, "SLACK_BOT_TOKEN": slack.bot_token}
        async with (
            slow_slack(slack.api_url) as api_url,
            service(FORM, api_url, SERVE, CLIENTS, **more) as (_, _, _, folder),
        ):
            await slack.socket.connected(2)
            clicker, times = Clicker(0, FORM), []
            end = time.perf_counter() + 3 * SECONDS
            while time.perf_counter() < end:
                ack = await slack.socket.send("interactive", clicker.payload(*clicker.next()))
                assert ack.ok, ack
                times.append(ack.seconds)
            await verify_all_stored(folder / "asks.db", [clicker])
    figures.add("Socket Mode, one at a time, p50", f"{median(times) * 1e3:.2f} ms", "0.8 to 1.3 ms")


PARTS: Final[Mapping[str, Callable[[Figures], Awaitable[None]]]] = {
    part.__name__: part for part in (clicks, endings, waiters, start, commands, socket)
}


async def main(requested: list[str]) -> None:
    """Run the measurements and print one table."""
    os.sched_setaffinity(0, OTHERS)
    agents.raise_file_limit()
    figures = Figures()
    for name in requested or PARTS:
        sys.stderr.write(f"  {name}\n")
        await PARTS[name](figures)
    Console(width=150).print(figures.table)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
