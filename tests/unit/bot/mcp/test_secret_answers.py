"""An answer that waits for confirmation is told to the agent on no way: MCP, hooks, late answers, webhooks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.service.submission_request import Route
from answerback_webhooks.webhooks import build_webhooks
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hooks.test_claude_hooks import asking, hook
from tests.unit.bot.hooks.test_claude_hooks_permission import permission
from tests.unit.bot.mcp.test_mcp import client

ROLES = {"ci": "agent", "console": "surface"}
SECRET = "sesame"
WORD = {"question": "Which word?", "answer_type": "text"}

pytestmark = pytest.mark.rule("CONFIRM-8")


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Served]:
    table = {"to": "web", "responders": ["ann", "bob"], "confirmations": 1}
    routes = {"prod": Route.model_validate(table)}
    async with served(folder, ROLES, routes=routes, default_route="prod") as service:
        yield service


async def act(service: Served, ask: Ask, who: str, **action: Any) -> Json:
    return await service.act(ask, **action, actor={"user_id": who})


@pytest.mark.parametrize("tool", ["wait_for_answer", "get_answer"])
async def test_a_model_reads_nothing_over_mcp_before_the_end(tmp_path: Path, tool: str) -> None:
    async with serving(tmp_path) as service, client(service, token=service.tokens["ci"]) as mcp:
        await mcp.call_tool("ask_user", {**WORD, "wait_seconds": 0})
        ask = await service.newest()
        await act(service, ask, "ann", action="answer", value=SECRET)
        wait = {"wait_seconds": 0} if tool == "wait_for_answer" else {}
        pending = await mcp.call_tool(tool, {"ask_id": ask.id, **wait})
        assert SECRET not in pending.model_dump_json()
        assert pending.structured_content["status"] == "pending"
        late = await mcp.call_tool("check_answers", {})
        assert (SECRET in late.model_dump_json(), late.structured_content["answers"]) == (
            False,
            [],
        )
        await act(service, ask, "bob", action="confirm")
        assert SECRET in (await mcp.call_tool(tool, {"ask_id": ask.id})).model_dump_json()


async def test_a_repeated_call_joins_without_learning_the_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, client(service, token=service.tokens["ci"]) as mcp:
        call = {**WORD, "conversation": "c", "wait_seconds": 0}
        await mcp.call_tool("ask_user", call)
        ask = await service.newest()
        await act(service, ask, "ann", action="answer", value=SECRET)
        again = await mcp.call_tool("ask_user", call)
        assert again.structured_content["ask_id"] == ask.id
        assert SECRET not in again.model_dump_json()


async def test_late_answers_have_it_only_once_it_is_confirmed(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        headers = {"Authorization": f"Bearer {service.tokens['ci']}"}
        question = {"id": "w", "text": "Which word?", "answer_type": "text"}
        body = {"name": "ask_user", "arguments": {"questions": [question]}, "to": "prod"}
        async with service.http.post(
            f"{service.url}/v1/asks", json={**body, "mode": "async"}, headers=headers
        ) as response:
            assert response.status == 201

        async def late() -> str:
            async with service.http.get(f"{service.url}/v1/answers", headers=headers) as found:
                return await found.text()

        ask = await service.newest()
        await act(service, ask, "ann", action="answer", value=SECRET)
        assert json.loads(await late())["answers"] == []
        await act(service, ask, "bob", action="confirm")
        assert SECRET in await late()


@pytest.mark.rule("CONFIRM-12")
async def test_what_was_objected_to_is_told_to_no_model(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, client(service, token=service.tokens["ci"]) as mcp:
        await mcp.call_tool("ask_user", {**WORD, "wait_seconds": 0})
        ask = await service.newest()
        await act(service, ask, "ann", action="answer", value=SECRET)
        await act(service, ask, "bob", action="object", text="Not today")
        late = (await mcp.call_tool("check_answers", {})).model_dump_json()
        assert "because the answers were not confirmed" in late
        assert "Not today" in late
        result = (await mcp.call_tool("get_answer", {"ask_id": ask.id})).model_dump_json()
        assert "not_confirmed" in result
        assert SECRET not in f"{late}{result}"


@pytest.mark.rule("CONFIRM-12")
@pytest.mark.parametrize("said", [{"text": "Not today"}, {}])
async def test_a_hook_tells_its_model_that_nobody_confirmed(tmp_path: Path, said: Json) -> None:
    async with serving(tmp_path) as service:
        asked = asyncio.create_task(hook(service, asking(), token=service.tokens["ci"]))
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await act(service, ask, "ann", action="other", text=SECRET)
        await act(service, ask, "bob", action="reply", **said)
        async with asyncio.timeout(WAIT):
            result = json.dumps(await asked)
        assert SECRET not in result
        assert "the answers were not confirmed" in result
        assert all(text in result for text in said.values())


async def test_a_hook_allows_nothing_before_others_have_confirmed(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        waiting = asyncio.create_task(hook(service, permission(), token=service.tokens["ci"]))
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        await act(service, ask, "ann", action="answer", value="allow")
        assert not waiting.done()
        ended = await act(service, ask, "bob", action="object", text="Not today")
        assert ended["status"] == "cancelled"
        async with asyncio.timeout(WAIT):
            result = await waiting
        decision = result["hookSpecificOutput"]["decision"]
        assert decision["behavior"] == "deny"
        assert "Not today" in decision["message"]
        again = asyncio.create_task(hook(service, permission(), token=service.tokens["ci"]))
        second = await service.newest(2)
        await service.wait_for_waiters(second)
        await act(service, second, "ann", action="answer", value="allow")
        assert not again.done()
        await act(service, second, "bob", action="confirm")
        async with asyncio.timeout(WAIT):
            result = await again
        assert result["hookSpecificOutput"]["decision"] == {"behavior": "allow"}


async def test_a_webhook_of_a_question_to_the_agent_has_no_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        headers = {"Authorization": f"Bearer {service.tokens['ci']}"}
        question = {"id": "w", "text": "Which word?", "answer_type": "text"}
        body = {"name": "ask_user", "arguments": {"questions": [question]}, "accepts": ["clarify"]}
        async with service.http.post(
            f"{service.url}/v1/asks", json=body, headers=headers
        ) as response:
            assert response.status == 201
        ask = await service.newest()
        await act(service, ask, "ann", action="answer", value=SECRET)
        await act(service, ask, "bob", action="ask_back", text="For what?")
        asked = await service.newest()
        request = asked.request.model_copy(update={"callback": "http://127.0.0.1:9/hook"})
        record = await service.running.service.record(ask.id)
        result = [each.entry for each in record if each.entry.kind == "clarify"]
        [sent] = build_webhooks(replace(asked, request=request), result, 1.0)
        assert sent.type == "ask.clarify"
        assert "For what?" in sent.body
        assert SECRET not in sent.body
