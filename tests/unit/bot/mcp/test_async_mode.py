"""Asks for which nothing waits: the model is informed immediately, and gets the answer late."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.mcp.test_late_answers_mcp import check
from tests.unit.bot.mcp.test_mcp import GO, client, relayed, text

CODEX: Json = {"questions": [{"title": "Which database?", "options": ["Postgres", "SQLite"]}]}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def post(service: Served, status: int = 201, **body: Any) -> Json:
    """Submit as a client that would wait."""
    whole = {"name": "ask_user", "arguments": GO, "to": "web", **body}
    headers = {"Prefer": "wait=60"}
    async with service.http.post(f"{service.url}/v1/asks", json=whole, headers=headers) as response:
        assert response.status == status, await response.text()
        assert "Preference-Applied" not in response.headers
        found: Json = await response.json()
        return found


@pytest.mark.rule("SUBMIT-16")
async def test_an_asynchronous_ask_returns_at_once_and_informs_the_model(
    service: Served,
) -> None:
    made = await post(service, mode="async", conversation="c1")
    assert (made["status"], made["tool_result"], made["waiting"]) == ("open", None, False)
    interim = made["interim_result"]
    assert interim["structured"]["ask_id"] == made["id"]
    for expected in ("do not assume an answer", "check_answers", made["id"]):
        assert expected in interim["content"]
    assert not interim["is_error"]
    ask = await service.newest()
    assert ask.placement.thread is not None
    async with service.http.get(ask.placement.thread.url or "") as page:
        assert "has gone on" in await page.text()
    await service.act(ask, action="answer", value=True)
    async with service.http.get(f"{service.url}/v1/answers?conversation=c1") as response:
        (given,) = (await response.json())["answers"]
    assert (given["interim_result"], given["waiting"]) == (None, False)
    assert given["tool_result"]["structured"]["answer"] is True


@pytest.mark.rule("SUBMIT-16")
async def test_an_ask_with_a_waiting_agent_has_no_interim_result(service: Served) -> None:
    async with service.http.post(
        f"{service.url}/v1/asks",
        json={"name": "ask_user", "arguments": GO, "to": "web", "mode": "wait"},
    ) as response:
        made = await response.json()
    assert (made["interim_result"], made["waiting"]) == (None, True)
    async with service.http.post(
        f"{service.url}/v1/asks", json={"name": "ask_user", "arguments": GO, "mode": "later"}
    ) as response:
        assert response.status == 422
        assert (await response.json())["errors"][0]["pointer"] == "/mode"


@pytest.mark.rule("CODEX-6")
async def test_codexs_asynchronous_tool_is_accepted_at_once_and_answered_by_a_message(
    service: Served,
) -> None:
    made = await post(service, name="request_user_input_async", arguments=CODEX)
    assert made["interim_result"] == {
        "content": '{"accepted": true}',
        "structured": {"accepted": True},
        "is_error": False,
    }
    await service.act(await service.newest(), action="answer", value="SQLite")
    async with service.http.get(f"{service.url}/v1/answers") as response:
        (given,) = (await response.json())["answers"]
    assert given["tool_result"]["content"] == "Which database?\nSQLite"


@pytest.mark.rule("SUBMIT-16")
async def test_over_mcp_a_model_asks_and_continues(service: Served) -> None:
    async with client(service) as mcp:
        asked = await mcp.call_tool("ask_user", {**GO, "mode": "async", "conversation": "c1"})
        assert "do not assume an answer" in text(asked)
        assert asked.structured_content["status"] == "pending"
        await service.act(await service.newest(), action="answer", value=False)
        assert (await check(mcp))["answers"] == []
        (given,) = (await check(mcp, conversation="c1"))["answers"]
        assert given["structured"] == {"answer_type": "boolean", "answer": False}
    async with relayed(service.url) as mcp:
        again = await mcp.call_tool("ask_user", {**GO, "mode": "async"})
        assert again.structured_content["status"] == "pending"
        await service.act(await service.newest(2), action="answer", value=True)
        (given,) = (await check(mcp))["answers"]
        assert given["ask_id"] == again.structured_content["ask_id"]
