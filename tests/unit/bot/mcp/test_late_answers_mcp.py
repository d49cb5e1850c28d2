"""Late answers with `check_answers` over MCP, in this process and through the relay, and with the Python client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client as McpClient
from mcp_types import CallToolResult

from answerback.core import ask as asks
from answerback.ports.store import Decision, Write
from answerback_client import Ask, AsyncClient, Client, ClientError, InvalidCallError
from answerback_client.models import Answers
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.mcp.test_mcp import AWAY, GO, client, relayed, text


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def check(mcp: McpClient, **arguments: Any) -> Any:
    """The result of `check_answers`."""
    result: CallToolResult = await mcp.call_tool("check_answers", arguments)
    assert not result.is_error, text(result)
    return result.structured_content


async def answer_late(service: Served, mcp: McpClient, count: int = 1) -> str:
    """Ask a question that is answered after its call has ended; return its id."""
    pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
    await service.act(await service.newest(count), action="answer", value=True)
    return str(pending.structured_content["ask_id"])


@pytest.mark.rule("LATE-1", "MCP-11")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_late_answer_is_returned_once(service: Served, mode: str) -> None:
    async with client(service, mode) as mcp:
        ask_id = await answer_late(service, mcp)
        result = await mcp.call_tool("check_answers", {})
        assert text(result).startswith('The answer to "Deploy?" (asked earlier with ask_user')
        (given,) = result.structured_content["answers"]
        assert (given["ask_id"], given["status"], given["end_turn"]) == (ask_id, "answered", False)
        assert given["structured"] == {"answer_type": "boolean", "answer": True}
        again = await mcp.call_tool("check_answers", {})
        assert text(again) == "There are no new answers. Open questions stay open."
        assert again.structured_content == {"answers": [], "next": None}


@pytest.mark.rule("LATE-3", "MCP-11")
async def test_a_lost_answer_is_returned_again_for_the_previous_number(service: Served) -> None:
    async with client(service) as mcp:
        first = await answer_late(service, mcp)
        number = (await check(mcp))["next"]
        second = await answer_late(service, mcp, 2)
        assert [one["ask_id"] for one in (await check(mcp))["answers"]] == [second]
        again = await check(mcp, after=number)
        assert [one["ask_id"] for one in again["answers"]] == [second]
        assert (await check(mcp, after=again["next"]))["answers"] == []
        assert first != second


@pytest.mark.rule("LATE-1")
@pytest.mark.parametrize("tool", ["ask_user", "wait_for_answer", "get_answer", "withdraw_ask"])
async def test_an_outcome_reported_by_a_tool_is_not_reported_again(
    service: Served, tool: str
) -> None:
    async with client(service) as mcp:
        if tool == "ask_user":
            calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
            await service.act(await service.newest(), action="answer", value=True)
            await calling
        else:
            pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
            ask_id = {"ask_id": pending.structured_content["ask_id"]}
            ask = await service.newest()
            if tool == "wait_for_answer":
                calling = asyncio.create_task(mcp.call_tool(tool, ask_id))
                await service.wait_for_waiters(ask)
                await service.act(ask, action="answer", value=True)
                await calling
            else:
                await service.act(ask, action="answer", value=True)
                await mcp.call_tool(tool, ask_id)
        assert (await check(mcp))["answers"] == []


@pytest.mark.rule("LATE-1")
async def test_an_outcome_that_a_waiting_call_is_about_to_report_is_in_no_list(
    service: Served,
) -> None:
    """As when another process stores it: the call learns of it a little later than a list."""
    store, clock = service.running.service.store, service.running.service.clock
    async with client(service) as mcp:
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
        ask = await service.newest()
        await service.wait_for_waiters(ask)

        def fail(found: asks.Ask | None) -> Decision[None]:
            assert found is not None
            change = asks.end_ask(
                found, asks.Status.FAILED, at=clock.now(), reason=asks.Reason.BACKEND_ERROR
            )
            return Decision(Write(change.ask, change.entries, owed=True), None)

        await store.asks.change(ask.id, fail)
        assert (await check(mcp))["answers"] == []
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    async with client(service) as mcp, asyncio.timeout(WAIT):
        while not (answers := (await check(mcp))["answers"]):  # noqa: ASYNC110 the call ends later
            await asyncio.sleep(0)
    assert [one["ask_id"] for one in answers] == [ask.id]


@pytest.mark.rule("LATE-4")
async def test_a_client_that_left_while_waiting_gets_the_answer_when_it_returns(
    service: Served,
) -> None:
    async with client(service) as mcp:
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    await service.wait_for_waiters(ask, 0)
    await service.act(ask, action="answer", value=False)
    async with client(service) as mcp:
        (given,) = (await check(mcp))["answers"]
        assert given["structured"] == {"answer_type": "boolean", "answer": False}
        assert (await check(mcp))["answers"] == []


async def test_answers_of_a_conversation_are_requested_by_its_name(service: Served) -> None:
    body = {"name": "ask_user", "arguments": GO, "to": "web", "conversation": "c1"}
    async with service.http.post(f"{service.url}/v1/asks", json=body) as response:
        assert response.status == 201
    await service.act(await service.newest(), action="end_turn")
    async with client(service) as mcp:
        assert (await check(mcp))["answers"] == []
        (given,) = (await check(mcp, conversation="c1"))["answers"]
        assert (given["end_turn"], given["structured"]) == (True, None)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"conversation": 7}, "conversation must be the name"),
        ({"conversation": ""}, "conversation must be the name"),
        ({"after": "x"}, "after must be a number"),
        ({"after": True}, "after must be a number"),
        ({"after": -1}, "after must be a number"),
        ({"ask_id": "ask_1"}, "no argument named ask_id"),
    ],
)
async def test_invalid_arguments_are_explained(
    service: Served, arguments: dict[str, Any], expected: str
) -> None:
    async with client(service) as mcp:
        result = await mcp.call_tool("check_answers", arguments)
    assert result.is_error
    assert expected in text(result)


@pytest.mark.rule("LATE-1", "MCP-8")
async def test_the_relay_returns_late_answers_too(service: Served) -> None:
    async with relayed(service.url) as mcp:
        ask_id = await answer_late(service, mcp)
        found = await check(mcp)
        assert [one["ask_id"] for one in found["answers"]] == [ask_id]
        assert (await check(mcp, after=found["next"]))["answers"] == []
    async with relayed(AWAY) as mcp:
        result = await mcp.call_tool("check_answers", {})
    assert result.is_error


@pytest.mark.rule("LATE-3", "CLIENT-5")
async def test_the_client_stores_a_number_with_the_answers(service: Served) -> None:
    async with AsyncClient(service.url) as http:
        ask = await http.submit("ask_user", GO, to="web", conversation="c1")
        assert await http.answers() == Answers((), None)
        await service.act(await service.newest(), action="answer", value=True)
        found = await http.answers("c1", after=0)
        assert [one.id for one in found.asks] == [ask.id]
        assert str(found.asks[0].json["message"]).startswith('The answer to "Deploy?"')
        assert await http.answers("c1", after=found.next) == Answers((), found.next)

    def blocking() -> Answers:
        with Client(service.url) as http:
            return http.answers(after=0)

    assert await asyncio.to_thread(blocking) == Answers((), 0)
    mistakes: list[Any] = [{}, {"answers": [], "next": "x"}, {"answers": [1], "next": 1}]
    for wrong in mistakes:
        with pytest.raises(ClientError, match="not from Answerback"):
            Answers.of(wrong)


APPROVAL = {
    "name": "PermissionRequest",
    "dialect": "approval",
    "arguments": {"tool_name": "Bash", "tool_input": {"command": "touch a"}},
}


async def denied_and_wanted_again(service: Served, http: AsyncClient, text: str | None) -> str:
    """Have an approval denied unanswered, and tell the agent to try again; returns its id."""
    ask = await http.submit_body(APPROVAL)
    denied = await http.report_no_answer(ask.id)
    assert (denied.status, denied.json["gave_up"]) == ("expired", "denied")
    async with AsyncClient(service.url, service.key) as front:
        result = await front.retry(ask.id, text)
        assert result.json["tried_again"] is not None
        with pytest.raises(InvalidCallError, match="Nothing to try again"):
            await front.retry(ask.id)
    return ask.id


@pytest.mark.rule("LATE-10")
async def test_what_people_want_tried_again_is_among_the_late_answers(service: Served) -> None:
    async with client(service) as mcp, AsyncClient(service.url) as http:
        ask_id = await denied_and_wanted_again(service, http, "On staging.")
        result = await mcp.call_tool("check_answers", {})
        assert 'They say: "On staging." Nothing is approved' in text(result)
        (again,) = result.structured_content["answers"]
        assert (again["kind"], again["ask_id"], again["headline"], again["text"]) == (
            *("retry", ask_id, "Run touch a"),
            "On staging.",
        )
        await answer_late(service, mcp, 2)
        (given,) = (await check(mcp))["answers"]
        assert given["kind"] == "outcome"


@pytest.mark.rule("LATE-10")
async def test_the_relay_and_the_client_pass_on_what_people_want_tried_again(
    service: Served,
) -> None:
    async with AsyncClient(service.url) as http:
        ask_id = await denied_and_wanted_again(service, http, None)
        async with relayed(service.url) as mcp:
            (again,) = (await check(mcp))["answers"]
            assert (again["kind"], again["ask_id"], again["text"]) == ("retry", ask_id, None)
        second = await denied_and_wanted_again(service, http, "Now.")
        answers = await http.answers()
        (retry,) = answers.retries
        assert (answers.asks, retry.ask_id, retry.text) == ((), second, "Now.")
        assert retry.headline == "Run touch a"


@pytest.mark.rule("LATE-7")
async def test_the_client_gets_what_people_decided_before_its_report(service: Served) -> None:
    async with AsyncClient(service.url) as http:
        ask = await http.submit_body(APPROVAL)
        await service.act(await service.newest(), action="answer", value="allow")
        decided = await http.report_no_answer(ask.id)
        assert (decided.status, decided.json["gave_up"]) == ("answered", None)

    def report() -> Ask:
        with Client(service.url) as sync_client:
            return sync_client.report_no_answer(ask.id)

    again = await asyncio.to_thread(report)
    assert again.json | {"collected_at": None} == decided.json, "the first report was collected"
