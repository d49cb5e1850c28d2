"""Codex's MCP tool approvals through the bridge: only what Codex itself announced is one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback_hosts.codex.app_server_items import AnnouncedItems, approval_kind
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.agents.bridges.test_bridge_codex import answer, run_bridge
from tests.unit.cases import case_call

Json = dict[str, Any]
PARAMS: Json = case_call("codex-mcp-tool-approval")["arguments"]
META: Json = PARAMS["_meta"]
ASKS: Json = {"id": 4, "method": "mcpServer/elicitation/request", "params": PARAMS}
ITEM: Json = {
    "type": "mcpToolCall",
    "id": "call_1",
    "server": "shop",
    "tool": "drop_rows",
    "status": "inProgress",
    "arguments": {"table": "orders", "rows": 12},
}


def event(method: str, thread: str = "th", **more: Any) -> Json:
    return {"method": method, "params": {"threadId": thread, "item": {**ITEM, **more}}}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.mark.rule("CONNECT-8")
@pytest.mark.parametrize("persist", ["accept", "session", "always"])
async def test_a_person_allows_a_tool_for_as_long_as_codex_offers(
    service: Served, persist: str
) -> None:
    async with run_bridge(service, [event("item/started"), ASKS]) as talk:
        assert await talk.receive() == event("item/started")
        ask = await service.newest()
        assert (ask.request.dialect, ask.request.tool_call_id) == ("approval", "call_1")
        await service.act(ask, **answer(persist))
        result = (await talk.read())["result"]
    meta = {} if persist == "accept" else {"_meta": {"persist": persist}}
    assert result == {"action": "accept", "content": {}, **meta}


@pytest.mark.rule("CONNECT-8")
async def test_a_server_that_claims_to_ask_for_codex_asks_as_itself(service: Served) -> None:
    async with run_bridge(service, [event("item/started", tool="other"), ASKS]) as talk:
        await talk.receive()
        ask = await service.newest()
        assert ask.request.dialect == "elicitation"
        await service.act(ask, **answer(True))
        assert (await talk.read())["result"] == {"action": "accept", "content": {}}


@pytest.mark.rule("CONNECT-8")
async def test_other_approvals_by_elicitation_are_left_to_codexs_own_client(
    service: Served,
) -> None:
    meta = {"codex_approval_kind": "tool_suggestion", "tool_id": "x"}
    asks = {**ASKS, "params": {**PARAMS, "_meta": meta}}
    async with run_bridge(service, [asks]) as talk:
        assert await talk.receive() == asks
    assert (await service.running.service.store.asks.page()).rows == ()


@pytest.mark.rule("CONNECT-8")
@pytest.mark.parametrize(
    ("messages", "is_announced"),
    [
        ([event("item/started")], True),
        ([], False),
        ([event("item/started"), event("item/completed")], False),
        ([event("item/started"), event("item/completed", id="call_2")], True),
        (
            [event("item/started"), {"method": "turn/completed", "params": {"threadId": "th"}}],
            False,
        ),
        (
            [event("item/started"), {"method": "turn/completed", "params": {"threadId": "t2"}}],
            True,
        ),
        ([event("item/started", "t2")], False),
        ([event("item/started", server="bank")], False),
        ([event("item/started", tool="list_rows")], False),
        ([event("item/started", tool=None)], False),
        ([event("item/started", arguments={"table": "orders", "rows": True})], False),
        ([event("item/started", type="commandExecution")], False),
    ],
)
def test_codex_asks_about_a_call_that_it_announced(
    messages: list[Json], is_announced: bool
) -> None:
    calls = AnnouncedItems()
    for message in messages:
        calls.follow(message)
    found = calls.take_mcp_approval(PARAMS)
    assert (found is not None) == is_announced
    assert calls.take_mcp_approval(PARAMS) is None  # asked about once


@pytest.mark.rule("CONNECT-8")
def test_what_people_see_is_what_codex_announced() -> None:
    calls = AnnouncedItems()
    calls.follow(event("item/started"))
    meta = {key: META[key] for key in ("codex_approval_kind", "tool_params")}
    found = calls.take_mcp_approval({**PARAMS, "_meta": meta})
    assert found is not None
    assert found["_meta"] == {**meta, "tool_name": "drop_rows"}
    odd_ones: list[Any] = [None, [], json.dumps(META)]
    for odd in odd_ones:
        assert approval_kind({**PARAMS, "_meta": odd}) is None
