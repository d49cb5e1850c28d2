"""Files that people send reach the agent's machine by hooks, bridges and proxies, and the model reads their paths."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp_types import CallToolResult, TextContent

from answerback.core.actions import Answer, Other, Reply
from answerback.core.ask import Ask
from answerback.ports.person_key import operator
from answerback.ports.surface import Acted, Actor
from answerback_agents.cli.ask_and_wait import ask_and_wait
from answerback_agents.cli.ask_output import exit_with
from answerback_agents.pipe.exchange import answer_event
from answerback_agents.pipe.saved_files import files_of
from answerback_client.blocking_connection import BlockingConnection
from tests.fakes.opencode import Opencode
from tests.service_support import WAIT
from tests.unit.bot.acp_support import INITIALIZE, run_editor
from tests.unit.bot.acp_support import permission as acp_permission
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.agents.bridges.test_bridge_opencode import (
    QUESTION,
    SESSION,
    bridging,
    faked,
    next_answer,
)
from tests.unit.bot.hook_support import CLAUDE, CLAUDE_PERMISSION, CODEX, CODEX_PERMISSION
from tests.unit.bot.hooks.test_late_answers_hooks import moment
from tests.unit.bot.mcp.test_mcp import client as over_http
from tests.unit.bot.mcp.test_mcp import relayed
from tests.unit.bot.mcp_proxy_support import TOOL, call, request, response, run_client
from tests.unit.picture_samples import PNG

pytestmark = pytest.mark.rule("FILE-50")
SAVED = re.compile(
    r'The user sent the file "photo\.png": it is saved at (\S+/file_[0-9a-f]{32}\.png)'
)
ADA = operator("web")
TEXT: Json = {"questions": [{"id": "why", "text": "Why?", "answer_type": "text"}]}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def send(service: Served, *, reply: bool = False, count: int = 1) -> Ask:
    """Answer the newest ask with a picture, once it is there."""
    ask = await service.newest(count)
    running = service.running.service
    file = await running.people_files.take("photo.png", PNG, ADA)
    action: Reply | Other | Answer = Reply(text="See", files=(file,))
    if not reply:
        other = bool(ask.form.questions[0].options)
        action = Other(text="See", files=(file,)) if other else Answer(value="See", files=(file,))
    done = await running.act(ask.id, action, Actor(ADA))
    assert isinstance(done, Acted), done
    return ask


def path_in(text: str, state: Path) -> Path:
    """Return the path that a text names, where the picture is."""
    match = SAVED.search(text)
    assert match is not None, text
    path = Path(match[1])
    assert path.is_relative_to(state)
    assert path.read_bytes() == PNG
    return path


def texts_of(result: CallToolResult) -> str:
    """Return the texts of a tool's result."""
    return "\n".join(each.text for each in result.content if isinstance(each, TextContent))


def hooked(service: Served, agent: str, event: Json) -> asyncio.Task[str]:
    """Run a hook; returns what it prints for its host."""

    def run() -> str:
        connection = BlockingConnection(service.url)
        return answer_event(agent, event, connection, wait=WAIT).printed() or ""

    return asyncio.create_task(asyncio.to_thread(run))


async def test_claude_code_reads_the_path_beside_the_answer(service: Served, state: Path) -> None:
    running = hooked(service, "claude", CLAUDE)
    await send(service)
    decided = json.loads(await running)["hookSpecificOutput"]
    assert decided["permissionDecision"] == "allow"
    path_in(decided["additionalContext"], state)


async def test_codex_reads_the_path_in_the_answer_itself(service: Served, state: Path) -> None:
    running = hooked(service, "codex", CODEX)
    await send(service)
    decided = json.loads(await running)["hookSpecificOutput"]
    path_in(decided["permissionDecisionReason"], state)


@pytest.mark.parametrize(
    ("agent", "event"), [("claude", CLAUDE_PERMISSION), ("codex", CODEX_PERMISSION)]
)
async def test_a_refusal_names_the_path(
    service: Served, state: Path, agent: str, event: Json
) -> None:
    running = hooked(service, agent, event)
    await send(service, reply=True)
    decision = json.loads(await running)["hookSpecificOutput"]["decision"]
    assert decision["behavior"] == "deny"
    path_in(decision["message"], state)


@pytest.mark.rule("FILE-52")
async def test_what_comes_with_an_allow_is_told_with_the_next_event(
    service: Served, state: Path
) -> None:
    running = hooked(service, "claude", CLAUDE_PERMISSION)
    ask = await service.newest()
    allowing = next(each.value for each in ask.form.questions[0].options)
    file = await service.running.service.people_files.take("photo.png", PNG, ADA)
    done = await service.running.service.act(
        ask.id, Answer(value=allowing, note="See", files=(file,)), Actor(ADA)
    )
    assert isinstance(done, Acted), done
    printed = await running
    assert json.loads(printed)["hookSpecificOutput"]["decision"]["behavior"] == "allow"
    assert file.id not in printed
    event = json.loads(await hooked(service, "claude", moment("PostToolUse")))
    path_in(event["hookSpecificOutput"]["additionalContext"], state)
    assert "said: See" in event["hookSpecificOutput"]["additionalContext"]
    assert await hooked(service, "claude", moment("PostToolUse")) == ""


@pytest.mark.rule("FILE-51")
async def test_an_answer_whose_file_cannot_be_saved_arrives_and_says_so(
    service: Served, state: Path
) -> None:
    state.mkdir()
    (state / "answerback").write_text("no folder")
    running = hooked(service, "codex", CODEX)
    await send(service)
    reason = json.loads(await running)["hookSpecificOutput"]["permissionDecisionReason"]
    assert "See" in reason
    assert re.search(r"could not be saved \(.+\)\. GET /v1/files/file_\w{32} returns it", reason)


@pytest.mark.rule("FILE-52")
@pytest.mark.parametrize("takes_pictures", [True, False])
async def test_an_acp_agent_gets_a_reply_and_its_picture_with_the_next_prompt(
    service: Served, state: Path, takes_pictures: bool
) -> None:
    async with run_editor(service.url, XDG_STATE_HOME=str(state)) as editor:
        await editor.send(INITIALIZE)
        await editor.agent_received()
        can = {"promptCapabilities": {"image": takes_pictures}}
        started = {"protocolVersion": 1, "agentCapabilities": can}
        await editor.prompt({"jsonrpc": "2.0", "id": 0, "result": started})
        await editor.next()
        await editor.prompt(acp_permission())
        await editor.next()
        await send(service, reply=True)
        for _ in range(2):  # the agent's echo of the answer, and the editor's cancellation
            await editor.next()
        block = {"type": "text", "text": "Go on"}
        params = {"sessionId": "s1", "prompt": [block], "say": []}
        await editor.send({"id": 9, "method": "session/prompt", "params": params})
        said, *pictures, last = (await editor.next())["params"]["prompt"]
    assert last == block
    assert said["text"].startswith('The user was asked "Run make" and replied: See\n')
    path_in(said["text"], state)
    encoded = base64.b64encode(PNG).decode()
    image = {"type": "image", "mimeType": "image/png", "data": encoded}
    assert pictures == ([image] if takes_pictures else [])


async def test_the_gateway_names_the_path_where_a_call_is_not_allowed(
    service: Served, state: Path, tmp_path: Path
) -> None:
    async with run_client(service.url, tmp_path) as client:
        await client.list_tools(TOOL)
        await client.send(call())
        await send(service, reply=True)
        path_in(await client.is_denied(), state)


@pytest.mark.rule("FILE-52")
async def test_the_result_of_a_tool_names_what_people_sent_its_server(
    service: Served, state: Path, tmp_path: Path
) -> None:
    policy = 'rules = [{ tool = "*", do = "pass" }]'
    schema = {"properties": {"why": {"type": "string"}}, "required": ["why"], "type": "object"}
    asked = request("elicitation/create", "e1", message="Why?", requestedSchema=schema)
    async with run_client(service.url, tmp_path, policy=policy) as client:
        await client.list_tools(TOOL)
        await client.passes(call())
        await client.make_server_say(asked)
        await send(service, reply=True)
        answer = json.loads(await client.received_line())
        assert answer["result"]["action"] in {"decline", "cancel"}
        line = b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"1.50"}],"n":1.50}}\n'
        await client.make_server_say(line)
        received = await client.line()
        assert b'"n": 1.50' in received, "numbers keep their digits"
        first, added = json.loads(received)["result"]["content"]
        assert first["text"] == "1.50"
        path_in(added["text"], state)
        await client.passes(call(request_id=8))
        result = response(8, content=[])
        await client.make_server_say(result)
        await client.expect(result)


async def test_opencode_is_told_the_path_after_the_answer(service: Served, state: Path) -> None:
    async with faked(Opencode()) as opencode, bridging(service, opencode):
        opencode.running[SESSION] = []
        await opencode.ask(QUESTION)
        await send(service)
        answered, _ = await next_answer(opencode)
        assert answered.endswith("/reply")
        prompted, body = await next_answer(opencode)
        assert prompted.endswith("/prompt_async")
        path_in(body["parts"][0]["text"], state)


@pytest.mark.parametrize("content", [True, False])
async def test_answerback_ask_prints_the_path(
    service: Served, state: Path, capsys: pytest.CaptureFixture[str], content: bool
) -> None:
    form: Json = {"name": "ask_user", "arguments": TEXT}
    asking_ = asyncio.create_task(ask_and_wait(service.url, None, form, WAIT))
    await send(service)
    ended = await asking_
    with pytest.raises(SystemExit):
        exit_with(ended, content=content, whole=False)
    printed = capsys.readouterr().out
    path = path_in(printed if content else json.loads(printed)["content"], state)
    assert [each["path"] for each in files_of(ended)] == [str(path)]


async def test_answerback_mcp_saves_what_results_and_late_answers_name(
    service: Served, state: Path
) -> None:
    question = {"question": "Why?", "answer_type": "text"}
    async with relayed(service.url) as mcp:
        calling = asyncio.create_task(mcp.call_tool("ask_user", question))
        await send(service)
        result = await calling
        path_in(texts_of(result), state)
        assert result.content[-1].type == "image"
        await mcp.call_tool("ask_user", {**question, "mode": "async"})
        await send(service, count=2)
        late = await mcp.call_tool("check_answers", {})
        path_in(texts_of(late), state)


async def test_the_service_itself_saves_nothing(service: Served, state: Path) -> None:
    async with over_http(service) as mcp:
        question = {"question": "Why?", "answer_type": "text"}
        calling = asyncio.create_task(mcp.call_tool("ask_user", question))
        await send(service)
        assert "GET /v1/files/" in texts_of(await calling)
    assert not state.exists()
