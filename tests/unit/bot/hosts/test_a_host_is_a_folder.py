"""A host is a folder: one that this test has made up is asked, answered, connected and named like the others."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from answerback_base.hosts import hosts_with, load_part, load_parts
from answerback_client import AsyncClient
from tests.acceptance.process import PATIENCE
from tests.mcp_clients import mcp_client
from tests.meta.project import PYTHONPATH, ROOT
from tests.recipes.conftest import Person, Served, serving
from tests.unit.bot.acp_support import AGENT
from tests.unit.bot.mcp_proxy_support import SERVER, call, encode

PATH = os.pathsep.join((PYTHONPATH, str(ROOT / "tests" / "data" / "imagined_host")))
EVENT = {"event": "permission", "tool": "Bash", "input": {"command": "make"}}
IDS = {
    "imagined.example/session": "s1",
    "imagined.example/call": "c1",
    "imagined.example/turn": "t1",
}
"""The ids in the host's requests to MCP servers."""


async def run(folder: Path, *arguments: str, given: str = "", **environment: str) -> str:
    """Run the command as a person does, and return what it prints."""
    main = ("-m", "answerback_agents.cli.main")
    return await run_python(folder, *main, *arguments, given=given, **environment)


async def run_python(folder: Path, *arguments: str, given: str = "", **environment: str) -> str:
    """Run Python where it knows the host, and return what it prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments),
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": PATH, "HOME": str(folder), **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        printed, _ = await process.communicate(given.encode())
    assert process.returncode == 0
    return printed.decode()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that knows the host."""
    with serving(tmp_path_factory.mktemp("imagined"), python_path=PATH) as made:
        yield made


@pytest.fixture
async def person(service: Served) -> AsyncIterator[Person]:
    async with AsyncClient(service.url, service.people_token) as front:
        yield Person(front)


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("allow", {"go": True}),
        ("deny", {"go": False, "why": "The user did not allow this use of the tool."}),
    ],
)
async def test_its_permission_prompt_is_decided_by_people(
    service: Served, person: Person, tmp_path: Path, value: str, answer: dict[str, object]
) -> None:
    command = ("hook", "imagined", "--url", service.url)
    hook = run(tmp_path, *command, given=json.dumps(EVENT), ANSWERBACK_TOKEN=service.token)
    printed, ask = await asyncio.gather(hook, person.answers(value))
    assert json.loads(printed) == answer
    assert ask.json["headline"] == "Run make"
    assert ask.json["origin"]["label"] == "Imagined"  # type: ignore[call-overload, index]  # JSON


@pytest.mark.parametrize(
    ("sent", "is_same"),
    [({"run": 2}, True), ({"offers": ["again"]}, True), ({"sudo": True}, False)],
)
async def test_a_grant_compares_neither_its_ids_nor_its_offers(
    tmp_path: Path, sent: dict[str, object], is_same: bool
) -> None:
    call = {"tool": "Bash", "input": {"command": "make"}, "run": 1, "offers": []}
    read = "from answerback.dialects.approval import read_tool_call as read; import sys, json"
    prints = "print(*{repr(read('imagined/permission', each)) for each in json.load(sys.stdin)})"
    given = json.dumps([call, {**call, **sent}])
    printed = await run_python(tmp_path, "-c", f"{read}; {prints}", given=given)
    assert printed.count("ToolCall(") == (1 if is_same else 2)


@pytest.mark.long
async def test_its_question_is_read_and_answered_in_its_own_shape(
    service: Served, person: Person
) -> None:
    async with AsyncClient(service.url, service.token) as agent:
        ask = await agent.submit("imagined/ask", {"what": "Which port?"})
        assert ask.json["dialect"] == "imagined"
        await person.answers("8443")
        done = await agent.get(ask.id)
    assert done.tool_result is not None
    assert done.tool_result.structured == {"heard": "8443"}


@pytest.mark.long
async def test_its_bridge_is_a_command(service: Served, person: Person, tmp_path: Path) -> None:
    assert "imagined" in await run(tmp_path, "bridge", "--help")
    command = ("bridge", "imagined", "--url", service.url)
    asked = json.dumps({"what": "Which port?"}) + "\n"
    bridge = run(tmp_path, *command, given=asked, ANSWERBACK_TOKEN=service.token)
    printed, _ = await asyncio.gather(bridge, person.answers("8443"))
    assert json.loads(printed) == {"heard": "8443"}


@pytest.mark.long
async def test_its_questions_over_acp_are_read_in_its_dialect(
    service: Served, person: Person, tmp_path: Path
) -> None:
    asked = {"what": "Which port?", "toolCall": {"toolCallId": "c", "kind": "imagined"}}
    request = {"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": asked}
    prompt = {"id": 1, "method": "session/prompt", "params": {"say": [request]}}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "answerback_agents.cli.main", "acp", "--url", service.url),
        *("--", *AGENT),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": PATH, "ANSWERBACK_TOKEN": service.token},
        cwd=tmp_path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{json.dumps(prompt)}\n".encode())
    ask = await person.answers("8443")
    assert ask.json["dialect"] == "imagined"
    async with asyncio.timeout(PATIENCE):
        message: dict[str, Any] = {}
        while message.get("method") != "_heard":
            message = json.loads(await process.stdout.readline())
        assert json.loads(message["params"]["line"])["result"] == {"heard": "8443"}
        process.stdin.close()
        assert await process.wait() == 0


@pytest.mark.long
@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_its_calls_over_mcp_name_their_session_and_are_recognised_when_repeated(
    service: Served, person: Person, way: str
) -> None:
    relay = StdioServerParameters(
        command=sys.executable,
        args=["-m", "answerback_agents.cli.main", "mcp", "--url", service.url],
        env={**os.environ, "PYTHONPATH": PATH, "ANSWERBACK_TOKEN": service.token},
    )
    made = (
        Client(stdio_client(relay))
        if way == "stdio"
        else mcp_client(f"{service.url}/mcp", service.token)
    )
    meta: Any = {each: f"{value}-{way}" for each, value in IDS.items()}
    asked = {"answer_type": "text", "wait_seconds": 0}
    async with made as mcp:
        results = [
            await mcp.call_tool("ask_user", {**asked, "question": question}, meta=meta)
            for question in ("Which port?", "Which port?", "Which host?")
        ]
        first, again, another = [result.structured_content["ask_id"] for result in results]
        await mcp.call_tool("withdraw_ask", {"ask_id": another})
    assert first == again
    assert another != first  # the id of a call is no key
    ask = await person.answers("8443")
    assert ask.json["conversation"] == f"s1-{way}"
    assert ask.json["tool_call_id"] == f"c1-{way}"


@pytest.mark.long
async def test_people_do_not_see_the_ids_in_its_calls_of_other_mcp_servers(
    service: Served, person: Person, tmp_path: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "answerback_agents.cli.main", "mcp-proxy"),
        *("--service", service.url, "--state", str(tmp_path), "--", *SERVER),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": PATH, "ANSWERBACK_TOKEN": service.token},
        cwd=tmp_path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(encode(call(_meta={**IDS, "imagined.example/force": True})))
    shown = json.dumps((await person.sees()).json["prompt"])
    await person.answers("allow")
    async with asyncio.timeout(PATIENCE):
        received = json.loads(await process.stdout.readline())
        assert "imagined.example/turn" in received["params"]["line"]  # the server gets them
        process.stdin.close()
        assert await process.wait() == 0
    assert "imagined.example/force" in shown
    assert [name for name in IDS if name in shown] == []


@pytest.mark.long
async def test_it_is_connected_like_the_others(tmp_path: Path) -> None:
    await run(tmp_path, "connect", "imagined", "--yes")
    written = json.loads((tmp_path / ".imagined" / "settings.json").read_text())
    [group] = written["hooks"]["permission"]
    assert group["hooks"][0]["command"].endswith(" hook imagined")
    assert "imagined" in await run(tmp_path, "hook", "--help", COLUMNS="200")


def test_a_host_needs_no_more_than_a_name() -> None:
    folders = set(hosts_with("__init__"))
    assert {"claude", "codex", "kimi"} <= folders
    assert load_parts("about").keys() == folders
    assert load_part("kimi", "hook") is None
    assert load_part("nobody", "about") is None


def test_a_host_has_one_title_wherever_people_see_it() -> None:
    about = load_parts("about")
    for name, part in load_parts("connect").items():
        assert part.AGENT.title == about[name].ABOUT.title
