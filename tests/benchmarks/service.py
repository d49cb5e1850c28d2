"""The whole service, `answerback serve`, pinned to one core, beside bare bolt on the same core in the same rounds.

Run as ``python -m tests.benchmarks.service [PART …]``; the parts are the functions in `PARTS`. Messages are
updated, and Slack answers after 80 ms; Slack and those who click are this process, on the other cores. The table has
each figure beside its floor and its target. Rates depend on what else the machine does, even within a round; the
processor time of a click hardly does.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

import aiohttp
from aiohttp import web
from rich.console import Console
from rich.table import Table

from answerback.cli.main import COMMANDS
from answerback.core.ask import Ask, Thread
from answerback.core.form import Form
from answerback.ports.store import Write
from answerback_storage.sqlite.store import SqliteStore
from tests.benchmarks import agents
from tests.benchmarks.slack import CHANNEL, CLIENTS, FORM, SECRET, Clicker, ask_number, hammer
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.slack.server import FakeSlack
from tests.keys import bearer

ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "8"))
SECONDS: Final = 1.0
"""Of each burst of clicks."""
SLACK_SECONDS: Final = 0.08
PATIENCE: Final = 60.0
CORES: Final = sorted(os.sched_getaffinity(0))
MEASURED: Final = {CORES[0]}
OTHERS: Final = set(CORES[1:]) or MEASURED
LONG: Final = Form(
    questions=tuple(FORM.questions[0].model_copy(update={"id": f"q{n}"}) for n in range(100))
)
SERVE: Final = ("-m", "answerback.cli.main", "serve")
MANY: Final = 3_000


class Process:
    """A child on the measured core."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self.child = child
        self.pid = child.pid

    @property
    def processor(self) -> float:
        """Seconds of processor time that it has used."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    async def line(self) -> str:
        """The last word of the next line that it prints."""
        assert self.child.stdout is not None
        line = await asyncio.wait_for(self.child.stdout.readline(), PATIENCE)
        assert line, "the process has ended"
        return line.decode().split()[-1]


@asynccontextmanager
async def process(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    cores: Collection[int] = frozenset(MEASURED),
) -> AsyncIterator[Process]:
    """A Python process on the measured core, or on others, killed at the end of the context."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        env={**os.environ, **(environment or {})},
        stdout=asyncio.subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    try:
        yield Process(child)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


# --- Slack, and asks that it shows -----------------------------------------------------------------


@asynccontextmanager
async def slow_slack() -> AsyncIterator[str]:
    """Slack's Web API as far as the service calls it, 80 ms away."""

    async def answer(request: web.Request) -> web.Response:
        await asyncio.sleep(SLACK_SECONDS)
        found: dict[str, object] = {
            "ok": True,
            "team_id": "T0FAKE",
            "user_id": "U0BOT",
            "bot_id": "B0BOT",
        }
        if request.match_info["method"] == "chat.update":
            found |= {"channel": CHANNEL, "ts": "1.1", "message": {"ts": "1.1"}}
        return web.json_response(found)

    app = web.Application(client_max_size=2**24)
    app.router.add_route("*", "/api/{method}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
    await runner.cleanup()


def shown(number: int, form: Form) -> Ask:
    """An open ask whose message Slack shows."""
    return replace(
        ask_number(number, form),
        message={"channel": CHANNEL, "ts": f"{number + 1}.1", "thread": None},
        thread=Thread(
            channel=CHANNEL, id=f"{number + 1}.1", url="https://fake.slack.com/archives/C0/p1"
        ),
        shown_revision=1,
        seen=True,
    )


@asynccontextmanager
async def service(
    form: Form, api_url: str, arguments: Sequence[str] = SERVE, **more: str
) -> AsyncIterator[tuple[Process, str, str, Path]]:
    """`answerback serve` with so many asks shown: its process, its two addresses and its folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = SqliteStore(folder / "asks.db")
        await store.open()
        for number in range(CLIENTS):
            await store.create(Write(shown(number, form)), None)
        await store.close()
        async with process(*arguments, environment=environment(folder, api_url) | more) as up:
            yield up, await up.line(), await up.line(), folder


def environment(folder: Path, api_url: str) -> dict[str, str]:
    """The service's configuration: Slack by HTTP."""
    return {
        "ANSWERBACK_SERVER__PORT": "0",
        "ANSWERBACK_PUBLIC__PORT": "0",
        "ANSWERBACK_STORAGE__URL": f"sqlite:///{folder}/asks.db",
        "ANSWERBACK_LOG__LEVEL": "error",
        "ANSWERBACK_SLACK__API_URL": api_url,
        "SLACK_BOT_TOKEN": "xoxb-1",
        "SLACK_SIGNING_SECRET": SECRET,
    }


async def counted(folder: Path, clickers: list[Clicker]) -> None:
    """Proves that every acknowledged click is in the database."""
    store = SqliteStore(folder / "asks.db")
    await store.open()
    for clicker in clickers:
        stored = await store.get(clicker.ask.id)
        assert stored is not None
        assert stored.revision == clicker.revision, "a click was acknowledged and did not count"
    await store.close()


# --- the parts ---------------------------------------------------------------------------------------


class Figures:
    """What was measured, as lines of a table."""

    def __init__(self) -> None:
        self.table = Table(
            "figure", "floor", "measured", "wanted", title="Answerback as a process, on one core"
        )

    def add(self, figure: str, measured: str, wanted: str, floor: str = "") -> None:
        """One line."""
        self.table.add_row(figure, floor, measured, wanted)


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
                await asyncio.sleep(
                    2 * SLACK_SECONDS
                )  # what is still to be shown disturbs no other server
        for kind, folder in folders.items():
            await counted(folder, clickers[kind])
    report(figures, many, one)


def report(
    figures: Figures, many: Mapping[str, list[tuple[int, float]]], one: Mapping[str, list[float]]
) -> None:
    """Adds the lines of `clicks`."""
    rate = {kind: [count / SECONDS for count, _ in rounds] for kind, rounds in many.items()}
    each = {
        kind: sum(used for _, used in rounds) / sum(count for count, _ in rounds) * 1e6
        for kind, rounds in many.items()
    }

    def ratio(of: Mapping[str, list[float]], kind: str, floor: str) -> str:
        return f"{median(a / b for a, b in zip(of[kind], of[floor], strict=True)):.2f}"

    told = {kind: f"{median(rate[kind]):,.0f}/s, {each[kind]:.0f} µs" for kind in many}
    late = {kind: f"{median(one[kind]) * 1e3:.2f} ms" for kind in one}
    by_processor = "  by processor time"
    figures.add(
        "clicks, 32 at once, 3 questions",
        f"{told['3']}: {ratio(rate, '3', 'bolt')} × bolt",
        "1.4 × bolt",
        f"bolt {told['bolt']}",
    )
    figures.add(by_processor, f"{each['bolt'] / each['3']:.2f} × bolt", "1.4 × bolt")
    figures.add(
        "one at a time, p50",
        f"{late['3']}: {ratio(one, '3', 'bolt')} × bolt",
        "at most 1.8 × bolt",
        f"bolt {late['bolt']}",
    )
    figures.add(
        "clicks, 32 at once, 100 questions",
        f"{told['100']}: {ratio(rate, '100', '3')} × 3 questions",
        "0.7 × 3 questions",
        told["3"],
    )
    figures.add(by_processor, f"{each['3'] / each['100']:.2f} × 3 questions", "0.7 × 3 questions")


async def waiters(figures: Figures) -> None:
    """Memory of agents that wait by long-poll."""
    bare = await waiting(agents.Bare, "-m", "tests.benchmarks.agents", "bare")
    ours = await waiting(agents.Agents, "-m", "answerback.cli.main", "serve")
    what = f"memory of a waiting long-poll, of {MANY:,}"
    figures.add(what, f"{ours:.1f} KiB", "at most 15 kB", f"bare aiohttp {bare:.1f} KiB")


async def waiting(kind: type[agents.Agents], *arguments: str) -> float:
    """Kilobytes of each of many agents that wait at a server."""
    timeout, connector = aiohttp.ClientTimeout(total=None), aiohttp.TCPConnector(limit=0)
    with tempfile.TemporaryDirectory() as name:
        made = {
            "ANSWERBACK_SERVER__PORT": "0",
            "ANSWERBACK_STORAGE__URL": f"sqlite:///{name}/asks.db",
            "ANSWERBACK_LOG__LEVEL": "error",
        }
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as http,
            process(*arguments, environment=made) as up,
        ):
            url = await up.line()
            person = bearer(Path(name)) if kind is agents.Agents else None
            return await agents.memory(kind(url, http, person), up.pid, MANY)


async def start(figures: Figures) -> None:
    """From the start of the process to readiness with both chat surfaces and MCP, and what it then holds."""
    took, used, idle = [], [], []
    async with FakeSlack() as slack, FakeDiscord() as discord, aiohttp.ClientSession() as http:
        for _ in range(5):
            with tempfile.TemporaryDirectory() as name:
                made = {
                    **environment(Path(name), slack.api_url),
                    "SLACK_BOT_TOKEN": slack.bot_token,
                    "SLACK_APP_TOKEN": slack.app_token,
                    "SLACK_SIGNING_SECRET": slack.signing_secret,
                    "DISCORD_BOT_TOKEN": discord.application.token,
                    "ANSWERBACK_DISCORD__API_URL": discord.api_url,
                }
                began = time.perf_counter()
                async with process("-m", "answerback.cli.main", "serve", environment=made) as up:
                    url = await up.line()
                    while await ready(http, url) != 200:  # noqa: ASYNC110 - another process tells nobody
                        await asyncio.sleep(0.01)
                    took.append(time.perf_counter() - began)
                    used.append(up.processor)
                    await asyncio.sleep(1)
                    idle.append(agents.resident(up.pid) / 1e6)
    figures.add(
        "start to ready, both chat surfaces and MCP",
        f"{min(took):.2f} s ({min(used):.2f} s of the processor)",
        "at most 1.2 s",
    )
    figures.add("idle memory", f"{min(idle):.0f} MB", "at most 105 MB")


async def ready(http: aiohttp.ClientSession, url: str) -> int:
    """The status of /readyz."""
    async with http.get(f"{url}/readyz") as response:
        return response.status


async def commands(figures: Figures) -> None:
    """`--help` of every command: the fastest of five."""
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
    """Seconds of the fastest of five runs."""
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
        async with slow_slack(), service(FORM, slack.api_url, **more) as (_, _, _, folder):
            await slack.socket.connected(2)
            clicker, times = Clicker(0, FORM), []
            end = time.perf_counter() + 3 * SECONDS
            while time.perf_counter() < end:
                ack = await slack.socket.send("interactive", clicker.payload(*clicker.next()))
                assert ack.ok, ack
                times.append(ack.seconds)
            await counted(folder, [clicker])
    figures.add("Socket Mode, one at a time, p50", f"{median(times) * 1e3:.2f} ms", "0.8 to 1.3 ms")


PARTS: Final[Mapping[str, Callable[[Figures], Awaitable[None]]]] = {
    part.__name__: part for part in (clicks, waiters, start, commands, socket)
}


async def main(wanted: list[str]) -> None:
    """Measures the parts and prints one table."""
    os.sched_setaffinity(0, OTHERS)
    agents.raise_file_limit()
    figures = Figures()
    for name in wanted or PARTS:
        sys.stderr.write(f"  {name}\n")
        await PARTS[name](figures)
    Console(width=150).print(figures.table)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
