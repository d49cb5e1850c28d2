"""The MCP tools, called the way real agents call them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.meta.project import ROOT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import piped, recorded

CALLS: Json = {
    file.parts[-3]: json.loads(file.read_text())
    for file in sorted((ROOT / "bot/answerback_hosts").glob("*/recorded/mcp_call.json"))
}
"""As Codex 0.169.0, Copilot CLI 1.0.102, Gemini CLI 0.61.0 and opencode 1.18.33 sent them."""
CODEX = CALLS["codex"]
SESSION = CODEX["body"]["params"]["_meta"]["sessionId"]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def call_tool(service: Served, call: Json, **arguments: Any) -> Json:
    """The result of a recorded call, optionally with other arguments."""
    params = {**call["body"]["params"]}
    params["arguments"] = {**params["arguments"], **arguments}
    body = {**call["body"], "params": params}
    url = f"{service.url}/mcp"
    async with service.http.post(url, json=body, headers=call["headers"]) as response:
        assert response.status == 200, await response.text()
        text = await response.text()
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    found: Json = json.loads(lines[-1] if lines else text)["result"]
    return found


@pytest.mark.parametrize("agent", CALLS)
async def test_each_agents_call_is_answered(service: Served, agent: str) -> None:
    calling = asyncio.create_task(call_tool(service, CALLS[agent]))
    await service.act(await service.newest(), action="answer", value="8443")
    result = await calling
    assert not result["isError"], result
    assert "8443" in json.dumps(result["content"])


@pytest.mark.rule("MCP-9", "LATE-1")
async def test_codex_names_its_session_and_its_hook_delivers_late_answers(
    service: Served,
) -> None:
    await call_tool(service, CODEX, wait_seconds=0)
    ask = await service.newest()
    assert ask.request.conversation == SESSION
    assert ask.request.tool_call_id == CODEX["body"]["params"]["_meta"]["callId"]
    await service.act(ask, action="answer", value="8443")
    event = {**recorded("codex-UserPromptSubmit"), "session_id": SESSION}
    result = await asyncio.to_thread(piped, "codex", event, service.url)
    assert result is not None
    assert "8443" in result["hookSpecificOutput"]["additionalContext"]


@pytest.mark.rule("LATE-1")
async def test_codex_can_check_for_its_sessions_answers(service: Served) -> None:
    await call_tool(service, CODEX, wait_seconds=0)
    await service.act(await service.newest(), action="answer", value="8443")
    params = {**CODEX["body"]["params"], "name": "check_answers", "arguments": {}}
    result = await call_tool(service, {**CODEX, "body": {**CODEX["body"], "params": params}})
    assert "8443" in json.dumps(result["content"])


async def test_the_models_conversation_takes_precedence(service: Served) -> None:
    await call_tool(service, CODEX, wait_seconds=0, conversation="mine")
    assert (await service.newest()).request.conversation == "mine"
