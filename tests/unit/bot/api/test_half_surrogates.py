"""Half a surrogate pair is not text: each endpoint refuses it as the caller's mistake."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.bot.agent_support import Served, served

HALF = "\ud800"
GO: dict[str, Any] = {"question": "Deploy?", "answer_type": "boolean"}
PICK: dict[str, Any] = {"question": "Where?", "answer_type": "select"}
ASK: dict[str, Any] = {"name": "ask_user", "arguments": GO, "to": "web"}
QUESTION = {"question": "Q?", "header": "Q", "options": [{"label": "a"}, {"label": "b"}]}
EVENT: dict[str, Any] = {"session_id": "s", "hook_event_name": "SessionStart"}
TOOL: dict[str, Any] = {
    **EVENT,
    "hook_event_name": "PreToolUse",
    "tool_name": "AskUserQuestion",
    "tool_input": {"questions": [QUESTION]},
}
FIELDS = ("name", "dialect", "to", "conversation", "turn", "tool_call_id", "join", "responders")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def status_of(service: Served, path: str, body: Any, **headers: str) -> int:
    sent = {"Content-Type": "application/json", **headers}
    data = json.dumps(body)
    async with service.http.post(f"{service.url}{path}", data=data, headers=sent) as response:
        await response.read()
        return response.status


@pytest.mark.rule("API-3")
@pytest.mark.parametrize(
    "changed",
    [
        *({field: HALF} for field in FIELDS),
        {"metadata": {HALF: 1}},
        {"metadata": {"a": HALF}},
        {"arguments": {"question": HALF}},
        {"arguments": {HALF: "x"}},
        {"arguments": {**PICK, "options": [{"label": "a", HALF: None}, "b"]}},
        {"responders": [HALF]},
        {"to": {"surface": "web", "user": HALF}},
        {HALF: 1},
    ],
    ids=ascii,
)
async def test_a_submission_is_invalid(service: Served, changed: dict[str, Any]) -> None:
    assert await status_of(service, "/v1/asks", {**ASK, **changed}) == 422


async def test_an_action_an_explanation_and_a_batch_are_invalid(service: Served) -> None:
    assert await status_of(service, "/v1/asks", ASK) == 201
    path = f"/v1/asks/{(await service.newest()).id}"
    for action in (
        {"action": "answer", "value": HALF},
        {"action": "reply", "text": HALF},
        {"action": HALF},
        {"action": "answer", "value": True, "actor": {"user_id": HALF, "name": HALF}},
    ):
        assert await status_of(service, f"{path}/actions", action, **service.acting) == 422
    assert await status_of(service, f"{path}/context", {"text": HALF}) == 422
    batch = {"decision": "deny", "asks": [{"id": HALF, "revision": 1}]}
    assert await status_of(service, "/v1/batches", batch, **service.acting) == 422


@pytest.mark.parametrize(
    "event",
    [
        *(
            {**EVENT, "hook_event_name": name, "session_id": HALF}
            for name in ("SessionStart", "Stop")
        ),
        {**TOOL, "session_id": HALF},
        {**EVENT, "session_id": HALF, "hook_event_name": "PermissionRequest", "tool_name": "Bash"},
    ],
    ids=lambda event: str(event["hook_event_name"]),
)
async def test_an_event_of_a_session_without_a_name_is_refused(
    service: Served, event: dict[str, Any]
) -> None:
    assert await status_of(service, "/hooks/claude?wait=0", event) == 400


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize(
    "call",
    [
        {"name": HALF, "arguments": {}},
        {"name": "ask_user", "arguments": {**GO, "conversation": HALF}},
        {"name": "check_answers", "arguments": {"conversation": HALF}},
        {"name": "get_answer", "arguments": {"ask_id": HALF}},
        {"name": "ask_user", "arguments": GO, "_meta": {"sessionId": HALF}},
    ],
    ids=ascii,
)
async def test_a_message_over_mcp_is_refused(
    service: Served, version: str, call: dict[str, Any]
) -> None:
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    assert await status_of(service, "/mcp?wait=0", message, **headers) == 400
