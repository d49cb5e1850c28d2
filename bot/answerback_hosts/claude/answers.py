"""The answers to Claude Code's hooks. Pure."""

from __future__ import annotations

from typing import Final

from answerback_agents.pipe.host_answers import (
    HostAnswers,
    Json,
    decision_in,
    is_permission,
    is_text,
    output,
)
from answerback_agents.pipe.json_rpc import as_object
from answerback_hosts.claude.found_plan import FOUND_PLAN, find_plan

_ASKS: Final = ("PreToolUse", "AskUserQuestion")
"""The event and the tool of a question; all other events with a tool's input are about what the tool may do."""


def _denial(event: Json, reason: str) -> Json | None:
    match event:
        case {"hook_event_name": "PermissionRequest", "tool_name": str()}:
            return output(event, {"decision": {"behavior": "deny", "message": reason}})
        case {"hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion"}:
            denied = {"permissionDecision": "deny", "permissionDecisionReason": reason}
            return output(event, denied)
        case {"hook_event_name": "Elicitation", "requested_schema": dict()} | {
            "hook_event_name": "Elicitation",
            "mode": "url",
            "url": str(),
        }:
            return {**output(event, {"action": "cancel"}), "systemMessage": reason}
        case _:
            return None


def _decides(event: Json, answer: Json) -> bool:
    name = event["hook_event_name"]
    if name == "Elicitation" and answer.keys() == {"systemMessage"}:
        return is_text(answer, "systemMessage")  # Claude Code asks in its own window
    if (decided := decision_in(event, answer)) is None:
        return False
    match name:
        case "PermissionRequest":
            return is_permission(as_object(decided.get("decision")), interrupt=True)
        case "Elicitation":
            return decided.get("action") in ("accept", "decline", "cancel")
        case _:
            return decided.get("permissionDecision") in ("allow", "deny")


def _found(event: Json) -> Json | None:
    plan = find_plan(event)
    return None if plan is None else {FOUND_PLAN: plan}


def _question(event: Json) -> str | None:
    is_question = (event.get("hook_event_name"), event.get("tool_name")) == _ASKS
    has_folder = isinstance(event.get("tool_input"), dict) and isinstance(event.get("cwd"), str)
    return "tool_input" if is_question and has_folder else None


ANSWERS: Final = HostAnswers(_denial, _decides, found=_found, question=_question)
