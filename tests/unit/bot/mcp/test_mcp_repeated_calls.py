"""A call over MCP that repeats one whose client has given up joins its ask, instead of asking people twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, Implementation

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.mcp.server import IDEMPOTENCY_KEY
from answerback.runtime.config import McpSettings
from answerback.service import repeated_calls
from tests.mcp_clients import mcp_client
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.mcp.test_late_answers_mcp import check
from tests.unit.bot.mcp.test_mcp import BOTH, CLAUDE_TOOL_USE, GO, client, relayed, text

NUMBERED: Any = {CLAUDE_TOOL_USE: "functions.mcp__answerback__ask_user:0"}
"""The `_meta` with the id of a call by a model that numbers its calls anew in each conversation."""
CASES = Path(__file__).parents[3] / "data" / "cases"
CASE = json.loads((CASES / "mcp-same-call-again-while-open.json").read_text())


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def ask(mcp: Client, **more: Any) -> CallToolResult:
    """Ask without waiting."""
    return await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0, **more})


def id_of(result: CallToolResult) -> str:
    """The id of the ask that a pending result names."""
    return str(result.structured_content["ask_id"])


async def stored(service: Served) -> list[Ask]:
    return list((await service.running.service.store.asks.page(limit=200)).rows)


@pytest.mark.rule("MCP-15")
@BOTH
async def test_a_client_with_a_short_timeout_that_asks_again_has_one_ask(
    service: Served, mode: str
) -> None:
    async with client(service, mode) as mcp:
        for call in CASE["mcp"]["same_session_calls"]:
            with pytest.raises(Exception, match=r"(?i)timed? ?out"):
                await mcp.call_tool(call["name"], call["arguments"], read_timeout_seconds=1.0)
            await service.wait_for_waiters(await service.newest(), 0)
        (only,) = await stored(service)
        await service.act(only, action="answer", value="8420")
        answered = await mcp.call_tool(call["name"], call["arguments"])
        assert answered.structured_content["answer"] == "8420"
        assert (await check(mcp))["answers"] == []
        again = await mcp.call_tool(call["name"], {**call["arguments"], "wait_seconds": 0})
    assert id_of(again) != only.id, "its answer was delivered, so this is a new question"


@pytest.mark.rule("MCP-15")
@pytest.mark.parametrize(
    "other",
    [{"question": "Other?"}, {"to": "web"}, {"conversation": "c2"}, {"conversation": None}],
    ids=str,
)
async def test_another_call_is_another_ask(service: Served, other: dict[str, Any]) -> None:
    async with client(service) as mcp:
        first = await ask(mcp, conversation="c1")
        more = {k: v for k, v in {"conversation": "c1", **other}.items() if v is not None}
        assert id_of(await ask(mcp, **more)) != id_of(first)
        assert id_of(await ask(mcp, conversation="c1")) == id_of(first)


@pytest.mark.rule("MCP-15")
async def test_a_conversation_is_joined_by_any_client_and_otherwise_only_by_the_same(
    service: Served,
) -> None:
    other = Implementation(name="other", version="1")
    async with (
        client(service) as mcp,
        mcp_client(f"{service.url}/mcp", client_info=other) as another,
    ):
        assert id_of(await ask(mcp)) != id_of(await ask(another))
        named = id_of(await ask(mcp, conversation="c1"))
        assert id_of(await ask(another, conversation="c1")) == named


@pytest.mark.rule("MCP-15")
async def test_a_call_of_another_agent_is_another_ask(tmp_path: Path) -> None:
    roles = {"one": "agent", "two": "agent"}
    async with (
        served(tmp_path, roles) as service,
        client(service, token=service.tokens["one"]) as one,
        client(service, token=service.tokens["two"]) as two,
    ):
        here = {"conversation": "c1", "to": "web"}
        assert id_of(await ask(one, **here)) != id_of(await ask(two, **here))


@pytest.mark.rule("MCP-15")
async def test_two_calls_that_wait_at_a_time_are_two_asks(service: Served) -> None:
    async with client(service) as mcp:
        waiting = asyncio.create_task(mcp.call_tool("ask_user", GO))
        first = await service.newest()
        await service.wait_for_waiters(first)
        async with asyncio.timeout(WAIT):
            while not service.running.service.presence.is_waiting(first.id):  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.005)
        assert id_of(await ask(mcp)) != first.id
        await service.act(first, action="answer", value=True)
        await waiting


@pytest.mark.rule("MCP-15")
async def test_without_a_conversation_only_ten_minutes_after_the_last_wait(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client(service) as mcp:
        first, named = id_of(await ask(mcp)), id_of(await ask(mcp, conversation="c1"))
        monkeypatch.setattr(repeated_calls, "JOINABLE_SECONDS", -1.0)
        second = id_of(await ask(mcp))
        assert second != first
        assert id_of(await ask(mcp, conversation="c1")) == named
        monkeypatch.setattr(repeated_calls, "JOINABLE_SECONDS", 600.0)
        assert id_of(await ask(mcp)) == second


@pytest.mark.rule("MCP-15", "DATA-16")
async def test_a_call_in_the_same_conversation_joins_however_long_the_ask_was_open(
    service: Served,
) -> None:
    running = service.running.service
    async with client(service) as mcp:
        first = id_of(await ask(mcp, conversation="c1"))
        await running.store.maintenance.prune(running.clock.now())
        assert id_of(await ask(mcp, conversation="c1")) == first


@pytest.mark.rule("MCP-15")
@pytest.mark.parametrize("ending", ["withdrawn", "expired"])
async def test_an_ask_that_nobody_answered_is_not_joined(service: Served, ending: str) -> None:
    async with client(service) as mcp:
        first = id_of(await ask(mcp))
        running = service.running.service
        await (running.withdraw(first) if ending == "withdrawn" else running.expire(first))
        assert id_of(await ask(mcp)) != first


@pytest.mark.rule("MCP-15", "MCP-9")
async def test_a_key_finds_its_own_ask_first(service: Served) -> None:
    async with client(service) as mcp:

        async def with_key(key: str) -> str:
            call = {**GO, "wait_seconds": 0}
            return id_of(await mcp.call_tool("ask_user", call, meta={IDEMPOTENCY_KEY: key}))  # type: ignore[arg-type]

        first = await with_key("k1")
        assert await with_key("k2") == first, "a new key joins"
        await service.act(await service.newest(), action="answer", value=True)
        again = await mcp.call_tool("ask_user", {**GO}, meta={IDEMPOTENCY_KEY: "k1"})  # type: ignore[arg-type]
        assert again.structured_content["answer"] is True
        assert await with_key("k3") != first


@pytest.mark.rule("MCP-9")
@BOTH
async def test_the_id_of_an_earlier_call_brings_no_answer_of_another_session(
    service: Served, mode: str
) -> None:
    for count, answer in enumerate((True, False), start=1):
        async with client(service, mode) as mcp:
            calling = asyncio.create_task(mcp.call_tool("ask_user", GO, meta=NUMBERED))
            await service.act(await service.newest(count), action="answer", value=answer)
            assert (await calling).structured_content["answer"] is answer


@pytest.mark.rule("MCP-9")
@pytest.mark.parametrize("way", ["http", "relay"])
async def test_the_id_of_an_earlier_call_refuses_no_other_question(
    service: Served, way: str
) -> None:
    async with client(service) if way == "http" else relayed(service.url) as mcp:
        questions = [{"question": "Deploy?"}, {"question": "Delete the bucket?"}]
        for each in questions:
            call = {**each, "answer_type": "boolean", "wait_seconds": 0}
            asked = await mcp.call_tool("ask_user", call, meta=NUMBERED)
            assert asked.structured_content["status"] == "pending"
    assert len(await stored(service)) == 2


@pytest.mark.rule("MCP-9", "MCP-15", "LATE-4")
@BOTH
async def test_a_host_that_repeats_a_call_in_a_new_session_gets_the_answer_that_it_missed(
    service: Served, mode: str
) -> None:
    async with client(service, mode) as mcp:
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO, meta=NUMBERED))
        asked = await service.newest()
        await service.wait_for_waiters(asked)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    await service.wait_for_waiters(asked, 0)
    await service.act(asked, action="answer", value=True)
    async with client(service, mode) as mcp:
        again = await mcp.call_tool("ask_user", GO, meta=NUMBERED)
    assert again.structured_content["answer"] is True
    assert [each.id for each in await stored(service)] == [asked.id]


@pytest.mark.rule("MCP-15", "MCP-8")
async def test_the_relay_joins_too(service: Served) -> None:
    async with relayed(service.url) as mcp:
        first = id_of(await ask(mcp))
        assert id_of(await ask(mcp)) == first
        await service.act(await service.newest(), action="answer", value=True)
        answered = await mcp.call_tool("ask_user", GO)
        assert answered.structured_content == {"answer_type": "boolean", "answer": True}
        assert id_of(await ask(mcp)) != first


async def test_an_ask_is_made_although_its_wait_cannot_be_noted(
    service: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*_: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(service.running.service.store.drafts, "save", fails)
    async with client(service) as mcp:
        assert id_of(await ask(mcp))
    assert "Could not record that an agent waits: The disk is full." in caplog.text


@pytest.mark.rule("MCP-2")
async def test_the_operator_bounds_the_wait_by_the_url_or_the_configuration(tmp_path: Path) -> None:
    async with served(tmp_path, mcp=McpSettings(wait=0.1)) as service:
        for query, longest in (("", 0.1), ("?wait=0.2", 0.2), ("?wait=0", 0)):
            async with mcp_client(f"{service.url}/mcp{query}") as mcp:
                for tool in (await mcp.list_tools()).tools:
                    properties = tool.input_schema["properties"]
                    if "wait_seconds" in properties:
                        assert properties["wait_seconds"]["maximum"] == longest
                        assert properties["wait_seconds"]["default"] == longest
                pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 3_000})
                assert pending.structured_content["status"] == "pending"
                followed = await mcp.call_tool("wait_for_answer", {"ask_id": id_of(pending)})
                assert followed.structured_content["status"] == "pending"
        for wrong in ("x", "-1", "3601", "nan", ""):
            async with service.http.post(f"{service.url}/mcp?wait={wrong}", json={}) as response:
                assert response.status == 400
                assert "wait: must be a number of seconds" in (await response.json())["detail"]


@pytest.mark.rule("MCP-5")
@BOTH
async def test_an_unknown_tool_is_an_error_of_the_protocol(service: Served, mode: str) -> None:
    call = json.loads((CASES / "mcp-unknown-tool.json").read_text())["mcp"]["params"]
    async with client(service, mode) as mcp:
        for arguments in (call["arguments"], {}, {"ask_id": "ask_0"}):
            with pytest.raises(Exception, match="There is no tool ask_person") as error:
                await mcp.call_tool(call["name"], arguments)
            assert "ask_user" in str(error.value)
    assert await stored(service) == []


@pytest.mark.rule("MCP-5")
async def test_numbers_may_be_written_as_text(service: Served) -> None:
    call = json.loads((CASES / "mcp-wait-seconds-text.json").read_text())["mcp"]["params"]
    async with client(service) as mcp:
        asked = await mcp.call_tool(call["name"], {**call["arguments"], "wait_seconds": "0.1"})
        assert asked.structured_content["status"] == "pending"
        assert (await check(mcp, after="3"))["next"] == 3
        refused = await mcp.call_tool(call["name"], {**call["arguments"], "wait_seconds": "1e3"})
        assert "wait_seconds must be a number" in text(refused)
