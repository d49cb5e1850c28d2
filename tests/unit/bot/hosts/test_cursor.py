"""Cursor: its hooks and what `connect` writes, by the shapes that it documents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback_agents.connect.connectable_agent import Scope, ServiceConnection
from answerback_hosts.cursor.connect import AGENT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import piped, recorded, value

SHELL = recorded("cursor-beforeShellExecution")
MCP = recorded("cursor-beforeMCPExecution")
STOP: Json = {
    "conversation_id": SHELL["conversation_id"],
    "hook_event_name": "stop",
    "status": "completed",
}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def run(service: Served, event: Json, action: Json | None = None) -> Any:
    """Return the command's answer to an event, while a person acts."""
    printing = asyncio.create_task(asyncio.to_thread(piped, "cursor", event, service.url))
    if action is not None:
        await service.act(await service.newest(), **action)
    return await printing


def denied(reason: str) -> Json:
    """The answer that denies."""
    return {"permission": "deny", "user_message": reason, "agent_message": reason}


@pytest.mark.rule("CONNECT-2")
@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (value("allow"), {"permission": "allow"}),
        (value("deny"), denied("The user did not allow this use of the tool.")),
        ({"action": "reply", "text": "Not main."}, denied("Not main.")),
    ],
)
async def test_people_decide_about_a_command(service: Served, action: Json, expected: Json) -> None:
    assert await run(service, SHELL, action) == expected
    ask = await service.newest()
    assert ask.form.questions[0].text == "Run git push --force origin main"
    assert (ask.request.origin.host, ask.request.origin.project) == ("Cursor", "shop")


@pytest.mark.rule("CONNECT-2")
async def test_the_arguments_of_an_mcp_tool_are_read_from_their_text(service: Served) -> None:
    assert await run(service, MCP, value("allow")) == {"permission": "allow"}
    [question] = (await service.newest()).form.questions
    assert question.text == "Call create_issue on https://mcp.example.com/mcp"
    assert "title: Stock is wrong" in (question.context or "")


@pytest.mark.rule("CONNECT-2")
async def test_words_with_a_permission_continue_the_conversation_at_its_end_once(
    service: Served,
) -> None:
    await run(service, SHELL, {**value("allow"), "note": "On a branch next time."})
    assert "On a branch next time." in (await run(service, STOP))["followup_message"]
    assert await run(service, STOP) is None


@pytest.mark.rule("CONNECT-6")
async def test_without_the_service_a_command_is_denied() -> None:
    away = "http://127.0.0.1:1"
    printed = await asyncio.to_thread(piped, "cursor", SHELL, away, patience=0.3)
    assert printed is not None
    assert printed["permission"] == "deny"
    assert await asyncio.to_thread(piped, "cursor", STOP, away, patience=0.3) is None


@pytest.mark.parametrize("scope", Scope)
def test_connect_writes_its_two_files(scope: Scope, tmp_path: Path) -> None:
    service = ServiceConnection(program="/bin/answerback")
    _, hooks = AGENT.targets(scope, service, tmp_path)
    version, asks, late = hooks.entries
    assert (version.value, hooks.file.path.name) == (1, "hooks.json")
    assert asks.path == ("hooks", "beforeShellExecution")
    command = {"command": "/bin/answerback hook cursor"}
    assert asks.value == {**command, "timeout": 86_400, "failClosed": True}
    assert (late.path, late.value) == (("hooks", "stop"), {**command, "timeout": 10})
