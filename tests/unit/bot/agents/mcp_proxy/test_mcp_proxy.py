"""`answerback mcp-proxy` between a client and a hostile server: what passes, what people are asked, what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Status, headline_of
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import END, value
from tests.unit.bot.mcp_proxy_support import (
    ALLOW,
    DENY,
    Client,
    call,
    request,
    run_client,
)

PASS_ALL = 'rules = [{ tool = "*", do = "pass" }]'
_KEYS = "io.modelcontextprotocol/"
MODERN: Json = {
    "_meta": {
        f"{_KEYS}protocolVersion": "2026-07-28",
        f"{_KEYS}clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
    }
}
FORM = {
    "message": "Which?",
    "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
}
ELICITATION = request("elicitation/create", "e1", **FORM)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.fixture
async def client(service: Served, tmp_path: Path) -> AsyncIterator[Client]:
    async with run_client(service.url, tmp_path) as made:
        yield made


@pytest.fixture
async def trusting(service: Served, tmp_path: Path) -> AsyncIterator[Client]:
    """A client whose policy lets everything pass."""
    async with run_client(service.url, tmp_path, policy=PASS_ALL) as made:
        yield made


async def ended(service: Served, ask: Ask) -> Status:
    """Wait until an ask has ended."""
    with service.running.service.signals.follow(ask.id) as follower:
        async with asyncio.timeout(WAIT):
            while (found := await service.running.service.store.asks.get(ask.id)) is not None:
                if found.status is not Status.OPEN:
                    return found.status
                await follower.next_commit()
    raise AssertionError("the ask is gone")


async def nobody_was_asked(service: Served) -> bool:
    return not (await service.running.service.store.asks.page(limit=1)).rows


@pytest.mark.rule("GATEWAY-1")
async def test_what_is_no_call_passes_byte_for_byte(client: Client, service: Served) -> None:
    odd = '{ "jsonrpc":"2.0", "method":"ping" , "id":1e0, "params":{"x":"\\u00e9é", "n":1.50}}\r\n'
    await client.send_bytes(odd.encode())
    assert await client.received_line() == odd.encode()
    await client.make_server_say(odd.encode())
    assert await client.line() == odd.encode()
    for message in (
        request("sampling/createMessage", messages=[]),
        request("resources/read", uri="x"),
        request("prompts/get", name="y"),
        request("tasks/get", taskId="t"),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}},
    ):
        await client.passes(message)
        await client.make_server_say(message)
        await client.expect(message)
    refused = {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}
    await client.passes(refused)
    await client.make_server_say(refused)
    await client.expect(refused)
    await client.send_bytes(b"\n")
    assert await nobody_was_asked(service)


@pytest.mark.rule("GATEWAY-2", "URGENCY-1")
@pytest.mark.parametrize(
    "params",
    [{}, {"task": {"ttl": 60}}, {"_meta": {"progressToken": 3}}, MODERN],
    ids=["plain", "task", "progress", "modern"],
)
async def test_a_call_is_made_once_a_person_allows_it(
    client: Client, service: Served, params: Json
) -> None:
    line = await client.send(call(**params))
    ask = await service.newest()
    assert headline_of(ask.form) == "Call create_issue on github"
    assert ask.request.urgency == "low"
    assert "title: Hi" in (ask.form.questions[0].context or "")
    await client.passes(request("ping"))  # and nothing before it
    await service.act(ask, **value(ALLOW))
    assert await client.received_line() == line.encode()


@pytest.mark.rule("GATEWAY-2")
async def test_a_denied_call_is_answered_in_the_shape_that_its_client_expects(
    client: Client, service: Served
) -> None:
    for n, params in enumerate(({}, MODERN), 1):
        await client.send(call(**params))
        await service.act(await service.newest(n), **value(DENY))
        denied = (await client.next())["result"]
        assert denied.get("resultType") == ("complete" if params else None)
        assert denied["isError"]
    await client.send(call(task={}))
    await service.act(await service.newest(3), **END)
    denied = await client.next()
    assert "ended the turn" in denied["error"]["message"]


@pytest.mark.rule("GATEWAY-2")
@pytest.mark.parametrize("ending", ["withdrawn", "expired", "failed"])
async def test_nobody_but_a_person_allows(client: Client, service: Served, ending: str) -> None:
    await client.send(call())
    await service.end_newest_without_person(ending)
    assert "not allowed" in await client.is_denied()
    await client.passes(request("ping"))


@pytest.mark.rule("GATEWAY-2")
async def test_a_call_that_cannot_be_asked_about_is_denied(tmp_path: Path) -> None:
    async with run_client("ftp://nowhere", tmp_path) as client:
        assert "not a valid Answerback address" in await client.is_denied(call())
        await client.passes(request("ping"))


@pytest.mark.rule("GATEWAY-2")
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "create_issue"}},
        {**call(), "id": None},
        call(name=7),
        call(name="n" * 200),
        call(arguments=[1]),
        {**call(), "params": []},
        {**call(), "args": {"title": "Ho"}},
        call(args={"title": "Ho"}),
        call(tool="delete_all"),
        call(meta={}),
        call(_meta=[]),
        call(task={"ttl": 5, "tool": "delete_all"}),
        call(task={"ttl": {}}),
        call(task=5),
    ],
)
async def test_what_a_server_might_take_for_a_call_is_refused(
    trusting: Client, service: Served, message: Json
) -> None:
    await trusting.send(message)
    refused = await trusting.next()
    assert refused["error"]["code"] == -32602
    await trusting.passes(request("ping"))


@pytest.mark.rule("GATEWAY-3")
@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b'{"id":7,"method":"tools/call","method":"ping"}', 7),
        (b'{"jsonrpc":"2.0","id":"a","params":{"x":1,"x":2}}', "a"),
        (b'{"id":7,"Method":"tools/call"}', 7),
        (b'{"id":7,"method":"tools/call","params":{"name":"x","Name":"y"}}', 7),
        (b'{"id":7,"method":null,"result":{}}', 7),
        (b'{"id":7,"method":"ping","error":{}}', 7),
        (b'{"id":7,"method":"tools/call","params":{"inputresponses":{}}}', 7),
        (b'{"id":7,"method":"tools/call","params":{"RequestState":"s"}}', 7),
        (b'{"id":7,"method":"prompts/get","params":{"input_responses":{}}}', 7),
        (b'{"id":7,"method":"tools/call\\u0000"}', 7),
        (b'{"id":7,"method":" tools/call"}', 7),
        (b'{"id":7,"method":"tools\\u200b/call"}', 7),
        (b'{"id":7,"method":"TOOLS/CALL"}', 7),
        (b'{"id":7,"method":"Tasks/Update"}', 7),
        (b'{"id":7,"params":"\xff"}', 7),
        (b'{"id":7,"params":NaN}', 7),
        (b'{"id":7,"params":\r{"id":8,"method":"tools/call"}\r}', 7),
        (b'[{"id":7,"method":"tools/call"}]', None),
        (b"7", None),
        (b"not JSON", None),
        (b'{"id":7,"params":' + b"[" * 600 + b"]" * 600 + b"}", 7),
        (b'{"id":7,"method":"ping","params":"' + b"x" * 2**22 + b'"}', 7),
        (b'{"method":"ping","params":"' + b"x" * 2**22 + b'","id":7}', 7),
        (b'{"method":"ping","params":"' + b"x" * 2**22 + b'"}', None),
    ],
    ids=[
        *(
            "method",
            "key",
            "case",
            "case-below",
            "no-method",
            "two-kinds",
            "input-case",
            "state-case",
            "input-underscore",
            "method-nul",
            "method-blank",
            "method-invisible",
            "method-capitals",
            "update-capitals",
            "utf8",
            "nan",
            "cr",
            "batch",
            "number",
            "words",
            "deep",
        ),
        *("long", "long-id-last", "long-no-id"),
    ],
)
async def test_a_line_that_two_programs_may_read_differently_is_refused_in_both_directions(
    trusting: Client, line: bytes, request_id: Any
) -> None:
    await trusting.send_bytes(line + b"\n")
    refused = await trusting.next()
    assert (refused["id"], refused["error"]["code"]) == (request_id, -32700)
    await trusting.passes(request("ping", request_id or 1))
    if len(line) < 2**20:
        await trusting.make_server_say(line + b"\n", request("roots/list"))
    else:  # what tells the server to send it may not be that long either
        ends = {"long": line[:80].decode(), "end": line[-10:].decode()}
        said = {"method": "_say", "params": {"lines": [], **ends}}
        await trusting.send(said)
        await trusting.make_server_say(request("roots/list"))
    if request_id is not None:
        assert (await trusting.next())["id"] == request_id
    await trusting.expect(request("roots/list"))
