"""`answerback hook` when something is wrong at the service's address: it refuses, in the host's shape."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Status
from answerback.hooks.endpoint import HookEndpoints
from answerback_agents.pipe import host_answers as denials
from answerback_agents.pipe.exchange import Answer, answer_event
from answerback_client.blocking_connection import BlockingConnection
from tests.acceptance.process import PATIENCE
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, served
from tests.unit.bot.api.test_odd_requests import JSON_TYPE, status
from tests.unit.bot.hook_support import CODEX, CODEX_PERMISSION, COPILOT, piped, recorded, value
from tests.unit.bot.hooks.test_command_hooks_in_trouble import spawned
from tests.unit.bot.service.test_hook_decisions import ALL, is_denied

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
GARBAGE = [
    b"",
    b"\x00\xff" * 500,
    b"220 mail.example ESMTP\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\n",
    HEAD + b"Content-Length: 100\r\n\r\n{}",
    HEAD + b"Content-Length: 2\r\n\r\n{}",
    HEAD + b'Answerback-Hook: other\r\nContent-Length: 20\r\n\r\n{"behavior":"allow"}',
    HEAD + b"Answerback-Hook: %s\r\nContent-Length: 4\r\n\r\nnull",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found",
]


@asynccontextmanager
async def garbage(content: bytes) -> AsyncIterator[str]:
    """A program on the service's port that answers every request with the same bytes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(content)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.rule("CONNECT-6")
@pytest.mark.parametrize("content", GARBAGE)
async def test_every_host_is_refused_whatever_answers(content: bytes) -> None:
    for agent, event in ALL:
        sent = content.replace(b"%s", agent.encode())
        async with garbage(sent) as url:
            answer = await asyncio.to_thread(piped, agent, event, url, patience=0)
        assert is_denied(answer), (agent, answer)


@pytest.mark.rule("CONNECT-6")
async def test_the_command_prints_the_refusal_and_ends_well() -> None:
    async with garbage(GARBAGE[-1]) as url:  # which is not tried again
        for agent, event in (("copilot", COPILOT), ("codex", recorded("codex-UserPromptSubmit"))):
            late = event is not COPILOT
            process = await spawned(json.dumps(event).encode(), agent, "--url", url, "--wait", "0")
            async with asyncio.timeout(PATIENCE):
                out, err = await process.communicate()
            assert process.returncode == 0
            assert b"Traceback" not in err
            assert (out == b"") if late else is_denied(json.loads(out))


@pytest.mark.rule("CONNECT-6")
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "copilot", "grok"])
async def test_an_error_in_the_hook_itself_refuses_too(agent: str) -> None:
    class Broken(BlockingConnection):
        def call(self, *_: Any, **__: Any) -> Any:
            raise KeyError

    for each, event in ALL:
        if each == agent:
            assert is_denied(answer_event(agent, event, Broken("http://127.0.0.1:1")).output)
    assert answer_event(agent, {}, Broken("http://127.0.0.1:1")) == Answer(None, "KeyError")
    assert denials.denial(agent, {}, "") is None


_DRIPPING = """
import json, socket, sys, threading, time
from answerback_agents.cli import hook

listening = socket.create_server(("127.0.0.1", 0))

def drip():
    connection, _ = listening.accept()
    connection.recv(100_000)
    while True:
        connection.send(b" ")
        time.sleep(0.05)

threading.Thread(target=drip, daemon=True).start()
hook._GRACE = 0.5
hook.command("copilot", f"http://127.0.0.1:{listening.getsockname()[1]}", "NO_TOKEN", None, 0.0)
"""


@pytest.mark.rule("CONNECT-6")
def test_an_answer_that_never_ends_is_not_waited_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DRIPPING],
        input=json.dumps(COPILOT),
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
    )
    assert json.loads(done.stdout) == {
        "behavior": "deny",
        "message": "Answerback did not answer in time.",
    }


async def test_a_long_output_of_a_tool_does_not_keep_a_late_answer_back(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await asyncio.to_thread(piped, "codex", CODEX, service.url, wait=0.1)
        await service.act(await service.newest(), **value("8080"))
        event = {**CODEX, "hook_event_name": "PostToolUse", "tool_response": "x" * 2**20}
        answer = await asyncio.to_thread(piped, "codex", event, service.url)
    assert answer is not None
    assert "8080" in answer["hookSpecificOutput"]["additionalContext"]


@pytest.mark.rule("CONNECT-2")
@pytest.mark.parametrize("event", [CODEX_PERMISSION, CODEX])
async def test_a_host_that_goes_while_its_call_is_submitted_leaves_no_permission_prompt(
    tmp_path: Path, event: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitting, go_on = asyncio.Event(), asyncio.Event()
    submit = HookEndpoints._submit

    async def slow(*given: Any) -> Any:
        submitting.set()
        await go_on.wait()
        return await submit(*given)

    monkeypatch.setattr(HookEndpoints, "_submit", slow)
    async with served(tmp_path) as service:
        path = f"{service.url}/hooks/codex"
        calling = asyncio.create_task(service.http.post(path, json=event))
        async with asyncio.timeout(WAIT):
            await submitting.wait()
        calling.cancel()
        await asyncio.wait([calling])
        go_on.set()
        ask = await service.newest()
        if event is CODEX_PERMISSION:
            ended = await service.running.service.wait(ask.id, WAIT, ask)
            assert ended is not None
            assert ended.status is Status.WITHDRAWN
        else:
            assert ask.open


async def test_a_hook_waits_in_polls_and_is_told_to_come_back_when_the_service_stops(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as service:
        url = f"{service.url}/hooks/copilot"
        headers = {"Idempotency-Key": "run"}
        for _ in range(2):
            path = f"{url}?poll=0.05"
            async with service.http.post(path, json=COPILOT, headers=headers) as response:
                assert response.status == 202
                ask = await service.newest()
                assert ask.id in (await response.json())["message"]
                assert not ask.attendance.agent_left
        assert len((await service.running.service.store.asks.page()).rows) == 1
        service.running.service.stop_waiting()
        async with service.http.post(f"{url}?poll=9", json=COPILOT, headers=headers) as response:
            assert response.status == 503
        async with service.http.post(f"{url}?poll=0", json=COPILOT, headers=headers) as response:
            assert is_denied(await response.json())
        odd = JSON_TYPE + b"Idempotency-Key: \xff\r\n"
        head, body = "POST /hooks/copilot", json.dumps(COPILOT).encode()
        assert await status(service.url, head, odd, body) == 400
