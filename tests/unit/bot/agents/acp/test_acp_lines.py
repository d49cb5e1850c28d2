"""`answerback acp` as a pipe: what it relays, how it ends, and what it does without a service."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from answerback_agents.acp import messages
from answerback_agents.acp.proxy import Proxy
from answerback_agents.pipe.ask_people import AskClient, Asking, AskOutcome, Call
from answerback_agents.pipe.lines import LineWriter
from answerback_client.blocking_connection import BlockingConnection
from tests.acceptance.process import PATIENCE
from tests.ports import gone_after_one_request
from tests.recipes.receiving import listening
from tests.service_support import WAIT
from tests.unit.bot.acp_support import elicitation, notice, permission, run_editor, selected
from tests.unit.bot.agent_support import Json

AWAY = "http://127.0.0.1:1"
REFUSING = "ftp://127.0.0.1"


def line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"


class Pipe(io.BytesIO):
    """A sink that collects lines, for a test to wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._wrote = threading.Condition()

    def flush(self) -> None:
        with self._wrote:
            self._wrote.notify_all()

    def lines(self, count: int) -> list[Json]:
        """Wait for the given number of lines."""
        with self._wrote:
            assert self._wrote.wait_for(lambda: self.getvalue().count(b"\n") >= count, WAIT)
        return [json.loads(each) for each in self.getvalue().splitlines()]


def asking(url: str, patience: float = 20.0) -> AskClient:
    """A client that asks people through the service at an address."""
    return AskClient(BlockingConnection(url), patience=patience)


class Parts:
    """A proxy between two pipes."""

    def __init__(self, people: AskClient) -> None:
        self.agent, self.editor = Pipe(), Pipe()
        self.warned: list[str] = []
        self.has_warned = threading.Event()
        self._others = threading.enumerate()
        self.proxy = Proxy(people, LineWriter(self.agent), LineWriter(self.editor), self._warn)

    def join(self) -> None:
        """Wait until all threads of the proxy have ended."""
        for thread in threading.enumerate():
            if thread.daemon and thread not in self._others:
                thread.join(WAIT)

    def _warn(self, text: str) -> None:
        self.warned.append(text)
        self.has_warned.set()


TAKEN = ("session/request_permission", "elicitation/create", "initialize")
LINES = st.one_of(
    st.binary().map(lambda raw: raw.replace(b"\n", b"") + b"\n"),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(lambda each: json.dumps(each).encode() + b"\n"),
    st.fixed_dictionaries(
        {},
        optional={
            "method": st.sampled_from(
                ["session/update", "session/cancel", "$/cancel_request", "session/prompt", 1]
            ),
            "id": st.sampled_from([1, "1", None, 1.5]),
            "params": st.sampled_from(
                [{}, [], None, {"update": {"sessionUpdate": "plan"}}, {"update": 1}]
            ),
            "result": st.none() | st.dictionaries(st.text(), st.text()),
            "error": st.none(),
        },
    ).map(lambda each: json.dumps(each, ensure_ascii=False).encode() + b"\n"),
    st.just(b"[" * 100_000 + b"\n"),
    st.just(line(permission())[:-20]),
)


@pytest.mark.rule("ACP-1")
@given(given=st.lists(LINES), rest=st.binary())
def test_every_line_is_relayed_unchanged(given: list[bytes], rest: bytes) -> None:
    sent = b"".join(given) + rest.replace(b"\n", b"")
    parts = Parts(asking(AWAY, patience=0))
    parts.proxy.relay_from_agent(io.BytesIO(sent))
    parts.proxy.relay_from_editor(io.BytesIO(sent))
    assert parts.editor.getvalue() == sent
    assert parts.agent.getvalue() == sent


@pytest.mark.rule("ACP-1")
async def test_large_lines_are_relayed_both_ways_even_to_slow_readers() -> None:
    lines = [b"%d " % i + b"x" * 3_000_000 + b"\n" for i in range(8)] + [b"\xff\x00 no end"]
    async with run_editor(AWAY, "cat") as editor:
        stdin = editor.process.stdin
        assert stdin is not None

        async def write() -> None:
            for each in lines:
                stdin.write(each)
                await stdin.drain()
            stdin.close()

        writing = asyncio.create_task(write())
        assert [await editor.line() for _ in lines] == lines
        await writing
        assert await editor.end() == (b"", "")
        assert editor.process.returncode == 0


@pytest.mark.rule("ACP-1")
async def test_the_exit_status_is_that_of_the_agent() -> None:
    async with run_editor(AWAY) as editor:
        await editor.send(notice("_exit", status=42))
        assert await editor.end() == (b"", "")
        assert editor.process.returncode == 42
    async with run_editor(AWAY) as editor:
        await editor.send(notice("_signal", number=signal.SIGKILL))
        await editor.end()
        assert editor.process.returncode == 128 + signal.SIGKILL


@pytest.mark.rule("ACP-1")
async def test_a_signal_is_forwarded_to_the_agent() -> None:
    async with run_editor(AWAY) as editor:
        await editor.send(notice("_ready"))
        await editor.agent_received()
        editor.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await editor.process.wait() == 128 + signal.SIGTERM
        await editor.end()


@pytest.mark.rule("ACP-1")
async def test_an_agent_notices_that_its_editor_is_gone() -> None:
    script = "import sys; print('{}', flush=True)\nwhile True: print('{}', flush=True)"
    async with run_editor(AWAY, sys.executable, "-c", script) as editor:
        await editor.line()
        assert editor.process.stdout is not None
        editor.process.stdout._transport.close()  # type: ignore[attr-defined]
        async with asyncio.timeout(PATIENCE):
            assert await editor.process.wait() != 0


async def test_a_command_that_cannot_run_is_reported(tmp_path: Path) -> None:
    plain = tmp_path / "agent"
    plain.write_text("")
    for agent, status, text in [
        ("no-such-agent", 127, "No such file"),
        (str(plain), 126, "Permission denied"),
    ]:
        async with run_editor(AWAY, agent) as editor:
            out, err = await editor.end()
        assert editor.process.returncode == status
        assert out == b""
        assert err.startswith(f"answerback acp: Cannot run {agent}: {text}")


@pytest.mark.rule("ACP-5")
async def test_without_a_service_only_the_editor_asks() -> None:
    async with run_editor(REFUSING) as editor:
        await editor.prompt(permission())
        assert await editor.next() == permission()
        await editor.send(selected("yes"))
        assert await editor.agent_received() == selected("yes")
        assert editor.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            warning = await editor.process.stderr.readline()
        assert warning.startswith(
            b"answerback acp: ftp://127.0.0.1 is not a valid Answerback address"
        )
        await editor.send(notice("_exit", status=0))
        assert await editor.end() == (b"", "")


@pytest.mark.rule("ACP-5")
def test_an_unreachable_service_is_reported_and_requests_only_for_people_are_cancelled() -> None:
    parts = Parts(asking(AWAY, patience=0.1))
    parts.proxy.relay_from_agent([line(permission()), line(elicitation())])
    assert parts.agent.lines(1) == [{"jsonrpc": "2.0", "id": 8, "result": {"action": "cancel"}}]
    assert parts.has_warned.wait(WAIT)
    assert "Nobody could be asked: " in parts.warned[0]
    assert "answerback serve" in parts.warned[0]
    parts.proxy.end()
    parts.proxy.relay_from_editor([line(selected("yes"))])
    assert parts.agent.lines(2)[1:] == [selected("yes")]


@pytest.mark.rule("ACP-5")
async def test_a_service_that_may_have_asked_before_it_went_is_reported_as_such() -> None:
    async with gone_after_one_request() as url:
        people = asking(url, patience=0.1)
        outcome = await asyncio.to_thread(
            people.ask, Asking(), Call("ask_user", "ask_user", {}, None)
        )
    assert outcome.ask is None
    assert outcome.message.startswith("Nobody has answered: ")
    assert outcome.message.endswith("The question may be open already.")


OPEN: Json = {"id": "ask_1", "status": "open", "thread": None, "tool_result": None, "reply": None}


class SlowService:
    """A service that accepts an ask late, and has it open until it is withdrawn."""

    def __init__(self) -> None:
        self.taking, self.accepts, self.deleted = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/asks", self._take)
        app.router.add_get("/v1/asks/ask_1", self._stands)
        app.router.add_delete("/v1/asks/ask_1", self._delete)
        return app

    async def _take(self, _request: web.Request) -> web.Response:
        self.taking.set()
        await self.accepts.wait()
        return web.json_response(OPEN, status=201)

    async def _delete(self, _request: web.Request) -> web.Response:
        self.deleted.set()
        return web.json_response({**OPEN, "status": "withdrawn"})

    async def _stands(self, _request: web.Request) -> web.Response:
        await self.deleted.wait()
        return web.json_response({**OPEN, "status": "withdrawn"})


@pytest.mark.rule("ACP-5")
async def test_an_editors_answer_before_the_ask_exists_withdraws_the_ask_later() -> None:
    """The editor answers, and everything ends, while the service is still accepting the ask."""
    slow = SlowService()
    async with listening(slow.app()) as url, asyncio.timeout(WAIT):
        parts = Parts(asking(url))
        await asyncio.to_thread(parts.proxy.relay_from_agent, [line(permission())])
        await slow.taking.wait()
        await asyncio.to_thread(parts.proxy.relay_from_editor, [line(selected("no"))])
        slow.accepts.set()
        await slow.deleted.wait()
        await asyncio.to_thread(parts.join)
    assert parts.agent.lines(1) == [selected("no")]
    assert parts.warned == []


@pytest.mark.rule("ACP-5")
async def test_the_proxy_waits_at_its_end_for_an_ask_being_submitted() -> None:
    """No ask may stay open that nobody waits for."""
    slow = SlowService()
    async with listening(slow.app()) as url, asyncio.timeout(WAIT):
        parts = Parts(asking(url))
        await asyncio.to_thread(parts.proxy.relay_from_agent, [line(permission())])
        await slow.taking.wait()
        ending = asyncio.create_task(asyncio.to_thread(parts.proxy.end))
        slow.accepts.set()
        await ending
        await asyncio.to_thread(parts.join)
        assert slow.deleted.is_set()


def test_ending_the_turn_outside_a_session_interrupts_nothing() -> None:
    class Ends(AskClient):
        def ask(self, *_: object) -> AskOutcome:
            return AskOutcome({**OPEN, "status": "turn_ended"}, "")

    parts = Parts(Ends(BlockingConnection(AWAY)))
    parts.proxy.relay_from_agent([line(elicitation(sessionId=None))])
    assert parts.agent.lines(1) == [{"jsonrpc": "2.0", "id": 8, "result": {"action": "cancel"}}]


BOTH: Json = {"form": {}, "url": {}}


@pytest.mark.rule("ACP-4")
@pytest.mark.parametrize(
    ("params", "elicits", "announced"),
    [
        ({"protocolVersion": 1}, [], {"clientCapabilities": {"elicitation": BOTH}}),
        ({"protocolVersion": 2}, [], {"capabilities": {"elicitation": BOTH}}),
        ({"clientCapabilities": None}, [], {"clientCapabilities": {"elicitation": BOTH}}),
        (
            {"protocolVersion": 2, "capabilities": {"auth": {}, "elicitation": {"form": {"a": 1}}}},
            ["form"],
            {"capabilities": {"auth": {}, "elicitation": {"form": {"a": 1}, "url": {}}}},
        ),
        ({"clientCapabilities": {"elicitation": BOTH}}, None, {}),
        (None, [], {"clientCapabilities": {"elicitation": BOTH}}),
    ],
)
def test_elicitation_is_announced_where_each_protocol_version_expects_it(
    params: Json | None, elicits: list[str] | None, announced: Json
) -> None:
    initialize: Json = {"id": 0, "method": "initialize", "params": params}
    found = messages.announce_elicitation(initialize)
    assert found == (None if elicits is None else frozenset(elicits))
    assert initialize["params"] == {**(params or {}), **announced}


def test_the_proxy_imports_next_to_nothing() -> None:
    """An agent has to start as fast with the proxy as without."""
    script = (
        "import sys; from answerback_agents.acp import proxy; from answerback_agents.cli import acp; "
        "print([m for m in ('aiohttp', 'asyncio', 'pydantic', 'answerback.service') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=250
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "params",
    [
        {"requestedSchema": "none"},
        {"mode": "url", "message": "Open?", "url": "https://example.com/"},
    ],
)
def test_an_incomplete_elicitation_is_left_for_the_service_to_refuse(params: Json) -> None:
    request: Json = {"id": 1, "method": "elicitation/create", "params": params}
    assert messages.call_from_request(request, {}).arguments == params


def test_a_permission_request_without_a_tool_call_is_passed_on_unchanged() -> None:
    params = {"title": "Run?", "subject": {"type": "command", "command": "make"}}
    request: Json = {"id": 1, "method": "session/request_permission", "params": params}
    assert messages.call_from_request(request, {"title": "Run"}).arguments == params


def test_an_update_about_something_else_is_not_a_tool_call_update() -> None:
    plan = notice("session/update", sessionId="s1", update={"sessionUpdate": "plan"})
    assert messages.parse_tool_call_update(plan) is None
