"""Claude Code's permission prompts: people decide, and the PermissionRequest hook gets a valid response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.giving_up import GaveUp
from answerback.core.view import view_of
from answerback.dialects import registry
from answerback.service.submission_request import read_submission
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hooks.test_claude_hooks import QUESTIONS, asking, hook

SUGGESTED: list[Json] = [
    {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
        "behavior": "allow",
        "destination": "localSettings",
    },
    {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
]
"""As Claude Code 2.1.330 suggests them."""
ANSWERS = {"Which framework?": "Vue"}


def permission(tool: str = "Bash", tool_input: Any = None, **more: Any) -> Json:
    """A PermissionRequest event."""
    return {
        "session_id": "abc123",
        "transcript_path": "/srv/a/.claude/projects/x/t.jsonl",
        "cwd": "/srv/a/project",
        "prompt_id": "p1",
        "permission_mode": "default",
        "effort": {"level": "medium"},
        "hook_event_name": "PermissionRequest",
        "tool_name": tool,
        "tool_input": {"command": "touch a", "timeout": None} if tool_input is None else tool_input,
        **more,
    }


def get_decision(answer: Json) -> Json:
    """The decision in a response that contains nothing else."""
    output: Json = answer.pop("hookSpecificOutput")
    assert answer == {}
    assert output.pop("hookEventName") == "PermissionRequest"
    decision: Json = output.pop("decision")
    assert output == {}
    return decision


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.mark.rule("HOOK-7")
@pytest.mark.parametrize(
    ("act", "decision"),
    [
        ({"action": "answer", "value": "allow"}, {"behavior": "allow"}),
        (
            {"action": "answer", "value": "always:1"},
            {"behavior": "allow", "updatedPermissions": SUGGESTED[:1]},
        ),
        (
            {"action": "answer", "value": "deny"},
            {"behavior": "deny", "message": "The user did not allow this use of the tool."},
        ),
        (
            {"action": "reply"},
            {"behavior": "deny", "message": "The user did not allow this use of the tool."},
        ),
        (
            {"action": "reply", "text": "Not in this folder."},
            {"behavior": "deny", "message": "Not in this folder."},
        ),
        (
            {"action": "end_turn"},
            {
                "behavior": "deny",
                "message": "The user ended the turn. Stop now, and do not call any more tools.",
                "interrupt": True,
            },
        ),
    ],
)
async def test_a_person_decides_whether_claude_may_use_a_tool(
    service: Served, act: Json, decision: Json
) -> None:
    event = permission(permission_suggestions=SUGGESTED, mcp_server={"name": "m"})
    waiting = asyncio.create_task(hook(service, event))
    ask = await service.newest()
    assert ask.question is not None
    assert ask.question.text == "Run touch a"
    for shown in ("```\ntouch a\n```", "timeout: null", "name: m"):
        assert shown in (ask.question.context or "")
    assert "/srv/a" not in (ask.question.context or ""), "it is behind Show in full"
    sent = view_of(ask).sent
    assert sent is not None
    assert sent.folder == "/srv/a/project"
    await service.act(ask, **act)
    assert get_decision(await waiting) == decision
    assert ask.request.metadata == {"via": "claude-code", "cwd": "/srv/a/project"}
    assert ask.request.conversation == "abc123"


@pytest.mark.parametrize("ending", ["withdrawn", "expired", "failed"])
async def test_a_prompt_that_nobody_decides_is_denied_with_a_reason(
    service: Served, ending: str
) -> None:
    waiting = asyncio.create_task(hook(service, permission()))
    await service.end_newest_without_person(ending)
    text = "Broken. Do not retry." if ending == "failed" else f"[no answer: {ending}]"
    assert get_decision(await waiting) == {"behavior": "deny", "message": text}


@pytest.mark.rule("HOOK-4")
async def test_a_timeout_ends_the_prompt_and_denies(service: Served) -> None:
    denied = get_decision(await hook(service, permission(), "?wait=0.05"))
    ask = await service.newest()
    assert denied["behavior"] == "deny"
    assert "Nobody answered within 0.05 seconds, so this is not allowed." in denied["message"]
    assert ask.outcome is not None
    assert (ask.status, ask.outcome.gave_up) == (Status.EXPIRED, GaveUp.DENIED)


async def test_a_prompt_that_cannot_be_asked_is_denied_with_a_reason(service: Served) -> None:
    denied = get_decision(await hook(service, permission(), "?to=nowhere"))
    assert denied["behavior"] == "deny"
    assert "nowhere" in denied["message"]
    wrong = get_decision(await hook(service, permission(permission_suggestions=3)))
    assert "permission_suggestions" in wrong["message"]


async def test_two_identical_prompts_are_two_asks(service: Served) -> None:
    for _ in range(2):
        await hook(service, permission(), "?wait=0")
    assert len((await service.running.service.store.asks.page()).rows) == 2


async def test_questions_that_people_answered_need_no_extra_permission(service: Served) -> None:
    waiting = asyncio.create_task(hook(service, asking()))
    await service.act(await service.newest(), action="answer", value="Vue", note="as in the app")
    answered = (await waiting)["hookSpecificOutput"]["updatedInput"]
    assert answered["annotations"] == {"Which framework?": {"notes": "as in the app"}}
    decision = get_decision(await hook(service, permission("AskUserQuestion", answered)))
    assert decision == {"behavior": "allow", "updatedInput": answered}
    assert len((await service.running.service.store.asks.page()).rows) == 1


@pytest.mark.rule("HOOK-8")
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"answers": {"Which framework?": "React"}},
        {"answers": ANSWERS, "questions": [{**QUESTIONS[0], "header": "H"}]},
        {"answers": ANSWERS, "session_id": "another"},
    ],
)
async def test_questions_with_answers_that_nobody_gave_are_asked(
    service: Served, more: Json
) -> None:
    """Answers that a model wrote are not a person's, even if another question was answered like that."""
    first = asyncio.create_task(hook(service, asking()))
    await service.act(await service.newest(), action="answer", value="Vue")
    await first
    await hook(service, permission(), "?wait=0")
    other = {"session_id": more["session_id"]} if "session_id" in more else {}
    forged = {"questions": QUESTIONS, "metadata": {"a": 1}, **more}
    waiting = asyncio.create_task(hook(service, permission("AskUserQuestion", forged, **other)))
    ask = await service.newest(3)
    await service.act(ask, action="answer", value="React")
    assert get_decision(await waiting) == {
        "behavior": "allow",
        "updatedInput": {**forged, "answers": {"Which framework?": "React"}},
    }


@pytest.mark.rule("HOOK-8")
async def test_an_agent_cannot_use_answers_given_to_another_agent(tmp_path: Path) -> None:
    async with served(tmp_path, {"one": "agent", "two": "agent", "front": "surface"}) as service:
        tokens = service.tokens
        waiting = asyncio.create_task(hook(service, asking(), token=tokens["one"]))
        await service.act(
            await service.newest(), action="answer", value="Vue", actor={"user_id": "U1"}
        )
        answered = (await waiting)["hookSpecificOutput"]["updatedInput"]
        event = permission("AskUserQuestion", answered)
        assert get_decision(await hook(service, event, token=tokens["one"]))["behavior"] == "allow"
        refused = get_decision(await hook(service, event, "?wait=0", token=tokens["two"]))
        assert refused["behavior"] == "deny"


@pytest.mark.parametrize(
    ("act", "text", "interrupt"),
    [
        ({"action": "reply", "text": "Ask Ada."}, "Ask Ada.", None),
        ({"action": "end_turn"}, "ended the turn", True),
    ],
)
async def test_questions_in_a_permission_prompt_are_denied_by_a_reply_or_end_turn(
    service: Served, act: Json, text: str, interrupt: bool | None
) -> None:
    event = permission("AskUserQuestion", {"questions": QUESTIONS})
    waiting = asyncio.create_task(hook(service, event))
    await service.act(await service.newest(), **act)
    decision = get_decision(await waiting)
    assert decision["behavior"] == "deny"
    assert text in decision["message"]
    assert decision.get("interrupt") is interrupt


async def test_a_permission_prompt_with_invalid_questions_is_denied(service: Served) -> None:
    decision = get_decision(await hook(service, permission("AskUserQuestion", "x")))
    assert decision["behavior"] == "deny"
    assert "questions" in decision["message"]


@pytest.mark.rule("HOOK-7")
@pytest.mark.parametrize(
    "event",
    [permission(), permission("AskUserQuestion", {"questions": QUESTIONS})],
    ids=["a tool", "questions"],
)
async def test_a_prompt_that_was_decided_at_the_terminal_is_withdrawn(
    service: Served, event: Json
) -> None:
    waiting = asyncio.create_task(hook(service, event))
    ask = await service.newest()
    await service.wait_for_waiters(ask)
    waiting.cancel()
    ended = await service.running.service.wait(ask.id, WAIT, ask)
    assert ended is not None
    assert ended.status is Status.WITHDRAWN


async def test_questions_stay_open_for_claude_code_to_ask_again(service: Served) -> None:
    waiting = asyncio.create_task(hook(service, asking()))
    ask = await service.newest()
    await service.wait_for_waiters(ask)
    waiting.cancel()
    await service.wait_for_waiters(ask, 0)
    again = asyncio.create_task(hook(service, asking()))
    await service.wait_for_waiters(ask)
    await service.act(ask, action="answer", value="Vue")
    assert (await again)["hookSpecificOutput"]["permissionDecision"] == "allow"


@pytest.mark.rule("HOOK-6")
@pytest.mark.parametrize(
    "odd", ['{"a": 1, "a": 2}', "NaN", "1e999", "9" * 309, "[" * 100 + "]" * 100], ids=len
)
async def test_what_is_no_strict_json_is_denied_and_nothing_else_fails(
    service: Served, odd: str
) -> None:
    """People might read something else in it than the tool."""
    for event, answers in (
        (permission(tool_input={"x": "ODD"}), True),
        ({**asking(), "x": "ODD"}, True),
        ({"hook_event_name": "PostToolUse", "session_id": "s", "tool_response": "ODD"}, False),
    ):
        data = json.dumps(event).replace('"ODD"', odd)
        headers = {"Content-Type": "application/json"}
        url = f"{service.url}/hooks/claude?wait=0"
        async with service.http.post(url, data=data, headers=headers) as response:
            assert response.status == 200
            answer = await response.text()
        assert ("its JSON is not valid" in answer and '"deny"' in answer) is answers
        assert answers or answer == "{}"
    assert not (await service.running.service.store.asks.page(limit=1)).rows


@pytest.mark.rule("HOOK-7")
@pytest.mark.parametrize(
    "names",
    [("default_to_no", "suppress_always_allow_rule"), ("defaultToNo", "suppressAlwaysAllowRule")],
)
def test_what_a_program_passes_on_of_a_permissions_context_is_used(names: tuple[str, str]) -> None:
    arguments: Json = {
        "tool_name": "Bash",
        "tool_input": {"command": "touch a"},
        "permission_suggestions": SUGGESTED,
    }
    plain, advised = (
        registry.parse_call("PermissionRequest", {**arguments, **more}).form.questions[0]
        for more in ({}, dict.fromkeys(names, True))
    )
    assert len(plain.options) == 4
    assert [option.value for option in advised.options] == ["allow", "deny"]
    assert "suggests to deny" not in (plain.context or "")
    assert (advised.context or "").startswith("**Claude Code suggests to deny this.**")


async def current(service: Served, ask: Ask) -> Ask:
    """The ask as it is now."""
    found = await service.running.service.get(ask.id)
    assert found is not None
    return found


def seen(name: str, **more: Any) -> Json:
    """A later event of the same session."""
    return {"session_id": "abc123", "cwd": "/srv/a/project", "hook_event_name": name, **more}


@pytest.mark.rule("HOOK-11")
@pytest.mark.parametrize(
    "event",
    [
        seen("Stop"),
        seen("UserPromptSubmit", prompt="Go on"),
        seen("PostToolUse", **{key: permission()[key] for key in ("tool_name", "tool_input")}),
    ],
    ids=lambda event: str(event["hook_event_name"]),
)
async def test_a_prompt_that_was_decided_in_claudes_own_window_is_withdrawn(
    service: Served, event: Json
) -> None:
    waiting = asyncio.create_task(hook(service, permission()))
    ask = await service.newest()
    assert await hook(service, {**event, "session_id": "another"}) == {}
    assert await hook(service, {**event, "agent_id": "subagent-1"}) == {}
    assert (await current(service, ask)).open
    assert await hook(service, event) == {}
    assert (await current(service, ask)).status is Status.WITHDRAWN
    assert get_decision(await waiting)["behavior"] == "deny"


@pytest.mark.rule("HOOK-11")
async def test_what_the_hook_has_not_put_is_not_withdrawn_by_it(service: Served) -> None:
    asked = {key: permission()[key] for key in ("tool_name", "tool_input")}
    body: Json = {
        "name": "PermissionRequest",
        "arguments": asked,
        "conversation": "abc123",
        "to": "web",
    }
    submitted = await service.running.service.submit(read_submission(body))
    assert await hook(service, seen("Stop")) == {}
    assert (await current(service, submitted.ask)).open


@pytest.mark.rule("HOOK-11")
@pytest.mark.parametrize(
    ("asked", "event"),
    [
        (permission(agent_id="s1", agent_type="Explore"), seen("Stop")),
        (permission(), seen("PostToolUse", tool_name="Bash", tool_input={"command": "ls"})),
        (permission(), seen("Notification")),
    ],
    ids=["subagent", "another use", "another event"],
)
async def test_a_prompt_that_may_still_wait_stays_open(
    service: Served, asked: Json, event: Json
) -> None:
    waiting = asyncio.create_task(hook(service, asked))
    ask = await service.newest()
    await hook(service, event)
    assert (await current(service, ask)).open
    await service.act(ask, action="answer", value="allow")
    assert get_decision(await waiting) == {"behavior": "allow"}
