"""What Claude Code sends to its hooks: the events that concern people, and the query of the hook's URL.

Shapes: https://code.claude.com/docs/en/hooks, and the types of the package @anthropic-ai/claude-agent-sdk 0.3.330.
Claude Code adds fields from version to version; they are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from answerback.agents.claude_http import responses
from answerback.core.errors import ProblemError
from answerback.service.body_errors import problems_of

DEFAULT_WAIT: Final = 590.0
"""Seconds: just under the 600 after which Claude Code gives up a hook that has no timeout of its own."""
_LONGEST_WAIT: Final = 7 * 86_400.0

Json = dict[str, JsonValue]


class HookQuery(BaseModel):
    """The query of the hook's URL, as its settings have it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    to: str | None = None
    """Where to ask; without it the token's route or the default."""
    wait: Annotated[float, Field(ge=0, le=_LONGEST_WAIT, allow_inf_nan=False)] = DEFAULT_WAIT
    """Seconds to wait; to be a little less than the hook's ``timeout``."""


class Event(BaseModel):
    """What all events have."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    session_id: str
    cwd: str | None = None


class PreToolUse(Event):
    """Before a tool is run."""

    hook_event_name: Literal["PreToolUse"]
    tool_name: str
    tool_input: Json
    tool_use_id: str | None = None


class PermissionRequest(Event):
    """Before a tool is run that needs somebody's permission. It does not say which call it is about."""

    hook_event_name: Literal["PermissionRequest"]
    tool_name: str
    tool_input: JsonValue = None
    permission_suggestions: JsonValue = None
    mcp_server: JsonValue = None


class Elicitation(Event):
    """An MCP server of Claude's asks its user for something."""

    hook_event_name: Literal["Elicitation"]
    mcp_server_name: str
    message: str
    mode: str | None = None
    requested_schema: Json | None = None
    elicitation_id: str | None = None


class ContextEvent(Event):
    """Any other event that takes context for Claude: an answer that came late is given with it."""

    hook_event_name: str
    agent_id: str | None = None
    """The subagent in which it happens; None: Claude itself."""


CONTEXT_EVENTS: Final = frozenset(
    {
        "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "UserPromptExpansion",
        "SessionStart", "Setup", "Stop", "SubagentStart", "SubagentStop", "Notification", "PostModelSwitch",
    }
)  # fmt: skip
"""The events whose answer may have ``additionalContext``. On ``Stop`` the conversation goes on with it."""
_EVENTS: Final[Mapping[str, type[PreToolUse | PermissionRequest | Elicitation]]] = {
    "PreToolUse": PreToolUse,
    "PermissionRequest": PermissionRequest,
    "Elicitation": Elicitation,
}


def parse_query(query: Mapping[str, str]) -> HookQuery:
    """The query of a hook's URL.

    Raises:
        ProblemError: there is something in it that is not known.
    """
    try:
        return HookQuery.model_validate(dict(query))
    except ValidationError as error:
        raise ProblemError(400, "Bad query", None, problems_of(error)) from error


def parse_event(raw: bytes) -> PreToolUse | PermissionRequest | Elicitation | ContextEvent | None:
    """The event in a body, or None for an event that is none of ours.

    Raises:
        ProblemError: it is not an event.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise ProblemError(400, "Bad hook event", "The body is not JSON.") from None
    name = body.get("hook_event_name") if isinstance(body, dict) else None
    if not isinstance(name, str):
        raise ProblemError(400, "Bad hook event", "A hook event names itself in hook_event_name.")
    try:
        if name == PreToolUse.__name__ and body.get("tool_name") != responses.ASK_TOOL:
            return ContextEvent.model_validate(body)
        if name in _EVENTS:
            return _EVENTS[name].model_validate(body)
        return ContextEvent.model_validate(body) if name in CONTEXT_EVENTS else None
    except ValidationError as error:
        raise ProblemError(400, "Bad hook event", None, problems_of(error)) from error
