"""`answerback hook`: people are asked about recorded events of real hosts, and each host gets its own shape."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from answerback.core.ask import Status
from answerback.core.giving_up import GaveUp
from answerback.hooks.endpoint import HOSTS
from answerback_agents.pipe.exchange import answer_event
from answerback_base.hosts import hosts_with
from answerback_client.blocking_connection import BlockingConnection
from tests.recipes.receiving import listening
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import (
    CLAUDE,
    CLAUDE_ELICITS,
    CLAUDE_PERMISSION,
    CLAUDE_STOP,
    CODEX,
    CODEX_PERMISSION,
    COPILOT,
    END,
    ENDED,
    GEMINI,
    GEMINI_ASKS,
    GROK,
    NOT_ALLOWED,
    REPLY,
    STOP,
    decision_answer,
    denied,
    output,
    piped,
    recorded,
    run_hook,
    value,
)
from tests.unit.bot.hooks.test_claude_hooks import QUESTIONS
from tests.unit.bot.hooks.test_claude_hooks_permission import SUGGESTED, permission


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


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
    ("codex", CODEX_PERMISSION, value("allow"), decision_answer(CODEX_PERMISSION, "allow")),
    (
        "codex",
        CODEX_PERMISSION,
        value("deny"),
        decision_answer(CODEX_PERMISSION, "deny", NOT_ALLOWED),
    ),
    ("codex", CODEX_PERMISSION, REPLY, decision_answer(CODEX_PERMISSION, "deny", "Ask Ada.")),
    ("codex", CODEX_PERMISSION, END, decision_answer(CODEX_PERMISSION, "deny", ENDED)),
    (
        "gemini",
        GEMINI_ASKS,
        value("Yes"),
        {"decision": "deny", "reason": 'The user answered: {"answers": {"0": "Yes"}}'},
    ),
    ("gemini", GEMINI_ASKS, END, STOP),
    ("grok", GROK, value("9090"), denied(GROK, "The user answered: Which port?\n9090")),
    ("grok", GROK, REPLY, denied(GROK, "The user did not choose an answer, and replied: Ask Ada.")),
    ("grok", GROK, END, denied(GROK, ENDED)),
    ("gemini", GEMINI, value("allow"), {"decision": "allow"}),
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
    ("claude", CLAUDE, END, {**CLAUDE_STOP, **denied(CLAUDE, ENDED)}),
    (
        "claude",
        CLAUDE_PERMISSION,
        value("always:1"),
        decision_answer(CLAUDE_PERMISSION, "allow", updatedPermissions=SUGGESTED[:1]),
    ),
    ("claude", CLAUDE_PERMISSION, REPLY, decision_answer(CLAUDE_PERMISSION, "deny", "Ask Ada.")),
    (
        "claude",
        CLAUDE_PERMISSION,
        END,
        decision_answer(CLAUDE_PERMISSION, "deny", ENDED, interrupt=True),
    ),
    (
        "claude",
        permission("AskUserQuestion", {"questions": QUESTIONS}),
        REPLY,
        decision_answer(
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
    ("claude", CLAUDE_ELICITS, END, {**CLAUDE_STOP, **output(CLAUDE_ELICITS, action="cancel")}),
]


@pytest.mark.rule("CONNECT-2")
@pytest.mark.parametrize(("agent", "event", "action", "answer"), ANSWERS)
async def test_each_host_is_answered_in_its_own_shape(
    service: Served, agent: str, event: Json, action: Json, answer: Json
) -> None:
    assert await run_hook(service, agent, event, action) == (answer or None)


async def test_an_ask_shows_where_it_comes_from(service: Served) -> None:
    await run_hook(service, "codex", CODEX, REPLY)
    asked = (await service.newest()).request
    assert asked.name == "request_user_input"
    assert asked.conversation == CODEX["session_id"]
    assert asked.turn == CODEX["turn_id"]
    assert asked.tool_call_id == CODEX["tool_use_id"]
    assert asked.metadata == {"cwd": "/srv/a/project"}


@pytest.mark.rule("URGENCY-1")
async def test_a_hooks_settings_say_how_urgent_it_is(service: Served) -> None:
    running = asyncio.create_task(
        asyncio.to_thread(piped, "codex", CODEX, service.url, urgency="high")
    )
    asked = await service.newest()
    assert asked.request.urgency == "high"
    await service.act(asked, **REPLY)
    async with asyncio.timeout(60):
        assert await running


async def test_a_hook_that_runs_again_finds_the_same_ask(service: Served) -> None:
    answer = await run_hook(service, "codex", CODEX, value("8080"))
    assert await run_hook(service, "codex", CODEX, None) == answer
    assert len((await service.running.service.store.asks.page()).rows) == 1


async def test_questions_that_people_answered_need_no_second_answer(service: Served) -> None:
    answer = await run_hook(service, "claude", CLAUDE, value("Vue"))
    assert answer is not None
    given = answer["hookSpecificOutput"]["updatedInput"]
    event = permission("AskUserQuestion", given)
    allowed = decision_answer(event, "allow", updatedInput=given)
    assert await run_hook(service, "claude", event, None) == allowed
    made_up = permission("AskUserQuestion", {**given, "answers": {"Which framework?": "React"}})
    stopped = decision_answer(event, "deny", ENDED, interrupt=True)
    assert await run_hook(service, "claude", made_up, END, 2) == stopped


async def test_an_invalid_call_is_refused_with_its_errors(service: Served) -> None:
    event = {**CODEX, "tool_input": '{"questions": []}'}
    answer = await run_hook(service, "codex", event, None)
    assert answer is not None
    assert "questions" in answer["hookSpecificOutput"]["permissionDecisionReason"]
    for given in ("no JSON", 7):
        wrong = await run_hook(service, "codex", {**CODEX, "tool_input": given}, None)
        assert wrong is not None
        assert wrong["hookSpecificOutput"]["permissionDecision"] == "deny"


GEMINI_MCP = recorded("gemini-BeforeTool-mcp")
NO_LEAVE: list[tuple[str, Json, Json]] = [
    ("copilot", recorded("copilot-permissionRequest-mcp"), {"behavior": "allow"}),
    (
        "gemini",
        GEMINI_MCP,
        {
            "decision": "allow",
            **output(
                GEMINI_MCP,
                tool_input={"conversation": GEMINI_MCP["session_id"], **GEMINI_MCP["tool_input"]},
            ),
        },
    ),
    (
        "gemini",
        {**GEMINI_MCP, "mcp_context": {"server_name": "answerback", "tool_name": "get_answer"}},
        {"decision": "allow"},
    ),
]


@pytest.mark.rule("CONNECT-2")
@pytest.mark.parametrize(("agent", "event", "answer"), NO_LEAVE)
async def test_a_call_of_our_own_tools_needs_no_permission(
    service: Served, agent: str, event: Json, answer: Json
) -> None:
    assert await run_hook(service, agent, event, None) == (answer or None)


@pytest.mark.parametrize(
    ("agent", "event"),
    [
        ("copilot", {**COPILOT, "toolName": "answerbacks/ask_user"}),
        ("gemini", {**GEMINI_MCP, "mcp_context": {"server_name": "other"}}),
    ],
)
async def test_another_servers_tool_needs_permission(
    service: Served, agent: str, event: Json
) -> None:
    answer = await run_hook(service, agent, event, REPLY)
    assert "Ask Ada." in str(answer)


async def test_one_second_is_singular(service: Served) -> None:
    answer = await asyncio.to_thread(piped, "copilot", COPILOT, service.url, wait=1)
    assert answer is not None
    assert "Nobody answered within 1 second," in answer["message"]


@pytest.mark.rule("CONNECT-2")
async def test_an_unanswered_call_is_never_allowed(service: Served) -> None:
    """A timeout, a wrong token, and a withdrawn ask."""
    answer = await asyncio.to_thread(piped, "copilot", COPILOT, service.url, wait=0.2)
    assert answer is not None
    assert answer["behavior"] == "deny"
    ask = await service.newest()
    assert "Nobody answered within 0.2 seconds, so this is not allowed." in answer["message"]
    assert ask.outcome is not None
    assert (ask.status, ask.outcome.gave_up) == (Status.EXPIRED, GaveUp.DENIED)
    running = asyncio.create_task(run_hook(service, "codex", CODEX, None))
    await service.running.service.withdraw((await service.newest(2)).id)
    assert "withdrawn" in str(await running)


LATE = [
    ("codex", CODEX, recorded("codex-UserPromptSubmit")),
    ("gemini", GEMINI_ASKS, recorded("gemini-BeforeAgent")),
    ("gemini", GEMINI_ASKS, {**GEMINI, "hook_event_name": "AfterTool"}),
    ("claude", CLAUDE, {**CLAUDE, "hook_event_name": "UserPromptSubmit"}),
    ("grok", GROK, {**GROK, "hook_event_name": "PostToolUse", "tool_name": "read_file"}),
]


@pytest.mark.rule("CONNECT-2")
@pytest.mark.parametrize(("agent", "asks", "event"), LATE)
async def test_a_late_answer_is_delivered_once_with_the_next_event(
    service: Served, agent: str, asks: Json, event: Json
) -> None:
    await asyncio.to_thread(piped, agent, asks, service.url, wait=0.1)
    await service.act(await service.newest(), action="reply", text="Later: use 8443.")
    answer = await asyncio.to_thread(piped, agent, event, service.url)
    assert answer is not None
    context = answer if agent == "copilot" else answer["hookSpecificOutput"]
    assert "Later: use 8443." in context["additionalContext"]
    assert await asyncio.to_thread(piped, agent, event, service.url) is None


DENIED = [
    (
        "codex",
        CODEX_PERMISSION,
        {**recorded("codex-UserPromptSubmit"), "session_id": CODEX_PERMISSION["session_id"]},
    ),
    ("gemini", GEMINI, recorded("gemini-BeforeAgent")),
    ("copilot", COPILOT, recorded("copilot-userPromptSubmitted")),
    ("claude", CLAUDE_PERMISSION, {**CLAUDE, "hook_event_name": "UserPromptSubmit"}),
]


@pytest.mark.rule("LATE-7", "LATE-10")
@pytest.mark.parametrize(("agent", "asks", "event"), DENIED)
async def test_a_permission_that_was_denied_unanswered_is_tried_again_when_people_say_so(
    service: Served, agent: str, asks: Json, event: Json
) -> None:
    assert await asyncio.to_thread(piped, agent, asks, service.url, wait=0.1) is not None
    ask = await service.newest()
    assert ask.outcome is not None
    assert (ask.status, ask.outcome.gave_up) == (Status.EXPIRED, GaveUp.DENIED)
    assert await asyncio.to_thread(piped, agent, event, service.url) is None, "it was told no"
    path = f"{service.url}/v1/asks/{ask.id}/retry"
    async with service.http.post(
        path, json={"text": "On staging."}, headers=service.acting
    ) as response:
        assert response.status == 200
    answer = await asyncio.to_thread(piped, agent, event, service.url)
    assert answer is not None
    context = answer if agent == "copilot" else answer["hookSpecificOutput"]
    for part in ('They say: "On staging."', "Nothing is approved"):
        assert part in context["additionalContext"]
    assert await asyncio.to_thread(piped, agent, event, service.url) is None


@pytest.mark.parametrize(("agent", "_asks", "event"), LATE)
async def test_a_refusal_of_late_answers_is_reported_with_the_reason(
    agent: str, _asks: Json, event: Json
) -> None:
    async with listening(web.Application()) as url:  # which does not have that route
        answer = await asyncio.to_thread(answer_event, agent, event, BlockingConnection(url))
    assert answer.output is None
    assert "is not Answerback" in (answer.warning or "")


@pytest.mark.parametrize("agent", HOSTS)
async def test_events_that_do_not_concern_people_are_left_to_the_host(
    service: Served, agent: str
) -> None:
    odd: list[Json] = [{"hook_event_name": []}, {"hook_event_name": "PreToolUse", "tool_name": {}}]
    for event in ({}, {"hook_event_name": "Interrupt"}, {"hookName": "sessionStart"}, *odd):
        assert await run_hook(service, agent, event, None) is None


def test_the_commands_agents_are_the_known_hosts() -> None:
    assert set(hosts_with("answers")) == HOSTS.keys()
