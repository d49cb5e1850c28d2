"""The client fetches receipts and consumes approvals."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from answerback.service.submission_request import Route
from answerback_client import Ask, AsyncClient, Client, RefusedError, UnreachableError
from tests.unit.bot.agent_support import Served, served


@pytest.mark.rule("CLIENT-6")
async def test_an_approval_is_consumed_once_and_has_a_receipt(
    service: Served, client: AsyncClient
) -> None:
    arguments: Any = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}
    ask = await client.submit("PermissionRequest", arguments, dialect="approval", to="web")
    with pytest.raises(RefusedError, match="The ask is open"):
        await client.receipt(ask.id)
    with pytest.raises(RefusedError, match="Nobody has allowed this"):
        await client.consume(ask.id)
    await service.act(await service.newest(), action="answer", value="allow")
    receipt: Any = await client.receipt(ask.id)
    assert receipt["receipt"]["payload"]["decisions"] == {"decision": "allow_once"}

    def work() -> Ask:
        with Client(service.url, patience=1.0) as blocking:
            assert blocking.receipt(ask.id)["receipt"] == receipt["receipt"]
            return blocking.consume(ask.id)

    assert (await asyncio.to_thread(work)).id == ask.id
    with pytest.raises(RefusedError, match="consumed before"):
        await client.consume(ask.id)


@pytest.mark.rule("CLIENT-6", "EDIT-6")
async def test_a_changed_call_is_read_and_consumed_by_its_digest(tmp_path: Path) -> None:
    route = Route(to="web", responders=("operator",), edit=True)
    async with (
        served(tmp_path, routes={"ops": route}) as service,
        AsyncClient(service.url, patience=1.0) as client,
    ):
        arguments: Any = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}
        ask = await client.submit("PermissionRequest", arguments, to="ops", takes_edited=True)
        now = {"command": "make deploy STAGE=beta"}
        await service.act(await service.newest(), action="answer", value="allow", edited=now)
        ask = await client.wait(ask.id)
        assert ask.edited is not None
        assert (ask.edited.arguments, ask.edited.written) == (now, json.dumps(now))
        assert ask.edited.difference.endswith('→ "make deploy STAGE=beta"')
        with pytest.raises(RefusedError, match=ask.edited.digest):
            await client.consume(ask.id)
        assert (await client.consume(ask.id, edited=ask.edited.digest)).edited == ask.edited


async def test_consuming_is_not_repeated_by_itself() -> None:
    calls = 0

    async def consumed(_request: web.Request) -> web.Response:
        nonlocal calls
        calls += 1
        return web.Response(status=503)

    app = web.Application()
    app.router.add_post("/v1/asks/a/consume", consumed)
    async with (
        TestServer(app) as server,
        AsyncClient(str(server.make_url("")), patience=5.0) as own,
    ):
        with pytest.raises(UnreachableError):
            await own.consume("a")
    assert calls == 1
