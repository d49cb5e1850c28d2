"""A call over MCP that its client cancelled has delivered nothing: the answer is a late one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp import Client
from mcp_types import CancelledNotification, CancelledNotificationParams

from answerback.core.ask import Ask
from answerback.mcp import stdio_relay
from answerback.ports.late_answers import SeenState
from answerback.service import agent_presence
from answerback_client import AsyncClient
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.mcp.test_late_answers_mcp import check, denied_and_wanted_again
from tests.unit.bot.mcp.test_mcp import AWAY, BOTH, GO, client, relayed
from tests.unit.cases import read_case

ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


class RawClient:
    """A client that keeps the response stream of a call open after it has cancelled it."""

    def __init__(self, service: Served) -> None:
        self._service = service
        self._session: dict[str, str] = {}

    async def connect(self) -> None:
        info = {"name": "raw", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        async with self.post("initialize", params, 0) as response:
            self._session = {"Mcp-Session-Id": response.headers["Mcp-Session-Id"]}

    def post(self, method: str, params: Any, request_id: Any = None) -> Any:
        body = {"jsonrpc": "2.0", "method": method, "params": params}
        if request_id is not None:
            body["id"] = request_id
        url = f"{self._service.url}/mcp"
        return self._service.http.post(url, json=body, headers={**ACCEPT, **self._session})

    def call(self, request_id: Any, **arguments: Any) -> Any:
        return self.post("tools/call", {"name": "ask_user", "arguments": arguments}, request_id)

    async def cancel(self, request_id: Any) -> None:
        async with self.post("notifications/cancelled", {"requestId": request_id}) as response:
            assert response.status == 202


@pytest.fixture
async def raw(service: Served) -> RawClient:
    made = RawClient(service)
    await made.connect()
    return made


async def answered(service: Served) -> Ask:
    """An ask that a person has answered, which nobody has been told."""
    body = {"name": "ask_user", "arguments": GO, "to": "web"}
    async with service.http.post(f"{service.url}/v1/asks", json=body) as response:
        assert response.status == 201
    await service.act(await service.newest(), action="answer", value=True)
    return await service.newest()


class SentCancellations:
    """A client's cancellations of the call that it made last."""

    def __init__(self, mcp: Client) -> None:
        self._mcp = mcp

    async def cancel(self) -> None:
        session = self._mcp.session
        newest: int = session._dispatcher._next_id  # type: ignore[attr-defined]
        params = CancelledNotificationParams(request_id=newest)
        await session.send_notification(CancelledNotification(params=params))


@asynccontextmanager
async def relayed_and_cancelled(
    service: Served,
) -> AsyncIterator[tuple[Client, SentCancellations]]:
    """A client of the server that `answerback mcp` runs."""
    async with relayed(service.url, mode="legacy") as mcp:
        await mcp.list_tools()  # or it lists them after its first call
        yield mcp, SentCancellations(mcp)


async def events_of(response: aiohttp.ClientResponse) -> list[dict[str, Any]]:
    """The messages of a response's stream, once it has ended."""
    lines = (await response.text()).splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


async def wait_until_left(service: Served, ask: Ask) -> None:
    """Wait until an ask says that its agent does not wait."""
    async with asyncio.timeout(WAIT):
        with service.running.service.follow(ask.id) as follower:
            while True:
                async with service.http.get(f"{service.url}/v1/asks/{ask.id}") as response:
                    if not (await response.json())["waiting"]:
                        return
                await follower.next_commit()


@pytest.mark.rule("MCP-14", "LATE-1")
@BOTH
@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_the_answer_to_a_cancelled_call_is_late(service: Served, mode: str, how: str) -> None:
    asking, *_, checking = read_case("mcp-cancelled-call-then-answer")["mcp"]["steps"]
    call, again = (
        json.loads(step[step.index("{") : step.rindex("}") + 1]) for step in (asking, checking)
    )
    async with client(service, mode) as mcp:
        if how == "timeout":
            with pytest.raises(Exception, match=r"(?i)timed? ?out"):
                await mcp.call_tool("ask_user", call, read_timeout_seconds=1.0)
            ask = await service.newest()
        else:
            calling = asyncio.create_task(mcp.call_tool("ask_user", call))
            ask = await service.newest()
            await service.wait_for_waiters(ask)
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
        await service.wait_for_waiters(ask, 0)
        await service.act(ask, action="answer", value="8443")
        (given,) = (await check(mcp, **again))["answers"]
        assert given["ask_id"] == ask.id
        assert (await check(mcp, **again))["answers"] == []


@pytest.mark.rule("MCP-14", "WAITING-2")
async def test_an_ask_says_soon_that_a_cancelled_call_does_not_wait(
    service: Served, raw: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_presence, "CUT_OFF_GRACE", 0.1)
    async with raw.call(7, **GO) as response:
        ask = await service.newest()
        async with asyncio.timeout(WAIT):
            while not service.running.service.presence.is_waiting(ask.id):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        await raw.cancel("7")
        await wait_until_left(service, ask)
        (ended,) = await events_of(response)
    assert ended["error"]["message"] == "Request cancelled"


@pytest.mark.rule("MCP-14", "LATE-4")
async def test_a_cancellation_that_crosses_the_answer_undoes_its_delivery(
    service: Served, raw: RawClient
) -> None:
    async with raw.call(1, **GO, conversation="c1") as response:
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await service.act(ask, action="answer", value=True)
        (answered,) = await events_of(response)
    assert answered["result"]["structuredContent"]["answer"] is True
    await raw.cancel(1)
    url = f"{service.url}/v1/answers?conversation=c1"
    async with service.http.get(url) as response:
        assert [one["id"] for one in (await response.json())["answers"]] == [ask.id]


@pytest.mark.rule("MCP-14", "MCP-8", "LATE-4")
@pytest.mark.parametrize("tool", ["ask_user", "wait_for_answer", "get_answer", "withdraw_ask"])
async def test_the_relay_undoes_what_a_cancellation_crosses(service: Served, tool: str) -> None:
    async with relayed_and_cancelled(service) as (mcp, sent):
        if tool == "ask_user":
            calling = asyncio.create_task(mcp.call_tool(tool, GO))
            ask = await service.newest()
            await service.wait_for_waiters(ask)
            await service.act(ask, action="answer", value=True)
            result = await calling
        else:
            await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
            ask = await service.newest()
            await service.act(ask, action="answer", value=True)
            result = await mcp.call_tool(tool, {"ask_id": ask.id})
        assert result.structured_content["answer"] is True
        await sent.cancel()
        (given,) = (await check(mcp))["answers"]
        assert given["ask_id"] == ask.id
        await sent.cancel()  # of the list
        assert (await check(mcp))["answers"] == [given]
        assert (await check(mcp))["answers"] == []


@pytest.mark.rule("MCP-14", "LATE-10")
async def test_the_relay_returns_what_people_want_tried_again_if_the_list_is_cancelled(
    service: Served,
) -> None:
    async with AsyncClient(service.url) as http:
        ask_id = await denied_and_wanted_again(service, http, None)
    async with relayed_and_cancelled(service) as (mcp, sent):
        (given,) = (await check(mcp))["answers"]
        assert (given["kind"], given["ask_id"]) == ("retry", ask_id)
        await sent.cancel()
        assert (await check(mcp))["answers"] == [given]


@pytest.mark.rule("MCP-14", "LATE-4")
@pytest.mark.parametrize("tool", ["wait_for_answer", "get_answer"])
async def test_the_relay_undoes_what_a_cancelled_call_has_collected_but_not_reported(
    service: Served, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    collected, collect = asyncio.Event(), stdio_relay._Relay._exchange

    async def collect_and_hang(*given: Any) -> None:
        await collect(*given)
        collected.set()
        await asyncio.Event().wait()

    async with relayed_and_cancelled(service) as (mcp, _):
        await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
        ask = await service.newest()
        monkeypatch.setattr(stdio_relay._Relay, "_exchange", collect_and_hang)
        if tool == "get_answer":
            await service.act(ask, action="answer", value=True)
        calling = asyncio.create_task(mcp.call_tool(tool, {"ask_id": ask.id}))
        if tool == "wait_for_answer":
            await service.wait_for_waiters(ask)
            await service.act(ask, action="answer", value=True)
        async with asyncio.timeout(WAIT):
            await collected.wait()
        monkeypatch.undo()
        calling.cancel()  # the client sends a cancellation
        await asyncio.gather(calling, return_exceptions=True)
        (given,) = (await check(mcp))["answers"]
        assert given["ask_id"] == ask.id


@pytest.mark.rule("MCP-14")
async def test_a_cancellation_that_the_service_does_not_get_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with relayed(AWAY, mode="legacy") as mcp:
        await SentCancellations(mcp).cancel()
        await mcp.call_tool("get_answer", {"ask_id": "ask_1"})
    assert "The answer of a cancelled call may be lost: Cannot reach Answerback" in caplog.text


@pytest.mark.rule("MCP-14")
async def test_what_a_waiting_call_is_about_to_report_is_undone_after_it_did(
    service: Served,
) -> None:
    ask = await answered(service)
    tracker = service.running.service.late_answer_tracker
    tracker.hold(ask.id, ("", SeenState.SEEN))
    undoing = asyncio.create_task(tracker.undo_seen(ask))
    await asyncio.sleep(0)
    await tracker.save_seen([ask.id], SeenState.SEEN)
    assert not undoing.done()
    tracker.release(ask.id, ("", SeenState.SEEN))
    await undoing
    assert (
        await service.running.service.store.late_answers.get_seen_state(ask.id) is SeenState.UNSEEN
    )


@pytest.mark.rule("MCP-14", "LATE-1")
async def test_an_outcome_is_returned_by_its_own_agent_once_it_has_ended(service: Served) -> None:
    body = {"name": "ask_user", "arguments": GO, "to": "web"}
    async with service.http.post(f"{service.url}/v1/asks", json=body) as response:
        ask_id = (await response.json())["id"]
    url = f"{service.url}/v1/asks/{ask_id}/undelivered"
    async with service.http.post(url) as response:
        assert (response.status, (await response.json())["status"]) == (200, "open")
    async with service.http.post(url.replace(ask_id, "ask_0")) as response:
        assert response.status == 404


@pytest.mark.rule("MCP-14")
async def test_a_client_cancels_only_its_own_calls(service: Served, raw: RawClient) -> None:
    other = RawClient(service)
    await other.connect()
    async with raw.call(1, **GO) as response:
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await other.cancel(1)
        await RawClient(service).cancel(1)
        await raw.cancel(2)
        await service.act(ask, action="answer", value=True)
        (answered,) = await events_of(response)
    assert answered["result"]["structuredContent"]["answer"] is True


@pytest.mark.parametrize("params", [None, {}, {"requestId": None}, {"requestId": [1]}, [1]])
async def test_a_cancellation_of_nothing_is_acknowledged(
    service: Served, raw: RawClient, params: Any
) -> None:
    async with raw.post("notifications/cancelled", params) as response:
        assert response.status < 500
