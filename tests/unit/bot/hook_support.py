"""Helpers for tests of command hooks: events as the real hosts sent them, and people who act on the asks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from answerback_agents.pipe.exchange import answer_event
from answerback_client.blocking_connection import BlockingConnection
from tests.meta.project import ROOT
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served
from tests.unit.bot.hooks.test_claude_hooks import SCHEMA, asking
from tests.unit.bot.hooks.test_claude_hooks_permission import SUGGESTED, permission


def recorded(name: str) -> Json:
    """An event as Codex 0.169.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102 or Grok 1.0.41 sent it."""
    host, _, event = name.partition("-")
    folder = ROOT / "bot" / "answerback_hosts" / host / "recorded"
    found: Json = json.loads((folder / f"{event}.json").read_text())
    return found


CODEX = recorded("codex-PreToolUse")
CODEX_PERMISSION = recorded("codex-PermissionRequest")
COPILOT = recorded("copilot-permissionRequest")
GEMINI = recorded("gemini-BeforeTool")
GEMINI_ASKS = {
    **GEMINI,
    "tool_name": "ask_user",
    "tool_input": {"questions": [{"question": "Deploy?", "header": "Deploy", "type": "yesno"}]},
}
GROK = recorded("grok-PreToolUse")
CLAUDE = asking()
CLAUDE_PERMISSION = permission(permission_suggestions=SUGGESTED)
CLAUDE_ELICITS = {
    "session_id": "abc123",
    "hook_event_name": "Elicitation",
    "mcp_server_name": "travel",
    "message": "Seat?",
    "requested_schema": SCHEMA,
    "elicitation_id": "e1",
}
REPLY = {"action": "reply", "text": "Ask Ada."}
END = {"action": "end_turn"}
ENDED = "The user ended the turn. Stop now, and do not call any more tools."
STOP = {"continue": False, "stopReason": "The user ended the turn."}
CLAUDE_STOP = {"continue": False, "stopReason": "The turn was ended by the operator on web."}


def output(event: Json, **fields: Any) -> Json:
    """The answer in the shape of all hosts but Copilot."""
    return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"], **fields}}


def denied(event: Json, reason: str) -> Json:
    """A PreToolUse hook's refusal."""
    return output(event, permissionDecision="deny", permissionDecisionReason=reason)


def value(given: Any) -> Json:
    """The action of a person who answers."""
    return {"action": "answer", "value": given}


def decision_answer(event: Json, behavior: str, message: str | None = None, **more: Any) -> Json:
    """A PermissionRequest hook's decision."""
    extra = {} if message is None else {"message": message}
    return output(event, decision={"behavior": behavior, **extra, **more})


def piped(agent: str, event: Json, url: str, **options: Any) -> Json | None:
    """Return the answer that `answerback hook` prints for an event."""
    return answer_event(agent, event, BlockingConnection(url), **{"wait": WAIT, **options}).output


async def run_hook(
    service: Served, agent: str, event: Json, action: Json | None, count: int = 1
) -> Json | None:
    """A hook's answer if people act like this on the newest of the given number of asks."""
    running = asyncio.create_task(asyncio.to_thread(piped, agent, event, service.url))
    if action is not None:
        await service.act(await service.newest(count), **action)
    async with asyncio.timeout(WAIT):
        return await running


NOT_ALLOWED = "The user did not allow this use of the tool."


async def answered(service: Served, event: bytes, way: str) -> str:
    """Return the answer of Claude Code's hook to an event, in the way ``http`` or ``command``."""
    if way == "command":
        calls, parsed = BlockingConnection(service.url), json.loads(event)
        answer = await asyncio.to_thread(
            answer_event, "claude", parsed, calls, wait=WAIT, raw=event
        )
        return answer.printed() or ""
    headers = {"Content-Type": "application/json"}
    url = f"{service.url}/hooks/claude"
    async with service.http.post(url, data=event, headers=headers) as response:
        return await response.text()
