"""Bridges read others' streams: odd messages concern themselves alone, and no line is buffered for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from answerback.service.question_routing import Rules
from answerback.service.submission_request import Route
from answerback_agents.bridges.event_server import ForeignServerError
from answerback_agents.cli import bridged_server
from answerback_agents.pipe.lines import LineTooLongError
from answerback_client import AsyncClient
from answerback_hosts.opencode import server as opencode_server
from answerback_hosts.opencode.server import OpencodeServer
from tests.fakes.opencode import Opencode
from tests.recipes.receiving import listening
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.agents.bridges.test_bridge_codex import COMMAND, run_bridge
from tests.unit.bot.agents.bridges.test_bridge_codex import QUESTION as CODEX_QUESTION
from tests.unit.bot.agents.bridges.test_bridge_opencode import (
    PERMISSION,
    PERMISSION_ID,
    QUESTION,
    QUESTION_ID,
    bridging,
    faked,
    next_answer,
    refusal,
)

ODD_IDS: list[Any] = [None, 7, "", [], "que_\n2", "que_\ud800", "qué"]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.fixture
async def opencode() -> AsyncIterator[Opencode]:
    async with faked(Opencode()) as made:
        yield made


def with_id(event: Json, request_id: Any) -> Json:
    properties = {**event["properties"], "id": request_id}
    if request_id is None:
        del properties["id"]
    return {**event, "properties": properties}


@pytest.mark.rule("CONNECT-7")
async def test_an_opencode_request_without_a_valid_id_concerns_itself_alone(
    service: Served, opencode: Opencode
) -> None:
    listed = with_id(QUESTION, None)["properties"]
    opencode.pending["question"]["odd"] = listed
    async with bridging(service, opencode) as lines:
        for event in (QUESTION, PERMISSION):
            for odd in ODD_IDS:
                await opencode.send(with_id(event, odd))
        await opencode.ask(QUESTION)
        await service.act(await service.newest(), action="answer", value="Yes")
        path, _ = await next_answer(opencode)
    assert path == f"/question/{QUESTION_ID}/reply"
    assert len((await service.running.service.store.asks.page()).rows) == 1
    odd_ones = [line for line in lines if "without a valid id" in line]
    assert len(odd_ones) == 1 + 2 * len(ODD_IDS)


@pytest.mark.rule("CONNECT-7")
async def test_opencode_is_told_no_answer_that_no_person_gave(
    tmp_path: Path, opencode: Opencode
) -> None:
    fixed = {"permission.asked": {"questions": {"decision": {"answer": "once"}}}}
    tables: Json = {
        "tools": Rules.model_validate({"tools": fixed}).tools,
        "routes": {"ops": Route(to="web", on_expiry="defaults")},
        "default_route": "ops",
    }
    [asked] = QUESTION["properties"]["questions"]
    first, *others = asked["options"]
    recommended = {**first, "label": f"{first['label']} (Recommended)"}
    questions = [{**asked, "options": [recommended, *others]}]
    event = {**QUESTION, "properties": {**QUESTION["properties"], "questions": questions}}
    async with served(tmp_path, **tables) as service, bridging(service, opencode):
        await opencode.ask(event)
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await service.running.service.expire(ask.id)
        no_person = {"answers": [["[no answer: no person answered]"]]}
        assert await next_answer(opencode) == (f"/question/{QUESTION_ID}/reply", no_person)
        assert (await service.newest()).status.value == "answered"
        await opencode.ask(PERMISSION)
        path, body = await next_answer(opencode)
    assert path == f"/permission/{PERMISSION_ID}/reply"
    assert body["reply"] == "reject"
    assert "No person answered" in body["message"]


@pytest.mark.rule("CONNECT-7")
async def test_codex_is_told_no_answer_that_no_person_gave(tmp_path: Path) -> None:
    fixed = {
        CODEX_QUESTION["method"]: {"questions": {"deploy": {"answer": "No"}}},
        COMMAND["method"]: {"questions": {"decision": {"answer": "accept"}}},
    }
    tools = Rules.model_validate({"tools": fixed}).tools
    async with (
        served(tmp_path, tools=tools) as service,
        run_bridge(service, [CODEX_QUESTION], COMMAND) as talk,
    ):
        assert "No person answered" in (await talk.read())["error"]["message"]
        assert (await talk.read())["result"] == {"decision": "decline"}


@pytest.mark.rule("CONNECT-7")
@pytest.mark.parametrize("way", ["event", "list"])
async def test_an_endless_line_of_opencode_ends_the_bridge(
    service: Served, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(opencode_server, "MAX_LINE", 100_000)
    over = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'data: {"type": "server.connected"}\n\n')
        while way == "event" or request.path != "/event":
            await response.write(b"data: " + b"x" * 10_000)
        await over.wait()
        return response

    async def rows(_request: web.Request) -> web.Response:
        return web.Response(text="[]")

    app = web.Application()
    app.router.add_get("/event", endless)
    app.router.add_get("/{kind}", rows if way == "event" else endless)
    async with listening(app) as url, AsyncClient(service.url) as client:
        async with asyncio.timeout(WAIT):
            error = await refusal(client, url)
        over.set()
    assert ("more than 100000 bytes" if way == "event" else "is not an opencode server") in error


@pytest.mark.rule("CONNECT-7")
@pytest.mark.parametrize("raw", [b"{", b"[]", b"[" * 5_000, b"\xff"])
async def test_an_event_that_is_no_event_ends_the_bridge(raw: bytes) -> None:
    async with aiohttp.ClientSession() as http:
        with pytest.raises(ForeignServerError):
            OpencodeServer(http, "http://127.0.0.1:1")._event(raw)

    async def answers(_request: web.Request) -> web.Response:
        return web.Response(body=raw)

    app = web.Application()
    app.router.add_get("/question", answers)
    async with listening(app) as url, aiohttp.ClientSession() as http:
        server = OpencodeServer(http, url)
        if raw == b"[]":
            assert await server.pending("question") == []
        else:
            with pytest.raises(ForeignServerError):
                await server.pending("question")


@pytest.mark.rule("CONNECT-7")
async def test_an_endless_line_ends_the_codex_bridge() -> None:
    reader = asyncio.StreamReader(limit=100)
    reader.feed_data(b"first\n" + b"x" * 1_000)
    lines = bridged_server.read_lines(reader)
    assert await anext(lines) == b"first\n"
    with pytest.raises(LineTooLongError):
        await anext(lines)


def test_a_bridge_that_ends_by_itself_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    async def relay() -> None:
        async with asyncio.TaskGroup():
            raise LineTooLongError("a line has more than 3 bytes")

    with pytest.raises(SystemExit):
        bridged_server.run(relay())
    assert "a line has more than" in capsys.readouterr().err
