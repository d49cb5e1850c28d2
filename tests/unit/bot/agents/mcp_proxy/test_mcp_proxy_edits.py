"""Edit, then allow, through the gateway: the server gets the call as a person changed it, unless policy denies it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.service.submission_request import Route
from tests.unit.bot.agent_support import Served, served
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
