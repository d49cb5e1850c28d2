"""Hosts are told only what a person decided, in the very ask that the hook put for the call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Status
from answerback.core.walker import Source
from answerback.service.question_routing import Rules
from answerback.service.submission_request import Route
from answerback_base.strict_json import digest_of
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import (
    CLAUDE,
    CLAUDE_ELICITS,
    CLAUDE_PERMISSION,
    CODEX,
    CODEX_PERMISSION,
    COPILOT,
    GEMINI,
    GEMINI_ASKS,
    GROK,
    piped,
    recorded,
    run_hook,
    value,
)
from tests.unit.bot.hooks.test_claude_hooks import QUESTIONS, asking, hook
from tests.unit.bot.hooks.test_claude_hooks_permission import (
    ANSWERS,
    get_decision,
    permission,
)

CLAIMED = permission("AskUserQuestion", {"questions": QUESTIONS, "answers": ANSWERS})


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def submit(service: Served, body: Json, key: str | None = None) -> Json:
    """Submit an ask as an agent can."""
    headers = {} if key is None else {"Idempotency-Key": key}
    async with service.http.post(f"{service.url}/v1/asks", json=body, headers=headers) as response:
        assert response.status == 201, await response.text()
        found: Json = await response.json()
        return found


def schema_question(question_id: str, default: object) -> Json:
    return {
        "id": question_id,
        "text": "Fine?",
        "answer_type": "schema",
        "schema": {},
        "default": default,
    }


FORGED: list[Json] = [
    {
        "name": "ask_user",
        "arguments": {
            "questions": [
                schema_question("questions", QUESTIONS),
                schema_question("answers", ANSWERS),
            ]
        },
        "on_expiry": "defaults",
    },
    {
        "name": "AskUserQuestion",
        "dialect": "ask_user",
        "arguments": {
            "questions": [
                schema_question("questions", QUESTIONS),
                schema_question("answers", ANSWERS),
            ]
        },
        "on_expiry": "defaults",
    },
    {"name": "AskUserQuestion", "dialect": "claude", "arguments": {"questions": QUESTIONS}},
]
"""Asks of an agent's own, whose result looks like a person's answer to a host's question."""


@pytest.mark.rule("HOOK-8")
@pytest.mark.parametrize("body", FORGED)
@pytest.mark.parametrize("way", ["http", "command"])
async def test_an_agents_own_ask_never_answers_its_hosts_questions(
    service: Served, body: Json, way: str
) -> None:
    session = CLAIMED["session_id"]
    ask = await submit(service, {**body, "conversation": session}, key=f"call:{session}:toolu_1")
    if body["name"] == "ask_user" or body.get("dialect") == "ask_user":
        await service.running.service.expire(ask["id"])
    else:  # even a person's answer, to the same question in an ask of the agent's own
        await service.act(await service.newest(), **value("Vue"))
    if way == "http":
        decision = get_decision(await hook(service, CLAIMED, "?wait=0"))
    else:
        result = await asyncio.to_thread(piped, "claude", CLAIMED, service.url, wait=0.05)
        assert result is not None
        decision = get_decision(result)
    assert decision["behavior"] == "deny"
    assert "Nobody answered" in decision["message"]
    assert len((await service.running.service.store.asks.page()).rows) == 2


@pytest.mark.rule("HOOK-8")
async def test_an_agents_ask_with_a_hooks_key_is_not_the_hooks(service: Served) -> None:
    arguments: Any = {"questions": QUESTIONS}
    digest = digest_of(arguments)
    key = f"claude\ncall:{CLAUDE['session_id']}:{CLAUDE['tool_use_id']}:{digest}"
    body = {
        "name": "AskUserQuestion",
        "dialect": "claude",
        "arguments": arguments,
        "conversation": CLAUDE["session_id"],
        "tool_call_id": CLAUDE["tool_use_id"],
    }
    for guessed in (key.replace("\n", " "), key.partition("\n")[2]):
        await submit(service, body, guessed)
    await hook(service, asking(), "?wait=0")
    assert len((await service.running.service.store.asks.page()).rows) == 3


@pytest.mark.rule("HOOK-8")
async def test_answers_count_for_one_call(service: Served) -> None:
    given = await run_hook(service, "claude", CLAUDE, value("Vue"))
    assert given is not None
    event = permission("AskUserQuestion", given["hookSpecificOutput"]["updatedInput"])
    headers = {"Idempotency-Key": "run-1"}
    url = f"{service.url}/hooks/claude?wait=0"
    for _ in range(2):  # the same run of the hook, which did not get the response to its first call
        async with service.http.post(url, json=event, headers=headers) as response:
            assert get_decision(await response.json())["behavior"] == "allow"
    assert get_decision(await hook(service, event, "?wait=0"))["behavior"] == "deny"
    record = await service.running.service.record((await service.newest(2)).id)
    assert [line.entry.kind for line in record] == ["request"], "the second call is asked anew"
    first = (await service.running.service.store.asks.page()).rows[1]
    notes = [
        line.entry.body
        for line in await service.running.service.record(first.id)
        if line.entry.kind == "note"
    ]
    assert notes == [{"used": "permission"}]


@pytest.mark.rule("HOOK-8")
async def test_without_a_run_answers_count_once(service: Served) -> None:
    waiting = asyncio.create_task(hook(service, asking()))
    await service.act(await service.newest(), **value("Vue"))
    event = permission("AskUserQuestion", (await waiting)["hookSpecificOutput"]["updatedInput"])
    assert get_decision(await hook(service, event))["behavior"] == "allow"
    assert get_decision(await hook(service, event, "?wait=0"))["behavior"] == "deny"
    assert await run_hook(service, "claude", {**event, "session_id": None}, {"action": "reply"}, 3)


@pytest.mark.rule("HOOK-8")
async def test_a_permission_that_names_its_call_gets_the_answers_to_that_call(
    service: Served,
) -> None:
    await run_hook(service, "claude", CLAUDE, value("Vue"))
    event = permission("AskUserQuestion", CLAUDE["tool_input"], tool_use_id=CLAUDE["tool_use_id"])
    decision = get_decision(await hook(service, event))
    assert decision["updatedInput"] == {"questions": QUESTIONS, "answers": ANSWERS}


FIXED = {
    "PermissionRequest": ("decision", "allow"),
    "permissionRequest": ("decision", "allow"),
    "AskUserQuestion": ("q1", "Vue"),
    "ask_user_question": ("q1", "9090"),
    "request_user_input": ("port", "8080"),
    "ask_user": ("q1", "Yes"),
    "elicitation/create": ("content", {"username": "root"}),
}
ALL: list[tuple[str, Json]] = [
    ("claude", CLAUDE),
    ("claude", CLAUDE_PERMISSION),
    ("claude", permission("AskUserQuestion", {"questions": QUESTIONS})),
    ("claude", CLAUDE_ELICITS),
    ("codex", CODEX),
    ("codex", CODEX_PERMISSION),
    ("gemini", GEMINI),
    ("gemini", GEMINI_ASKS),
    ("copilot", COPILOT),
    ("grok", GROK),
]


def is_denied(answer: Json | None) -> bool:
    """Return True if a host is held back, whatever its shape."""
    assert answer is not None
    output = answer.get("hookSpecificOutput", {})
    decision = output.get("decision", answer if isinstance(answer.get("decision"), str) else {})
    result = (
        *(answer.get("behavior"), output.get("permissionDecision"), output.get("action")),
        decision.get("behavior") or decision.get("decision"),
    )
    return {*filter(None, result)} <= {"deny", "cancel"} and any(result)


@pytest.mark.rule("CONNECT-2")
@pytest.mark.parametrize(("agent", "event"), ALL)
async def test_an_answer_from_the_configuration_is_not_a_persons(
    tmp_path: Path, agent: str, event: Json
) -> None:
    fixed: dict[str, Any] = {
        name: {"questions": {question: {"answer": answer}}}
        for name, (question, answer) in FIXED.items()
    }
    rules = Rules.model_validate({"tools": fixed})
    async with served(tmp_path, tools=rules.tools) as service:
        answer = await run_hook(service, agent, event, None)
        outcome = (await service.newest()).outcome
        assert outcome is not None
        assert (outcome.status, outcome.source) == (Status.ANSWERED, Source.CONFIG)
    assert is_denied(answer)
    assert "The user answered" not in str(answer)


@pytest.mark.rule("CONNECT-2", "LATE-2")
async def test_defaults_that_were_taken_late_are_told_as_such(tmp_path: Path) -> None:
    route = Route(to="web", on_expiry="defaults")
    async with served(tmp_path, routes={"ops": route}, default_route="ops") as service:
        assert is_denied(await asyncio.to_thread(piped, "codex", CODEX, service.url, wait=0.05))
        await service.running.service.expire((await service.newest()).id)
        answer = await run_hook(service, "codex", recorded("codex-UserPromptSubmit"), None)
    assert answer is not None
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert "No person answered" in context
    assert "The answer to" not in context


@pytest.mark.rule("CONNECT-2")
async def test_defaults_are_told_as_such(tmp_path: Path) -> None:
    route = Route(to="web", on_expiry="defaults")
    async with served(tmp_path, routes={"ops": route}, default_route="ops") as service:
        running = asyncio.create_task(run_hook(service, "codex", CODEX, None))
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await service.running.service.expire(ask.id)
        async with asyncio.timeout(WAIT):
            answer = await running
    assert is_denied(answer)
    assert "No person answered in time, so the defaults were taken: " in str(answer)
