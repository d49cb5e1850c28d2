"""The inquiry backend over a real socket: what it receives, and every way in which it can fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import JsonValue

from answerback.core.errors import InquiryError
from answerback.runtime.config import InquirySettings
from answerback.service.question_routing import ToolRule
from answerback.workers.inquiry import MAX_BODY, HttpInquiryBackend
from answerback_client import AsyncClient
from tests.service_support import WAIT, ask_user
from tests.unit.bot.agent_support import served
from tests.unit.bot.conftest import Parts

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def backend(handler: Handler, timeout: float = WAIT) -> AsyncIterator[HttpInquiryBackend]:
    app = web.Application()
    app.router.add_post("/", handler)
    async with TestServer(app) as server, aiohttp.ClientSession() as http:
        yield HttpInquiryBackend(http, str(server.make_url("/")), timeout)


async def answer(parts: Parts, inquiry: HttpInquiryBackend) -> Any:
    ask = (await parts.service().submit(ask_user(conversation="c", turn="t"))).ask
    assert ask.question is not None
    return await inquiry.answer(ask, ask.question)


@pytest.mark.rule("ROUTE-3")
async def test_the_backend_receives_the_question_and_returns_its_answer(parts: Parts) -> None:
    got: list[Any] = []

    async def handler(request: web.Request) -> web.Response:
        got.append(await request.json())
        return web.json_response({"answer": False})

    async with backend(handler) as inquiry:
        assert await answer(parts, inquiry) is False
    (body,) = got
    assert (body["tool"], body["conversation"], body["turn"]) == ("ask_user", "c", "t")
    assert (body["question"]["id"], body["question"]["answer_type"]) == ("go", "boolean")


@pytest.mark.rule("ROUTE-3")
@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (lambda: web.Response(status=500), "HTTP 500"),
        (lambda: web.Response(status=302, headers={"Location": "/"}), "HTTP 302"),
        (lambda: web.Response(text="yes"), "not JSON"),
        (lambda: web.Response(text="[" * 100_000), "not JSON"),
        (lambda: web.json_response([True]), '"answer"'),
        (lambda: web.Response(body=b" " * (MAX_BODY + 1)), "longer"),
    ],
)
async def test_an_invalid_response_is_explained(
    parts: Parts, response: Callable[[], web.Response], expected: str
) -> None:
    async def handler(_request: web.Request) -> web.Response:
        return response()

    async with backend(handler) as inquiry:
        with pytest.raises(InquiryError, match=expected):
            await answer(parts, inquiry)


async def test_a_backend_that_hangs_or_is_unreachable_is_abandoned(parts: Parts) -> None:
    release = asyncio.Event()

    async def handler(_request: web.Request) -> web.Response:
        await release.wait()
        return web.Response()

    async with backend(handler, timeout=0.05) as inquiry:
        with pytest.raises(InquiryError, match="in time"):
            await answer(parts, inquiry)
        release.set()
    async with aiohttp.ClientSession() as http:
        with pytest.raises(InquiryError, match="reached"):
            await answer(parts, HttpInquiryBackend(http, "http://127.0.0.1:1/", 5.0))


async def test_a_configured_backend_answers(tmp_path: Path) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"answer": True})

    question: JsonValue = {"id": "force", "text": "Force?", "answer_type": "boolean"}
    rules = {"git": ToolRule.model_validate({"questions": {"force": {"target": "assistant"}}})}
    app = web.Application()
    app.router.add_post("/", handler)
    async with TestServer(app) as server:
        configured = InquirySettings(url=str(server.make_url("/")))
        async with (
            served(tmp_path, tools=rules, inquiry=configured) as service,
            AsyncClient(service.url) as client,
        ):
            asked: dict[str, JsonValue] = {"tool": "git", "question": question}
            ask = await client.ask("tool_question", asked, to="web", timeout=WAIT)
    assert (ask.status, ask.json["source"], ask.answers) == ("answered", "inquiry", {"force": True})
