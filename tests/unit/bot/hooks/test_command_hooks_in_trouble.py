"""`answerback hook` as a process, and its failures: an unanswered call is never allowed."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web

from answerback.core.ask import Status
from answerback.hooks.endpoint import HOOK_HEADER
from answerback.runtime.config import ServerSettings
from answerback_agents.pipe import exchange
from answerback_agents.pipe.exchange import answer_event
from answerback_client.blocking_connection import BlockingConnection
from tests.acceptance.forked_process import Child, forked
from tests.acceptance.process import PATIENCE
from tests.ports import free_port, gone_after_one_request
from tests.recipes.receiving import listening
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import (
    CLAUDE,
    CODEX,
    CODEX_PERMISSION,
    COPILOT,
    END,
    ENDED,
    decision_answer,
    piped,
    recorded,
    run_hook,
    value,
)
from tests.unit.bot.hooks.test_claude_hooks_permission import permission


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def test_an_unreachable_service_is_reported_and_denies() -> None:
    away = "http://127.0.0.1:1"
    answer = await asyncio.to_thread(piped, "codex", CODEX_PERMISSION, away, patience=0.3)
    assert answer is not None
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    message = answer["hookSpecificOutput"]["decision"]["message"]
    assert message.startswith("Nobody could be asked: ")
    assert message.endswith("answerback serve`.")
    async with gone_after_one_request() as url:
        service = BlockingConnection(url, pause=lambda _: None)
        tries = partial(answer_event, "codex", CODEX_PERMISSION, service, patience=4.0)
        answer = (await asyncio.to_thread(tries)).output
    assert answer is not None
    message = answer["hookSpecificOutput"]["decision"]["message"]
    assert message.startswith(f"Nobody has answered: Cannot reach Answerback at {url}: ")
    assert message.endswith("The question may be open already.")
    for url in ("ftp://127.0.0.1", "http://", "http://127.0.0.1:port"):
        answer = await asyncio.to_thread(piped, "copilot", COPILOT, url)
        assert answer is not None
        assert "Use http://host:port" in answer["message"]


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (403, '{"title": "Forbidden", "detail": "No such route."}', "Forbidden. No such route."),
        (422, '{"tool_result": {"content": "questions is missing."}}', "questions is missing."),
        (422, '{"title": "Bad", "tool_result": {"content": 7}}', "Bad."),
        (200, "<html>", "is not Answerback"),
        (200, "[]", "is not Answerback"),
        (200, '{"behavior": "allow"}', "is not Answerback"),
        (202, "{}", "is not Answerback"),
        (200, "[" * 5_000, "is not Answerback"),
        (200, " " * (5 * 2**20), "is not Answerback"),
    ],
)
async def test_a_refusal_or_another_server_denies(status: int, body: str, expected: str) -> None:
    async def other(_request: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_post("/hooks/copilot", other)
    async with listening(app) as url:
        answer = await asyncio.to_thread(piped, "copilot", COPILOT, url)
    assert answer is not None
    assert answer["behavior"] == "deny"
    assert expected in answer["message"]


@pytest.mark.rule("CLI-12")
@pytest.mark.parametrize(
    ("token", "held"), [("", "is not set"), ("ab_wrong", "holds a different one")]
)
async def test_a_wrong_token_is_reported_with_its_variable(
    tmp_path: Path, token: str, held: str
) -> None:
    late = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Go on"}
    async with served(tmp_path, {"codex": "agent"}) as service:
        arguments = ("codex", "--url", service.url, "--token-env", "MINE")
        for event in (CODEX_PERMISSION, late):
            process = await spawned(json.dumps(event).encode(), *arguments, MINE=token)
            async with asyncio.timeout(PATIENCE):
                out, err = await process.communicate()
            assert process.returncode == 0
            answer = f"the environment variable MINE {held}. The user has to put the token there."
            if event is late:
                assert answer in err.decode()
                assert out == b""
            else:
                decision = json.loads(out)["hookSpecificOutput"]["decision"]
                assert decision["behavior"] == "deny"
                assert answer in decision["message"]


async def test_a_hanging_service_does_not_hold_up_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "LOOKUP_PATIENCE", 1.0)
    asked, over = asyncio.Event(), asyncio.Event()

    async def hang(_request: web.Request) -> web.Response:
        asked.set()
        await over.wait()
        return web.Response()

    app = web.Application()
    app.router.add_post("/hooks/codex", hang)
    event = recorded("codex-UserPromptSubmit")
    async with listening(app) as url:
        late = asyncio.to_thread(piped, "codex", event, url)
        try:
            async with asyncio.timeout(WAIT):
                assert await late is None
            assert asked.is_set()
        finally:
            over.set()


async def test_questions_whose_ask_was_erased_are_asked_again(service: Served) -> None:
    used = {"hook_event_name": "PermissionRequest", "tool_name": "AskUserQuestion"}
    answers = {"Which framework?": "Vue"}
    event = {**CLAUDE, **used, "tool_input": {**CLAUDE["tool_input"], "answers": answers}}
    await run_hook(service, "claude", CLAUDE, value("Vue"))
    assert decision_answer(event, "allow", updatedInput=event["tool_input"]) == await run_hook(
        service, "claude", event, None
    )
    path = f"{service.url}/v1/asks/{(await service.newest()).id}/erase"
    async with service.http.post(path, headers=service.acting) as response:
        assert response.status == 200
    answer = await run_hook(service, "claude", event, END, 2)
    assert answer == decision_answer(event, "deny", ENDED, interrupt=True)


async def spawned(event: bytes, *arguments: str, out: int = PIPE, **environment: str) -> Child:
    """Start the command like a host does."""
    process = await forked("hook", *arguments, environment=environment, stdin=PIPE, stdout=out)
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
    assert json.loads(out) == decision_answer(CODEX_PERMISSION, "allow")
    assert err == b""


@pytest.mark.rule("CONNECT-2", "HOOK-10")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "euc-jp"])
async def test_the_answer_is_in_utf_8_whatever_the_locale(service: Served, encoding: str) -> None:
    plan = {"plan": "1. Änderung prüfen ✓\n2. 発表する"}
    event = json.dumps(permission("ExitPlanMode") | {"tool_input": plan}, ensure_ascii=False)
    where = ("claude", "--url", service.url)
    process = await spawned(event.encode(), *where, PYTHONIOENCODING=encoding)
    await service.act(await service.newest(), **value("allow"))
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    decision = json.loads(out.decode())["hookSpecificOutput"]["decision"]
    assert (decision["behavior"], decision["updatedInput"]) == ("allow", plan)


@pytest.mark.rule("CONNECT-2")
@pytest.mark.parametrize(
    ("event", "status"), [(CODEX_PERMISSION, Status.WITHDRAWN), (CODEX, Status.OPEN)]
)
async def test_a_permission_prompt_that_the_host_abandons_is_withdrawn_but_a_question_is_not(
    service: Served, event: Json, status: Status
) -> None:
    process = await spawned(json.dumps(event).encode(), "codex", "--url", service.url)
    ask = await service.newest()
    await service.wait_for_waiters(ask)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE):
        out, _ = await process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert out == b""
    await service.wait_for_waiters(ask, 0)
    seconds = WAIT if status is Status.WITHDRAWN else 0
    found = await service.running.service.wait(ask.id, seconds, ask, listens=False)
    assert found is not None
    assert found.status is status


async def late(service: Served, conversation: str) -> list[str]:
    """The ids of the undelivered late answers."""
    query = {"conversation": conversation}
    async with service.http.get(f"{service.url}/v1/answers", params=query) as response:
        return [one["id"] for one in (await response.json())["answers"]]


@pytest.mark.rule("CONNECT-2", "LATE-6")
async def test_the_answer_to_a_killed_hosts_question_is_delivered_later_once(
    service: Served,
) -> None:
    """The hook outlives its host, and nobody reads its output."""
    read, write = os.pipe()
    process = await spawned(json.dumps(CODEX).encode(), "codex", "--url", service.url, out=write)
    os.close(write)
    ask = await service.newest()
    await service.wait_for_waiters(ask)
    os.close(read)
    async with asyncio.timeout(PATIENCE):
        assert await process.wait() == 128 + signal.SIGHUP
    await service.act(ask, **value("8080"))
    assert await late(service, CODEX["session_id"]) == [ask.id]
    assert await late(service, CODEX["session_id"]) == []


@pytest.mark.rule("CONNECT-2", "LATE-6")
@pytest.mark.parametrize("event", [CODEX, recorded("codex-UserPromptSubmit")])
async def test_an_answer_that_a_hook_could_not_pass_on_is_delivered_again(
    service: Served, event: Json
) -> None:
    if event is not CODEX:
        await asyncio.to_thread(piped, "codex", CODEX, service.url, wait=0.1)
        await service.act(await service.newest(), **value("8080"))
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.write(write, b" " * 4096)  # nobody reads: the hook cannot print what it has
    process = await spawned(json.dumps(event).encode(), "codex", "--url", service.url, out=write)
    os.close(write)
    if event is CODEX:
        await service.act(await service.newest(), **value("8080"))
    async with asyncio.timeout(WAIT):
        while not is_in_write(process.pid):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
    process.kill()
    await process.wait()
    os.close(read)
    async with asyncio.timeout(WAIT):
        while not (found := await late(service, CODEX["session_id"])):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert found == [(await service.newest()).id]
    assert await late(service, CODEX["session_id"]) == []


def is_in_write(pid: int) -> bool:
    """Return True if a process is blocked on writing to a pipe."""
    return "pipe_write" in Path(f"/proc/{pid}/wchan").read_text()


async def test_input_that_is_not_an_event_is_reported(service: Served) -> None:
    for event in (b"", b"[]", b"\xff", b"[" * 5_000):
        process = await spawned(event, "gemini", "--url", service.url)
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert process.returncode == 2, "any other failure would make the host go on"
        assert out == b""
        assert b"is not a hook event" in err
        assert b"`answerback connect gemini` sets it up" in err


def test_a_hook_imports_next_to_nothing() -> None:
    """The hook delays each tool call of an agent, so it has to start fast."""
    script = (
        "import sys; from answerback_agents.pipe import exchange; from answerback_agents.cli import hook; "
        "print([m for m in ('aiohttp', 'asyncio', 'pydantic', 'answerback.service') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=250
    )
    assert done.stdout == "[]\n"


@pytest.mark.rule("CONNECT-2")
async def test_a_hook_keeps_waiting_across_a_restart_of_the_service(tmp_path: Path) -> None:
    running: asyncio.Task[Json | None]
    port = free_port()
    async with served(tmp_path, server=ServerSettings(port=port)) as service:
        running = asyncio.create_task(asyncio.to_thread(piped, "copilot", COPILOT, service.url))
        ask = await service.newest()
        await service.wait_for_waiters(ask)
    async with served(tmp_path, server=ServerSettings(port=port)) as service:
        await service.act(ask, **value("allow"))
        async with asyncio.timeout(WAIT):
            assert await running == {"behavior": "allow"}


@contextlib.asynccontextmanager
async def stub(*answers: tuple[int, Json]) -> AsyncIterator[str]:
    """A service that gives these responses to Copilot's hook, repeating the last one."""
    left = [*answers]

    async def handle(_request: web.Request) -> web.Response:
        status, body = left.pop(0) if len(left) > 1 else left[0]
        return web.json_response(body, status=status, headers={HOOK_HEADER: "copilot"})

    app = web.Application()
    app.router.add_post("/hooks/copilot", handle)
    async with listening(app) as url:
        yield url


STAYS_OPEN = {"message": "The question stays open (ask_1)."}


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (404, {"title": "Not found"}, "Not found."),
        (503, {}, "answered HTTP 503. The question stays open (ask_1)"),
    ],
)
async def test_nothing_is_allowed_however_the_wait_ends(status: int, body: Json, text: str) -> None:
    async with stub((503, {}), (202, STAYS_OPEN), (status, body)) as url:
        answer = await asyncio.to_thread(piped, "copilot", COPILOT, url, wait=1)
    assert answer is not None
    assert answer["behavior"] == "deny"
    assert text in answer["message"]


async def test_an_event_that_asks_nothing_prints_nothing(service: Served) -> None:
    process = await spawned(b'{"hook_event_name": "Interrupt"}', "codex", "--url", service.url)
    async with asyncio.timeout(PATIENCE):
        assert await process.communicate() == (b"", b"")
    assert process.returncode == 0
