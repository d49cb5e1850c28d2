"""The responses to Claude Code's hooks, by how an ask ended. Pure.

Shapes: https://code.claude.com/docs/en/hooks, and the types of the package @anthropic-ai/claude-agent-sdk 0.3.330.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.answers import json_equal
from answerback.core.ask import Ask, Status, ToolResult
from answerback.dialects.registry import render_result

ASK_TOOL: Final = "AskUserQuestion"
"""The tool that Claude asks its user with."""
Json = dict[str, JsonValue]

_LATE_ANSWERS_INTRO: Final = (
    "People have answered what you asked earlier in this session, after you stopped waiting for it."
)
_STATUS_WORDS: Final = {Status.EXPIRED: "not answered in time", Status.WITHDRAWN: "withdrawn"}


class Decision(NamedTuple):
    """The decision about a call of AskUserQuestion."""

    words: str
    """The reason, for Claude."""
    updated: Json | None = None
    """The call's input with the answers; None: the call is denied."""
    stop: str | None = None
    """The reason to stop Claude, for its user; None: Claude continues."""


def decision_from_ask(ask: Ask, tool_input: Json) -> Decision:
    """Decide about a call of AskUserQuestion whose ask has ended."""
    if ask.status is Status.TURN_ENDED:
        return Decision(
            "The user ended the turn.", stop=f"The turn was ended{ended_by_suffix(ask)}."
        )
    result = _required_result(ask)
    if ask.status is Status.ANSWERED and isinstance(result.structured, dict):
        answers = {key: result.structured.get(key) for key in ("answers", "annotations")}
        asked = {key: value for key, value in tool_input.items() if key not in answers}
        answered = {key: value for key, value in answers.items() if value is not None}
        return Decision(f"Answered{ended_by_suffix(ask)}.", updated={**asked, **answered})
    if ask.status is Status.CANCELLED and ask.walk.reply:
        return Decision(f"The user did not choose an answer, and replied: {ask.walk.reply}")
    if ask.status is Status.CANCELLED:
        return Decision("The user declined to answer these questions.")
    if ask.status in _STATUS_WORDS:
        return Decision(f"There is no answer: the questions were {_STATUS_WORDS[ask.status]}.")
    return Decision(result.content)


def answers_match(ask: Ask, tool_input: Json) -> bool:
    """Whether people answered exactly these questions with exactly these answers."""
    if ask.status is not Status.ANSWERED or ask.request.name != ASK_TOOL:
        return False
    on_record = (
        decision_from_ask(ask, {"questions": ask.request.arguments["questions"]}).updated or {}
    )
    return all(
        json_equal(on_record.get(key), tool_input.get(key)) for key in ("questions", "answers")
    )


def pre_tool_use_response(decision: Decision) -> Json:
    """Build the response to a PreToolUse event."""
    output: Json = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny" if decision.updated is None else "allow",
        "permissionDecisionReason": decision.words,
    }
    if decision.updated is not None:
        output["updatedInput"] = decision.updated
    return _stop_response(decision.stop) | {"hookSpecificOutput": output}


def permission_response_from_decision(decision: Decision) -> Json:
    """Build the response to a PermissionRequest event about AskUserQuestion, or one that nobody could decide."""
    if decision.updated is not None:
        return _permission_response({"behavior": "allow", "updatedInput": decision.updated})
    interrupt: Json = {"interrupt": True} if decision.stop else {}
    return _permission_response({"behavior": "deny", "message": decision.words, **interrupt})


def permission_response_from_ask(ask: Ask) -> Json:
    """Build the response to a PermissionRequest event whose ask has ended."""
    if ask.status is Status.TURN_ENDED:
        return permission_response_from_decision(decision_from_ask(ask, {}))
    result = _required_result(ask)
    if result.is_error or not isinstance(result.structured, dict):
        return permission_response_from_decision(Decision(result.content))
    return result.structured


def elicitation_response_from_ask(ask: Ask) -> Json:
    """Build the response to an Elicitation event whose ask has ended."""
    if ask.status is Status.TURN_ENDED:
        return _stop_response(decision_from_ask(ask, {}).stop) | elicitation_response(
            {"action": "cancel"}
        )
    result = _required_result(ask)
    structured = None if result.is_error else result.structured
    return elicitation_response(
        structured if isinstance(structured, dict) else {"action": "cancel"}
    )


def elicitation_response(output: Json, words: str | None = None) -> Json:
    """Build the response to an Elicitation event, with a message for Claude's user."""
    answer: Json = {"hookSpecificOutput": {"hookEventName": "Elicitation", **output}}
    return answer if words is None else {**answer, "systemMessage": words}


def late_answers_response(event: str, words: Sequence[str]) -> Json:
    """Build the response that delivers late answers to Claude; empty if there are none."""
    if not words:
        return {}
    context = "\n\n".join((_LATE_ANSWERS_INTRO, *words))
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def ended_by_suffix(ask: Ask) -> str:
    """Who ended an ask, as the end of a sentence; empty if nobody did."""
    person = ask.outcome.ended_by if ask.outcome else None
    return f" by {person.name or person.user_id} on {person.surface}" if person else ""


def _required_result(ask: Ask) -> ToolResult:
    result = render_result(ask)
    if result is None:
        raise AssertionError("an ask that ended otherwise than by End Turn has a result")
    return result


def _stop_response(why: str | None) -> Json:
    """Stop Claude and show its user the reason; empty without a reason."""
    return {} if why is None else {"continue": False, "stopReason": why}


def _permission_response(decision: Json) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
