"""`answerback hook`: events as the real hosts sent them, put to people, and answered in each host's shape."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from answerback.agents.hooks.people import People
from answerback.agents.hooks.run import HOSTS, answer
from answerback.cli.commands.hook import Agent
from answerback.core.ask import Status
from answerback.runtime.config import Server
from tests.acceptance.process import PATIENCE
from tests.meta.project import PYTHONPATH, ROOT
from tests.recipes.receiving import listening
from tests.service_parts import WAIT
from tests.unit.bot.agent_parts import Json, Served, served
from tests.unit.bot.test_hooks import QUESTIONS, SCHEMA, asking
from tests.unit.bot.test_hooks_permission import SUGGESTED, permission


def recorded(name: str) -> Json:
    """An event as Codex 0.169.0, Gemini CLI 0.61.0 or Copilot CLI 1.0.102 sent it."""
    found: Json = json.loads((ROOT / "tests" / "data" / "hooks" / f"{name}.json").read_text())
    return found


CODEX = recorded("codex-PreToolUse")
CODEX_PERMISSION = {
    **{key: value for key, value in CODEX.items() if key != "tool_use_id"},
    "hook_event_name": "PermissionRequest",
    "tool_name": "Bash",
    "tool_input": {"command": "touch x.txt"},
}
COPILOT = recorded("copilot-permissionRequest")
GEMINI = recorded("gemini-BeforeTool")
GEMINI_ASKS = {
    **GEMINI,
    "tool_name": "ask_user",
    "tool_input": {"questions": [{"question": "Deploy?", "header": "Deploy", "type": "yesno"}]},
}
CLAUDE = asking()
CLAUDE_PERMISSION = permission(permission_suggestions=SUGGESTED)
CLAUDE_ELICITS = {
    "session_id": "abc123",
    "hook_event_name": "Elicitation",
    "mcp_server_name": "travel",
    "message": "Seat?",
    "requested_schema": SCHEMA,
    "elicitation_id": "e1",
}
REPLY = {"action": "reply", "text": "Ask Ada."}
END = {"action": "end_turn"}
ENDED = "The user ended the turn. Stop now, and call no more tools."
STOP = {"continue": False, "stopReason": "The user ended the turn."}


def output(event: Json, **told: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"], **told}}


def denied(event: Json, reason: str) -> Json:
    return output(event, permissionDecision="deny", permissionDecisionReason=reason)


def value(given: Any) -> Json:
    return {"action": "answer", "value": given}


def decided(event: Json, behavior: str, message: str | None = None, **more: Any) -> Json:
    words = {} if message is None else {"message": message}
    return output(event, decision={"behavior": behavior, **words, **more})


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def hooked(
    service: Served, agent: str, event: Json, action: Json | None, count: int = 1
) -> Json | None:
    """What a hook answers when people do this to the newest of so many asks."""
    running = asyncio.create_task(
        asyncio.to_thread(answer, agent, event, People(service.url, wait=WAIT))
    )
    if action is not None:
        await service.act(await service.newest(count), **action)
    async with asyncio.timeout(WAIT):
        return await running


NOT_ALLOWED = "The user does not allow this use of the tool."
ANSWERS: list[tuple[str, Json, Json, Json]] = [
    (
        "codex",
        CODEX,
        value("8443 (Recommended)"),
        denied(
            CODEX, 'The user answered: {"answers": {"port": {"answers": ["8443 (Recommended)"]}}}'
        ),
    ),
    (
        "codex",
        CODEX,
        REPLY,
        denied(CODEX, "The user did not choose an answer, and replied: Ask Ada."),
    ),
    (
        "codex",
        CODEX,
        {"action": "reply"},
        denied(CODEX, "The user declined to answer these questions."),
    ),
    ("codex", CODEX, END, denied(CODEX, ENDED)),
    ("codex", CODEX_PERMISSION, value("allow"), decided(CODEX_PERMISSION, "allow")),
    ("codex", CODEX_PERMISSION, value("deny"), decided(CODEX_PERMISSION, "deny", NOT_ALLOWED)),
    ("codex", CODEX_PERMISSION, REPLY, decided(CODEX_PERMISSION, "deny", "Ask Ada.")),
    ("codex", CODEX_PERMISSION, END, decided(CODEX_PERMISSION, "deny", ENDED)),
    (
        "gemini",
        GEMINI_ASKS,
        value("Yes"),
        {"decision": "deny", "reason": 'The user answered: {"answers": {"0": "Yes"}}'},
    ),
    ("gemini", GEMINI_ASKS, END, STOP),
    ("gemini", GEMINI, value("allow"), {}),
    ("gemini", GEMINI, value("deny"), {"decision": "deny", "reason": NOT_ALLOWED}),
    ("gemini", GEMINI, REPLY, {"decision": "deny", "reason": "Ask Ada."}),
    ("gemini", GEMINI, END, STOP),
    ("copilot", COPILOT, value("allow"), {"behavior": "allow"}),
    ("copilot", COPILOT, value("deny"), {"behavior": "deny", "message": NOT_ALLOWED}),
    ("copilot", COPILOT, REPLY, {"behavior": "deny", "message": "Ask Ada."}),
    ("copilot", COPILOT, END, {"behavior": "deny", "message": ENDED, "interrupt": True}),
    (
        "claude",
        CLAUDE,
        value("Vue"),
        output(
            CLAUDE,
            permissionDecision="allow",
            permissionDecisionReason="The user answered: Which framework?\nVue",
            updatedInput={"questions": QUESTIONS, "answers": {"Which framework?": "Vue"}},
        ),
    ),
    ("claude", CLAUDE, END, {**STOP, **denied(CLAUDE, ENDED)}),
    (
        "claude",
        CLAUDE_PERMISSION,
        value("always:1"),
        decided(CLAUDE_PERMISSION, "allow", updatedPermissions=SUGGESTED[:1]),
    ),
    ("claude", CLAUDE_PERMISSION, REPLY, decided(CLAUDE_PERMISSION, "deny", "Ask Ada.")),
    ("claude", CLAUDE_PERMISSION, END, decided(CLAUDE_PERMISSION, "deny", ENDED, interrupt=True)),
    (
        "claude",
        permission("AskUserQuestion", {"questions": QUESTIONS}),
        REPLY,
        decided(
            CLAUDE_PERMISSION, "deny", "The user did not choose an answer, and replied: Ask Ada."
        ),
    ),
    (
        "claude",
        CLAUDE_ELICITS,
        value({"username": "kim"}),
        output(CLAUDE_ELICITS, action="accept", content={"username": "kim"}),
    ),
    ("claude", CLAUDE_ELICITS, REPLY, output(CLAUDE_ELICITS, action="decline")),
    ("claude", CLAUDE_ELICITS, END, {**STOP, **output(CLAUDE_ELICITS, action="cancel")}),
]


@pytest.mark.rule("CONNECT-2")
@pytest.mark.parametrize(("agent", "event", "action", "told"), ANSWERS)
async def test_each_host_is_answered_in_its_own_shape(
    service: Served, agent: str, event: Json, action: Json, told: Json
) -> None:
    assert await hooked(service, agent, event, action) == told


async def test_what_is_asked_says_where_it_comes_from(service: Served) -> None:
    await hooked(service, "codex", CODEX, REPLY)
    asked = (await service.newest()).request
    assert asked.name == "request_user_input"
    assert asked.conversation == CODEX["session_id"]
    assert asked.turn == CODEX["turn_id"]
    assert asked.tool_call_id == CODEX["tool_use_id"]
    assert asked.metadata == {"cwd": "/srv/a/project"}


async def test_a_hook_that_runs_again_finds_the_same_ask(service: Served) -> None:
    told = await hooked(service, "codex", CODEX, value("8080"))
    assert await hooked(service, "codex", CODEX, None) == told
    assert len((await service.running.service.store.page()).rows) == 1


async def test_what_people_answered_needs_no_second_answer(service: Served) -> None:
    told = await hooked(service, "claude", CLAUDE, value("Vue"))
    assert told is not None
    given = told["hookSpecificOutput"]["updatedInput"]
    event = permission("AskUserQuestion", given)
    allowed = decided(event, "allow", updatedInput=given)
    assert await hooked(service, "claude", event, None) == allowed
    made_up = permission("AskUserQuestion", {**given, "answers": {"Which framework?": "React"}})
    stopped = decided(event, "deny", ENDED, interrupt=True)
    assert await hooked(service, "claude", made_up, END, 2) == stopped


async def test_a_wrong_call_is_told_its_mistakes(service: Served) -> None:
    event = {**CODEX, "tool_input": '{"questions": []}'}
    told = await hooked(service, "codex", event, None)
    assert told is not None
    assert "questions" in told["hookSpecificOutput"]["permissionDecisionReason"]
    for given in ("no JSON", 7):
        wrong = await hooked(service, "codex", {**CODEX, "tool_input": given}, None)
        assert wrong is not None
        assert wrong["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.rule("CONNECT-2")
async def test_what_is_not_answered_is_never_allowed(service: Served) -> None:
    """A wait that runs out, a token that is wrong, and an ask that somebody withdrew."""
    impatient = People(service.url, wait=0.2)
    told = await asyncio.to_thread(answer, "copilot", COPILOT, impatient)
    assert told is not None
    assert told["behavior"] == "deny"
    ask = await service.newest()
    assert f"({ask.id})" in told["message"]
    assert "Nobody answered within 0.2 seconds" in told["message"]
    assert ask.thread is not None
    assert str(ask.thread.url) in told["message"]
    assert ask.status is Status.OPEN
    running = asyncio.create_task(hooked(service, "codex", CODEX, None))
    await service.running.service.withdraw((await service.newest(2)).id)
    assert "withdrawn" in str(await running)


async def test_a_service_that_is_away_is_told_and_denies() -> None:
    refused = People("http://127.0.0.1:1", patience=0.3)
    told = await asyncio.to_thread(answer, "codex", CODEX_PERMISSION, refused)
    assert told is not None
    assert told["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    assert "answerback serve" in told["hookSpecificOutput"]["decision"]["message"]
    for url in ("ftp://127.0.0.1", "http://", "http://127.0.0.1:port"):
        told = await asyncio.to_thread(answer, "copilot", COPILOT, People(url))
        assert told is not None
        assert "use http://host:port" in told["message"]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, '{"title": "Unauthorized", "detail": "No such token."}', "Unauthorized. No such"),
        (200, "<html>", "is not an Answerback"),
    ],
)
async def test_what_refuses_or_is_something_else_denies(status: int, body: str, words: str) -> None:
    async def other(_request: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_post("/v1/asks", other)
    async with listening(app) as url:
        told = await asyncio.to_thread(answer, "copilot", COPILOT, People(url, "a-token"))
    assert told is not None
    assert told["behavior"] == "deny"
    assert words in told["message"]


LATE = [
    ("codex", recorded("codex-UserPromptSubmit"), "session_id"),
    ("gemini", recorded("gemini-BeforeAgent"), "session_id"),
    ("gemini", {**GEMINI, "hook_event_name": "AfterTool"}, "session_id"),
    ("copilot", recorded("copilot-userPromptSubmitted"), "sessionId"),
    ("claude", {**CLAUDE, "hook_event_name": "UserPromptSubmit"}, "session_id"),
]


@pytest.mark.parametrize(("agent", "event", "key"), LATE)
async def test_what_came_late_is_told_with_the_next_event(
    agent: str, event: Json, key: str
) -> None:
    asked: list[str] = []

    async def answers(request: web.Request) -> web.Response:
        asked.append(request.query["conversation"])
        late = [{"message": "The user answered: 8443"}, {"message": "And: Vue"}]
        return web.json_response({"answers": [] if len(asked) > 1 else late, "next": 2})

    app = web.Application()
    app.router.add_get("/v1/answers", answers)
    async with listening(app) as url:
        told = await asyncio.to_thread(answer, agent, event, People(url))
        again = await asyncio.to_thread(answer, agent, event, People(url))
    assert asked == [event[key]] * 2
    assert again is None
    words = "The user answered: 8443\n\nAnd: Vue"
    if agent == "copilot":
        assert told == {"additionalContext": words}
    else:
        assert told == output(event, additionalContext=words)


@pytest.mark.parametrize(("agent", "event", "_key"), LATE)
async def test_nothing_late_can_be_looked_up_and_nothing_is_blocked(
    agent: str, event: Json, _key: str
) -> None:
    async with listening(web.Application()) as url:  # which knows no such call
        assert await asyncio.to_thread(answer, agent, event, People(url)) is None


@pytest.mark.parametrize("agent", HOSTS)
def test_what_is_not_ours_is_left_to_the_host(agent: str) -> None:
    nowhere = People("http://127.0.0.1:1")
    for event in ({}, {"hook_event_name": "Interrupt"}, {"hookName": "sessionStart"}):
        assert answer(agent, event, nowhere) is None


def test_the_commands_agents_are_those_that_have_a_host() -> None:
    assert {each.value for each in Agent} == HOSTS.keys()


async def spawned(event: bytes, *words: str, **environment: str) -> asyncio.subprocess.Process:
    """The command as a host starts it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "answerback.cli.main", "hook", *words),
        env={**os.environ, "PYTHONPATH": PYTHONPATH, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(event)
    process.stdin.close()
    return process


@pytest.mark.rule("CONNECT-2")
async def test_the_command_reads_an_event_and_prints_the_answer(tmp_path: Path) -> None:
    async with served(tmp_path, {"codex": "agent", "front": "surface"}) as service:
        process = await spawned(
            json.dumps(CODEX_PERMISSION).encode(),
            *("codex", "--url", service.url, "--token-env", "MINE", "--to", "web"),
            MINE=service.tokens["codex"],
        )
        ask = await service.newest()
        assert ask.request.agent == "codex"
        await service.act(ask, **value("allow"), actor={"user_id": "U7"})
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
    assert process.returncode == 0
    assert json.loads(out) == decided(CODEX_PERMISSION, "allow")
    assert err == b""


@pytest.mark.rule("CONNECT-2")
@pytest.mark.parametrize(
    ("event", "status"), [(CODEX_PERMISSION, Status.WITHDRAWN), (CODEX, Status.OPEN)]
)
async def test_a_permission_prompt_that_the_host_gives_up_is_withdrawn_and_a_question_is_not(
    service: Served, event: Json, status: Status
) -> None:
    process = await spawned(json.dumps(event).encode(), "codex", "--url", service.url)
    ask = await service.newest()
    await service.waited_for(ask)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE):
        out, _ = await process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert out == b""
    found = await service.running.service.store.get(ask.id)
    assert found is not None
    assert found.status is status


async def test_something_else_than_an_event_is_told(service: Served) -> None:
    for event in (b"", b"[]", b"\xff"):
        process = await spawned(event, "gemini", "--url", service.url)
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert process.returncode == 1
        assert out == b""
        assert b"is not the event of a hook" in err


def test_a_hook_imports_next_to_nothing() -> None:
    """So that each tool call of an agent waits for it a moment only."""
    import subprocess

    script = (
        "import sys; from answerback.cli import hook; "
        "print([m for m in ('aiohttp', 'asyncio', 'pydantic', 'answerback.service') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "[]\n"


@pytest.mark.rule("CONNECT-2")
async def test_a_hook_waits_over_a_restart_of_the_service(tmp_path: Path) -> None:
    running: asyncio.Task[Json | None]
    async with served(tmp_path) as service:
        port = int(service.url.rpartition(":")[2])
        people = People(service.url, wait=WAIT)
        running = asyncio.create_task(asyncio.to_thread(answer, "copilot", COPILOT, people))
        ask = await service.newest()
        await service.waited_for(ask)
    async with served(tmp_path, server=Server(port=port)) as service:
        await service.act(ask, **value("allow"))
        async with asyncio.timeout(WAIT):
            assert await running == {"behavior": "allow"}


OPEN: Json = {"id": "ask_1", "status": "open", "thread": None, "tool_result": None, "reply": None}
FAILED = {"content": "Broken. Do not retry.", "structured": {}, "is_error": True}


@contextlib.asynccontextmanager
async def stub(*answers: tuple[int, Json]) -> AsyncIterator[str]:
    """A service that takes an ask and then answers so, the last for ever."""
    left = [*answers]

    async def asked(_request: web.Request) -> web.Response:
        return web.json_response(OPEN, status=201)

    async def stands(_request: web.Request) -> web.Response:
        status, body = left.pop(0) if len(left) > 1 else left[0]
        return web.json_response(body, status=status)

    app = web.Application()
    app.router.add_post("/v1/asks", asked)
    app.router.add_route("*", "/v1/asks/ask_1", stands)
    async with listening(app) as url:
        yield url


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, {**OPEN, "status": "expired"}, "not answered in time"),
        (200, {**OPEN, "status": "failed", "tool_result": FAILED}, "Broken. Do not retry."),
        (404, {"title": "Not found"}, "Not found."),
        (503, {}, "answers HTTP 503. The question stays open (ask_1)"),
    ],
)
async def test_however_it_ends_nothing_is_allowed(status: int, body: Json, words: str) -> None:
    async with stub((503, {}), (200, OPEN), (status, body)) as url:
        people = People(url, wait=1)
        told = await asyncio.to_thread(answer, "copilot", COPILOT, people)
    assert told is not None
    assert told["behavior"] == "deny"
    assert words in told["message"]


async def test_a_prompt_that_cannot_be_withdrawn_ends_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(_seconds: float) -> None:
        monkeypatch.undo()
        raise SystemExit(143)

    monkeypatch.setattr("answerback.agents.hooks.people.time.sleep", interrupted)
    async with stub((503, {}), (410, {"title": "The ask has ended"})) as url:
        done = asyncio.to_thread(pytest.raises, SystemExit, answer, "copilot", COPILOT, People(url))
        assert (await done).value.code == 143


async def test_an_event_that_asks_nothing_prints_nothing(service: Served) -> None:
    process = await spawned(b'{"hook_event_name": "Interrupt"}', "codex", "--url", service.url)
    async with asyncio.timeout(PATIENCE):
        assert await process.communicate() == (b"", b"")
    assert process.returncode == 0
