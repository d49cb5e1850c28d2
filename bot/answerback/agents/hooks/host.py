"""The interface between the hooks' endpoint and an agent's host: its calls, and its answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

from answerback.agents.pipe.denials import output
from answerback.core import strict_json
from answerback.core.ask import Ask, Status
from answerback.core.walker import Source
from answerback.dialects.registry import render_result

Json = dict[str, Any]

MCP_SERVER_NAME: Final = "answerback"
"""The name that `answerback connect` gives our MCP server."""
_MAX_NAME: Final = 100
"""Characters of a subagent's name."""
_NO_PERSON: Final = {
    Source.DEFAULT: "No person answered in time, so the defaults were taken",
    Source.CONFIG: "No person answered: the answer is set in Answerback's configuration",
}


class Call(NamedTuple):
    """A call that people are asked about, with the fields of the API."""

    name: str
    arguments: Json
    dialect: str
    conversation: str | None
    turn: str | None = None
    tool_call_id: str | None = None
    key: str | None = None
    """The same for the same call, so that a hook that runs again finds the first ask; None: the host sends no id."""
    is_permission: bool = False
    """Whether the host waits for permission to continue: once it stops waiting, an answer no longer counts."""
    metadata: Json = {}  # noqa: RUF012 - never changed
    answers: Json | None = None
    """Answers that the call already contains: a person's if the same hook got them for the same questions."""


class Outcome(NamedTuple):
    """The ask once it has ended; or None, with the reason in words for the model."""

    ask: Ask | None
    reason: str = ""
    was_asked: bool = True
    """Whether there was an ask; if not, the host may still ask its own user."""


class Host(NamedTuple):
    """The program that an agent runs in, and how its hooks ask and are answered."""

    name: str
    call: Callable[[Json], Call | None]
    """Converts an event to a call for people; None for an event that asks nothing."""
    answer: Callable[[Json, Outcome], Json]
    """Converts an outcome to the host's answer."""
    conversation: Callable[[Json], str | None]
    """The conversation whose late answers can be delivered in the answer to an event; None: the event takes none."""
    tell_model: Callable[[Json, str], Json]
    """Converts words for the model to the host's answer."""
    immediate_answer: Callable[[Json], Json | None] = lambda _event: None
    """The host's answer if nobody needs to be asked, as with our own MCP tools, which ask people themselves."""


def first_text(event: Json, *keys: str) -> str | None:
    """The first of the given fields that is a non-empty string."""
    values = (event.get(key) for key in keys)
    return next((value for value in values if isinstance(value, str) and value), None)


def parse_arguments(value: object) -> Json:
    """Parse a tool's arguments, which some hosts send as JSON in a string."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"input": value}
    return value if isinstance(value, dict) else {}


def call_key(event: Json, call_id: str | None) -> str | None:
    """The key of a call that its host has named."""
    session = first_text(event, "session_id")
    return f"{session}:{call_id}" if session and call_id else None


def origin(event: Json, **more: str | None) -> Json:
    """The metadata of an event's ask."""
    subagent = first_text(event, "agent_type")
    found = {**more, "cwd": first_text(event, "cwd"), "subagent": subagent and subagent[:_MAX_NAME]}
    return {key: value for key, value in found.items() if value is not None}


def question_call(event: Json, tool: str, dialect: str) -> Call | None:
    """Convert an event before a call of the host's tool that asks its user; None for another event."""
    if event.get("hook_event_name") != "PreToolUse" or event.get("tool_name") != tool:
        return None
    call_id = first_text(event, "tool_use_id")
    return Call(
        name=tool,
        arguments=parse_arguments(event.get("tool_input")),
        dialect=dialect,
        conversation=first_text(event, "session_id"),
        turn=first_text(event, "turn_id"),
        tool_call_id=call_id,
        key=call_key(event, call_id),
        metadata=origin(event),
    )


def tell_model(event: Json, text: str) -> Json:
    """Add context for the model, in the shape of most hosts."""
    return output(event, {"additionalContext": text})


def context_session(event: Json, names: Collection[str]) -> str | None:
    """The session of an event whose answer may add context for the model, according to the event's name."""
    return (
        first_text(event, "session_id") if first_text(event, "hook_event_name") in names else None
    )


def is_turn_ended(outcome: Outcome) -> bool:
    """Whether a person ended the turn."""
    return outcome.ask is not None and outcome.ask.status is Status.TURN_ENDED


def is_answered(outcome: Outcome) -> bool:
    """Whether people answered the ask or had granted it, rather than a deadline, the configuration or a machine."""
    ended = outcome.ask.outcome if outcome.ask else None
    by_people = ended is not None and ended.source in {Source.HUMAN, Source.GRANT}
    return by_people and ended is not None and ended.status is Status.ANSWERED


def structured_result(outcome: Outcome) -> Json | None:
    """The tool result for the host; None if there is none, or if it holds an answer that no person gave."""
    ask = outcome.ask
    if ask is None or (ask.status is Status.ANSWERED and not is_answered(outcome)):
        return None
    result = render_result(ask)
    structured = None if result is None or result.is_error else result.structured
    return structured if isinstance(structured, dict) else None


def describe_outcome(outcome: Outcome) -> str:
    """Describe how an ask ended, for a model whose host only takes words."""
    ask = outcome.ask
    if ask is None:
        return outcome.reason
    result = render_result(ask)
    content = result.content if result else ""
    match ask.status:
        case Status.ANSWERED if is_answered(outcome):
            return f"The user answered: {content}"
        case Status.ANSWERED:
            source = ask.outcome.source if ask.outcome else None
            why = _NO_PERSON.get(source or Source.INQUIRY, "No person answered, but a machine")
            return f"{why}: {content}"
        case Status.TURN_ENDED:
            return "The user ended the turn. Stop now, and do not call any more tools."
        case Status.CANCELLED if ask.walk.reply:
            return f"The user did not choose an answer, and replied: {ask.walk.reply}"
        case Status.CANCELLED:
            return "The user declined to answer these questions."
        case Status.EXPIRED:
            return "There is no answer: the questions were not answered in time. Do not assume one."
        case Status.WITHDRAWN:
            return "There is no answer: the questions were withdrawn. Do not assume one."
        case _:
            return content


def denial_reason(outcome: Outcome) -> str | None:
    """Explain to the model why it may not use a tool; None if people allow it."""
    result = structured_result(outcome)
    decision = result.get("hookSpecificOutput", {}).get("decision", result) if result else {}
    if is_answered(outcome) and decision.get("behavior") == "allow":
        return None
    is_plain = outcome.ask is not None and outcome.ask.status is Status.CANCELLED
    if is_answered(outcome) or (is_plain and not (outcome.ask and outcome.ask.walk.reply)):
        return "The user did not allow this use of the tool."
    return decision.get("message") or describe_outcome(outcome)


def is_text(value: object) -> bool:
    """Whether a value is text that can be stored, if it is text at all."""
    return not isinstance(value, str) or strict_json.is_encodable(value)
