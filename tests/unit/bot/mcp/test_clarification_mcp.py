"""Asking back over MCP, in process and through the relay: the model gets the question, explains, and waits again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client as McpClient

from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.mcp.test_mcp import GO, client, relayed, text


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def walk(service: Served, mcp: McpClient) -> None:
    """Have a person ask back while the model waits; it explains, and gets the answer."""
    calling = asyncio.create_task(mcp.call_tool("ask_user", GO))
    ask = await service.newest()
    assert ask.request.accepts == ("clarify",)
    await service.wait_for_waiters(ask)
    await service.act(ask, action="ask_back", text="Which service?")
    asked = await calling
    result = asked.structured_content
    assert (result["status"], result["ask_id"]) == ("clarify", ask.id)
    assert result["clarify"]["text"] == "Which service?"
    assert "asks you to explain first: Which service?" in text(asked)
    assert "add_context" in text(asked)
    assert (await mcp.call_tool("get_answer", {"ask_id": ask.id})).structured_content == result
    explained = await mcp.call_tool("add_context", {"ask_id": ask.id, "text": "The *api*."})
    assert explained.structured_content["status"] == "pending"
    waiting = asyncio.create_task(mcp.call_tool("wait_for_answer", {"ask_id": ask.id}))
    await service.wait_for_waiters(ask)
    await service.act(ask, action="answer", value=True)
    assert (await waiting).structured_content == {"answer_type": "boolean", "answer": True}
    late = await mcp.call_tool("add_context", {"ask_id": ask.id, "text": "Late."})
    assert late.structured_content == {"answer_type": "boolean", "answer": True}


@pytest.mark.rule("CLARIFY-1", "CLARIFY-2", "MCP-2")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_model_that_is_asked_back_explains(service: Served, mode: str) -> None:
    async with client(service, mode) as mcp:
        await walk(service, mcp)


@pytest.mark.rule("CLARIFY-1", "CLARIFY-2")
async def test_a_model_behind_the_relay_that_is_asked_back_explains(service: Served) -> None:
    async with relayed(service.url) as mcp:
        await walk(service, mcp)


@pytest.mark.parametrize("relay", [False, True])
async def test_an_explanation_that_cannot_be_shown_is_refused_with_a_reason(
    service: Served, relay: bool
) -> None:
    async with relayed(service.url) if relay else client(service) as mcp:
        pending = await mcp.call_tool("ask_user", {**GO, "wait_seconds": 0})
        ask_id = pending.structured_content["ask_id"]
        for arguments, expected in (
            ({"ask_id": ask_id, "text": " "}, "The text is blank."),
            ({"ask_id": ask_id}, "text is missing: pass the explanation."),
            ({"ask_id": ask_id, "text": "x", "to": "y"}, "this tool has no argument named to."),
            ({"ask_id": "ask_none", "text": "x"}, "There is no ask with the id ask_none."),
        ):
            refused = await mcp.call_tool("add_context", arguments)
            assert refused.is_error
            assert expected in text(refused)
