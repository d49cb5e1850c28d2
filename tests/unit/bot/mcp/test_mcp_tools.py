"""Which tools the MCP endpoint offers: the default ones or those in its URL, and none that is disabled."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from typer.testing import CliRunner

from answerback.dialects.installed import installed_tools
from answerback.mcp.tools import parse_asking_tools
from answerback.service.question_routing import ToolRule
from answerback_agents.cli import main
from tests.mcp_clients import mcp_client
from tests.meta.project import PYTHONPATH
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.dialect_support import CALLS

PENDING = ["wait_for_answer", "get_answer", "check_answers", "add_context", "withdraw_ask"]


@asynccontextmanager
async def client(service: Served, query: str) -> AsyncIterator[Client]:
    async with mcp_client(f"{service.url}/mcp{query}") as made:
        yield made


async def list_tools(service: Served, query: str = "") -> dict[str, Any]:
    async with client(service, query) as mcp:
        return {tool.name: tool for tool in (await mcp.list_tools()).tools}


@pytest.mark.rule("MCP-6")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["ask_user", "ask_user_question"]),
        ("?tools=question", ["question"]),
        ("?tools=question,ask_user", ["question", "ask_user"]),
        ("?tools=AskUserQuestion,tool_question", ["AskUserQuestion", "tool_question"]),
        ("?tools=claude", ["AskUserQuestion"]),
        ("?tools=ask_user_form", ["ask_user"]),
    ],
)
async def test_the_url_selects_which_tools_are_offered(
    tmp_path: Path, query: str, names: list[str]
) -> None:
    async with served(tmp_path) as service:
        assert list(await list_tools(service, query)) == [*names, *PENDING]


@pytest.mark.rule("MCP-6")
async def test_only_the_selected_tools_can_be_called(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as service, client(service, "?tools=question") as mcp:
        with pytest.raises(MCPError, match="There is no tool ask_user"):
            await mcp.call_tool("ask_user", CALLS["single"][1])
        arguments = {"questions": CALLS["question"][1]["questions"][:1]}
        async with asyncio.TaskGroup() as group, asyncio.timeout(WAIT):
            asking = group.create_task(mcp.call_tool("question", arguments))
            await service.act(await service.newest(), action="answer", value="A")
        found = asking.result().structured_content
    assert found is not None
    assert [answer["label"] for answer in found["answers"]] == ["Ay"]


@pytest.mark.rule("MCP-5")
async def test_a_string_answer_is_text_without_structured_content(tmp_path: Path) -> None:
    name, arguments = CALLS["cline"]
    async with served(tmp_path) as service, client(service, "?tools=cline") as mcp:
        async with asyncio.TaskGroup() as group, asyncio.timeout(WAIT):
            asking = group.create_task(mcp.call_tool(name, arguments))
            await service.act(await service.newest(), action="answer", value="B")
        found = asking.result()
    assert (found.is_error, found.structured_content) == (False, None)
    assert [part.text for part in found.content if part.type == "text"] == ["B"]


@pytest.mark.rule("URGENCY-1")
async def test_a_model_says_how_urgent_its_question_is(tmp_path: Path) -> None:
    async with served(tmp_path) as service, client(service, "") as mcp:
        tools = await list_tools(service)
        offered = tools["ask_user"].input_schema["properties"]["urgency"]["enum"]
        assert offered == ["high", "normal", "low"]
        call = {**CALLS["single"][1], "urgency": "high", "wait_seconds": 0}
        await mcp.call_tool("ask_user", call)
        assert (await service.newest()).request.urgency == "high"
        refused = await mcp.call_tool("ask_user", {**call, "urgency": "now"})
        assert refused.is_error
        assert "urgency" in str(refused.content)


@pytest.mark.rule("URGENCY-1")
async def test_a_clients_address_says_how_urgent_its_questions_are_unless_the_model_does(
    tmp_path: Path,
) -> None:
    call = {**CALLS["single"][1], "wait_seconds": 0}
    async with served(tmp_path) as service:
        async with client(service, "?urgency=low") as mcp:
            await mcp.call_tool("ask_user", call)
            assert (await service.newest()).request.urgency == "low"
            await mcp.call_tool("ask_user", {**call, "question": "Now?", "urgency": "high"})
            assert (await service.newest(2)).request.urgency == "high"
        async with service.http.post(f"{service.url}/mcp?urgency=now", json={}) as response:
            assert response.status == 400


async def test_a_selected_dialect_reads_its_tools_calls(tmp_path: Path) -> None:
    async with served(tmp_path) as service, client(service, "?tools=single") as mcp:
        refused = await mcp.call_tool("ask_user", CALLS["ask_user"][1])
    assert refused.is_error
    assert "question" in str(refused.content)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("?tools=questoin", 'did you mean "question"'),
        ("?tools=elicitation/create", "there is no tool"),
        ("?tools=", "there is no tool"),
        ("?tools=ask_user,single", "named ask_user"),
    ],
)
async def test_unknown_tools_are_refused_with_a_reason(
    tmp_path: Path, query: str, text: str
) -> None:
    async with (
        served(tmp_path) as service,
        service.http.post(f"{service.url}/mcp{query}", json={}) as response,
    ):
        assert response.status == 400
        assert text in (await response.json(content_type=None))["detail"]


@pytest.mark.rule("DIALECT-8", "MCP-6")
@pytest.mark.parametrize(
    ("off", "query", "names"),
    [
        ("ask_user_question", "", ["ask_user"]),
        ("claude", "?tools=AskUserQuestion,question", ["question"]),
        ("ask_user", "", ["ask_user_question"]),
        ("question", "?tools=question", []),
    ],
)
async def test_a_tool_disabled_under_any_of_its_names_is_not_offered(
    tmp_path: Path, off: str, query: str, names: list[str]
) -> None:
    async with served(tmp_path, tools={off: ToolRule(enable=False)}) as service:
        assert list(await list_tools(service, query)) == [*names, *PENDING]


async def test_a_disabled_shape_is_missing_from_the_tools_schema(
    tmp_path: Path,
) -> None:
    off = {
        dialect: ToolRule(enable=False)
        for dialect in ("single", "ask_user_form", "gemini", "copilot", "openclaw", "deepagents")
    }
    async with served(tmp_path, tools=off) as service:
        schema = (await list_tools(service))["ask_user"].input_schema
    jsonschema.validate(CALLS["ask_user"][1], schema)
    for dialect in off:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(CALLS[dialect][1], schema)
    two = {"ask_user": ToolRule(), "single": ToolRule(enable=False)}
    async with served(tmp_path, tools=two) as service:
        schema = (await list_tools(service))["ask_user"].input_schema
    jsonschema.validate(CALLS["ask_user_form"][1], schema)


@pytest.mark.parametrize("name", ["ask_user", "question"])
def test_a_tool_with_several_shapes_describes_what_each_returns(name: str) -> None:
    (tool,) = parse_asking_tools(name)
    assert len(tool.dialects) > 1
    found = tool.definition(tool.dialects)
    assert found is not None
    shapes = [each.shape for each in installed_tools() if each.name == name]
    assert all(shapes)
    assert found.description is not None
    assert found.description.endswith(f" Pass {'; or '.join(shapes)}.")


def test_tool_names_may_have_spaces_around_commas() -> None:
    assert [tool.name for tool in parse_asking_tools("question, tool_question")] == [
        "question",
        "tool_question",
    ]


@pytest.mark.rule("MCP-8")
async def test_the_bridge_offers_the_selected_tools(tmp_path: Path) -> None:
    off = {"tool_question": ToolRule(enable=False)}
    async with served(tmp_path, tools=off) as service:
        bridge = StdioServerParameters(
            command=sys.executable,
            args=[
                *("-m", "answerback_agents.cli.main", "mcp", "--url", service.url),
                *("--tools", "question,tool_question"),
            ],
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
        )
        async with Client(stdio_client(bridge)) as mcp:
            names = [tool.name for tool in (await mcp.list_tools()).tools]
    assert names == ["question", *PENDING]


@pytest.mark.rule("MCP-5", "MCP-8")
async def test_the_bridge_answers_a_message_that_http_would_refuse_with_why() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "answerback_agents.cli.main", "mcp", "--url", "http://127.0.0.1:1"),
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.timeout(WAIT):
        for message, request_id, why in (
            ('"id": 1, "method": "ping", "method": "tools/list"', 1, 'key "method" occurs twice'),
            ('"id": "a", "method": "ping", "params": {"a": NaN}', "a", "NaN is not a JSON value"),
            ('"id": 3, "method": "ping", "params": {"a": "\\ud800"}', 3, "half a surrogate pair"),
            ('"id": "\\ud800", "method": "ping"', None, "half a surrogate pair"),
            ('"id": true, "id": true', None, 'key "id" occurs twice'),
            ('"method" "ping"', None, "not valid JSON"),
            ('"method": "ping", "params": 1e999', None, "larger than a double"),
            ('"id": 4, "method": "ping"', 4, ""),
        ):
            process.stdin.write(f'{{"jsonrpc": "2.0", {message}}}\n'.encode())
            answer = json.loads(await process.stdout.readline())
            assert answer["id"] == request_id
            assert why in answer.get("error", {"message": ""})["message"]
        process.stdin.close()
        assert await process.wait() == 0


def test_a_bridge_with_an_unknown_tool_fails_at_once() -> None:
    done = CliRunner().invoke(main.app, ["mcp", "--tools", "questoin"], env={"COLUMNS": "300"})
    assert done.exit_code == 2
    assert 'did you mean "question"' in done.stderr


@pytest.mark.rule("CONNECT-1")
async def test_the_address_says_where_to_ask_if_the_call_does_not(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as service,
        mcp_client(f"{service.url}/mcp?wait=0&to=slack%3AC1") as mcp,
    ):
        question = {"questions": [{"id": "a", "text": "A?", "answer_type": "boolean"}]}
        refused = await mcp.call_tool("ask_user", question)
        assert refused.is_error
        assert "no chat surface is available" in str(refused.content)
        asked = await mcp.call_tool("ask_user", {**question, "to": "web"})
        assert not asked.is_error
