"""`answerback bridge opencode`: people answer what a running opencode asks, once, whichever process is killed."""

from __future__ import annotations

import asyncio
import json
import math
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from answerback.core.ask import Ask, Reason, Status
from answerback.runtime.config import ServerSettings
from answerback_agents.bridges.ask_people import RequestAsker
from answerback_agents.bridges.late_answers import LateAnswerSource
from answerback_client import AsyncClient
from answerback_hosts.opencode.server import OpencodeServer
from answerback_hosts.opencode.server_bridge import OpencodeBridge
from tests.acceptance.process import command
from tests.fakes.opencode import Opencode
from tests.meta.project import ROOT
from tests.ports import free_port
from tests.recipes.receiving import listening
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served

Json = dict[str, Any]

RECORDED: Json = json.loads(
    (ROOT / "bot/answerback_hosts/opencode/recorded/bridge.json").read_text()
)
"""Events as opencode 1.18.33 sent them."""
QUESTION, PERMISSION = RECORDED["question.asked"], RECORDED["permission.asked"]
QUESTION_ID, PERMISSION_ID = QUESTION["properties"]["id"], PERMISSION["properties"]["id"]
SESSION = QUESTION["properties"]["sessionID"]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@asynccontextmanager
async def faked(opencode: Opencode) -> AsyncIterator[Opencode]:
    """Start a fake server."""
    await opencode.start()
    try:
        yield opencode
    finally:
        await opencode.stop()


@pytest.fixture
async def opencode() -> AsyncIterator[Opencode]:
    async with faked(Opencode()) as made:
        yield made


@asynccontextmanager
async def bridging(service: Served, opencode: Opencode) -> AsyncIterator[list[str]]:
    """Run a connected bridge in this process; yields the lines that it reports."""
    lines: list[str] = []
    before = opencode.connections
    async with (
        AsyncClient(service.url, patience=math.inf, acknowledges=False) as client,
        aiohttp.ClientSession() as http,
    ):
        server = OpencodeServer(http, opencode.url)
        people = RequestAsker(client, {"bridge": "opencode", "server": opencode.url}, None)
        running = asyncio.create_task(
            OpencodeBridge(server, people, LateAnswerSource(client), lines.append).run()
        )
        try:
            await opencode.connected(before + 1)
            yield lines
        finally:
            running.cancel()
            await asyncio.wait([running])


async def next_answer(opencode: Opencode) -> tuple[str, Any]:
    """The next answer that opencode accepts."""
    async with asyncio.timeout(WAIT):
        return await opencode.received.get()


async def ended(service: Served, ask: Ask, status: Status) -> None:
    """Wait until an ask has ended with a status."""
    async with asyncio.timeout(WAIT):
        with service.running.service.signals.follow(ask.id) as follower:
            while True:
                found = await service.running.service.store.asks.get(ask.id)
                assert found is not None
                if found.status is not Status.OPEN:
                    break
                await follower.next_commit()
    assert found.status is status


@pytest.mark.rule("CONNECT-4")
@pytest.mark.parametrize(
    ("event", "action", "expected"),
    [
        (
            QUESTION,
            {"action": "answer", "value": "Yes"},
            [(f"/question/{QUESTION_ID}/reply", {"answers": [["Yes"]]})],
        ),
        (
            QUESTION,
            {"action": "reply", "text": "Ask Ada."},
            [(f"/question/{QUESTION_ID}/reply", {"answers": [["Ask Ada."]]})],
        ),
        (QUESTION, {"action": "end_turn"}, [(f"/question/{QUESTION_ID}/reject", None)]),
        (
            PERMISSION,
            {"action": "answer", "value": "once"},
            [(f"/permission/{PERMISSION_ID}/reply", {"reply": "once"})],
        ),
        (
            PERMISSION,
            {"action": "answer", "value": "reject", "note": "Not here."},
            [
                (
                    f"/permission/{PERMISSION_ID}/reply",
                    {"reply": "reject", "message": "Not here."},
                )
            ],
        ),
        (
            PERMISSION,
            {"action": "reply", "text": "Not here."},
            [
                (
                    f"/permission/{PERMISSION_ID}/reply",
                    {"reply": "reject", "message": "Not here."},
                )
            ],
        ),
        (
            PERMISSION,
            {"action": "end_turn"},
            [
                (f"/permission/{PERMISSION_ID}/reply", {"reply": "reject"}),
                (f"/session/{SESSION}/abort", None),
            ],
        ),
    ],
)
async def test_people_answer_what_opencode_asks(
    service: Served, opencode: Opencode, event: Json, action: Json, expected: list[Any]
) -> None:
    async with bridging(service, opencode):
        await opencode.ask(event)
        ask = await service.newest()
        assert ask.request.conversation == SESSION
        assert ask.request.tool_call_id == event["properties"]["tool"]["callID"]
        await service.act(ask, **action)
        for each in expected:
            assert await next_answer(opencode) == each
    assert opencode.refused == []


@pytest.mark.rule("APPROVAL-13")
async def test_words_with_a_decision_are_a_message_to_the_session(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        await opencode.ask(PERMISSION)
        ask = await service.newest()
        opencode.running[SESSION] = []
        await service.act(ask, action="answer", value="once", note="On staging.")
        path, decided = await next_answer(opencode)
        assert (path, decided) == (f"/permission/{PERMISSION_ID}/reply", {"reply": "once"})
        path, body = await next_answer(opencode)
    assert path == f"/session/{SESSION}/prompt_async"
    [part] = body["parts"]
    headline = ask.form.questions[0].text
    assert part["text"] == f'The user was asked "{headline}", decided, and said: On staging.'
    assert opencode.refused == []


async def test_a_failed_ask_denies_and_a_withdrawn_one_assumes_nothing(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        await opencode.ask(QUESTION)
        await service.running.service.withdraw((await service.newest()).id)
        assert await next_answer(opencode) == (f"/question/{QUESTION_ID}/reply", {"answers": [[]]})
        await opencode.ask(PERMISSION)
        await service.running.service.fail(
            (await service.newest(2)).id, Reason.NO_PROMPT_BACKEND, "Nobody is there."
        )
        path, body = await next_answer(opencode)
    assert path == f"/permission/{PERMISSION_ID}/reply"
    assert body["reply"] == "reject"
    assert "Nobody is there." in body["message"]


@pytest.mark.rule("CONNECT-4")
@pytest.mark.parametrize(
    ("event", "answered"),
    [
        (QUESTION, RECORDED["question.replied"]),
        (QUESTION, RECORDED["question.rejected"]),
        (PERMISSION, RECORDED["permission.replied"]),
    ],
)
async def test_a_request_answered_in_opencodes_own_window_is_withdrawn(
    service: Served, opencode: Opencode, event: Json, answered: Json
) -> None:
    answered = {
        **answered,
        "properties": {**answered["properties"], "requestID": event["properties"]["id"]},
    }
    async with bridging(service, opencode):
        await opencode.ask(event)
        ask = await service.newest()
        await opencode.answer(answered)
        await ended(service, ask, Status.WITHDRAWN)
        another = {**event["properties"], "id": "another"}
        await opencode.ask({**event, "properties": another})
        await service.newest(2)
    assert opencode.received.empty()


@pytest.mark.rule("CONNECT-4")
async def test_a_killed_bridge_does_not_ask_twice_and_answers_once(
    service: Served, opencode: Opencode, tmp_path: Path
) -> None:
    arguments = (
        *("bridge", "opencode", opencode.url, "--url", service.url),
        *("--to", "web", "--urgency", "high"),
    )
    async with command(*arguments, folder=tmp_path) as first:
        await opencode.connected()
        await opencode.ask(QUESTION)
        ask = await service.newest()
        assert ask.request.urgency == "high"
        await opencode.ask(PERMISSION)
        prompt = await service.newest(2)
        await service.wait_for_waiters(ask)
        first.child.kill()
        await first.child.wait()
    await service.act(ask, action="answer", value="No")
    await opencode.answer(
        {
            **RECORDED["permission.replied"],
            "properties": {"sessionID": SESSION, "requestID": PERMISSION_ID, "reply": "once"},
        }
    )
    async with command(*arguments, folder=tmp_path) as second:
        answer = (f"/question/{QUESTION_ID}/reply", {"answers": [["No"]]})
        assert await next_answer(opencode) == answer
        await ended(service, prompt, Status.WITHDRAWN)
        second.signal(signal.SIGINT)
        await second.ended()
    assert opencode.received.empty()
    assert opencode.refused == []
    assert len((await service.running.service.store.asks.page(limit=10)).rows) == 2


@pytest.mark.rule("CONNECT-4")
async def test_a_restarted_bridge_keeps_waiting_for_open_asks(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        await opencode.ask(QUESTION)
        ask = await service.newest()
        await service.wait_for_waiters(ask)
    async with AsyncClient(service.url) as client:
        other = await client.submit(
            "ask_user", {"question": "Another's?"}, metadata={"bridge": "x"}
        )
        async with bridging(service, opencode):
            await opencode.send(QUESTION)
            await opencode.ask(PERMISSION)
            await service.newest(3)
            await service.act(ask, action="answer", value="Yes")
            await next_answer(opencode)
        assert (await client.get(other.id)).open
    assert len((await service.running.service.store.asks.page(limit=10)).rows) == 3


@pytest.mark.rule("CONNECT-4")
@pytest.mark.parametrize("failure", [web.HTTPServiceUnavailable, web.HTTPTooManyRequests])
async def test_a_lost_connection_loses_nothing(
    service: Served, opencode: Opencode, failure: type[web.HTTPException]
) -> None:
    opencode.failure = failure
    async with bridging(service, opencode) as lines:
        await opencode.ask(QUESTION)
        ask = await service.newest()
        await opencode.stop()
        opencode.pending["permission"][PERMISSION_ID] = PERMISSION["properties"]
        await service.act(ask, action="answer", value="Yes")
        opencode.failing = 2
        await opencode.start()
        assert await next_answer(opencode) == (
            f"/question/{QUESTION_ID}/reply",
            {"answers": [["Yes"]]},
        )
        prompt = await service.newest(2)
        opencode.pending["permission"].clear()
        opencode.hang_up()
        await ended(service, prompt, Status.WITHDRAWN)
    assert [line for line in lines if "Retrying" in line] != []


@pytest.mark.rule("CONNECT-4")
async def test_a_restart_of_the_service_loses_nothing(tmp_path: Path, opencode: Opencode) -> None:
    port = free_port()
    async with served(tmp_path, server=ServerSettings(port=port)) as service:
        bridge = bridging(service, opencode)
        await bridge.__aenter__()
        await opencode.ask(QUESTION)
        ask = await service.newest()
        await service.wait_for_waiters(ask)
    async with served(tmp_path, server=ServerSettings(port=port)) as service:
        await service.act(ask, action="answer", value="Yes")
        path, _ = await next_answer(opencode)
        await bridge.__aexit__(None, None, None)
    assert path == f"/question/{QUESTION_ID}/reply"


async def test_a_request_answered_while_a_bridge_catches_up_is_left_alone() -> None:
    """The answers arrive while the bridge asks opencode about other requests."""

    async with AsyncClient("http://127.0.0.1:1") as client, aiohttp.ClientSession() as http:
        people = RequestAsker(client, {"bridge": "opencode"}, None)
        late = LateAnswerSource(client)
        bridge = OpencodeBridge(OpencodeServer(http, "http://127.0.0.1:1"), people, late, print)
        await bridge._handle_missing("r1")
        await bridge.pending.drop("r1")
        assert not bridge.pending.waiting


async def test_a_request_that_cannot_be_asked_stays_in_opencodes_own_window(
    service: Served, opencode: Opencode
) -> None:
    wrong = {"question": "Which?", "header": "Which", "options": [], "custom": False}
    asked = {**QUESTION, "properties": {**QUESTION["properties"], "questions": [wrong]}}
    async with bridging(service, opencode) as lines:
        await opencode.ask(asked)
        await opencode.send({"id": "evt_3", "type": "session.idle", "properties": {}})
        await opencode.send(
            RECORDED["permission.replied"]
        )  # of a request that nobody was asked about
        other = {**QUESTION["properties"], "id": "que_2", "sessionID": None, "tool": None}
        await opencode.ask({**QUESTION, "properties": other})
        ask = await service.newest()
        del opencode.pending["question"]["que_2"]
        await service.act(ask, action="answer", value="Yes")
        async with asyncio.timeout(WAIT):
            while len(lines) < 3:  # noqa: ASYNC110 - lines are not events
                await asyncio.sleep(0.005)
    assert any(f"question {QUESTION_ID} stays in opencode's own window" in line for line in lines)
    assert lines[-1] == "opencode no longer waits for question que_2."


@pytest.mark.rule("CONNECT-4")
async def test_the_command_uses_a_token_a_password_and_a_folder(tmp_path: Path) -> None:
    async with (
        served(tmp_path, {"helper": "agent", "front": "surface"}) as service,
        faked(Opencode(password="hunter2")) as opencode,
    ):
        arguments = [
            "bridge",
            "opencode",
            opencode.url,
            "--url",
            service.url,
            "--token-env",
            "MINE",
        ]
        arguments += ["--to", "web", "--directory", "/work here"]
        environment = {"MINE": service.tokens["helper"], "OPENCODE_SERVER_PASSWORD": "hunter2"}
        async with command(*arguments, folder=tmp_path, environment=environment):
            await opencode.connected()
            await opencode.ask(PERMISSION)
            ask = await service.newest()
            assert ask.request.agent == "helper"
            await service.act(ask, action="answer", value="reject", actor={"user_id": "U7"})
            path, body = await next_answer(opencode)
        assert path == f"/permission/{PERMISSION_ID}/reply?directory=/work+here"
        assert body == {"reply": "reject"}
        environment["OPENCODE_SERVER_PASSWORD"] = ""
        async with command(*arguments, folder=tmp_path, environment=environment) as process:
            code, _, err = await process.ended()
        assert code == 1
        assert "--password-env" in err


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("<html>", "text/html", "is not an opencode server (HTTP 200)"),
        ("data: [1]\n\n", "text/event-stream", "is not an opencode server"),
        (None, "text/event-stream", "is not an opencode server"),
    ],
)
async def test_a_server_that_is_not_opencode_is_reported(
    service: Served, text: str | None, kind: str, expected: str
) -> None:
    async def events(_request: web.Request) -> web.Response:
        return web.Response(text=text or "", content_type=kind)

    async def rows(_request: web.Request) -> web.Response:
        return web.Response(text="{}" if text is None else "[]")

    app = web.Application()
    app.router.add_get("/event", events)
    app.router.add_get("/{kind}", rows)
    async with listening(app) as url, AsyncClient(service.url) as client:
        assert expected in await refusal(client, url)


async def test_an_invalid_address_is_reported(service: Served) -> None:
    async with AsyncClient(service.url) as client:
        assert "Use http://host:port" in await refusal(client, "ftp://127.0.0.1")


async def refusal(client: AsyncClient, url: str) -> str:
    """The error that a bridge ends with if retrying cannot help."""
    async with aiohttp.ClientSession() as http:
        people = RequestAsker(client, {"bridge": "opencode", "server": url}, None)
        with pytest.raises(ExceptionGroup) as raised:
            await OpencodeBridge(
                OpencodeServer(http, url), people, LateAnswerSource(client), print
            ).run()
    (error,) = raised.value.exceptions
    return str(error)


@pytest.mark.rule("CONNECT-4")
@pytest.mark.parametrize("how", ["event", "listed"])
async def test_requests_of_the_second_version_are_answered_where_they_are(
    service: Served, how: str
) -> None:
    asked = {key: QUESTION["properties"][key] for key in ("id", "sessionID", "questions", "tool")}
    permission = {
        "id": "per_2",
        "sessionID": SESSION,
        "action": "bash",
        "resources": ["git push origin"],
        "save": ["git push *"],
        "metadata": {"command": "git push origin"},
        "source": {"type": "tool", "messageID": "msg_1", "callID": "call_9"},
    }
    opencode = Opencode()
    opencode.has_v2 = True
    async with faked(opencode):
        for count, (kind, record, said) in enumerate(
            (("permission", permission, "Run git push origin"), ("question", asked, None)), 1
        ):
            if how == "listed":
                opencode.pending[kind][record["id"]] = record
            async with bridging(service, opencode):
                if how == "event":
                    await opencode.ask({"type": f"{kind}.v2.asked", "properties": record})
                ask = await service.newest(count)
                assert ask.question is not None
                assert ask.question.text == (said or ask.question.text)
                assert (
                    ask.request.tool_call_id == record.get("tool", {"callID": "call_9"})["callID"]
                )
                answer = ask.question.options[0].value
                await service.act(ask, action="answer", value=answer)
                path, body = await opencode.received.get()
            assert path == f"/api/session/{SESSION}/{kind}/{record['id']}/reply"
            assert body == ({"reply": "once"} if said else {"answers": [[answer]]})


@pytest.mark.rule("CONNECT-4")
@pytest.mark.parametrize(
    ("sent", "headline", "shown"),
    [
        ({"table": "orders"}, "Use shop_drop: orders", "```\ntable: orders\n```\n\n"),
        (["orders"], "Use shop_drop", "```\n- orders\n```\n\n"),
        ({}, "Use shop_drop", ""),
    ],
    ids=str,
)
async def test_a_permission_without_arguments_is_shown_with_those_of_its_call(
    service: Served, opencode: Opencode, sent: Any, headline: str, shown: str
) -> None:
    call = {"messageID": "msg_1", "callID": "call_7"}
    asked = {**PERMISSION["properties"], "permission": "shop_drop", "metadata": {}, "tool": call}
    opencode.running[SESSION] = ["call_1", "call_7"]
    opencode.inputs = sent
    async with bridging(service, opencode):
        await opencode.ask({**PERMISSION, "properties": asked})
        ask = await service.newest()
        assert ask.question is not None
        assert ask.question.text == headline
        assert ask.question.context == f'{shown}```\npatterns: ["touch x.txt"]\n```'
        await service.act(ask, action="answer", value="reject")
