"""`answerback bridge openclaw`: people answer what a running gateway asks, once, whichever process is killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from answerback.core.ask import Status
from answerback_agents.bridges.ask_people import RequestAsker
from answerback_agents.bridges.event_server import ForeignServerError, ServerUnavailableError
from answerback_agents.bridges.late_answers import LateAnswerSource
from answerback_client import AsyncClient
from answerback_hosts.openclaw.device import Device
from answerback_hosts.openclaw.gateway import OpenclawGateway
from answerback_hosts.openclaw.gateway_bridge import OpenclawBridge
from tests.acceptance.process import command
from tests.fakes.openclaw import TOKEN, Openclaw
from tests.meta.project import ROOT
from tests.recipes.receiving import listening
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.agents.bridges.test_bridge_opencode import ended

Json = dict[str, Any]

RECORDED: Json = json.loads(
    (ROOT / "bot/answerback_hosts/openclaw/recorded/bridge.json").read_text()
)
"""Requests as OpenClaw 2026.9.6 sent them; the one of a plug-in follows its schema."""
QUESTION, COMMAND, PLUGIN = (
    RECORDED[kind] for kind in ("question", "exec.approval", "plugin.approval")
)
SESSION = QUESTION["sessionKey"]
ABORT = ("chat.abort", {"sessionKey": SESSION})


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.fixture
async def openclaw() -> AsyncIterator[Openclaw]:
    gateway = Openclaw()
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device.load(tmp_path / "state" / "device.key")


@asynccontextmanager
async def bridging(service: Served, openclaw: Openclaw, device: Device) -> AsyncIterator[list[str]]:
    """Run a connected bridge in this process; yields the lines that it reports."""
    lines: list[str] = []
    before = len(openclaw.introductions)
    async with (
        AsyncClient(service.url, patience=math.inf, acknowledges=False) as client,
        aiohttp.ClientSession() as http,
    ):
        gateway = OpenclawGateway(http, openclaw.url, TOKEN, device)
        people = RequestAsker(client, {"bridge": "openclaw", "server": openclaw.url}, None)
        bridge = OpenclawBridge(gateway, people, LateAnswerSource(client), lines.append)
        running = asyncio.create_task(bridge.run())
        try:
            await openclaw.connected(before + 1)
            yield lines
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


async def next_report(openclaw: Openclaw) -> tuple[str, Json]:
    """The next call that the gateway accepts."""
    async with asyncio.timeout(WAIT):
        return await openclaw.received.get()


async def reported(lines: list[str], text: str) -> None:
    """Wait until the bridge reports something."""
    async with asyncio.timeout(WAIT):
        while not any(text in line for line in lines):  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.02)


def resolved(port: str) -> Json:
    """The parameters that answer the question."""
    return {"answers": {"answers": {"port": [port]}}}


@pytest.mark.rule("CONNECT-9")
@pytest.mark.parametrize(
    ("kind", "action", "params", "more"),
    [
        ("question", {"action": "answer", "value": "8080"}, resolved("8080"), []),
        ("question", {"action": "reply", "text": "Ask Ada."}, resolved("Ask Ada."), []),
        ("question", {"action": "reply"}, {"cancel": True}, []),
        ("question", {"action": "end_turn"}, {"cancel": True}, [ABORT]),
        (
            "exec.approval",
            {"action": "answer", "value": "allow-once"},
            {"decision": "allow-once"},
            [],
        ),
        ("exec.approval", {"action": "reply", "text": "No."}, {"decision": "deny"}, []),
        ("exec.approval", {"action": "end_turn"}, {"decision": "deny"}, [ABORT]),
        ("plugin.approval", {"action": "answer", "value": "deny"}, {"decision": "deny"}, []),
    ],
)
async def test_people_answer_what_a_gateway_asks(
    service: Served,
    openclaw: Openclaw,
    device: Device,
    kind: str,
    action: Json,
    params: Json,
    more: list[tuple[str, Json]],
) -> None:
    async with bridging(service, openclaw, device):
        await openclaw.ask(kind, RECORDED[kind])
        ask = await service.newest()
        await service.act(ask, **action)
        got = [await next_report(openclaw) for _ in ("resolve", *more)]
    assert got == [(f"{kind}.resolve", {"id": RECORDED[kind]["id"], **params}), *more]
    assert ask.request.conversation == SESSION


@pytest.mark.rule("CONNECT-9")
async def test_people_see_the_command_and_only_what_the_gateway_accepts(
    service: Served, openclaw: Openclaw, device: Device
) -> None:
    async with bridging(service, openclaw, device):
        await openclaw.ask("exec.approval", COMMAND)
        command_ask = await service.newest()
        [question] = command_ask.form.questions
        assert question.text == "Run touch note.txt"
        assert [option.value for option in question.options] == ["allow-once", "deny"]
        await openclaw.resolve("exec.approval", COMMAND["id"])
        await ended(service, command_ask, Status.WITHDRAWN)
        await openclaw.ask("plugin.approval", PLUGIN)
        [question] = (await service.newest(2)).form.questions
        assert question.text == "Allow: Send a message to 3 people"
        assert "A newsletter." in str(question.context)
        assert [option.value for option in question.options] == ["allow-once", "allow-always", "deny"]  # fmt: skip


@pytest.mark.rule("CONNECT-9")
async def test_a_killed_bridge_finds_its_asks_and_withdraws_what_is_answered(
    service: Served, openclaw: Openclaw, device: Device
) -> None:
    async with bridging(service, openclaw, device):
        await openclaw.ask("question", QUESTION)
        question = await service.newest()
        await openclaw.ask("exec.approval", COMMAND)
        approval = await service.newest(2)
    del openclaw.pending["exec.approval"][COMMAND["id"]]
    async with bridging(service, openclaw, device):
        await ended(service, approval, Status.WITHDRAWN)
        await service.act(question, action="answer", value="8443")
        _, params = await next_report(openclaw)
    assert params["answers"] == {"answers": {"port": ["8443"]}}
    assert openclaw.introductions[0]["device"]["id"] == openclaw.introductions[1]["device"]["id"]


@pytest.mark.rule("CONNECT-9")
async def test_what_is_resolved_while_the_connection_is_lost_is_withdrawn(
    service: Served, openclaw: Openclaw, device: Device
) -> None:
    async with bridging(service, openclaw, device) as lines:
        await openclaw.ask("question", QUESTION)
        ask = await service.newest()
        await openclaw.ask("exec.approval", COMMAND)
        approval = await service.newest(2)
        openclaw.pending["question"] = {}
        await openclaw.hang_up()
        await ended(service, ask, Status.WITHDRAWN)
        await reported(lines, "was lost")
        await service.act(approval, action="answer", value="allow-once")
        assert (await next_report(openclaw))[0] == "exec.approval.resolve"


@pytest.mark.rule("CONNECT-9")
async def test_what_was_answered_while_no_bridge_ran_is_withdrawn(
    service: Served, openclaw: Openclaw, device: Device
) -> None:
    openclaw.started_at -= 100
    async with bridging(service, openclaw, device):
        await openclaw.ask("question", QUESTION)
        ask = await service.newest()
    openclaw.pending["question"] = {}
    async with bridging(service, openclaw, device):
        await ended(service, ask, Status.WITHDRAWN)


@pytest.mark.rule("CONNECT-9")
@pytest.mark.parametrize("bridge_lives", [True, False])
async def test_the_answer_to_a_killed_gateways_question_continues_the_session(
    service: Served, openclaw: Openclaw, device: Device, bridge_lives: bool
) -> None:
    openclaw.started_at -= 100

    def restart() -> None:
        openclaw.pending["question"] = {}
        openclaw.started_at += 200  # after the ask, whatever the clocks say

    async with bridging(service, openclaw, device):
        await openclaw.ask("question", QUESTION)
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        if bridge_lives:
            restart()
            await openclaw.hang_up()
            await openclaw.connected(2)
            await service.act(ask, action="answer", value="8080")
            await told_late(openclaw)
    if not bridge_lives:
        restart()
        async with bridging(service, openclaw, device) as lines:
            await reported(lines, "Connected")
            await service.act(ask, action="answer", value="8080")
            await told_late(openclaw)


@pytest.mark.rule("CONNECT-9")
async def test_what_is_answered_while_the_gateway_restarts_continues_the_session(
    service: Served, openclaw: Openclaw, device: Device
) -> None:
    openclaw.started_at -= 100
    async with bridging(service, openclaw, device):
        await openclaw.ask("question", QUESTION)
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await openclaw.stop()
        await service.act(ask, action="answer", value="8080")
        await service.wait_for_waiters(ask, 0)
        openclaw.pending["question"] = {}
        openclaw.started_at += 200
        await openclaw.start()
        await told_late(openclaw)


@pytest.mark.rule("CONNECT-9")
async def test_what_was_answered_while_no_bridge_ran_continues_the_session(
    service: Served, openclaw: Openclaw, device: Device
) -> None:
    async with bridging(service, openclaw, device):
        await openclaw.ask("question", QUESTION)
        ask = await service.newest()
    openclaw.pending["question"] = {}
    openclaw.sessions = [SESSION]
    await service.act(ask, action="answer", value="8080")
    async with bridging(service, openclaw, device):
        await told_late(openclaw)


async def told_late(openclaw: Openclaw) -> None:
    """The next call that the gateway accepts has a late answer."""
    method, params = await next_report(openclaw)
    assert method == "chat.send"
    assert params["sessionKey"] == SESSION
    assert "8080" in params["message"]


async def test_what_cannot_be_asked_stays_in_openclaw(
    service: Served, openclaw: Openclaw, device: Device
) -> None:
    secret = {**QUESTION, "id": "q2", "questions": [{**QUESTION["questions"][0], "isSecret": True}]}
    wrong = {**QUESTION, "id": "q3", "questions": "none"}
    async with bridging(service, openclaw, device) as lines:
        await openclaw.ask("question", secret)
        await openclaw.ask("question", wrong)
        await openclaw.ask("exec.approval", {"id": "e1", "request": None})
        await openclaw.ask("exec.approval", {"id": "e2", "request": {"cwd": 7}})
        await openclaw.send({"type": "event", "event": "tick", "payload": {}})
        await openclaw.send({"type": "event", "event": "question.answered", "payload": {}})
        await openclaw.send({"type": "res", "id": "unknown", "ok": True})
        for text in ("secret or has no valid id", "question q3 stays", "exec.approval e2 stays"):
            await reported(lines, text)
        await openclaw.ask("question", QUESTION)
        assert (await service.newest()).request.dialect == "openclaw"


async def test_an_answer_is_repeated_until_the_gateway_has_it(
    service: Served, openclaw: Openclaw, device: Device
) -> None:
    async with bridging(service, openclaw, device) as lines:
        await openclaw.ask("question", QUESTION)
        openclaw.failures.append({"code": "UNAVAILABLE", "retryable": True})
        await service.act(await service.newest(), action="answer", value="8080")
        await next_report(openclaw)
        await openclaw.ask("exec.approval", COMMAND)
        openclaw.pending["exec.approval"] = {}
        await service.act(await service.newest(2), action="answer", value="allow-once")
        await reported(lines, "no longer waits")


PAIRING = {"message": "pair", "details": {"code": "PAIRING_REQUIRED", "requestId": "r7"}}
STARTING = {"message": "gateway starting", "retryable": True}


@pytest.mark.parametrize(
    ("refusal", "text"), [(PAIRING, "openclaw devices approve r7"), (STARTING, "starting")]
)
async def test_a_gateway_that_is_not_ready_is_waited_for(
    service: Served, openclaw: Openclaw, device: Device, refusal: Json, text: str
) -> None:
    openclaw.refusals = [refusal]
    async with bridging(service, openclaw, device) as lines:
        await reported(lines, text)
        await reported(lines, "Connected to ws://127.0.0.1")


@pytest.mark.parametrize("status", [429, 502, 503])
async def test_a_gateway_behind_a_proxy_is_waited_for_while_it_restarts(
    service: Served, openclaw: Openclaw, device: Device, status: int
) -> None:
    openclaw.failing_statuses = [status]
    async with bridging(service, openclaw, device) as lines:
        await reported(lines, f"answered HTTP {status}. Retrying")
        await reported(lines, "Connected to ws://127.0.0.1")


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("ws://192.0.2.1:18789", "wss://"),
        ("ws://example.com", "wss://"),
        ("http://127.0.0.1:1", "wss://"),
        ("wss://", "wss://"),
        ("wss://user:secret@example.com", "into the environment"),
        ("ws://localhost:1?token=secret", "into the environment"),
    ],
)
async def test_an_address_that_could_give_the_token_away_is_refused(
    device: Device, address: str, text: str
) -> None:
    async with aiohttp.ClientSession() as http:
        with pytest.raises(ForeignServerError, match=text):
            OpenclawGateway(http, address, "secret", device)
        assert OpenclawGateway(http, "wss://example.com", "secret", device).url


async def open_stream(url: str, device: Device) -> None:
    """Connect once."""
    async with aiohttp.ClientSession() as http:
        gateway = OpenclawGateway(http, url, "", device)
        with pytest.raises(ServerUnavailableError):
            await gateway.call("question.list")
        async with gateway.open_event_stream():
            raise AssertionError("it was let in")


async def test_another_server_is_named_as_such(openclaw: Openclaw, device: Device) -> None:
    async with listening(web.Application()) as url:
        with pytest.raises(ForeignServerError, match=r"not an OpenClaw gateway \(HTTP 404\)"):
            await open_stream(url.replace("http", "ws"), device)
    for frame in ("no JSON", "{}"):
        openclaw.first_frame = frame
        with pytest.raises(ForeignServerError, match="not an OpenClaw gateway"):
            await open_stream(openclaw.url, device)
    openclaw.first_frame = None
    openclaw.refusals = [{"message": "unauthorized"}]
    with pytest.raises(ForeignServerError, match="refuses: unauthorized"):
        await open_stream(openclaw.url, device)
    with pytest.raises(ServerUnavailableError, match="Cannot reach OpenClaw"):
        await open_stream("ws://127.0.0.1:9", device)


async def test_a_broken_frame_ends_the_connection_and_open_calls(
    service: Served, openclaw: Openclaw, device: Device
) -> None:
    async with bridging(service, openclaw, device) as lines:
        await reported(lines, "Connected")
        await openclaw.send("no JSON")
        await openclaw.connected(2)
        await reported(lines, "was lost")


async def test_the_command_follows_a_gateway(
    service: Served, openclaw: Openclaw, tmp_path: Path
) -> None:
    arguments = ("bridge", "openclaw", openclaw.url, "--url", service.url, "--urgency", "low")
    environment = {"OPENCLAW_GATEWAY_TOKEN": TOKEN, "XDG_STATE_HOME": str(tmp_path)}
    async with command(*arguments, folder=tmp_path, environment=environment):
        await openclaw.connected(1)
        await openclaw.ask("question", QUESTION)
        ask = await service.newest()
        assert ask.request.urgency == "low"
        await service.act(ask, action="answer", value="8080")
        method, _ = await next_report(openclaw)
    assert method == "question.resolve"
    assert (tmp_path / "answerback" / "openclaw-device.key").stat().st_mode & 0o777 == 0o600
