"""The real OpenClaw gateway from npm behind `answerback bridge openclaw`, with a scripted model."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from asyncio.subprocess import STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback_agents.bridges.event_server import Json
from answerback_hosts.openclaw.device import Device
from answerback_hosts.openclaw.gateway import OpenclawGateway
from tests.agents.conftest import BINARIES, LATE, PATIENCE, Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.agents.test_opencode import last_word_of_line
from tests.ports import free_port
from tests.recipes.conftest import Person

TOKEN = "gateway-token"
SESSION = "agent:main:main"
MODULES = BINARIES.parent
[NODE] = [*MODULES.glob("node-linux-*/bin/node")] or [Path("node")]
QUESTION = {
    "id": "port",
    "header": "Port",
    "question": "Which port?",
    "options": [{"label": "8443", "description": "TLS"}, {"label": "8080"}],
}


def question_call() -> Calls:
    """Return a call with an id of its own: OpenClaw makes the question's id of it."""
    return Calls("ask_user", {"questions": [QUESTION]})


def configure(home: Home, model: Model, port: int) -> None:
    """Write a configuration: the scripted model, and approvals for every command."""
    provider = {
        "baseUrl": f"{model.url}/v1",
        "apiKey": "scripted",
        "api": "openai-completions",
        "models": [
            {"id": "scripted", "name": "Scripted", "contextWindow": 128_000, "maxTokens": 4_096}
        ],
    }
    config: dict[str, Any] = {
        "gateway": {
            "mode": "local",
            "port": port,
            "bind": "loopback",
            "auth": {"mode": "token", "token": TOKEN},
            "controlUi": {"enabled": False},
        },
        "models": {"mode": "replace", "providers": {"scripted": provider}},
        "agents": {
            "defaults": {
                "model": {"primary": "scripted/scripted"},
                "workspace": str(home.project),
                "skipBootstrap": True,
                "heartbeat": {"every": "0m"},
            }
        },
        "cron": {"enabled": False},
        "tools": {
            "toolSearch": False,
            "exec": {"host": "gateway", "security": "allowlist", "ask": "always"},
        },
        "discovery": {"mdns": {"mode": "off"}},
    }
    folder = home.folder / ".openclaw"
    folder.mkdir()
    (folder / "openclaw.json").write_text(json.dumps(config))


@asynccontextmanager
async def gateway(home: Home, port: int) -> AsyncIterator[Process]:
    """Run a gateway that is ready; at the end it is killed."""
    command = (str(NODE), str(MODULES / "openclaw" / "openclaw.mjs"), "gateway", "run")
    path = f"{NODE.parent}:{os.environ['PATH']}"
    environment = {"OPENCLAW_SKIP_CHANNELS": "1", "PATH": path}
    log = os.open(home.folder / "gateway.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    async with (
        home.started(*command, environment=environment, stdout=log, stderr=STDOUT) as process,
        aiohttp.ClientSession() as http,
    ):
        os.close(log)
        try:
            async with asyncio.timeout(PATIENCE):
                while not await is_ready(http, port):  # noqa: ASYNC110 - another program starts
                    await asyncio.sleep(0.2)
            yield process
        except BaseException:
            sys.stdout.write((home.folder / "gateway.log").read_text())  # pytest shows this
            raise


async def is_ready(http: aiohttp.ClientSession, port: int) -> bool:
    """Return True if a gateway has started."""
    try:
        async with http.get(f"http://127.0.0.1:{port}/readyz") as response:
            return response.ok
    except aiohttp.ClientError:
        return False


@asynccontextmanager
async def bridge(home: Home, port: int) -> AsyncIterator[None]:
    """Run the bridge, once it is connected."""
    url = f"ws://127.0.0.1:{port}"
    command = ("answerback", "bridge", "openclaw", url, "--url", home.service.url)
    environment = {"OPENCLAW_GATEWAY_TOKEN": TOKEN}
    async with home.started(*command, environment=environment, stderr=STDOUT) as process:
        await last_word_of_line(process, "Connected")
        yield


async def send_message(home: Home, port: int) -> None:
    """Say something in the main session, as a person in OpenClaw's own window does."""
    device = await asyncio.to_thread(Device.load, home.folder / "window.key")
    async with aiohttp.ClientSession() as http:
        window = OpenclawGateway(http, f"ws://127.0.0.1:{port}", TOKEN, device)
        async with window.open_event_stream():
            message: Json = {"sessionKey": SESSION, "message": "Set it up", "idempotencyKey": "k1"}
            assert await window.call("chat.send", **message) is not None


@pytest.fixture
def port() -> int:
    return free_port()


async def test_a_person_answers_its_question_and_allows_its_command(
    home: Home, person: Person, port: int
) -> None:
    note = home.project / "note.txt"
    touch = Calls("exec", {"command": f"touch {note}"})
    async with scripted(question_call(), touch, Says("Done.")) as model:
        configure(home, model, port)
        async with gateway(home, port), bridge(home, port):
            await send_message(home, port)
            await person.answers("8080")
            await person.answers("allow-once")
            async with asyncio.timeout(PATIENCE):
                await model.asked(3)
    assert '\\"status\\": \\"answered\\"' in model.sent()
    assert await asyncio.to_thread(note.exists)


async def test_a_person_denies_its_command(home: Home, person: Person, port: int) -> None:
    note = home.project / "note.txt"
    touch = Calls("exec", {"command": f"touch {note}"})
    async with scripted(touch, Says("Done.")) as model:
        configure(home, model, port)
        async with gateway(home, port), bridge(home, port):
            await send_message(home, port)
            await person.answers("deny")
            async with asyncio.timeout(PATIENCE):
                await model.asked(2)
    assert not await asyncio.to_thread(note.exists)


async def test_after_a_kill_it_continues_with_the_answer_once(
    home: Home, person: Person, port: int
) -> None:
    async with scripted(question_call(), *itertools.repeat(Says("Understood."), 4)) as model:
        configure(home, model, port)
        async with gateway(home, port), bridge(home, port):
            await send_message(home, port)
            await person.sees()
        async with gateway(home, port), bridge(home, port):
            await person.answers("8080")
            async with asyncio.timeout(PATIENCE):
                while not any(LATE in json.dumps(each) for each in model.requests):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
    assert model.sent().count(LATE) == 1
