"""What is our own fault: told as one sentence, logged with the ask's id, nothing of the inside outside."""

from __future__ import annotations

import asyncio
import logging

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.api.problems import problems
from bot.errors import OutcomeUnknownError
from tests.unit.bot.api.conftest import Served


@pytest.mark.parametrize(
    ("error", "status"),
    [(ZeroDivisionError("the inside"), 500), (OutcomeUnknownError("the inside"), 503)],
)
async def test_a_defect_is_told_without_its_inside_and_logged_with_the_asks_id(
    api: Served,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
) -> None:
    ask = await api.asked()

    async def fails(_ask_id: str) -> None:
        raise error

    monkeypatch.setattr(api.running.service.store, "get", fails)
    with caplog.at_level(logging.ERROR, "bot.api"):
        async with api.http.get(f"/v1/asks/{ask['id']}") as response:
            told = await response.text()
    assert response.status == status
    assert response.content_type == "application/problem+json"
    assert "inside" not in told.replace("its inside", "")
    assert "Traceback" not in told
    (record,) = caplog.records
    assert record.__dict__["ask_id"] == ask["id"]
    assert record.__dict__["route"] == "/v1/asks/{id}"


async def test_a_caller_that_leaves_is_no_error(
    api: Served, caplog: pytest.LogCaptureFixture
) -> None:
    ask = await api.asked()
    headers = {"Prefer": "wait=60"}
    call = asyncio.ensure_future(api.http.get(f"/v1/asks/{ask['id']}", headers=headers))
    await api.waiters(1)
    call.cancel()
    await api.waiters(0)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_refusal_of_the_http_server_is_a_problem_and_a_redirect_is_none() -> None:
    async def large(_: web.Request) -> web.Response:
        raise web.HTTPRequestEntityTooLarge(max_size=1, actual_size=2)

    async def moved(_: web.Request) -> web.Response:
        raise web.HTTPSeeOther("/elsewhere")

    app = web.Application(middlewares=[problems])
    app.add_routes([web.get("/large", large), web.get("/moved", moved)])
    async with TestServer(app) as server, aiohttp.ClientSession(server.make_url("/")) as http:
        async with http.get("/large") as response:
            assert response.content_type == "application/problem+json"
            body = await response.json(content_type=None)
            assert (response.status, body["status"], body["title"]) == (
                *(413, 413),
                "Request Entity Too Large",
            )
        async with http.get("/moved", allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, "/elsewhere")
