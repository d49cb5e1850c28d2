"""`answerback mcp-proxy` for clients that cannot ask their user, and for servers that need a link to be opened."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from answerback.core.ask import Status, headline_of
from answerback_agents.pipe.ask_people import AskOutcome
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served
from tests.unit.bot.agents.mcp_proxy.test_mcp_proxy import (
    MODERN,
    PASS_ALL,
    client,
    ended,
    nobody_was_asked,
    service,
    trusting,
)
from tests.unit.bot.agents.mcp_proxy.test_mcp_proxy_parts import ALLOWED, Parts, answering
from tests.unit.bot.hook_support import value
from tests.unit.bot.mcp_proxy_support import (
    ALLOW,
    TOOL,
    Client,
    call,
    encode,
    request,
    response,
    run_client,
)
from tests.unit.cases import CASES

__all__ = ["client", "service", "trusting"]
WITHOUT = json.loads((CASES / "mcp-proxy-client-without-elicitation.json").read_text())
ERROR: Json = json.loads((CASES / "mcp-proxy-url-required-error.json").read_text())["input"][
    "error"
]
LINK: Json = ERROR["data"]["elicitations"][0]
COMPLETE = {
    "jsonrpc": "2.0",
    "method": "notifications/elicitation/complete",
    "params": {"elicitationId": "e7"},
}
BOTH: Json = {"form": {}, "url": {}}
VERSION = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def required(request_id: object = 7, *links: Json) -> Json:
    """The error of a server that needs links to be opened."""
    error = {**ERROR, "data": {"elicitations": [*(links or [LINK])]}}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


@pytest.mark.rule("GATEWAY-10")
@pytest.mark.parametrize(
    ("declared", "changed"),
    [
        ({}, {"elicitation": BOTH}),
        ({"roots": {}, "elicitation": {}}, {"roots": {}, "elicitation": BOTH}),
        ({"elicitation": {"form": {"x": 1}}}, {"elicitation": {"form": {"x": 1}, "url": {}}}),
        ({"elicitation": BOTH}, None),
        ([], None),
    ],
)
async def test_every_client_can_elicit_as_far_as_the_server_knows(
    client: Client, declared: Json, changed: Json | None
) -> None:
    assert "declares elicitation {form,url} to the server" in WITHOUT["expected"]
    initialize = request("initialize", 0, capabilities=declared, protocolVersion="2025-11-25")
    modern = request("tools/list", 1, _meta={**VERSION, CAPABILITIES: declared})
    for sent, at in ((initialize, ("capabilities",)), (modern, ("_meta", CAPABILITIES))):
        if changed is None:
            await client.passes(sent)
            continue
        await client.send(sent)
        expected: Json = json.loads(json.dumps(sent))
        place = expected["params"]
        for key in at[:-1]:
            place = place[key]
        place[at[-1]] = changed
        assert json.loads(await client.received_line()) == expected


@pytest.mark.rule("GATEWAY-10")
async def test_what_is_declared_for_a_client_changes_no_other_byte(trusting: Client) -> None:
    await trusting.list_tools(TOOL)
    arguments = '{ "title":"\\u00e9é",  "n":1.50, "m":1e0, "deep": [ 1.0 , {} ] }'
    version = json.dumps(VERSION)[1:-1]
    params = f'{{"name":"create_issue","arguments":{arguments},"_meta":{{{version}}}}}'
    await trusting.send_bytes(
        f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}\n'.encode()
    )
    line = (await trusting.received_line()).decode()
    assert arguments in line
    assert json.loads(line)["params"]["_meta"] == {**VERSION, CAPABILITIES: {"elicitation": BOTH}}


@pytest.mark.rule("GATEWAY-10")
async def test_a_call_that_needs_a_link_is_made_again_once_a_person_has_opened_it(
    client: Client, service: Served
) -> None:
    line = await client.send(call(arguments={"n": 1.50}))
    await service.act(await service.newest(), **value(ALLOW))
    assert await client.received_line() == line.encode()
    await client.make_server_say(required(7, LINK, {**LINK, "elicitationId": "e8"}))
    for n in (2, 3):
        ask = await service.newest(n)
        said = "The server github asks, with a link to mcp.example.com: Authorize the files"
        assert headline_of(ask.form) == said
        assert ask.form.questions[0].context == LINK["url"]
        await service.act(ask, **value(True))
    assert await client.received_line() == line.encode()
    await client.make_server_say(required())  # once is enough
    await client.expect(required())


@pytest.mark.rule("GATEWAY-10")
async def test_the_server_itself_can_say_that_a_link_was_opened(
    trusting: Client, service: Served
) -> None:
    await trusting.list_tools(TOOL)
    await trusting.passes(call())
    await trusting.make_server_say(required())
    ask = await service.newest()
    await trusting.make_server_say(COMPLETE)
    assert await trusting.received_line() == encode(call())
    assert await ended(service, ask) is Status.WITHDRAWN
    await trusting.make_server_say(COMPLETE)  # which nobody waits for any more
    await trusting.expect(COMPLETE)


@pytest.mark.rule("GATEWAY-10")
async def test_a_link_that_nobody_opens_denies_the_call(trusting: Client, service: Served) -> None:
    await trusting.list_tools(TOOL)
    await trusting.passes(call())
    await trusting.make_server_say(required())
    await service.act(await service.newest(), **value(False))
    assert await trusting.is_denied() == "The user did not open what github needs for this call."
    await trusting.passes(request("prompts/get", 8, name="p"))
    await trusting.make_server_say(required(8))
    await service.act(await service.newest(2), **value(False))
    await trusting.expect(required(8))


@pytest.mark.rule("GATEWAY-10")
async def test_a_request_that_its_client_gives_up_needs_no_link(
    trusting: Client, service: Served
) -> None:
    await trusting.passes(request("prompts/get", 8, name="p"))
    await trusting.make_server_say(required(8))
    ask = await service.newest()
    await trusting.passes({"method": "notifications/cancelled", "params": {"requestId": 8}})
    assert await ended(service, ask) is Status.WITHDRAWN
    await trusting.passes(request("ping", 9))


@pytest.mark.rule("GATEWAY-10")
@pytest.mark.parametrize(
    "links",
    [[{**LINK, "mode": "form"}], [LINK] * 11, [{**LINK, "url": "javascript:alert(1)"}]],
    ids=["form", "many", "script"],
)
async def test_an_error_about_links_that_people_cannot_open_is_the_clients(
    trusting: Client, service: Served, links: list[Json]
) -> None:
    await trusting.passes(request("prompts/get", 7, name="p"))
    await trusting.make_server_say(required(7, *links))
    await trusting.expect(required(7, *links))
    assert await nobody_was_asked(service)


@pytest.mark.rule("GATEWAY-10")
async def test_without_the_service_the_client_gets_the_error_itself(tmp_path: Path) -> None:
    async with run_client("ftp://nowhere", tmp_path, policy=PASS_ALL) as client:
        await client.list_tools(TOOL)
        await client.passes(call(**MODERN))
        await client.make_server_say(required())
        await client.expect(required())


@pytest.mark.rule("GATEWAY-10")
@pytest.mark.parametrize(
    "asks",
    [
        required(),
        response(
            7,
            resultType="input_required",
            inputRequests={"a": {"method": "elicitation/create", "params": {"message": "Sure?"}}},
        ),
        request("elicitation/create", "e1", message="Sure?"),
    ],
    ids=["error", "result", "request"],
)
def test_a_client_hears_of_progress_while_people_answer_the_server(
    tmp_path: Path, asks: Json
) -> None:
    answered, hold = threading.Event(), threading.Event()
    allowed = AskOutcome(ALLOWED, "")
    accepted = AskOutcome({**ALLOWED, "tool_result": {"structured": {"action": "accept"}}}, "")

    def decide() -> AskOutcome:
        if not hold.is_set():
            hold.set()
            return allowed
        assert answered.wait(WAIT)
        return accepted

    parts = Parts(tmp_path, ask=answering(decide))
    parts.client_says(call(_meta={"progressToken": "p"}))
    assert parts.got_one.wait(WAIT)
    parts.got_one.clear()
    report = {"progressToken": "p", "progress": 5}
    parts.server_says({"jsonrpc": "2.0", "method": "notifications/progress", "params": report})
    parts.server_says(asks)
    *_, reported, last = parts.client.lines(3)
    answered.set()
    assert parts.got_one.wait(WAIT)
    assert last["params"]["message"] == "Waiting for a person to answer the server"
    assert 5 <= reported["params"]["progress"] < last["params"]["progress"] < 6
