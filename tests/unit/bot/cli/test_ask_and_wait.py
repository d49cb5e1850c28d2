"""`answerback ask` against a service that goes away, or is something else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler
from pydantic import JsonValue

from answerback.api.problems import problem_document
from answerback_agents.cli import ask_and_wait as command
from answerback_agents.cli.ask_and_wait import ask_and_wait
from tests.ports import gone_after_one_request

CALL: dict[str, JsonValue] = {"name": "ask_user", "arguments": {}}
OPEN = {
    "id": "ask_1",
    "status": "open",
    "revision": 0,
    "surface": "web",
    "thread": {"url": None},
    "clarify": None,
    "tool_result": None,
    "end_turn": False,
    "reply": None,
    "answers": {},
    "prompt": None,
}


async def ask(
    submitted: Handler, *fetched: web.Response, wait: float = 10.0
) -> Mapping[str, JsonValue]:
    """Ask a service that answers like this, in turn; the last answer stays."""
    answers = [*fetched]

    async def fetch(_: web.Request) -> web.StreamResponse:
        return answers.pop(0)

    app = web.Application()
    app.router.add_post("/v1/asks", submitted)
    app.router.add_get("/v1/asks/ask_1", fetch)
    async with TestServer(app) as server:
        return await ask_and_wait(str(server.make_url("")).rstrip("/"), None, CALL, wait)


async def accepted(_: web.Request) -> web.StreamResponse:
    return web.json_response(OPEN)


async def test_an_ask_that_vanishes_during_a_wait_ends_the_command_with_a_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gone = problem_document(404, "Not found", "There is no ask with the id ask_1.").response()
    with pytest.raises(SystemExit) as ended:
        await ask(accepted, web.Response(status=503), gone)
    assert ended.value.code == 1
    assert "There is no ask with the id ask_1." in capsys.readouterr().err


async def test_an_ask_stays_open_if_the_service_is_down_when_the_time_is_up() -> None:
    found = await ask(accepted, web.Response(status=503), wait=0)
    assert found["status"] == "open"


async def lose_response(request: web.Request) -> web.StreamResponse:
    """Break the connection once the form has arrived."""
    await request.read()
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@pytest.mark.rule("CLI-3")
async def test_a_submission_whose_response_was_lost_is_repeated_with_the_same_key(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keys = []

    async def submitted(request: web.Request) -> web.StreamResponse:
        keys.append(request.headers["Idempotency-Key"])
        return await (accepted if len(keys) == 2 else lose_response)(request)

    found = await ask(submitted, web.json_response(OPEN), wait=0)
    assert found["id"] == "ask_1"
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert "Trying again…" in capsys.readouterr().err


@pytest.mark.rule("CLI-3")
async def test_a_service_that_may_have_taken_the_form_and_stays_away_is_reported_with_where_to_look(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_RESPONSE_PATIENCE", 0.3)

    async with gone_after_one_request() as url:
        with pytest.raises(SystemExit) as ended:
            await ask_and_wait(url, None, CALL, 0)
    assert ended.value.code == 1
    *_, last = capsys.readouterr().err.splitlines()
    assert "Connection refused. The form may have been submitted already." in last
    assert "`answerback list` shows the open asks." in last
    assert "answerback serve" not in last


async def test_a_response_that_is_not_from_answerback_ends_the_command_with_a_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def page(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<h1>It works!</h1>", content_type="text/html")

    with pytest.raises(SystemExit) as ended:
        await ask(page)
    assert ended.value.code == 1
    assert "is not Answerback (HTTP 200, no JSON object)" in capsys.readouterr().err
