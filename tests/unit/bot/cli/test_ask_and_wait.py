"""`answerback ask` against a service that goes away, or is something else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler
from pydantic import JsonValue

from answerback.api.problems import problem_document
from answerback.cli.ask_and_wait import ask_and_wait

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


async def test_a_response_that_is_not_from_answerback_ends_the_command_with_a_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def page(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<h1>It works!</h1>", content_type="text/html")

    with pytest.raises(SystemExit) as ended:
        await ask(page)
    assert ended.value.code == 1
    assert "is not Answerback (HTTP 200, no JSON object)" in capsys.readouterr().err
