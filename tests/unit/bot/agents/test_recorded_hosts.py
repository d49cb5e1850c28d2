"""Messages recorded from the real Claude Code, and from the real opencode over ACP: each is asked and answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.meta.project import ROOT
from tests.unit.bot.acp_support import INITIALIZE, run_editor, selected
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import value
from tests.unit.bot.hooks.test_claude_hooks import hook

CLAUDE: Json = json.loads(
    (ROOT / "bot" / "answerback_hosts" / "claude" / "recorded" / "events.json").read_text()
)
"""Events that Claude Code 2.1.330 sent; those for PreToolUse, UserPromptSubmit and Stop are from one session."""
OPENCODE: list[Json] = json.loads(
    (ROOT / "bot/answerback_hosts/opencode/recorded/acp.json").read_text()
)
"""The lines that `opencode acp` 1.18.33 sent, up to its permission request."""


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


ANSWERED = [
    (
        "PreToolUse",
        value("8080"),
        {
            "permissionDecision": "allow",
            "updatedInput": {
                **CLAUDE["PreToolUse"]["tool_input"],
                "answers": {"Which port?": "8080"},
            },
        },
    ),
    ("PermissionRequest", value("allow"), {"decision": {"behavior": "allow"}}),
    (
        "PermissionRequest",
        value("always:1"),
        {
            "decision": {
                "behavior": "allow",
                "updatedPermissions": CLAUDE["PermissionRequest"]["permission_suggestions"],
            }
        },
    ),
    (
        "Elicitation",
        value({"seat": "12A", "meal": True}),
        {"action": "accept", "content": {"seat": "12A", "meal": True}},
    ),
]


@pytest.mark.parametrize(("name", "action", "expected"), ANSWERED)
async def test_recorded_events_of_claude_code_are_answered(
    service: Served, name: str, action: Json, expected: Json
) -> None:
    waiting = asyncio.create_task(hook(service, CLAUDE[name]))
    await service.act(await service.newest(), **action)
    output = (await waiting)["hookSpecificOutput"]
    assert output.items() >= {"hookEventName": name, **expected}.items()


@pytest.mark.rule("LATE-2")
@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop"])
async def test_recorded_events_of_claude_code_deliver_a_late_answer_once(
    service: Served, name: str
) -> None:
    assert await hook(service, CLAUDE[name]) == {}
    await hook(service, CLAUDE["PreToolUse"], "?wait=0")
    await service.act(await service.newest(), **value("8080"))
    output = (await hook(service, CLAUDE[name]))["hookSpecificOutput"]
    assert output["hookEventName"] == name
    assert "8080" in output["additionalContext"]
    assert await hook(service, CLAUDE[name]) == {}


@pytest.mark.rule("ACP-1", "ACP-2")
async def test_opencodes_permission_request_over_acp_is_answered_in_the_thread(
    service: Served,
) -> None:
    request = OPENCODE[-1]
    async with run_editor(service.url) as editor:
        await editor.send(INITIALIZE)
        await editor.agent_received()
        await editor.prompt(*OPENCODE)
        assert [await editor.next() for _ in OPENCODE] == OPENCODE
        ask = await service.newest()
        assert ask.request.conversation == request["params"]["sessionId"]
        assert ask.request.tool_call_id == request["params"]["toolCall"]["toolCallId"]
        await service.act(ask, **value("once"))
        messages = [await editor.next(), await editor.next()]
    received = [each for each in messages if each["method"] == "_heard"]
    assert json.loads(received[0]["params"]["line"]) == selected("once", request["id"])
    assert [each["params"] for each in messages if each["method"] == "$/cancel_request"] == [
        {"requestId": request["id"]}
    ]
