"""The interface between a hook and an agent's host: its calls and the answers to them, worded alike for all hosts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

MCP_SERVER_NAME: Final = "answerback"
"""The name that `answerback connect` gives our MCP server."""


class Call(NamedTuple):
    """A call that people are asked about, with the fields of the API."""

    name: str
    arguments: Json
    conversation: str | None
    turn: str | None = None
    tool_call_id: str | None = None
    key: str | None = None
    """The same for the same call, so that a hook that runs again finds the first ask; None: the host sends no id."""
    dialect: str | None = None
    is_permission: bool = False
    """Whether the host waits for permission to continue: once it stops waiting, an answer no longer counts."""
    cwd: str | None = None
    answers: Json | None = None
    """Answers that the call already contains: they are a person's if they are on record for the conversation."""


class AskOutcome(NamedTuple):
    """The ask once it has ended; or None, with the reason in words for the model."""

    ask: Json | None
    words: str


class Host(NamedTuple):
    """The program that an agent runs in, and how its hooks ask and are answered."""

    call: Callable[[Json], Call | None]
    """Converts an event to a call for people; None for an event that asks nothing."""
    answer: Callable[[Json, AskOutcome], Json]
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
        except ValueError:
            return {"input": value}
    return value if isinstance(value, dict) else {}


def is_turn_ended(outcome: AskOutcome) -> bool:
    """Whether a person ended the turn."""
    return outcome.ask is not None and outcome.ask["status"] == "turn_ended"


def structured_result(outcome: AskOutcome) -> Any:
    """The structured tool result in the ask's dialect; None if there is none."""
    result = outcome.ask and outcome.ask["tool_result"]
    return result["structured"] if result and not result["is_error"] else None


def is_answered(outcome: AskOutcome) -> bool:
    """Whether people answered the ask."""
    return outcome.ask is not None and outcome.ask["status"] == "answered"


def describe_outcome(outcome: AskOutcome) -> str:
    """Describe how an ask ended, for a model whose host only takes words."""
    ask = outcome.ask
    if ask is None:
        return outcome.words
    result = ask["tool_result"] or {}
    match ask["status"]:
        case "answered":
            return f"The user answered: {result['content']}"
        case "turn_ended":
            return "The user ended the turn. Stop now, and do not call any more tools."
        case "cancelled" if ask["reply"]:
            return f"The user did not choose an answer, and replied: {ask['reply']}"
        case "cancelled":
            return "The user declined to answer these questions."
        case "expired":
            return "There is no answer: the questions were not answered in time. Do not assume one."
        case "withdrawn":
            return "There is no answer: the questions were withdrawn. Do not assume one."
        case _:
            return str(result.get("content"))


def denial_reason(outcome: AskOutcome) -> str | None:
    """Explain to the model why it may not use a tool; None if people allow it."""
    result = structured_result(outcome)
    decision = result.get("hookSpecificOutput", {}).get("decision", result) if result else {}
    if is_answered(outcome) and decision.get("behavior") == "allow":
        return None
    if is_answered(outcome):
        return "The user did not allow this use of the tool."
    return decision.get("message") or describe_outcome(outcome)
