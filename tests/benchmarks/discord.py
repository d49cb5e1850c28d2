"""Discord interactions by HTTP, including their durable commit, against a bare verified handler in the same run.

Run as ``python -m tests.benchmarks.discord [CLICKS]``. The service and the bare handler run in separate processes, the
service on the event loop that `answerback serve` uses, and the handler on aiohttp's default. This process signs the
clicks before the clock starts, sends them, and stands in for Discord's API with its limits. The clicks are those that
the tests' fake Discord sends, with the whole envelope and message. Both servers receive the same bodies over the same
number of connections. Then memory is measured with 100 and with 100,000 open prompts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

import uvloop
from aiohttp import web
from nacl.signing import SigningKey, VerifyKey
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from answerback.core.ask import Ask, Destination, Placement, Request, Thread
from answerback.core.form import AnswerType, Form, Question
from answerback.core.walker import start
from answerback.ports.store import Write
from answerback.runtime.app import run_service
from answerback.runtime.config import PublicSettings, ServerSettings, StorageSettings, settings_type
from answerback_base.interpreter_tuning import tune_interpreter
from answerback_chat.control_codec import Control, Verb
from answerback_discord.http_endpoint import PATH
from answerback_discord.plugin import DiscordSettings
from answerback_storage.sqlite.store import SqliteStore
from tests.unit.adapters.discord.rig import rig

ASKS, CONNECTIONS, ROUNDS = 200, 32, 15
"""Many short rounds that alternate between the servers, because the machine's other load changes from second to second.

"""
CLICKS = 600
"""Clicks in each round."""
PROMPTS = (100, 100_000)
CHANNELS = 20
DATABASE = "answerback.db"
ANN = "80351110224678912"
FORM = Form(
    questions=tuple(
        Question(id=f"q{n}", text=f"Shall step {n} be applied?", answer_type=AnswerType.BOOLEAN)
        for n in range(3)
    )
)


def ask_number(n: int) -> Ask:
    """Build an open ask as if it had been posted."""
    return Ask(
        id=f"ask_{n:024x}",
        created_at=1.0,
        updated_at=1.0,
        request=Request(name="ask_user", dialect="ask_user", arguments={}, form=FORM),
        placement=Placement(
            destination=Destination(surface="discord", channel=str(10**17 + n % CHANNELS)),
            responders=(ANN,),
            shown_revision=1,
            was_visible=True,
            thread=Thread(),
            message={
                "kind": "thread",
                "id": str(2 * 10**17 + n),
                "channel": str(10**17 + n % CHANNELS),
                "thread": "1",
            },
        ),
        walk=start(FORM),
    )


# --- the service's process -------------------------------------------------------------------------


async def serve(folder: str, api_url: str, public_key: str) -> None:
    """Run what `answerback serve` runs, with Discord by HTTP."""
    settings = settings_type().model_validate(
        {
            "server": ServerSettings(port=0),
            "public": PublicSettings(port=0),
            "storage": StorageSettings(url=f"sqlite:///{folder}/{DATABASE}"),
            "discord": DiscordSettings(
                bot_token=SecretStr("a.bot.token"),
                public_key=public_key,
                api_url=api_url,
                gateway=False,
            ),
        }
    )
    async with run_service(settings) as up:
        tune_interpreter()  # as `answerback serve` does
        await print_port_and_wait(urlsplit(up.public_url or "").port)


async def fill(database: Path, prompts: int) -> None:
    """Store open asks, as an earlier run of the service would have left them."""
    store = SqliteStore(database)
    await store.open()
    for first in range(0, prompts, 500):
        batch = range(first, min(first + 500, prompts))
        await asyncio.gather(*(store.asks.create(Write(ask_number(n)), None) for n in batch))
    await store.close()


async def print_port_and_wait(port: int | None) -> None:
    """Print the port, and wait to be stopped."""
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def serve_bare(public_key: str) -> None:
    """Run a minimal handler that verifies a click and answers it, as in Discord's guide."""
    key = VerifyKey(bytes.fromhex(public_key))

    async def handle(request: web.Request) -> web.Response:
        raw = await request.read()
        signed = request.headers["X-Signature-Timestamp"].encode() + raw
        key.verify(signed, bytes.fromhex(request.headers["X-Signature-Ed25519"]))
        kind = json.loads(raw)["type"]
        return web.json_response({"type": 1 if kind == 1 else 6})

    app = web.Application()
    app.router.add_post(PATH, handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await print_port_and_wait(int(runner.addresses[0][1]))
    await runner.cleanup()


# --- Discord's side --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recorded:
    """A click as Discord sends it, with the parts that have to be replaced."""

    body: str
    interaction: str
    control: str
    """The prefix of the message's control ids."""
    message: str
    channel: str
    user: str

    def of(self, ask: Ask, revision: int, number: int) -> bytes:
        """Return the same click by another person on another ask's message."""
        message = ask.placement.message or {}
        body = self.body.replace(self.control, Control(ask.id, revision, Verb.BACK).encode()[:-4])
        body = body.replace(self.interaction, str(3 * 10**17 + number))
        body = body.replace(self.message, str(message["id"])).replace(self.user, ANN)
        return body.replace(self.channel, str(message["channel"])).encode()


async def record_clicks() -> tuple[Recorded, Recorded]:
    """Record Yes on the first question and Back on the second, as the tests' fake Discord delivers them."""
    with tempfile.TemporaryDirectory() as folder:
        async with rig(Path(folder), "http", gateway=False) as up:
            questions = [
                q.model_dump(mode="json", include={"id", "text", "answer_type"})
                for q in FORM.questions
            ]
            ask = await up.shown(await up.submit(questions))
            clicks = [await up.ann.click("Yes"), await up.ann.click("Back")]
            yes, back = (
                Recorded(
                    body=json.dumps(click.body),
                    interaction=str(click.id),
                    control=f"ab1:{ask.id}:{revision}:",
                    message=str((ask.placement.message or {})["id"]),
                    channel=str(up.channel.id),
                    user=str(up.ann.id),
                )
                for revision, click in enumerate(clicks, 1)
            )
            return yes, back


class Clicks:
    """Signs clicks: Yes at odd revisions, Back at even ones, so that the form never ends."""

    def __init__(self, yes: Recorded, back: Recorded) -> None:
        self.key = SigningKey.generate()
        self.public_key = self.key.verify_key.encode().hex()
        self._yes, self._back = yes, back

    def signed(self, ask: Ask, revision: int, number: int) -> bytes:
        """Return a click as a whole HTTP request."""
        raw = (self._yes if revision % 2 else self._back).of(ask, revision, number)
        stamp = str(int(time.time()))
        signature = self.key.sign(stamp.encode() + raw).signature.hex()
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(raw)}\r\n"
            f"Content-Type: application/json\r\nX-Signature-Timestamp: {stamp}\r\n"
            f"X-Signature-Ed25519: {signature}\r\n\r\n"
        )
        return head.encode() + raw

    def queues(self, clicks: int, revisions: dict[int, int], base: int) -> list[list[bytes]]:
        """Distribute clicks to connections in order. Clicks on one ask always use the same connection."""
        queues: list[list[bytes]] = [[] for _ in range(CONNECTIONS)]
        for number in range(clicks):
            n = number % ASKS
            revision = revisions.setdefault(n, 1)
            queues[n % CONNECTIONS].append(self.signed(ask_number(n), revision, base + number))
            revisions[n] = revision + 1
        return queues


@asynccontextmanager
async def api() -> AsyncIterator[str]:
    """Serve the part of Discord's API that the service calls, with the limit per channel that bots know."""
    until: dict[str, tuple[float, int]] = {}

    async def edited(request: web.Request) -> web.Response:
        now, channel = time.time(), request.match_info["channel"]
        end, used = until.get(channel, (0.0, 0))
        end, used = (now + 5, 1) if now >= end else (end, used + 1)
        until[channel] = (end, used)
        headers = {
            "X-RateLimit-Limit": "5",
            "X-RateLimit-Remaining": str(max(0, 5 - used)),
            "X-RateLimit-Reset-After": f"{end - now:.3f}",
        }
        if used > 5:
            return web.json_response({"retry_after": end - now}, status=429, headers=headers)
        return web.json_response({"id": "1"}, headers=headers)

    async def me(_request: web.Request) -> web.Response:
        return web.json_response({"id": "1"})

    app = web.Application()
    app.router.add_patch("/channels/{channel}/messages/{message}", edited)
    app.router.add_get("/users/@me", me)
    app.router.add_get("/applications/@me", me)
    app.router.add_route("*", "/applications/1/commands", me)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@asynccontextmanager
async def server(
    kind: str, api_url: str, public_key: str, prompts: int = 0
) -> AsyncIterator[tuple[int, int]]:
    """Run a server process, and yield its id and port."""
    with tempfile.TemporaryDirectory() as folder:
        await fill(Path(folder) / DATABASE, prompts)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.benchmarks.discord", kind, folder, api_url, public_key,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert child.stdout is not None
        line = await child.stdout.readline()
        try:
            yield child.pid, int(line)
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(signal.SIGKILL)
            await child.wait()


async def time_clicks(
    port: int, queues: Sequence[Sequence[bytes]], kind: int
) -> tuple[float, list[float]]:
    """Return the clicks per second and the seconds of each click, with one connection per queue."""
    times: list[float] = []
    answers: list[bytes] = []

    async def one(queue: Sequence[bytes]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for click in queue:
            began = time.perf_counter()
            writer.write(click)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            answers.append(await reader.readexactly(length))
            times.append(time.perf_counter() - began)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*map(one, queues))
    rate = len(times) / (time.perf_counter() - began)
    assert {json.loads(answer)["type"] for answer in answers} == {kind}
    return rate, times


KINDS = (
    ("bare verified handler", "bare", 6),
    ("Answerback: verified, committed, rendered", "serve", 7),
)


async def measure_clicks(clicks: int, console: Console) -> None:
    """Measure both servers in turn over several rounds, with the same bodies."""
    signer, revisions = Clicks(*await record_clicks()), dict[int, int]()
    rates: dict[str, list[float]] = {label: [] for label, *_ in KINDS}
    times: dict[str, list[float]] = {label: [] for label, *_ in KINDS}
    used: dict[str, float] = dict.fromkeys(rates, 0.0)
    async with AsyncExitStack() as stack:
        api_url = await stack.enter_async_context(api())
        servers = {
            name: await stack.enter_async_context(server(name, api_url, signer.public_key, ASKS))
            for _, name, _ in KINDS
        }
        for round_ in range(ROUNDS + 1):
            queues = signer.queues(clicks, revisions, round_ * clicks)
            for label, name, kind in KINDS:
                pid, port = servers[name]
                before = cpu_seconds(pid)
                rate, took = await time_clicks(port, queues, kind)
                if round_:  # the first round warms up
                    rates[label].append(rate)
                    times[label] += took
                    used[label] += cpu_seconds(pid) - before
    table = Table("", "a second", "CPU µs each", "p50 ms", "p99 ms")
    table.title = f"Signed clicks, {CONNECTIONS} connections, {ASKS} open asks"
    for label, took in times.items():
        cuts = quantiles(took, n=100)
        each = used[label] / len(took) * 1e6
        row = (
            f"{median(rates[label]):,.0f}",
            f"{each:.0f}",
            f"{cuts[49] * 1e3:.1f}",
            f"{cuts[98] * 1e3:.1f}",
        )
        table.add_row(label, *row)
    console.print(table)
    bare_rates, whole_rates = rates.values()
    ratios = [w / b for w, b in zip(whole_rates, bare_rates, strict=True)]
    low, middle, high = quantiles(ratios, n=4)
    console.print(
        f"of the bare handler: {middle:.2f}, half of the rounds {low:.2f} to {high:.2f} (target: 0.6)"
    )


async def measure_memory(console: Console) -> None:
    """Measure the memory of the process after a hundred clicks, by the number of open prompts."""
    signer = Clicks(*await record_clicks())
    table = Table("open prompts", "resident MB", title="Memory of the service's process")
    for prompts in PROMPTS:
        async with (
            api() as api_url,
            server("serve", api_url, signer.public_key, prompts) as (pid, port),
        ):
            queue = [signer.signed(ask_number(n), 1, n) for n in range(ASKS // 2)]
            await time_clicks(port, [queue], 7)
            table.add_row(f"{prompts:,}", f"{resident(pid):.1f}")
    console.print(table)


async def measure(clicks: int, console: Console) -> None:
    """Run all measurements."""
    await measure_clicks(clicks, console)
    if clicks >= CLICKS:
        await measure_memory(console)


def cpu_seconds(pid: int) -> float:
    """Return the seconds of CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Return the megabytes that a process holds in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as uv:
            uv.run(serve(*sys.argv[2:5]))
    elif sys.argv[1:2] == ["bare"]:
        asyncio.run(serve_bare(sys.argv[4]))
    else:
        asyncio.run(measure(int(sys.argv[1]) if sys.argv[1:] else CLICKS, Console()))
