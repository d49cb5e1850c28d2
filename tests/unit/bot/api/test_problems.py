"""Our own failures: reported in one sentence, logged with the ask's id, without revealing internals."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler

from answerback.api.problems import problem_response
from answerback.core.errors import CommitUnknownError, StoreError
from tests.service_support import WAIT
from tests.unit.bot.api.conftest import Serve, Served


@pytest.mark.rule("API-3")
@pytest.mark.parametrize(
    ("error", "status"),
    [(ZeroDivisionError("the inside"), 500), (CommitUnknownError("the inside"), 503)],
)
async def test_a_bug_is_reported_without_internals_and_logged_with_the_asks_id(
    api: Served,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
) -> None:
    ask = await api.asked()

    async def fails(_ask_id: str) -> None:
        raise error

    monkeypatch.setattr(api.running.service.store.asks, "get", fails)
    with caplog.at_level(logging.ERROR, "answerback.api"):
        async with api.http.get(f"/v1/asks/{ask['id']}") as response:
            body = await response.text()
    assert response.status == status
    assert response.content_type == "application/problem+json"
    assert "inside" not in body.replace("its inside", "")
    assert "Traceback" not in body
    (record,) = caplog.records
    assert record.__dict__["ask_id"] == ask["id"]
    assert record.__dict__["route"] == "/v1/asks/{id}"


@pytest.mark.rule("API-3")
@pytest.mark.parametrize("path", ["/v1/export", "/v1/asks/{id}/events"])
async def test_a_response_that_fails_after_its_beginning_is_cut_off(
    api: Served, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    ask = await api.asked()
    reads, record = 0, api.running.service.store.record
    read_entries = record.read

    async def fail_later(*arguments: Any) -> Any:
        nonlocal reads
        reads += 1
        if reads == 1:
            return await read_entries(*arguments)
        raise StoreError("the database has gone")

    monkeypatch.setattr(record, "read", fail_later)
    async with asyncio.timeout(WAIT), api.http.get(path.format(**ask)) as response:
        assert response.status == 200
        assert b"Apply" in await response.content.readany()
        await api.act(ask, action="answer", value=True)
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.content.read()


async def test_a_caller_that_disconnects_is_not_an_error(
    api: Served, caplog: pytest.LogCaptureFixture
) -> None:
    ask = await api.asked()
    headers = {"Prefer": "wait=60"}
    call = asyncio.ensure_future(api.http.get(f"/v1/asks/{ask['id']}", headers=headers))
    await api.waiters(1)
    call.cancel()
    await api.waiters(0)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.rule("API-3")
async def test_an_http_servers_error_becomes_a_problem_and_a_redirect_does_not() -> None:
    async def large(_: web.Request) -> web.Response:
        raise web.HTTPRequestEntityTooLarge(max_size=1, actual_size=2)

    async def moved(_: web.Request) -> web.Response:
        raise web.HTTPSeeOther("/elsewhere")

    @web.middleware
    async def with_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            return problem_response(request, error)

    app = web.Application(middlewares=[with_problems])
    app.add_routes([web.get("/large", large), web.get("/moved", moved)])
    async with TestServer(app) as server, aiohttp.ClientSession(server.make_url("/")) as http:
        async with http.get("/large") as response:
            assert response.content_type == "application/problem+json"
            body = await response.json(content_type=None)
            assert (response.status, body["status"], body["title"]) == (
                413,
                413,
                "Content too large",
            )
            assert "size 1 exceeded" in body["detail"]
        async with http.get("/moved", allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, "/elsewhere")


@pytest.mark.rule("DATA-6")
async def test_a_change_that_was_definitely_not_saved_is_not_reported_as_unknown(
    api: Served, tmp_path: Path
) -> None:
    ask = await api.asked()
    with closing(sqlite3.connect(tmp_path / "asks.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        status, body = await api.act(ask, action="answer", value=True)
        other.execute("ROLLBACK")
    assert (status, body["title"]) == (503, "The database failed")
    assert body["detail"] == "This call changed nothing. Try again."
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, ask)


@pytest.mark.rule("DATA-6")
async def test_only_a_failed_commit_is_reported_as_unknown(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await api.asked()

    async def fails(*_: object, **__: object) -> None:
        raise CommitUnknownError("a COMMIT failed")

    monkeypatch.setattr(api.running.service.store.asks, "change", fails)
    status, body = await api.act(ask, action="answer", value=True)
    assert (status, body["title"]) == (503, "Outcome unknown")
    assert "may or may not have been saved" in body["detail"]


async def test_an_unexpected_error_promises_nothing(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await api.asked()

    async def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(api.running.service.store.asks, "change", fails)
    status, body = await api.act(ask, action="answer", value=True)
    assert status == 500
    assert "lost" not in body["detail"]
    assert "Read the ask again" in body["detail"]


async def test_a_saved_ask_is_waited_for_even_if_it_cannot_be_read_now(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_ask_id: str) -> None:
        raise StoreError("the disk failed")

    body = {
        "name": "ask_user",
        "arguments": {"questions": [{"id": "q", "text": "?", "answer_type": "text"}]},
    }
    with monkeypatch.context() as broken:
        broken.setattr(api.running.service.store.asks, "get", fails)
        waiting = {"Prefer": "wait=1"}
        async with api.http.post("/v1/asks", json=body, headers=waiting) as response:
            ask = await response.json()
        assert response.status == 202
        async with api.http.get(f"/v1/asks/{ask['id']}", headers=waiting) as response:
            assert response.status == 503
    assert (await api.get(f"/v1/asks/{ask['id']}"))[1]["status"] == "open"


@pytest.mark.rule("DATA-12")
async def test_an_unreadable_ask_is_500_and_left_out_of_lists(serve: Serve, tmp_path: Path) -> None:
    async with serve() as api:
        odd, other = await api.asked(), await api.asked()
    with closing(sqlite3.connect(tmp_path / "asks.db", isolation_level=None)) as db:
        db.execute("UPDATE asks SET state = 'secret' WHERE id = ?", (odd["id"],))
    async with serve() as api:
        status, body = await api.get(f"/v1/asks/{odd['id']}")
        assert (status, body["title"]) == (500, "Unreadable")
        assert f"This version cannot read the stored ask {odd['id']}" in (body["detail"])
        assert "secret" not in body["detail"]
        status, page = await api.get("/v1/asks")
        assert (status, [ask["id"] for ask in page["asks"]]) == (200, [other["id"]])
        assert (await api.act(other, action="answer", value=True))[0] == 200
        status, body = await api.act(odd, action="answer", value=True)
        assert (status, body["title"]) == (500, "Unreadable")
        assert (await api.get("/readyz"))[0] == 200
