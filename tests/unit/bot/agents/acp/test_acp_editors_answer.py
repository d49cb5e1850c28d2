"""`answerback acp` when the editor answers: the ask is withdrawn first, and whoever was faster decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from answerback_agents.acp import proxy
from tests.recipes.receiving import listening
from tests.service_support import WAIT
from tests.unit.bot.acp_support import permission, selected
from tests.unit.bot.agents.acp.test_acp_lines import OPEN, Parts, asking, line


@asynccontextmanager
async def asked_and_answered(
    delete: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncIterator[tuple[Parts, asyncio.Task[None]]]:
    """A proxy that has asked people, and gets the editor's answer; ``delete`` answers when it withdraws the ask."""
    waited = asyncio.Event()

    async def take(_request: web.Request) -> web.Response:
        return web.json_response(OPEN, status=201)

    async def stands(_request: web.Request) -> web.Response:
        await waited.wait()
        return web.json_response({**OPEN, "status": "withdrawn"})

    app = web.Application()
    app.router.add_post("/v1/asks", take)
    app.router.add_get("/v1/asks/ask_1", stands)
    app.router.add_delete("/v1/asks/ask_1", delete)
    async with listening(app) as url, asyncio.timeout(WAIT):
        parts = Parts(asking(url))
        await asyncio.to_thread(parts.proxy.relay_from_agent, [line(permission())])
        (race,) = parts.proxy._races
        await asyncio.to_thread(race.asked.wait, WAIT)
        answering = asyncio.to_thread(parts.proxy.relay_from_editor, [line(selected("no"))])
        yield parts, asyncio.create_task(answering)
        waited.set()
        await asyncio.to_thread(parts.join)


@pytest.mark.rule("ACP-2")
async def test_an_ask_is_withdrawn_before_the_agent_gets_the_editors_answer() -> None:
    deleting, go_on = asyncio.Event(), asyncio.Event()

    async def delete(_request: web.Request) -> web.Response:
        deleting.set()
        await go_on.wait()
        return web.json_response({**OPEN, "status": "withdrawn"})

    async with asked_and_answered(delete) as (parts, answering):
        await deleting.wait()
        assert parts.agent.getvalue() == b"", (
            "nobody could still answer once the agent has an answer"
        )
        go_on.set()
        await answering
    assert parts.agent.lines(1) == [selected("no")]


@pytest.mark.rule("ACP-2")
async def test_a_person_who_was_faster_than_the_editor_decides() -> None:
    allowed = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    result = {"is_error": False, "content": "", "structured": allowed}
    ended = {**OPEN, "status": "answered", "source": "human", "tool_result": result}

    async def delete(_request: web.Request) -> web.Response:
        return web.json_response({"title": "It has ended.", "ask": ended}, status=410)

    async with asked_and_answered(delete) as (parts, answering):
        await answering
    assert parts.agent.lines(1) == [selected("yes")]
    assert parts.editor.lines(1) == [permission()], "the editor has answered, and is told nothing"


@pytest.mark.rule("ACP-5", "ACP-6", "CONNECT-10")
@pytest.mark.parametrize("how", ["hangs", "is down", "refuses", "is another program"])
async def test_a_service_that_cannot_withdraw_holds_up_no_answer(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "_WITHDRAW_TIMEOUT", 0.1)
    again = asyncio.Event()
    tries: list[web.Request] = []

    async def delete(request: web.Request) -> web.Response:
        tries.append(request)
        if len(tries) > (2 if how == "is another program" else 1):
            again.set()
            return web.json_response({**OPEN, "status": "withdrawn"})
        if how == "hangs":
            await again.wait()
        if how == "is another program":
            return web.Response(text="404 page not found", status=404)
        return web.json_response({"title": "No."}, status=403 if how == "refuses" else 503)

    async with asked_and_answered(delete) as (parts, answering):
        await answering
        assert parts.agent.lines(1) == [selected("no")]
        if how != "refuses":
            await again.wait()
    assert len(parts.agent.lines(1)) == 1
