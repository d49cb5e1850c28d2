"""What the real Claude Code, and the real opencode over ACP, sent when they were driven: asked and answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.meta.project import ROOT
from tests.unit.bot.acp_parts import INITIALIZE, run_editor, selected
from tests.unit.bot.agent_parts import Json, Served, served
from tests.unit.bot.hook_parts import value
from tests.unit.bot.test_hooks import hook

CLAUDE: Json = json.loads((ROOT / "tests" / "data" / "hooks" / "claude.json").read_text())
"""Events as Claude Code 2.1.330 sent them; those of PreToolUse, UserPromptSubmit and Stop are of one session."""
OPENCODE: list[Json] = json.loads((ROOT / "tests" / "data" / "bridges" / "acp.json").read_text())
"""Lines of `opencode acp` 1.18.33, up to the permission that it asks for."""


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
async def test_claude_codes_own_events_are_answered(
    service: Served, name: str, action: Json, expected: Json
) -> None:
    waiting = asyncio.create_task(hook(service, CLAUDE[name]))
    await service.act(await service.newest(), **action)
    output = (await waiting)["hookSpecificOutput"]
    assert output.items() >= {"hookEventName": name, **expected}.items()


@pytest.mark.rule("LATE-2")
@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop"])
async def test_claude_codes_own_events_bring_it_what_came_late_once(
    service: Served, name: str
) -> None:
    assert await hook(service, CLAUDE[name]) == {}
    await hook(service, CLAUDE["PreToolUse"], "?wait=0")
    await service.act(await service.newest(), **value("8080"))
    told = (await hook(service, CLAUDE[name]))["hookSpecificOutput"]
    assert told["hookEventName"] == name
    assert "8080" in told["additionalContext"]
    assert await hook(service, CLAUDE[name]) == {}


@pytest.mark.rule("ACP-1", "ACP-2")
async def test_what_opencode_asks_over_acp_is_answered_in_the_thread(service: Served) -> None:
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
        told = [await editor.next(), await editor.next()]
    heard = [one for one in told if one["method"] == "_heard"]
    assert json.loads(heard[0]["params"]["line"]) == selected("once", request["id"])
    assert [one["params"] for one in told if one["method"] == "$/cancel_request"] == [
        {"requestId": request["id"]}
    ]
