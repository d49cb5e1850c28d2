"""Edit, then allow, through the gateway: the server gets the call as a person changed it, unless policy denies it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.service.submission_request import Route
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.agents.mcp_proxy.test_mcp_proxy_hostile import ANSWERED, ASKED, ROOTS, required
from tests.unit.bot.mcp_proxy_support import ALLOW, TOOL, Client, run_client

POLICY = """
[[servers.github.rules]]
tool = "create_issue"
arguments = { title = "Forbidden" }
do = "deny"
"""
CALL = (
    b'{"jsonrpc":"2.0", "id":7,"method":"tools/call","params":'
    b'{"name":"create_issue","arguments":{ "title":"Hi", "weight": 1.50, "id": 12345678901234567890, '
    b'"x":"caf\\u00e9" }}}\n'
)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    route = Route(to="web", responders=("operator",), edit=True)
    async with served(tmp_path, routes={"ops": route}, default_route="ops") as made:
        yield made


@pytest.fixture
async def client(service: Served, tmp_path: Path) -> AsyncIterator[Client]:
    async with run_client(service.url, tmp_path, policy=POLICY) as made:
        await made.list_tools(TOOL)
        yield made


async def allow(service: Served, **edited: object) -> None:
    """Allow the call with other arguments."""
    ask = await service.newest()
    sent = json.loads(CALL)["params"]["arguments"]
    await service.act(ask, action="answer", value=ALLOW, edited={**sent, **edited})


@pytest.mark.rule("GATEWAY-11", "EDIT-4")
async def test_the_server_gets_the_changed_call_with_the_bytes_of_the_rest(
    service: Served, client: Client
) -> None:
    await client.send_bytes(CALL)
    await allow(service, title="Hello")
    received = await client.received_line()
    assert json.loads(received)["params"]["arguments"]["title"] == "Hello"
    assert b'"weight": 1.50, "id": 12345678901234567890, "x": "caf\\u00e9"' in received


@pytest.mark.rule("GATEWAY-11")
async def test_an_unchanged_call_passes_byte_for_byte(service: Served, client: Client) -> None:
    await client.send_bytes(CALL)
    await allow(service)
    assert await client.received_line() == CALL


@pytest.mark.rule("GATEWAY-11")
async def test_a_deny_of_the_policy_holds_for_a_changed_call(
    service: Served, client: Client
) -> None:
    await client.send_bytes(CALL)
    await allow(service, title="Forbidden")
    text = await client.is_denied()
    assert "denies this call as a person has changed it" in text
    again = CALL.replace(b'"id":7', b'"id":8')
    await client.send_bytes(again)
    ask = await service.newest(2)
    await service.act(ask, action="answer", value=ALLOW)
    assert await client.received_line() == again, "nothing else has reached the server"


LISTED = {**TOOL, "inputSchema": {"type": "object", "properties": {"title": {"maxLength": 20}}}}


@pytest.mark.rule("GATEWAY-11", "EDIT-3")
async def test_what_the_tool_does_not_take_is_refused_before_anybody_can_press(
    service: Served, client: Client
) -> None:
    await client.list_tools(LISTED)
    await client.send_bytes(CALL)
    ask = await service.newest()
    [question] = ask.form.questions
    assert "maxLength" not in f"{question.text}{question.context}"
    sent = json.loads(CALL)["params"]["arguments"]
    edited = {**sent, "title": "A title that is far too long"}
    path = f"{service.url}/v1/asks/{ask.id}/actions"
    action = {"action": "answer", "value": ALLOW, "edited": edited}
    async with service.http.post(path, json=action, headers=service.acting) as response:
        refused = await response.json()
    assert (response.status, refused["errors"][0]["pointer"]) == (422, "/edited/title"), refused
    await allow(service, title="Short")
    assert json.loads(await client.received_line())["params"]["arguments"]["title"] == "Short"


UNUSABLE: dict[str, Any] = {
    "too large": {"description": "x" * 70_000},
    "too deep": {"not": json.loads('{"not":' * 40 + "{}" + "}" * 40)},
    "no Unicode": {"description": "\ud800"},
    "to be fetched": {"$ref": "https://example.com/schema"},
    "no object": [],
}


@pytest.mark.rule("GATEWAY-11")
@pytest.mark.parametrize("schema", UNUSABLE)
async def test_a_schema_that_nobody_can_check_leaves_the_check_to_the_server(
    service: Served, client: Client, schema: str
) -> None:
    await client.list_tools({**TOOL, "inputSchema": UNUSABLE[schema]})
    await client.send_bytes(CALL)
    await allow(service, title="Anything")
    assert json.loads(await client.received_line())["params"]["arguments"]["title"] == "Anything"


@pytest.mark.rule("GATEWAY-11", "GATEWAY-6")
async def test_a_changed_call_is_made_again_as_changed_once_people_have_answered_the_server(
    service: Served, client: Client
) -> None:
    await client.send_bytes(CALL)
    await allow(service, title="Hello")
    first = json.loads(await client.received_line())["params"]["arguments"]
    await client.make_server_say(required(7, a=ASKED))
    ask = await service.newest(2)
    await service.act(ask, action="answer", value={"n": 3})
    again = json.loads(await client.received_line())["params"]
    assert again["arguments"] == first
    assert again["inputResponses"] == {"a": ANSWERED}


@pytest.mark.rule("GATEWAY-11", "GATEWAY-6")
async def test_a_changed_call_goes_on_as_changed_though_its_client_sends_its_own_again(
    service: Served, client: Client
) -> None:
    await client.send_bytes(CALL)
    await allow(service, title="Hello")
    first = json.loads(await client.received_line())["params"]["arguments"]
    await client.make_server_say(required(7, "s", b=ROOTS))
    await client.expect(required(7, "s", b=ROOTS))
    for n, state in enumerate("st", 8):
        more = f', "requestState": "{state}", "inputResponses": {{"b": {{"roots": []}}}}}}}}\n'
        again = CALL.replace(b'"id":7', f'"id":{n}'.encode()).replace(b"}}\n", more.encode())
        await client.send_bytes(again)
        received = json.loads(await client.received_line())
        assert received["params"] == {**json.loads(again)["params"], "arguments": first}
        await client.make_server_say(required(n, "t", b=ROOTS))
        await client.expect(required(n, "t", b=ROOTS))
