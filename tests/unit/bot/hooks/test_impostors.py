"""Whatever sends a token trusts only a listener that knows it, and only answers of the right shape."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from typer.testing import CliRunner

from answerback.hooks.endpoint import HOOK_HEADER
from answerback_agents.cli import main
from answerback_agents.pipe.answer_shapes import is_answer
from answerback_agents.pipe.ask_people import AskClient, Asking, Call
from answerback_agents.pipe.exchange import answer_event
from answerback_base.token_proof import hash_of, token_proof
from answerback_client import AsyncClient, UnauthorizedError, UnreachableError
from answerback_client.blocking_connection import BlockingConnection
from tests.recipes.receiving import listening
from tests.unit.bot.agent_support import Json, served
from tests.unit.bot.hook_support import (
    CLAUDE,
    CLAUDE_ELICITS,
    CLAUDE_PERMISSION,
    CODEX,
    CODEX_PERMISSION,
    COPILOT,
    GEMINI,
    GROK,
    decision_answer,
    denied,
    output,
    piped,
    recorded,
)
from tests.unit.bot.service.test_hook_decisions import ALL, is_denied

TOKEN = "ab_secret"
ALLOWING: dict[str, Json] = {
    "codex": decision_answer(CODEX_PERMISSION, "allow"),
    "claude": decision_answer(CLAUDE_PERMISSION, "allow"),
    "gemini": {"decision": "allow"},
    "copilot": {"behavior": "allow"},
}


@dataclass
class Impostor:
    """A program on the service's port that allows everything, and what it was sent."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


@asynccontextmanager
async def impostor(
    answer: Callable[[str], Json] = lambda agent: ALLOWING.get(agent, {}),
) -> AsyncIterator[Impostor]:
    seen = Impostor()

    async def handle(request: web.Request) -> web.Response:
        seen.paths.append(request.path)
        seen.tokens += request.headers.getall("Authorization", [])
        if request.path == "/v1/proof":
            return web.json_response({"proof": "0" * 64})
        agent = request.path.rpartition("/")[2]
        return web.json_response(answer(agent), headers={HOOK_HEADER: agent})

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    async with listening(app) as url:
        seen.url = url
        yield seen


@pytest.mark.rule("AUTH-18", "CONNECT-6")
async def test_a_program_that_does_not_know_the_token_gets_it_not_and_allows_nothing() -> None:
    async with impostor() as other:
        service = BlockingConnection(other.url, TOKEN)
        for agent, event in ALL:
            answer = (await asyncio.to_thread(answer_event, agent, event, service)).output
            assert is_denied(answer), (agent, answer)
            assert "did not prove that it knows the token in ANSWERBACK_TOKEN" in str(answer)
        people = AskClient(service)
        outcome = await asyncio.to_thread(people.ask, Asking(), Call("ask_user", "", {}, None))
        assert outcome.ask is None
        async with AsyncClient(other.url, TOKEN, patience=0, token_name="mine") as client:
            with pytest.raises(
                UnreachableError, match="did not prove that it knows mine"
            ) as raised:
                await client.submit("ask_user", {"question": "Deploy?"})
        assert not raised.value.may_have_acted
        assert (set(other.paths), other.tokens) == ({"/v1/proof"}, [])


@pytest.mark.rule("AUTH-18")
@pytest.mark.parametrize(
    "command", [("list",), ("show", "ask_1"), ("wait", "ask_1"), ("export",), ("ask", "-")]
)
async def test_no_command_sends_a_token_to_a_program_that_does_not_know_it(
    command: tuple[str, ...],
) -> None:
    form = json.dumps({"question": "Deploy?", "answer_type": "boolean"})
    async with impostor() as other:
        arguments = [*command, "--url", other.url, "--token", TOKEN]
        done = await asyncio.to_thread(CliRunner().invoke, main.app, arguments, input=form)
        assert done.exit_code == 1, done.output
        assert (set(other.paths), other.tokens) == ({"/v1/proof"}, [])


@pytest.mark.rule("AUTH-18")
async def test_a_bridge_sends_its_token_to_the_service_and_hears_that_it_is_wrong(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, {"codex": "agent"}) as service:
        async with AsyncClient(service.url, service.tokens["codex"]) as client:
            assert await client.open_asks(1) == []
        async with AsyncClient(service.url, TOKEN, token_name="the token in MINE") as client:
            with pytest.raises(UnauthorizedError, match="No agent has the token in MINE"):
                await client.open_asks(1)
        wrong = BlockingConnection(service.url, TOKEN, "MINE")
        answer = await asyncio.to_thread(answer_event, "codex", CODEX_PERMISSION, wrong)
        assert "the environment variable MINE holds a different one" in str(answer.output)


@pytest.mark.rule("AUTH-18")
@pytest.mark.parametrize("proof", ["", "[]", '{"proof": 5}', "[" * 4_000, "<html>"])
async def test_what_is_no_proof_proves_nothing(proof: str) -> None:
    async def handle(_request: web.Request) -> web.Response:
        return web.Response(text=proof)

    app = web.Application()
    app.router.add_get("/v1/proof", handle)
    async with listening(app) as url:
        service = BlockingConnection(url, TOKEN)
        answer = await asyncio.to_thread(answer_event, "copilot", COPILOT, service)
    assert answer.output is not None
    assert "did not prove that it knows the token" in answer.output["message"]


@pytest.mark.rule("AUTH-18")
async def test_a_service_that_cannot_prove_itself_yet_is_one_that_is_away() -> None:
    async def starting(_request: web.Request) -> web.Response:
        return web.Response(status=503)

    app = web.Application()
    app.router.add_get("/v1/proof", starting)
    async with listening(app) as url, AsyncClient(url, TOKEN, patience=0) as client:
        with pytest.raises(UnreachableError, match="answered HTTP 503") as raised:
            await client.submit("ask_user", {"question": "Deploy?"})
    assert not raised.value.may_have_acted


@pytest.mark.rule("AUTH-18", "CONNECT-2")
async def test_a_program_that_has_the_port_while_the_service_is_away_is_waited_out() -> None:
    hashed = hash_of(TOKEN)
    challenges = 0

    async def prove(request: web.Request) -> web.Response:
        nonlocal challenges
        challenges += 1
        proof = token_proof(hashed, request.query["nonce"])
        return web.json_response({"proof": "0" * 64 if challenges in (2, 3) else proof})

    async def ask(_request: web.Request) -> web.Response:
        headers = {HOOK_HEADER: "copilot"}
        if challenges == 1:
            return web.json_response({"message": "It stays open."}, status=202, headers=headers)
        return web.json_response({"behavior": "allow"}, headers=headers)

    app = web.Application()
    app.router.add_get("/v1/proof", prove)
    app.router.add_post("/hooks/copilot", ask)
    async with listening(app) as url:
        calls = BlockingConnection(url, TOKEN, pause=lambda _: None)
        answer = await asyncio.to_thread(answer_event, "copilot", COPILOT, calls)
    assert (answer.output, challenges) == ({"behavior": "allow"}, 4)


SHAPES: list[tuple[str, Json, Json]] = [
    ("codex", CODEX_PERMISSION, {}),
    ("codex", CODEX_PERMISSION, {"behavior": "allow"}),
    ("codex", CODEX_PERMISSION, denied(CODEX, "No.")),
    ("codex", CODEX_PERMISSION, output(CODEX_PERMISSION, decision={"behavior": "yes"})),
    ("codex", CODEX_PERMISSION, output(CODEX_PERMISSION, decision={"behavior": "deny"})),
    ("codex", CODEX_PERMISSION, output(CODEX_PERMISSION, decision=None)),
    ("codex", CODEX_PERMISSION, {**ALLOWING["codex"], "decision": "allow"}),
    ("codex", CODEX, output(CODEX, permissionDecision="allow")),
    ("codex", CODEX, output(CODEX, additionalContext="Go on.")),
    ("grok", GROK, output(GROK, permissionDecision="allow")),
    ("gemini", GEMINI, {}),
    ("gemini", GEMINI, {"decision": "ask"}),
    ("gemini", GEMINI, output(GEMINI, tool_input={})),
    ("copilot", COPILOT, {}),
    ("copilot", COPILOT, {"additionalContext": "Go on."}),
    ("copilot", COPILOT, {"behavior": "ask"}),
    ("claude", CLAUDE, {}),
    ("claude", CLAUDE, {"systemMessage": "Hello"}),
    ("claude", CLAUDE, output(CLAUDE, permissionDecision="ask")),
    ("claude", CLAUDE_PERMISSION, output(CLAUDE, permissionDecision="allow")),
    ("claude", CLAUDE_ELICITS, {}),
    ("claude", CLAUDE_ELICITS, output(CLAUDE_ELICITS, action="yes")),
    ("codex", recorded("codex-UserPromptSubmit"), {"continue": False}),
    ("copilot", {"prompt": "Go on", "sessionId": "s1"}, {"behavior": "allow"}),
]


@pytest.mark.rule("CONNECT-6")
@pytest.mark.parametrize(("agent", "event", "answer"), SHAPES)
async def test_what_is_no_answer_to_an_event_in_its_hosts_shape_is_not_printed(
    agent: str, event: Json, answer: Json
) -> None:
    assert not is_answer(agent, event, answer)
    async with impostor(lambda _: answer) as other:
        printed = await asyncio.to_thread(piped, agent, event, other.url, patience=0)
    assert is_denied(printed) if (agent, event) in ALL else printed is None or is_denied(printed)


@pytest.mark.rule("CONNECT-6")
@pytest.mark.parametrize(
    ("agent", "event", "answer"),
    [
        ("claude", CLAUDE_ELICITS, {"systemMessage": "It cannot be shown."}),
        ("codex", recorded("codex-UserPromptSubmit"), {}),
        ("copilot", {"prompt": "Go on", "sessionId": "s1"}, {"additionalContext": "Late."}),
    ],
)
def test_what_leaves_an_event_to_its_host_or_adds_words_is_an_answer(
    agent: str, event: Json, answer: Json
) -> None:
    assert is_answer(agent, event, answer)
