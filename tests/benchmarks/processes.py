"""`answerback serve` as a process for benchmarks: its core, its configuration, and a Slack that it can reach."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import web

from answerback.core.ask import Ask, Thread
from answerback.core.form import Form
from answerback.ports.store import Write
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import with_values
from tests.benchmarks.slack_clicks import CLIENTS, MESSAGE, SECRET, ask_number, channel_of

SLACK_SECONDS: Final = 0.08
PATIENCE: Final = 60.0
CORES: Final = sorted(os.sched_getaffinity(0))
MEASURED: Final = {CORES[0]}
OTHERS: Final = set(CORES[1:]) or MEASURED
SERVE: Final = ("-m", "answerback_agents.cli.main", "serve")


class Process:
    """A child process on the measured core."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self.child = child
        self.pid = child.pid
        self.person: Mapping[str, str] = {}
        """The headers of a person who may answer by its API."""

    @property
    def processor(self) -> float:
        """Return the seconds of CPU time that it has used."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    @property
    def resident(self) -> int:
        """Return the bytes of memory that it uses."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    async def line(self) -> str:
        """Return the last word of the next line that it prints."""
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
    """Run a Python process on the measured core or on others, and kill it at the end of the context."""
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
async def slow_slack(sockets: str = "") -> AsyncIterator[str]:
    """Serve the part of Slack's Web API that the service calls, with 80 ms latency.

    ``sockets`` is the API that opens sockets.
    """

    async def open_socket(request: web.Request) -> web.Response:
        headers = {"Authorization": request.headers["Authorization"]}
        async with aiohttp.request(
            "POST", f"{sockets}apps.connections.open", headers=headers
        ) as at:
            return web.json_response(await at.json())

    async def answer(request: web.Request) -> web.Response:
        await asyncio.sleep(SLACK_SECONDS)
        found: dict[str, object] = {
            "ok": True,
            "team_id": "T0FAKE",
            "user_id": "U0BOT",
            "bot_id": "B0BOT",
        }
        if request.match_info["method"] in {"chat.postMessage", "chat.update"}:
            sent = await (
                request.json() if request.content_type.endswith("json") else request.post()
            )
            found |= {"channel": sent["channel"], "ts": MESSAGE, "message": {"ts": MESSAGE}}
        return web.json_response(found)

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/api/apps.connections.open", open_socket)
    app.router.add_route("*", "/api/{method}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
    await runner.cleanup()


def shown(number: int, form: Form) -> Ask:
    """Build an open ask whose message Slack shows."""
    channel = channel_of(number)
    return with_values(
        ask_number(number, form),
        message={"channel": channel, "ts": MESSAGE, "thread": None},
        thread=Thread(channel=channel, id=MESSAGE, url="https://fake.slack.com/archives/C0/p1"),
        shown_revision=1,
        was_visible=True,
    )


async def store_shown_asks(folder: Path, form: Form, count: int) -> None:
    """Store open asks, one for each person."""
    store = SqliteStore(folder / "asks.db")
    await store.open()
    for number in range(count):
        await store.asks.create(Write(shown(number, form)), None)
    await store.close()


@asynccontextmanager
async def service(
    form: Form, api_url: str, arguments: Sequence[str] = SERVE, count: int = CLIENTS, **more: str
) -> AsyncIterator[tuple[Process, str, str, Path]]:
    """Run `answerback serve` with shown asks. Yield its process, its two addresses and its directory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await store_shown_asks(folder, form, count)
        async with process(*arguments, environment=environment(folder, api_url) | more) as up:
            yield up, await up.line(), await up.line(), folder


def environment(folder: Path, api_url: str) -> dict[str, str]:
    """Return the service's configuration: Slack by HTTP."""
    return {
        "ANSWERBACK_SERVER__PORT": "0",
        "ANSWERBACK_PUBLIC__PORT": "0",
        "ANSWERBACK_STORAGE__URL": f"sqlite:///{folder}/asks.db",
        "ANSWERBACK_LOG__LEVEL": "error",
        "ANSWERBACK_SLACK__API_URL": api_url,
        "SLACK_BOT_TOKEN": "xoxb-1",
        "SLACK_SIGNING_SECRET": SECRET,
    }
