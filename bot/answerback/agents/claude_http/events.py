"""The events that Claude Code sends to its hooks, as far as they concern people, and the query of the hook's URL.

Shapes: https://code.claude.com/docs/en/hooks, and the types of the package @anthropic-ai/claude-agent-sdk 0.3.330.
Unknown fields are ignored, as new versions of Claude Code add some.
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
"""Seconds: just under the 600 after which Claude Code gives up on a hook without a ``timeout``."""
_LONGEST_WAIT: Final = 7 * 86_400.0

Json = dict[str, JsonValue]


class HookQuery(BaseModel):
    """The query of the hook's URL, as configured in Claude Code's settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    to: str | None = None
    """Where to ask; by default the token's route, or else the default route."""
    wait: Annotated[float, Field(ge=0, le=_LONGEST_WAIT, allow_inf_nan=False)] = DEFAULT_WAIT
    """Seconds to wait; should be a little less than the hook's ``timeout``."""


class Event(BaseModel):
    """The fields that all events share."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    session_id: str
    cwd: str | None = None


class PreToolUse(Event):
    """A tool is about to run."""

    hook_event_name: Literal["PreToolUse"]
    tool_name: str
    tool_input: Json
    tool_use_id: str | None = None


class PermissionRequest(Event):
    """A tool needs permission to run. The event does not identify the tool call."""

    hook_event_name: Literal["PermissionRequest"]
    tool_name: str
    tool_input: JsonValue = None
    permission_suggestions: JsonValue = None
    mcp_server: JsonValue = None


class Elicitation(Event):
    """An MCP server that Claude uses requests input from its user."""

    hook_event_name: Literal["Elicitation"]
    mcp_server_name: str
    message: str
    mode: str | None = None
    requested_schema: Json | None = None
    elicitation_id: str | None = None


class ContextEvent(Event):
    """Any other event whose response can add context for Claude: late answers are delivered with it."""

    hook_event_name: str
    agent_id: str | None = None
    """The subagent that the event is from; None: Claude itself."""


CONTEXT_EVENTS: Final = frozenset(
    {
        "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "UserPromptExpansion",
        "SessionStart", "Setup", "Stop", "SubagentStart", "SubagentStop", "Notification", "PostModelSwitch",
    }
)  # fmt: skip
"""The events whose response may have ``additionalContext``. On ``Stop``, the conversation continues with it."""
_EVENTS: Final[Mapping[str, type[PreToolUse | PermissionRequest | Elicitation]]] = {
    "PreToolUse": PreToolUse,
    "PermissionRequest": PermissionRequest,
    "Elicitation": Elicitation,
}


def parse_query(query: Mapping[str, str]) -> HookQuery:
    """Parse the query of a hook's URL.

    Raises:
        ProblemError: a parameter is unknown or invalid.
    """
    try:
        return HookQuery.model_validate(dict(query))
    except ValidationError as error:
        raise ProblemError(400, "Bad query", None, problems_of(error)) from error


def parse_event(raw: bytes) -> PreToolUse | PermissionRequest | Elicitation | ContextEvent | None:
    """Parse a body as an event; None for an event that does not concern people.

    Raises:
        ProblemError: the body is not an event.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise ProblemError(400, "Bad hook event", "The body is not JSON.") from None
    name = body.get("hook_event_name") if isinstance(body, dict) else None
    if not isinstance(name, str):
        raise ProblemError(400, "Bad hook event", "A hook event needs its name in hook_event_name.")
    try:
        if name == PreToolUse.__name__ and body.get("tool_name") != responses.ASK_TOOL:
            return ContextEvent.model_validate(body)
        if name in _EVENTS:
            return _EVENTS[name].model_validate(body)
        return ContextEvent.model_validate(body) if name in CONTEXT_EVENTS else None
    except ValidationError as error:
        raise ProblemError(400, "Bad hook event", None, problems_of(error)) from error
