"""A click and a submission take a short path: few of the project's files run between their arrival and their commit.

A Back is traced through the whole service, as `answerback serve` wires it, in every thread. A payload has arrived
once its request has been read in full and its sender has been verified. Every file of the project in which a function
runs from then on counts, until SQLite is told to commit. Of a submission, the calls that change from one file to
another count too: what belongs together is done in one place.
"""

from __future__ import annotations

import asyncio
import dis
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import aiohttp
import pytest

from answerback.runtime.app import RunningService, run_service
from answerback.runtime.config import settings_type
from answerback_discord.adapter import DiscordSurface
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.slack.server import FakeSlack
from tests.meta.project import ROOT, SOURCE_FOLDERS
from tests.unit.adapters.web.reader import Reader

pytestmark = pytest.mark.acceptance

MOST_FILES = 12
MOST_FILES_OF_A_SUBMISSION = 25
MOST_CHANGES_OF_FILE = 49
DATABASE = "answerback.db"
ARRIVED = {
    ("bot/answerback/http/request_body.py", "receive_body"),
    ("bot/answerback/http/unverified_connections.py", "mark_request_verified"),
}
"""The functions that read a request and verify its sender: once both have run, the payload has arrived."""
_WRITES_AN_ASK = ("INSERT INTO asks (", "UPDATE asks SET revision")
QUESTIONS = [
    {"id": name, "text": f"{name}?", "answer_type": "boolean"} for name in ("one", "two", "three")
]


def _place(frame: FrameType) -> tuple[str, str]:
    return frame.f_code.co_filename.removeprefix(f"{ROOT}/"), frame.f_code.co_name


def _starts(frame: FrameType) -> bool:
    """Whether a function begins, rather than a coroutine resuming after an await."""
    return frame.f_lasti <= _beginning(frame.f_code)


@cache
def _beginning(code: CodeType) -> int:
    return next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")


@dataclass
class Trace:
    """The files that run from `begin` until the next commit."""

    files: list[str] = field(default_factory=list)
    visits: list[str] = field(default_factory=list)
    """The files of the calls, in order, without repeats in a row."""
    committed: threading.Event = field(default_factory=threading.Event)
    """Set at the commit of a transaction that wrote an ask: other transactions do not count."""
    _begun: bool = False
    _wrote: bool = False

    def begin(self) -> None:
        """Start counting what runs."""
        self.committed.clear()
        self._begun, self._wrote = True, False

    def on_profile_event(self, frame: FrameType, event: str, _argument: object) -> None:
        """Handle a profiling event; see `sys.setprofile`."""
        if not self._begun or self.committed.is_set() or event not in {"call", "return"}:
            return
        if event == "return" and _place(frame) in ARRIVED:
            self.files.clear()
            self.visits.clear()
        elif event == "call" and _starts(frame):
            for each in (frame, frame.f_back):
                name, _ = _place(each) if each is not None else ("", "")
                if name.startswith(SOURCE_FOLDERS) and name not in self.files:
                    self.files.append(name)
            name, _ = _place(frame)
            if name.startswith(SOURCE_FOLDERS) and [name] != self.visits[-1:]:
                self.visits.append(name)

    def on_statement(self, statement: str) -> None:
        """Handle a statement that SQLite is about to run."""
        if statement.startswith(_WRITES_AN_ASK):
            self._wrote = True
        elif statement == "COMMIT" and self._wrote:
            self.committed.set()


@contextmanager
def tracing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trace]:
    """Trace this thread, and every thread and database connection created within the context."""
    trace, connect = Trace(), sqlite3.connect

    def traced_connect(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(trace.on_statement)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced_connect)
    before = sys.getprofile()
    threading.setprofile(trace.on_profile_event)
    sys.setprofile(trace.on_profile_event)
    try:
        yield trace
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
        monkeypatch.undo()


@asynccontextmanager
async def service(folder: Path, **tables: object) -> AsyncIterator[RunningService]:
    """Run the whole service on free ports."""
    settings = settings_type().model_validate(
        {
            "server": {"port": 0},
            "public": {"port": 0},
            "storage": {"url": f"sqlite:///{folder}/{DATABASE}"},
            **tables,
        }
    )
    async with run_service(settings) as up:
        yield up


async def submit(up: RunningService, to: str, *responders: str) -> str:
    """Submit an ask with three questions; return its id."""
    body = {"name": "ask_user", "arguments": {"questions": QUESTIONS}, "to": to}
    if responders:
        body["responders"] = list(responders)
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{up.api_url}/v1/asks", json=body) as response,
    ):
        assert response.status == 201, await response.text()
        return str((await response.json())["id"])


async def wait_until_settled(up: RunningService, ask_id: str, revision: int) -> None:
    """Wait until the ask is at a revision and has nothing left to show."""
    async with asyncio.timeout(10):
        while True:
            ask = await up.service.get(ask_id)
            assert ask is not None
            if ask.revision == ask.shown_revision == revision:
                return
            await asyncio.sleep(0.02)


@dataclass(frozen=True)
class Prompt:
    """An open ask, with somebody who answers it and then goes back."""

    up: RunningService
    ask_id: str
    answers: Callable[[], Awaitable[object]]
    goes_back: Callable[[Callable[[], None]], Awaitable[object]]
    """Call the argument just before the request of the Back is sent."""


@asynccontextmanager
async def slack(folder: Path) -> AsyncIterator[Prompt]:
    """On Slack, over HTTP."""
    async with FakeSlack() as world:
        ada = world.person("U0ADA", "ada")
        world.workspace.add_channel("C0OPS", ada.id)
        table = {
            "bot_token": world.bot_token,
            "signing_secret": world.signing_secret,
            "api_url": world.api_url,
        }
        async with service(folder, slack=table) as up:
            world.deliver_to(f"{up.public_url}/slack/events")
            ask_id = await submit(up, "slack:C0OPS", ada.id)
            await wait_until_settled(up, ask_id, 1)
            [message] = world.messages("C0OPS")

            async def back(begin: Callable[[], None]) -> None:
                begin()
                await ada.click(message, "Back")

            yield Prompt(up, ask_id, lambda: ada.click(message, "Yes"), back)


@asynccontextmanager
async def discord(folder: Path) -> AsyncIterator[Prompt]:
    """On Discord, over HTTP."""
    async with FakeDiscord() as world:
        channel = world.add_channel(guild := world.add_guild())
        ann = world.person("ann", guild)
        table = {
            "bot_token": world.application.token,
            "public_key": world.application.public_key,
            "api_url": world.api_url,
            "gateway": False,
        }
        async with service(folder, discord=table) as up:
            url = f"{up.public_url}/discord/interactions"
            world.application.interactions_endpoint_url = url
            ask_id = await submit(up, f"discord:{channel.id}", str(ann.id))
            await wait_until_settled(up, ask_id, 1)

            async def back(begin: Callable[[], None]) -> None:
                begin()
                await ann.click("Back")

            yield Prompt(up, ask_id, lambda: ann.click("Yes"), back)


@asynccontextmanager
async def web(folder: Path) -> AsyncIterator[Prompt]:
    """On the web page."""
    async with service(folder) as up, aiohttp.ClientSession() as http:
        ask_id = await submit(up, "web")
        assert up.entrances is not None
        address = await up.entrances.answering_url(ask_id)
        visitor = Reader(http, "")

        async def press(what: str, begin: Callable[[], None] = lambda: None) -> None:
            page = await visitor.open(address)
            begin()
            response = await visitor.press(page, address, what, follow=False)
            assert response.status == 303, response.text

        yield Prompt(up, ask_id, lambda: press("yes"), lambda begin: press("back", begin))


@pytest.mark.parametrize("surface", [slack, discord, web])
async def test_a_back_runs_through_few_files_before_its_commit(
    surface: Callable[[Path], AbstractAsyncContextManager[Prompt]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traced = []
    # How late the response to a click may be does not matter here, and Discord's message is settled after it.
    defaults: dict[str, Any] = DiscordSurface.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "confirm_after", 0.1)
    with tracing(monkeypatch) as trace:
        async with surface(tmp_path) as prompt:
            for revision in (2, 4, 6):
                await prompt.answers()
                await wait_until_settled(prompt.up, prompt.ask_id, revision)
                await prompt.goes_back(trace.begin)
                await wait_until_settled(prompt.up, prompt.ask_id, revision + 1)
                assert trace.committed.is_set()
                traced.append([*trace.files])
    fewest = min(traced, key=len)  # housekeeping may run alongside one of them
    assert len(fewest) <= MOST_FILES, "\n".join(fewest)


async def test_a_submission_enters_few_files_few_times_before_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = []
    with tracing(monkeypatch) as trace:
        async with service(tmp_path) as up:
            for _ in range(8):
                trace.begin()
                ask_id = await submit(up, "web")
                await wait_until_settled(up, ask_id, 1)
                assert trace.committed.is_set()
                traced.append(([*trace.files], [*trace.visits]))
    # Housekeeping may run alongside one of them.
    files = min((files for files, _ in traced), key=len)
    visits = min((visits for _, visits in traced), key=len)
    assert len(files) <= MOST_FILES_OF_A_SUBMISSION, "\n".join(files)
    assert len(visits) - 1 <= MOST_CHANGES_OF_FILE, "\n".join(visits)
