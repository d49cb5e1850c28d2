"""The MCP endpoint with the official client, in the newest protocol revision and the one before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from answerback.mcp.server import IDEMPOTENCY_KEY
from answerback.mcp.stdio_relay import RelayOptions, build_relay
from answerback.service.question_routing import ToolRule
from answerback.service.submission_request import read_submission
from answerback_client.connection import ServiceConnection
from tests.mcp_clients import mcp_client
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.tool_schema_support import every_schema, not_portable
from tests.unit.cases import read_case

BOTH = pytest.mark.parametrize("mode", ["auto", "legacy"])
CLAUDE_TOOL_USE = "claudecode/toolUseId"
AWAY = "http://127.0.0.1:1"
"""Where no service is."""
GO: dict[str, Any] = {"question": "Deploy?", "answer_type": "boolean"}
SHAPES: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("ask_user", GO, True, {"answer_type": "boolean", "answer": True}),
    (
        "ask_user",
        {
            "questions": [
                {"id": "env", "text": "Where?", "answer_type": "select", "options": ["a", "b"]}
            ]
        },
        "b",
        {"env": "b"},
    ),
    (
        "ask_user",
        {"questions": [{"question": "Which?", "options": [{"label": "x"}, {"label": "y"}]}]},
        "x",
        {"answers": ["x"]},
    ),
    (
        "ask_user_question",
        {
            "questions": [
                {
                    "question": "Which?",
                    "header": "W",
                    "options": [
                        {"label": "x", "description": "one"},
                        {"label": "y", "description": "two"},
                    ],
                }
            ]
        },
        "y",
        None,
    ),
]


@asynccontextmanager
async def client(
    service: Served, mode: str = "auto", token: str | None = None
) -> AsyncIterator[Client]:
    async with mcp_client(f"{service.url}/mcp", token, mode=mode) as made:
        yield made


@asynccontextmanager
async def relayed(
    url: str, token: str | None = None, patience: float = 0.3, wait: float = 50.0, **more: Any
) -> AsyncIterator[Client]:
    """A client of the server that `answerback mcp` runs."""
    connection = ServiceConnection(url, token)
    try:
        async with Client(
            build_relay(connection, RelayOptions(wait=wait), patience), **more
        ) as made:
            yield made
    finally:
        await connection.close()


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.rule("MCP-1")
@BOTH
@pytest.mark.parametrize(("name", "arguments", "value", "structured"), SHAPES)
async def test_every_shape_of_a_call_returns_the_persons_typed_answer(
    service: Served, mode: str, name: str, arguments: dict[str, Any], value: Any, structured: Any
) -> None:
    async with client(service, mode) as mcp:
        calling = asyncio.create_task(mcp.call_tool(name, arguments))
        ask = await service.newest()
        await service.act(ask, action="answer", value=value)
        result = await calling
    stored = await service.running.service.get(ask.id)
    assert stored is not None
    assert not result.is_error
    assert result.structured_content == structured or structured is None
    if structured is None:
        assert result.structured_content["answers"] == {"Which?": "y"}


@pytest.mark.rule("MCP-2", "MCP-5")
@BOTH
async def test_a_wait_that_times_out_is_pending_and_the_next_one_returns_the_answer(
    service: Served, mode: str
) -> None:
    async with client(service, mode) as mcp:
        pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0.05})
        assert not pending.is_error
        ask_id = pending.structured_content["ask_id"]
        assert pending.structured_content["status"] == "pending"
        assert "wait_for_answer" in text(pending)
        assert ask_id in text(pending)
        again = await mcp.call_tool("wait_for_answer", {"ask_id": ask_id, "wait_seconds": 0})
        assert again.structured_content["status"] == "pending"
        waiting = asyncio.create_task(mcp.call_tool("wait_for_answer", {"ask_id": ask_id}))
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await service.act(ask, action="answer", value=False)
        answered = await waiting
        looked = await mcp.call_tool("get_answer", {"ask_id": ask_id})
    assert answered.structured_content == {"answer_type": "boolean", "answer": False}
    assert looked.structured_content == answered.structured_content
    assert json.loads(text(answered)) == answered.structured_content


@pytest.mark.rule("MCP-2", "MCP-3")
@BOTH
async def test_progress_names_the_ask_at_once_if_the_client_asks_for_it(
    service: Served, mode: str
) -> None:
    expected: list[str] = []
    first = asyncio.Event()

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        expected.append(f"{progress:g}/{total:g} {message}")
        first.set()

    async with client(service, mode) as mcp:
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO, progress_callback=progress))
        async with asyncio.timeout(WAIT):
            await first.wait()
        ask = await service.newest()
        await service.act(ask, action="answer", value=True)
        await calling
    assert expected[0].startswith("0/50 Waiting for an answer to ask_")
    assert ask.id in expected[0]


@pytest.mark.rule("MCP-2")
@BOTH
async def test_an_ask_outlives_the_client_that_gave_up_on_it(service: Served, mode: str) -> None:
    async with client(service, mode) as mcp:
        with pytest.raises(Exception, match=r"(?i)timed? ?out"):
            await mcp.call_tool("ask_user", GO, read_timeout_seconds=1.0)
        ask = await service.newest()
        assert ask.open
        await service.act(ask, action="answer", value=True)
        found = await mcp.call_tool("wait_for_answer", {"ask_id": ask.id})
    assert found.structured_content == {"answer_type": "boolean", "answer": True}


@pytest.mark.rule("WAIT-3")
async def test_a_client_that_disconnects_leaves_no_waiter_behind(service: Served) -> None:
    async with client(service) as mcp:
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
        ask = await service.newest()
        await service.wait_for_waiters(ask, 1)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    await service.wait_for_waiters(ask, 0)
    assert (await service.running.service.get(ask.id)) == ask


@pytest.mark.rule("MCP-4")
@BOTH
async def test_withdrawing_ends_the_ask_for_all_waiters_and_repeating_it_returns_the_outcome(
    service: Served, mode: str
) -> None:
    async with client(service, mode) as mcp:
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
        ask = await service.newest()
        withdrawn = await mcp.call_tool("withdraw_ask", {"ask_id": ask.id})
        waited = await calling
        again = await mcp.call_tool("withdraw_ask", {"ask_id": ask.id})
    expected = {"cancelled": True, "answered": {}, "reason": "withdrawn"}
    assert [r.structured_content for r in (withdrawn, waited, again)] == [expected] * 3


@pytest.mark.rule("MCP-5")
async def test_a_reply_is_returned_as_text_and_end_turn_tells_the_model_to_stop(
    service: Served,
) -> None:
    async with client(service) as mcp:
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
        await service.act(await service.newest(1), action="reply", text="Use staging.")
        replied = await calling
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
        ask = await service.newest(2)
        await service.act(ask, action="end_turn")
        stopped = await calling
    assert replied.structured_content["reply"] == "Use staging."
    assert stopped.structured_content == {"end_turn": True, "ask_id": ask.id}
    assert "Stop here" in text(stopped)
    assert not stopped.is_error


@pytest.mark.rule("MCP-5")
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("ask_user", {"questions": []}, "at least 1"),
        ("ask_user", {"question": "a\nb"}, "one line"),
        ("ask_user", {**GO, "to": "nowhere"}, "neither a route"),
        ("ask_user", {**GO, "to": "slack:C1"}, "no chat surface is available"),
        ("ask_user", {**GO, "surprise": 1}, "surprise"),
        ("ask_user", {**GO, "wait_seconds": "long"}, "wait_seconds must be a number"),
        ("ask_user", {**GO, "wait_seconds": True}, "wait_seconds must be a number"),
        ("ask_user_question", {}, "questions"),
        ("wait_for_answer", {}, "ask_id is missing"),
        ("wait_for_answer", {"ask_id": "ask_0"}, "There is no ask with the id ask_0"),
        ("get_answer", {"ask_id": "ask_0", "more": 1}, "no argument named more"),
        ("withdraw_ask", {"ask_id": 7}, "ask_id is missing"),
    ],
)
async def test_errors_in_a_call_are_explained_to_the_model(
    service: Served, name: str, arguments: dict[str, Any], expected: str
) -> None:
    async with client(service) as mcp:
        result = await mcp.call_tool(name, arguments)
    assert result.is_error
    assert expected in text(result)


def limited(count: int = 1, options: int = 2, **more: Any) -> dict[str, Any]:
    """Return a call of our own ask_user_question."""
    labels = [{"label": f"L{n}", "description": ""} for n in range(options)]
    return {
        "questions": [
            {"question": f"{n}?", "header": "H", "options": labels, **more} for n in range(count)
        ]
    }


@pytest.mark.rule("DIALECT-12", "MCP-1")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (limited(5), "at most 4 are allowed"),
        (limited(options=1), "at least 2 are required"),
        (limited(options=5), "at most 4 are allowed"),
        (limited(options=0), "at least 2 are required"),
        (limited(header=None), "questions[0].header is missing"),
    ],
)
async def test_our_ask_user_question_has_the_limits_that_its_definition_states(
    service: Served, arguments: dict[str, Any], expected: str
) -> None:
    submission = read_submission({"name": "ask_user_question", "arguments": arguments, "to": "web"})
    assert (await service.running.service.submit(submission)).ask.open, "another host's"
    async with client(service) as mcp:
        result = await mcp.call_tool("ask_user_question", arguments)
        asked = await mcp.call_tool("ask_user_question", {**limited(4), "wait_seconds": 0})
    assert (result.is_error, asked.is_error) == (True, False)
    assert expected in text(result)


@pytest.mark.rule("MCP-1")
async def test_our_ask_user_question_keeps_its_shape_whatever_ids_a_model_adds(
    service: Served,
) -> None:
    [question] = limited(1)["questions"]
    arguments = {"questions": [{**question, "id": "q"}], "wait_seconds": 0}
    async with client(service) as mcp:
        await mcp.call_tool("ask_user_question", arguments)
    assert (await service.newest()).request.dialect == "claude"


@pytest.mark.rule("MCP-1")
async def test_the_tools_schemas_accept_and_refuse_what_the_service_does(
    service: Served,
) -> None:
    async with client(service) as mcp:
        listed = {tool.name: tool for tool in (await mcp.list_tools()).tools}
    assert list(listed) == [
        "ask_user",
        "ask_user_question",
        "wait_for_answer",
        "get_answer",
        "check_answers",
        "add_context",
        "withdraw_ask",
    ]
    for name, arguments, _, _ in SHAPES:
        jsonschema.validate({**arguments, "to": "web"}, listed[name].input_schema)
    for tool in listed.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf"} & tool.input_schema.keys()
        assert not_portable(tool.input_schema) == []
        assert tool.description
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"questions": [{"id": "a"}]}, listed["ask_user"].input_schema)
    assert "secrets" in (listed["ask_user"].description or "")


async def test_a_disabled_tool_is_not_listed_and_refused(tmp_path: Path) -> None:
    off = {"AskUserQuestion": ToolRule(enable=False)}
    async with served(tmp_path, tools=off) as service, client(service) as mcp:
        names = [tool.name for tool in (await mcp.list_tools()).tools]
        refused = await mcp.call_tool("ask_user_question", SHAPES[3][1])
    assert "ask_user_question" not in names
    assert refused.is_error
    assert "switched off" in text(refused)


@pytest.mark.rule("DIALECT-20")
async def test_every_listed_property_has_one_type(service: Served) -> None:
    case = read_case("mcp-tool-schema-for-gemini")["mcp"]
    async with client(service) as mcp:
        assert case == {"method": "tools/list"}
        listed = (await mcp.list_tools()).tools
    for tool in listed:
        for schema in every_schema(tool.input_schema):
            assert isinstance(schema.get("type"), str) or "anyOf" in schema
            assert "type" not in schema or "anyOf" not in schema


@pytest.mark.rule("MCP-9")
@BOTH
async def test_repeating_a_call_returns_the_first_ask(service: Served, mode: str) -> None:
    meta: Any = {IDEMPOTENCY_KEY: "k1", CLAUDE_TOOL_USE: "toolu_1"}
    async with client(service, mode) as mcp:
        results = [
            await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0}, meta=meta) for _ in range(2)
        ]
        other = await mcp.call_tool(
            "ask_user", {"question": "Other?", "wait_seconds": 0}, meta=meta
        )
    ids = [result.structured_content["ask_id"] for result in results]
    assert ids[0] == ids[1]
    assert other.is_error
    assert (await service.newest()).request.tool_call_id == "toolu_1"


@pytest.mark.rule("AUTH-3", "MCP-4", "MCP-7")
async def test_an_agent_needs_its_token_and_sees_only_its_own_asks(tmp_path: Path) -> None:
    roles = {"one": "agent", "two": "agent", "front": "surface"}
    async with served(tmp_path, roles) as service:
        tokens = service.tokens
        async with client(service, token=tokens["one"]) as one:
            asked = await one.call_tool("ask_user", {**GO, "to": "web", "wait_seconds": 0})
        ask_id = asked.structured_content["ask_id"]
        async with client(service, token=tokens["two"]) as two:
            for tool in ("wait_for_answer", "get_answer", "withdraw_ask"):
                result = await two.call_tool(tool, {"ask_id": ask_id})
                assert result.is_error
                assert "There is no ask" in text(result)
        ask = await service.newest()
        assert ask.open
        assert ask.request.agent == "one"
        for token, status in ((None, 401), ("ab_wrong", 401), (tokens["front"], 403)):
            headers = {"Authorization": f"Bearer {token}"} if token else {"Authorization": ""}
            async with service.http.post(f"{service.url}/mcp", json={}, headers=headers) as refused:
                assert refused.status == status
                assert refused.content_type == "application/problem+json"


@pytest.mark.rule("MCP-7")
@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}], ids=["host", "origin"]
)
async def test_a_page_of_another_origin_cannot_call_a_tool(
    service: Served, headers: dict[str, str]
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with service.http.post(
        f"{service.url}/mcp", json=body, headers=headers | accept
    ) as response:
        assert response.status == 403


async def test_hostile_bodies_get_an_error_and_leave_the_service_up(service: Served) -> None:
    accept = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    deep = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_user","arguments":%s}}'
    )
    for version in ({}, {"MCP-Protocol-Version": "2026-07-28"}, {"MCP-Protocol-Version": "x"}):
        for body in (b"", b"{", b"[]", b"\xff", b"null", (deep % ("[" * 5_000)).encode(),
                     (deep % ('{"a":' * 2_000 + "1" + "}" * 2_000)).encode()):  # fmt: skip
            async with service.http.post(
                f"{service.url}/mcp", data=body, headers=accept | version
            ) as response:
                assert response.status < 500, (version, body[:40], await response.text())
        async with service.http.post(
            f"{service.url}/mcp", data=b"x" * 300_000, headers=accept | version
        ) as response:
            assert response.status == 413
    async with service.http.get(f"{service.url}/mcp") as response:
        assert response.status == 405
    async with client(service) as mcp:
        assert (await mcp.list_tools()).tools


@pytest.mark.rule("WAIT-4")
async def test_a_stopping_service_tells_waiters_how_to_continue(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as service, client(service) as mcp:
        calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
        await service.wait_for_waiters(await service.newest())
        service.running.service.stop_waiting()
        async with asyncio.timeout(WAIT):
            pending = await calling
    assert pending.structured_content["status"] == "pending"
