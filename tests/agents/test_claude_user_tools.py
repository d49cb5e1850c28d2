"""Links of MCP servers that the real Claude Code passes on, and tools for which it asks in its own window alone."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from tests.agents.conftest import Home
from tests.agents.model import Calls, Says, scripted
from tests.agents.test_claude_code import drive, run_claude
from tests.meta.project import ROOT
from tests.recipes.conftest import Person

SHOP = {
    "type": "stdio",
    "command": sys.executable,
    "args": [str(ROOT / "tests" / "agents" / "shop_server.py")],
}
SERVERS = ("--mcp-config", json.dumps({"mcpServers": {"shop": SHOP}}))


@pytest.mark.parametrize(("value", "action"), [(True, "accept"), (False, "decline")])
async def test_a_person_answers_a_link(
    home: Home, person: Person, value: bool, action: str
) -> None:
    await home.connect("claude")
    arguments = (*SERVERS, "--allowedTools", "mcp__shop", "--", "Pay it")
    async with scripted(Calls("mcp__shop__pay", {}), Says("Done.")) as model:
        await asyncio.gather(run_claude(home, model, *arguments), person.answers(value))
    assert f"pay: {action}" in model.sent()


async def test_an_mcp_tool_that_needs_the_user_is_asked_about_in_its_own_window(
    home: Home, person: Person
) -> None:
    """Claude Code drops a hook's permission for it; people read that before they decide."""
    note = home.project / "note.txt"
    await home.connect("claude")
    calls = Calls("mcp__shop__drop_table", {"path": str(note)})
    async with scripted(calls, Says("Done.")) as model, drive(home, model, *SERVERS) as claude:
        assert claude.stdout is not None
        assert claude.stdin is not None
        ask = await person.sees()
        assert ask.prompt is not None
        assert "only an answer there counts" in str(ask.prompt["context"])
        await person.answers("allow")
        async for line in claude.stdout:
            message = json.loads(line)
            if message["type"] == "control_request":
                assert message["request"]["requires_user_interaction"] is True
                assert not note.exists()
                allowed = {"behavior": "allow", "updatedInput": message["request"]["input"]}
                response = {
                    "subtype": "success",
                    "request_id": message["request_id"],
                    "response": allowed,
                }
                answer = {"type": "control_response", "response": response}
                claude.stdin.write(json.dumps(answer).encode() + b"\n")
            if message["type"] == "result":
                break
    assert note.exists()
