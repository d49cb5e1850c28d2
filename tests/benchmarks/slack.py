"""Clicks on Slack: how many per second, and how long until the acknowledgement with the answer on disk.

Run as ``python -m tests.benchmarks.slack``. The server runs in its own process, and this one clicks. Every server gets
the same bodies. The baselines from the same run are a bare aiohttp handler that reads the body and responds, and bare
bolt (signature, its router, one listener that only acknowledges).
"""

from __future__ import annotations

import asyncio
import hmac
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import quote_plus

import aiohttp
import uvloop
from aiohttp import web
from rich.console import Console
from rich.table import Table
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, Destination, Request, apply_action
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import start
from answerback.ports.store import Write
from answerback.ports.surface import Surface
from answerback.runtime.clock import SystemClock
from answerback.runtime.interpreter_tuning import tune_interpreter
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync
from answerback_chat.control_codec import Control, Verb
from answerback_slack.adapter import SlackSurface
from answerback_slack.manifest import EVENTS_PATH
from answerback_slack.plugin import SlackSettings
from answerback_slack.render import render
from answerback_storage.sqlite.store import SqliteStore
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.workspace import TEAM
from tests.stores.examples import ANN
from tests.surface_setups import create_host

SECONDS = 2.0
ROUNDS = 3
CLIENTS = 32
PEOPLE = 50
ASKS = 200
SECRET = "benchmark"
CHANNEL = "C0OPS000000"
FORM = Form(
    questions=tuple(
        Question(
            id=f"q{n}",
            text="Apply the proposed migration to the production database?",
            context="It adds two columns and rewrites an index; the table has forty million rows. "
            * 8,
            answer_type=AnswerType.BOOLEAN,
        )
        for n in range(3)
    )
)


def ask_number(number: int, form: Form = FORM) -> Ask:
    """Build an open ask, as every server and every client knows it, with half of its form answered."""
    request = Request(name="ask_user", dialect="ask_user", arguments={}, form=form)
    ask = Ask(
        id=f"ask_{number:024x}",
        created_at=time.time(),
        updated_at=time.time(),
        request=request,
        destination=Destination(surface="slack", channel=CHANNEL),
        responders=("anyone",),
        walk=start(form),
    )
    for _ in range(len(form.questions) // 2 - 1):
        change = apply_action(ask, Answer(value=True), at=time.time(), by=ANN)
        assert isinstance(change, Change)
        ask = replace(change.ask, revision=1)
    return ask


# --- servers, each in a process of its own -------------------------------------------------------


async def _bare(request: web.Request) -> web.Response:
    await request.read()
    return web.Response()


def _bolt() -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id=TEAM, bot_token="xoxb-1", bot_id="B0")

    app = AsyncApp(signing_secret=SECRET, authorize=authorize, process_before_response=True)

    @app.action({"type": "block_actions", "action_id": "answer.true"})
    async def listener(ack: Callable[[], Awaitable[object]]) -> None:
        await ack()

    async def handle(request: web.Request) -> web.StreamResponse:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    return handle


async def serve(kind: str, port: int, folder: str, api_url: str) -> None:
    """Print the port, and serve until killed."""
    async with AsyncExitStack() as stack:
        app = web.Application()
        if kind in {"aiohttp", "bolt"}:
            app.router.add_post(EVENTS_PATH, _bare if kind == "aiohttp" else _bolt())
        else:
            app.add_routes(await _answerback(kind, Path(folder), api_url, stack))
            tune_interpreter()  # as `answerback serve` does
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        sys.stdout.write(f"{runner.addresses[0][1]}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def _answerback(
    kind: str, folder: Path, api_url: str, stack: AsyncExitStack
) -> list[web.RouteDef]:
    store = SqliteStore(folder / f"{kind}.db")
    await store.open()
    stack.push_async_callback(store.close)
    http = await stack.enter_async_context(aiohttp.ClientSession())
    surfaces: dict[str, Surface] = {}
    service = Service(store, SystemClock(), surfaces, known_surfaces=frozenset({"slack"}))
    tokens = {"app_token": "xapp-1-fake-app-token"} if kind == "socket" else {}
    settings = {"bot_token": "xoxb-fake-bot-token", "signing_secret": SECRET, "api_url": api_url}
    surface = surfaces["slack"] = SlackSurface(
        service, SlackSettings.model_validate(settings | tokens), create_host(http)
    )
    for number in range(ASKS):
        await store.asks.create(Write(ask_number(number)), None)
    if kind != "http":
        await MessageSync(service).sweep(ASKS)
    await surface.start()
    return surface.routes


@asynccontextmanager
async def server(kind: str, folder: str, api_url: str) -> AsyncIterator[int]:
    """Run a server process, ready on a port."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__ if __name__ != "__main__" else "tests.benchmarks.slack"),
        *("serve", kind, "0", folder, api_url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert child.stdout is not None
    try:
        async with asyncio.timeout(60):
            listening = int(await child.stdout.readline())
        yield listening
    finally:
        child.kill()
        await child.wait()


# --- clicking ------------------------------------------------------------------------------------


class Clicker:
    """One person at one ask who answers, goes back, answers …, each time on the newest revision."""

    def __init__(self, number: int, form: Form = FORM) -> None:
        self.number = number
        self.ask = ask_number(number, form)
        self.revision = 1
        self.person = f"U{number:010}"
        self._shown = render(view_of(self.ask), Labels())
        payload = json.dumps(self.payload("CONTROL", "TRIGGER"), separators=(",", ":"))
        self._template = "payload=" + quote_plus(payload.replace("/", r"\/"))

    def payload(self, control: str, trigger: str) -> dict[str, Any]:
        """Return a click as Slack sends it, with a copy of the message in which each block has an id.

        https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
        """
        thread, message = "1795428346.018239", "1795428347.402179"
        shown = [{"block_id": f"b{n:04}"} | block for n, block in enumerate(self._shown.blocks)]
        button = {"type": "plain_text", "text": "Yes", "emoji": False}
        return {
            "type": "block_actions",
            "user": {"id": self.person, "username": "ada", "name": "ada", "team_id": TEAM},
            "api_app_id": "A0FAKE00000",
            "token": "FixedVerificationToken00",
            "container": {
                "type": "message",
                "message_ts": message,
                "channel_id": CHANNEL,
                "is_ephemeral": False,
                "thread_ts": thread,
            },
            "trigger_id": trigger,
            "team": {"id": TEAM, "domain": "fake"},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": CHANNEL, "name": "ops"},
            "message": {
                "user": "U0BOT000000",
                "type": "message",
                "ts": message,
                "bot_id": "B0BOT000000",
                "app_id": "A0FAKE00000",
                "text": self._shown.text,
                "team": TEAM,
                "thread_ts": thread,
                "parent_user_id": "U0BOT000000",
                "blocks": shown,
            },
            "state": {"values": {}},
            "response_url": f"https://hooks.slack.com/actions/{TEAM}/9876543210987/0123456789abcdef01234567",
            "actions": [
                {
                    "action_id": "answer.true",
                    "block_id": "b",
                    "text": button,
                    "value": control,
                    "type": "button",
                    "action_ts": "1795428350.231947",
                }
            ],
        }

    def next(self) -> tuple[str, str]:
        """Return the control and trigger of the next click."""
        verb, argument = (Verb.ANSWER, "true") if self.revision % 2 else (Verb.BACK, "")
        control = Control(self.ask.id, self.revision, verb, argument).encode()
        # Like Slack's: a number that grows with time, one for the workspace, and a unique part.
        trigger = (
            f"{time.time_ns() // 1_000_000}.1379717998065.{self.number:08x}{self.revision:024x}"
        )
        self.revision += 1
        return control, trigger

    def request(self) -> bytes:
        """Return the next click as a signed HTTP request."""
        control, trigger = self.next()
        body = self._template.replace("CONTROL", quote_plus(control)).replace("TRIGGER", trigger)
        raw, now = body.encode(), str(int(time.time()))
        signature = hmac.digest(SECRET.encode(), b"v0:" + now.encode() + b":" + raw, "sha256").hex()
        head = (
            f"POST {EVENTS_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(raw)}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
            f"X-Slack-Request-Timestamp: {now}\r\nX-Slack-Signature: v0={signature}\r\n\r\n"
        )
        return head.encode() + raw


async def hammer(port: int, clickers: Sequence[Clicker], seconds: float = SECONDS) -> list[float]:
    """Return the seconds from each click to its acknowledgement: the given people click at once, each at least once."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def click(clicker: Clicker) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while True:
            request = clicker.request()
            begun = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            await reader.readexactly(length)
            times.append(time.perf_counter() - begun)
            if time.perf_counter() >= end:
                break
        writer.close()

    await asyncio.gather(*(click(clicker) for clicker in clickers))
    return times


async def verify_all_stored(database: Path, clickers: Sequence[Clicker]) -> None:
    """Verify that every acknowledged click is on disk."""
    store = SqliteStore(database)
    await store.open()
    for clicker in clickers:
        stored = await store.asks.get(clicker.ask.id)
        assert stored is not None
        assert stored.revision == clicker.revision, "a click was acknowledged and did not count"
    await store.close()


async def over_socket(slack: FakeSlack, people: int) -> list[float]:
    """Measure the same over Socket Mode."""
    times: list[float] = []
    end = time.perf_counter() + SECONDS

    async def click(number: int) -> None:
        clicker = Clicker(number)
        while time.perf_counter() < end:
            ack = await slack.socket.send("interactive", clicker.payload(*clicker.next()))
            assert ack.ok, ack
            times.append(ack.seconds)

    await asyncio.gather(*(click(number) for number in range(people)))
    return times


async def by_http(folder: str, slack: FakeSlack) -> dict[str, list[float]]:
    """Alternate between the three servers, so that the machine's other load affects them equally."""
    kinds = {
        "aiohttp": "bare aiohttp handler",
        "bolt": "bare bolt, ack only",
        "http": "Answerback, HTTP, durable commit",
    }
    rows: dict[str, list[float]] = {name: [] for name in kinds.values()}
    clickers = {kind: [Clicker(n) for n in range(CLIENTS)] for kind in kinds}
    async with AsyncExitStack() as stack:
        ports = {
            kind: await stack.enter_async_context(server(kind, folder, slack.api_url))
            for kind in kinds
        }
        for _ in range(ROUNDS):
            for kind, name in kinds.items():
                rows[name] += await hammer(ports[kind], clickers[kind])
    await verify_all_stored(Path(folder) / "http.db", clickers["http"])
    return rows


async def main() -> None:
    """Run all measurements and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        async with FakeSlack(real_limits=True) as slack:
            slack.workspace.add_channel(CHANNEL)
            rows = await by_http(folder, slack)
            people = [Clicker(n) for n in range(PEOPLE)]
            name = f"Answerback, HTTP, {ASKS} asks being shown, {PEOPLE} people"
            async with server("shown", folder, slack.api_url) as port:
                rows[name] = await hammer(port, people)
            await verify_all_stored(Path(folder) / "shown.db", people)
            for count in (1, PEOPLE):
                own = tempfile.mkdtemp(dir=folder)
                async with server("socket", own, slack.api_url):
                    await slack.socket.connected(2)
                    rows[f"Answerback, Socket Mode, people: {count}"] = await over_socket(
                        slack, count
                    )
                await slack.socket.connected(0)
    report(rows)


def report(rows: Mapping[str, Sequence[float]]) -> None:
    """Print the table."""
    table = Table("path", "clicks/s", "p50 ms", "p99 ms", "of bare bolt")
    bolt = len(rows["bare bolt, ack only"]) / ROUNDS
    for name, times in rows.items():
        rounds = ROUNDS if len(table.rows) < 3 else 1
        p99 = quantiles(times, n=100)[98] * 1000
        rate = len(times) / rounds
        ratio = "" if "Socket" in name else f"{rate / bolt:.2f}"
        shown = (f"{rate / SECONDS:,.0f}", f"{median(times) * 1000:.2f}", f"{p99:.2f}", ratio)
        table.add_row(name, *shown)
    Console(width=110).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        # Answerback on the event loop that `answerback serve` uses, the baselines on their default loops
        loop = None if sys.argv[2] in {"aiohttp", "bolt"} else uvloop.new_event_loop
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(serve(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]))
    else:
        asyncio.run(main())
