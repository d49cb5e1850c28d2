"""`answerback bridge codex` between a client and Codex's app server: people answer what Codex asks."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from answerback.core.ask import Reason, Status
from answerback_agents.bridges.ask_people import Request, RequestAsker
from answerback_agents.bridges.late_answers import LateAnswerSource
from answerback_agents.cli import bridged_server, main
from answerback_client import AsyncClient, ClientError
from answerback_hosts.codex import app_server
from answerback_hosts.codex.app_server_capabilities import ClientCapabilities
from tests.acceptance.forked_process import Child, forked
from tests.acceptance.process import PATIENCE, command
from tests.meta.project import ROOT
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served

Json = dict[str, Any]

RECORDED: Json = json.loads((ROOT / "bot/answerback_hosts/codex/recorded/bridge.json").read_text())
"""Requests as Codex 0.169.0 sent them."""
QUESTION, COMMAND = (
    RECORDED[f"item/{kind}"]
    for kind in ("tool/requestUserInput", "commandExecution/requestApproval")
)
TURN: Json = {key: QUESTION["params"][key] for key in ("threadId", "turnId")}
THREAD = TURN["threadId"]
PERMISSIONS: Json = {
    "id": "p1",
    "method": "item/permissions/requestApproval",
    "params": {**TURN, "itemId": "call_3", "permissions": {"network": {"enabled": True}}},
}
ELICITATION: Json = {
    "id": 2,
    "method": "mcpServer/elicitation/request",
    "params": {
        "threadId": THREAD,
        "turnId": None,
        "serverName": "travel",
        "mode": "form",
        "message": "Seat?",
        "requestedSchema": {
            "type": "object",
            "properties": {"seat": {"type": "string", "enum": ["aisle", "window"]}},
            "required": ["seat"],
        },
    },
}


def answer(value: Any) -> Json:
    return {"action": "answer", "value": value}


REPLY, END = {"action": "reply", "text": "Ask Ada."}, {"action": "end_turn"}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


class Talk:
    """The client's side of the command."""

    def __init__(self, child: Child) -> None:
        self.child = child

    def say(self, message: Json) -> None:
        """Send a message to the app server."""
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(message).encode() + b"\n")

    async def receive(self) -> Json:
        """Read the next message from the app server."""
        assert self.child.stdout is not None
        async with asyncio.timeout(PATIENCE):
            found: Json = json.loads(await self.child.stdout.readline())
        return found

    async def read(self) -> Json:
        """The next message that the app server read."""
        relayed = await self.receive()
        assert relayed["method"] == "fake/read", relayed
        found: Json = relayed["params"]
        return found

    async def read_response(self) -> Json:
        """The next response that the app server read; words of people may stand before it."""
        while "method" in (found := await self.read()):
            pass
        return found

    async def ended(self) -> int:
        """Wait until the command has ended; returns its exit status."""
        async with asyncio.timeout(PATIENCE):
            await self.child.communicate()
        assert self.child.returncode is not None
        return self.child.returncode


@asynccontextmanager
async def run_bridge(
    service: Served, opening: list[Any], *later: Json, **own: Any
) -> AsyncIterator[Talk]:
    """Run the command between this test and the fake, both initialised.

    Args:
        own: what else the client itself can do.
    """
    fake = str(ROOT / "tests" / "fakes" / "codex_app_server.py")
    arguments = ("bridge", "codex", "--url", service.url, "--to", "web", "--urgency", "high", "--")
    child = await forked(
        *(*arguments, sys.executable, fake, json.dumps(opening), json.dumps(later)),
        stdin=asyncio.subprocess.PIPE,
    )
    talk = Talk(child)
    try:
        capabilities: Json = {"optOutNotificationMethods": [], **own}
        client = {"clientInfo": {"name": "test", "version": "1"}, "capabilities": capabilities}
        talk.say({"id": 7, "method": "initialize", "params": client})
        introduced = await talk.read()
        extensions: Json = {"openai/form": {}, "openai/standard-form-input": {}}
        more: Json = {"experimentalApi": True, "requiredHumanApproval": True}
        capabilities = {
            **capabilities,
            **more,
            "extensions": extensions | own.get("extensions", {}),
        }
        assert introduced["params"] == {**client, "capabilities": capabilities}
        assert await talk.receive() == {"id": 7, "result": {"userAgent": "codex/0.171.0"}}
        yield talk
    finally:
        assert child.stdin is not None
        child.stdin.close()  # and so the app server and the bridge end, as when a client does
        async with asyncio.timeout(PATIENCE):
            await child.communicate()


@pytest.mark.rule("CONNECT-5", "URGENCY-1")
@pytest.mark.parametrize(
    ("request_", "action", "expected"),
    [
        (QUESTION, answer("No"), {"answers": {"deploy": {"answers": ["No"]}}}),
        (COMMAND, answer("accept"), {"decision": "accept"}),
        (COMMAND, REPLY, {"decision": "decline"}),
        (PERMISSIONS, answer("decline"), {"permissions": {}, "scope": "turn"}),
        (
            ELICITATION,
            answer("aisle"),
            {"action": "accept", "content": {"seat": "aisle"}},
        ),
        (ELICITATION, END, {"action": "cancel"}),
    ],
)
async def test_people_answer_what_codex_asks(
    service: Served, request_: Json, action: Json, expected: Json
) -> None:
    async with run_bridge(service, [request_]) as talk:
        ask = await service.newest()
        assert (ask.request.conversation, ask.request.urgency) == (THREAD, "high")
        await service.act(ask, **action)
        assert await talk.read_response() == {"id": request_["id"], "result": expected}


@pytest.mark.rule("ASK-8", "CONNECT-5")
@pytest.mark.parametrize(
    "notification",
    [
        {"id": 3, "result": {"thread": {"id": THREAD, "cwd": "/srv/shop"}, "model": "m"}},
        {"id": 3, "result": {"thread": {"id": THREAD}, "cwd": "/srv/shop"}},
        {"method": "thread/started", "params": {"thread": {"id": THREAD, "cwd": "/srv/shop"}}},
    ],
)
async def test_people_read_in_which_project_a_thread_works(
    service: Served, notification: Json
) -> None:
    async with run_bridge(service, [notification, COMMAND]) as talk:
        assert await talk.receive() == notification
        origin = (await service.newest()).request.origin
    assert (origin.project, origin.folder, origin.session) == ("shop", "/srv/shop", THREAD)


@pytest.mark.rule("CONNECT-5")
@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (QUESTION, {"answers": {}}),
        (COMMAND, {"decision": "cancel"}),
        (PERMISSIONS, {"permissions": {}, "scope": "turn"}),
    ],
)
async def test_end_turn_interrupts_the_turn(
    service: Served, request_: Json, expected: Json
) -> None:
    async with run_bridge(service, [request_]) as talk:
        await service.act(await service.newest(), **END)
        interrupt = await talk.read()
        assert (interrupt["method"], interrupt["params"]) == ("turn/interrupt", TURN)
        assert await talk.read() == {"id": request_["id"], "result": expected}


@pytest.mark.rule("APPROVAL-13")
async def test_words_with_a_decision_steer_the_turn(service: Served) -> None:
    async with run_bridge(service, [COMMAND]) as talk:
        ask = await service.newest()
        await service.act(ask, action="answer", value="accept", note="On staging.")
        steered = await talk.read()
        assert await talk.read() == {"id": COMMAND["id"], "result": {"decision": "accept"}}
    assert steered["method"] == "turn/steer"
    headline = ask.form.questions[0].text
    [said] = steered["params"]["input"]
    assert said["text"] == f'The user was asked "{headline}", decided, and said: On staging.'


@pytest.mark.rule("CONNECT-5")
async def test_what_a_person_replies_to_an_approval_steers_the_turn(service: Served) -> None:
    async with run_bridge(service, [COMMAND]) as talk:
        ask = await service.newest()
        await service.act(ask, action="reply", text="Use the other one.")
        steered = await talk.read()
        assert await talk.read() == {"id": COMMAND["id"], "result": {"decision": "decline"}}
    assert steered["method"] == "turn/steer"
    headline = ask.form.questions[0].text
    text = f'The user was asked "{headline}" and replied: Use the other one.'
    thread, turn = TURN["threadId"], TURN["turnId"]
    said = [{"type": "text", "text": text}]
    assert steered["params"] == {"threadId": thread, "expectedTurnId": turn, "input": said}


async def test_a_failed_ask_is_answered_with_an_error_or_declined(service: Served) -> None:
    async with run_bridge(service, [QUESTION], COMMAND) as talk:
        fail = service.running.service.fail
        await fail((await service.newest()).id, Reason.NO_PROMPT_BACKEND, "Nobody is there.")
        received = await talk.read()
        assert "Nobody is there." in received["error"]["message"]
        await fail((await service.newest(2)).id, Reason.NO_PROMPT_BACKEND, "Nobody is there.")
        assert await talk.read() == {"id": 1, "result": {"decision": "decline"}}


@pytest.mark.rule("CONNECT-5")
async def test_a_request_that_codex_resolves_is_withdrawn_and_everything_else_passes_through(
    service: Served,
) -> None:
    resolved = {"method": "serverRequest/resolved", "params": {"threadId": THREAD, "requestId": 1}}
    other = {"method": "serverRequest/resolved", "params": {"threadId": THREAD, "requestId": 9}}
    async with run_bridge(service, [COMMAND], resolved, other) as talk:
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        for number in (1, 2):
            talk.say({"id": number, "method": "thread/list", "params": {}})
            assert (await talk.read())["method"] == "thread/list"
        assert await talk.receive() == other
        await withdrawn(service, ask.id)


async def test_a_refused_request_that_codex_already_resolved_goes_to_nobody() -> None:
    class Refusing(RequestAsker):
        async def ask_and_wait(self, request: Request, gone: asyncio.Event) -> None:
            await gone.wait()
            raise ClientError("It cannot be asked.")

        async def withdraw_stale_asks(self, *_: object) -> None:
            pass

    async def says() -> AsyncIterator[bytes]:
        resolved = {"threadId": THREAD, "requestId": COMMAND["id"]}
        yield json.dumps(COMMAND).encode()
        yield json.dumps({"method": "serverRequest/resolved", "params": resolved}).encode()
        await asyncio.sleep(0)

    async def nothing() -> AsyncIterator[bytes]:
        return
        yield

    relayed: list[bytes] = []
    received: list[str] = []
    async with AsyncClient("http://127.0.0.1:1") as client:
        people = Refusing(client, {"bridge": "codex"}, None)
        late = LateAnswerSource(client)
        made = app_server.CodexBridge(people, late, relayed.append, relayed.append, received.append)
        await made.run(nothing(), says())
    assert (relayed, received) == ([], [])


async def test_a_request_that_cannot_be_asked_goes_to_codexs_own_client(service: Served) -> None:
    secret = {**QUESTION["params"]["questions"][0], "isSecret": True}
    asked = {**QUESTION, "params": {**QUESTION["params"], "questions": [secret]}}
    async with run_bridge(service, [asked]) as talk:
        assert await talk.receive() == asked
        reply = {"id": 0, "result": {"answers": {"deploy": {"answers": ["hunter2"]}}}}
        talk.say(reply)
        assert await talk.read() == reply
        assert talk.child.stdin is not None
        talk.child.stdin.close()
        assert await talk.ended() == 0


async def test_a_line_that_is_not_a_message_passes_through(service: Served) -> None:
    async with run_bridge(service, ["a line of something else"]) as talk:
        assert talk.child.stdout is not None
        async with asyncio.timeout(PATIENCE):
            assert await talk.child.stdout.readline() == b"a line of something else\n"


async def test_a_missing_command_is_reported(service: Served, tmp_path: Path) -> None:
    arguments = ("bridge", "codex", "--url", service.url, "--", str(tmp_path / "codex"))
    async with command(*arguments, folder=tmp_path) as process:
        code, _, err = await process.ended()
    assert code == 1
    assert "No such file or directory. Is it installed?" in err


@pytest.mark.rule("CLI-12")
async def test_a_wrong_token_is_reported_with_its_variable(tmp_path: Path) -> None:
    async with served(tmp_path, {"codex": "agent"}) as service:
        arguments = ("bridge", "codex", "--url", service.url, "--token-env", "MINE", "--", "true")
        async with command(*arguments, folder=tmp_path) as process:
            code, _, err = await process.ended()
    assert code == 1
    assert "The bridge reads the token from MINE." in err


@pytest.mark.rule("CLI-12")
def test_an_unreachable_service_is_reported_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bridged_server, "_START_PATIENCE", 0.1)
    arguments = ["bridge", "codex", "--url", "http://127.0.0.1:1", "--", "true"]
    done = CliRunner().invoke(main.app, arguments, catch_exceptions=False)
    assert done.exit_code == 1
    assert "Connection refused. Start one with `answerback serve`" in done.stderr


async def withdrawn(service: Served, ask_id: str) -> None:
    """Wait until an ask was withdrawn."""
    async with asyncio.timeout(WAIT):
        while True:
            found = await service.running.service.store.asks.get(ask_id)
            assert found is not None
            if found.status is Status.WITHDRAWN:
                return
            await asyncio.sleep(0.005)


FORM: Json = {
    "id": 9,
    "method": "mcpServer/elicitation/request",
    "params": {
        "threadId": THREAD,
        "turnId": None,
        "serverName": "travel",
        "mode": "openai/form",
        "message": "Which seat?",
        "requestedSchema": {"type": "object", "properties": {}},
    },
}
HUMAN: Json = {**COMMAND, "params": {**COMMAND["params"], "kind": "humanCommand"}}
UNREADABLE: Json = {"requestedSchema": 7}
CASE = json.loads(
    (ROOT / "tests" / "data" / "cases" / "codex-openai-form-not-announced.json").read_text()
)


@pytest.mark.rule("CONNECT-11")
async def test_codex_reads_that_its_client_can_ask_what_people_answer(service: Served) -> None:
    expected = CASE["expected"]["extensions"]
    ui: Json = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}, "openai/form": {"v": 1}}
    for own in ({}, {"extensions": ui}):
        async with run_bridge(service, [FORM, HUMAN], **own):  # which compares what Codex reads
            await service.newest(2)
    assert expected == {"openai/form": {}}


@pytest.mark.rule("CONNECT-11")
@pytest.mark.parametrize(
    ("request_", "action", "result"),
    [
        (FORM, answer(True), {"action": "accept", "content": {}}),
        (HUMAN, answer("accept"), {"decision": "accept"}),
        (HUMAN, REPLY, {"decision": "decline"}),
    ],
)
async def test_people_answer_what_only_the_bridge_has_announced(
    service: Served, request_: Json, action: Json, result: Json
) -> None:
    async with run_bridge(service, [request_]) as talk:
        await service.act(await service.newest(), **action)
        assert (await talk.read_response())["result"] == result


@pytest.mark.rule("CONNECT-11")
@pytest.mark.parametrize("announced", [False, True])
async def test_what_cannot_be_asked_goes_to_the_client_only_if_it_can_ask_that(
    service: Served, announced: bool
) -> None:
    wrong: Json = {**FORM, "params": {**FORM["params"], **UNREADABLE}}
    own: Json = {"extensions": {"openai/form": {}}} if announced else {}
    async with run_bridge(service, [wrong], **own) as talk:
        received = await talk.receive()
        if announced:
            assert received == wrong
        else:
            assert received["params"] == {"id": 9, "result": {"action": "cancel"}}


@pytest.mark.rule("CONNECT-11")
@pytest.mark.parametrize(
    ("own", "params", "expected"),
    [
        ({}, {"kind": "humanCommand"}, False),
        ({"requiredHumanApproval": True}, {"kind": "humanCommand"}, True),
        ({}, {"mode": "openaiForm"}, False),
        ({"mcpServerOpenaiFormElicitation": True}, {"mode": "openaiForm"}, True),
        ({"extensions": {"openai/form": {}}}, {"mode": "openai/form"}, True),
        ({}, {"mode": "form"}, True),
    ],
)
def test_a_client_is_asked_what_it_has_announced_itself(
    own: Json, params: Json, expected: bool
) -> None:
    capabilities = ClientCapabilities()
    capabilities.announce({"capabilities": own})
    assert capabilities.has_asked_for(params) is expected
