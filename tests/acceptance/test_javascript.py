"""The official JavaScript libraries against the real process: MCP's clients, its tasks extension, Standard Webhooks."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.agents import eventually, restartable
from tests.acceptance.process import PATIENCE
from tests.fakes.receiver import receiving
from tests.meta.project import PYTHONPATH
from tests.unit.bot.outbox_support import OTHER_SECRET, SECRET

pytestmark = pytest.mark.acceptance

JS = Path(__file__).parents[1] / "js"


@pytest.fixture(scope="session")
def scripts(node_modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of tests/js next to the libraries that the scripts import."""
    folder = shutil.copytree(JS, tmp_path_factory.mktemp("js") / "scripts")
    (folder / "node_modules").symlink_to(node_modules)
    return folder


class Script:
    """A running script that prints one JSON line per event."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self._child = child
        self.events: list[dict[str, Any]] = []

    async def proceed(self) -> None:
        """Let a script go on that waits for a line."""
        assert self._child.stdin is not None
        self._child.stdin.write(b"\n")
        await self._child.stdin.drain()

    async def until(self, name: str) -> dict[str, Any]:
        """Return the next event with this name."""
        assert self._child.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self._child.stdout.readline():
                event: dict[str, Any] = json.loads(line)
                self.events.append(event)
                if event["event"] == name:
                    return event
        assert self._child.stderr is not None
        raise AssertionError((await self._child.stderr.read()).decode())


@asynccontextmanager
async def script(scripts: Path, name: str, *arguments: str) -> AsyncIterator[Script]:
    child = await asyncio.create_subprocess_exec(
        "node",
        str(scripts / name),
        *arguments,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Script(child)
    finally:
        if child.returncode is None:
            child.kill()
        await child.communicate()


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_the_typescript_client_walks_an_ask_despite_timeouts_and_a_killed_service(
    tmp_path: Path, scripts: Path, transport: str
) -> None:
    async with restartable(tmp_path) as service:
        bridge = [sys.executable, "-m", "answerback_agents.cli.main", "mcp", "--url", service.url]
        arguments = [f"{service.url}/mcp"] if transport == "http" else bridge
        async with script(scripts, "walk.mjs", transport, *arguments) as walk:
            tools = await walk.until("tools")
            assert tools["names"][0] == "ask_user"
            timed_out = await walk.until("timed_out")
            assert timed_out["ask_id"] == (await service.newest())["id"]
            pending = await walk.until("pending")
            assert pending["structured"]["status"] == "pending"
            waiting = await walk.until("waiting")
            await service.kill()
            await service.start()
            await service.answer(waiting["ask_id"])
            answered = await walk.until("answered")
            assert answered["structured"] == {"answer_type": "boolean", "answer": True}
            assert json.loads(answered["text"]) == answered["structured"]
            withdrawn = await walk.until("withdrawn")
            assert withdrawn["structured"]["reason"] == "withdrawn"
            refused = await walk.until("refused")
            assert refused["is_error"] is True
            await walk.until("done")
        assert any(event["event"] == "progress" for event in walk.events)


@pytest.mark.rule("MCP-14", "LATE-1", "WAITING-2")
async def test_the_answer_to_a_call_that_the_typescript_client_aborted_is_late(
    tmp_path: Path, scripts: Path
) -> None:
    async with (
        restartable(tmp_path) as service,
        script(scripts, "cancel.mjs", f"{service.url}/mcp", "Which port?") as client,
    ):

        async def is_unattended() -> bool:
            return not (await service.newest())["waiting"]

        await client.until("asking")
        await eventually(service.has_waiter)
        assert not await is_unattended()
        await client.proceed()
        await client.until("cancelled")
        await eventually(is_unattended)
        ask_id = (await service.newest())["id"]
        await service.answer(ask_id, "8420")
        await client.proceed()
        (late,) = (await client.until("late"))["answers"]
        assert late["ask_id"] == ask_id
        assert late["structured"] == {"answer_type": "text", "answer": "8420"}
        assert (await client.until("again"))["answers"] == []


@pytest.mark.rule("MCP-12", "DATA-3")
async def test_the_tasks_extension_client_gets_a_result_although_the_service_is_killed(
    tmp_path: Path, scripts: Path
) -> None:
    async with (
        restartable(tmp_path) as service,
        script(scripts, "tasks.mjs", f"{service.url}/mcp") as walk,
    ):
        connected = await walk.until("connected")
        assert connected["protocol"] == "2026-07-28"
        created = await walk.until("created")
        ask_id = (await service.newest())["id"]
        assert (created["kind"], created["task_id"]) == ("task", ask_id)
        await service.kill()
        await service.start()
        await service.answer(ask_id)
        settled = await walk.until("settled")
        assert settled["status"] == "completed"
        answer = {"answer_type": "boolean", "answer": True}
        assert settled["result"]["structuredContent"] == answer
        assert settled["task"]["ttlMs"] is None
        assert (await walk.until("updated"))["status"] == "working"
        assert (await walk.until("cancelled"))["status"] == "cancelled"
        assert (await service.newest())["status"] == "withdrawn"
        refused = await walk.until("refused")
        assert (refused["kind"], refused["is_error"]) == ("immediate", True)
        assert (await walk.until("unknown"))["code"] == -32602
        await walk.until("done")


@pytest.mark.rule("WEBHOOK-1")
async def test_the_javascript_library_verifies_only_our_webhooks(
    tmp_path: Path, scripts: Path
) -> None:
    async with receiving() as receiver, restartable(tmp_path) as service:
        question = {"question": "Größe? 🎯", "answer_type": "text"}
        call = {"name": "ask_user", "arguments": question, "callback": {"url": receiver.url}}
        ask = await service.call("POST", "/v1/asks", call)
        await service.answer(ask["id"], "naïve ☃")
        (received,) = await receiver.until(1)
    body = received.body.decode()
    for secret, text, verified in (
        (SECRET, body, True),
        (OTHER_SECRET, body, False),
        (SECRET, body + " ", False),
    ):
        payload = json.dumps({"secret": secret, "headers": dict(received.headers), "body": text})
        done = await asyncio.to_thread(
            subprocess.run,
            ["node", str(scripts / "verify.mjs")],
            input=payload,
            capture_output=True,
            text=True,
            timeout=250,
        )
        result = json.loads(done.stdout)
        assert result["verified"] is verified
        if verified:
            assert (result["type"], result["id"]) == ("ask.answered", ask["id"])
