"""What a host of an agent is to its hook: what it asks, and how it is answered. The words are the same for all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

MCP_SERVER_NAME: Final = "answerback"
"""What `answerback connect` calls our MCP server."""


class Call(NamedTuple):
    """What is to be put to people, as the API takes it."""

    name: str
    arguments: Json
    conversation: str | None
    turn: str | None = None
    tool_call_id: str | None = None
    key: str | None = None
    """The same for the same call, so that a hook that runs again finds the first ask; None: nothing tells."""
    dialect: str | None = None
    is_permission: bool = False
    """Whether the host waits for leave to go on: if it stops waiting, an answer counts no more."""
    cwd: str | None = None
    answers: Json | None = None
    """Answers that it comes with: a person's, if those are on record for the conversation."""


class AskOutcome(NamedTuple):
    """The ask as it ended; or none, and why in words for the model."""

    ask: Json | None
    words: str


class Host(NamedTuple):
    """A host of an agent."""

    call: Callable[[Json], Call | None]
    """What an event puts to people; None for an event that asks nothing."""
    answer: Callable[[Json, AskOutcome], Json]
    """What the host is answered."""
    conversation: Callable[[Json], str | None]
    """The conversation that late answers may be told in with the answer to this event; None: they cannot be."""
    tell_model: Callable[[Json, str], Json]
    """What the host is answered to tell its model something."""
    immediate_answer: Callable[[Json], Json | None] = lambda _event: None
    """What the host is answered without asking anybody: about our own MCP tools, which ask people themselves."""


def first_text(event: Json, *keys: str) -> str | None:
    """The first of some fields that is a string, and not empty."""
    found = (event.get(key) for key in keys)
    return next((each for each in found if isinstance(each, str) and each), None)


def parse_arguments(value: object) -> Json:
    """Arguments of a tool, which some hosts send as JSON in a string."""
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
    """What the ask's dialect makes of its end; None where there is nothing."""
    found = outcome.ask and outcome.ask["tool_result"]
    return found["structured"] if found and not found["is_error"] else None


def is_answered(outcome: AskOutcome) -> bool:
    """Whether people answered all that was asked."""
    return outcome.ask is not None and outcome.ask["status"] == "answered"


def describe_outcome(outcome: AskOutcome) -> str:
    """How it ended, for a model whose host takes words only."""
    ask = outcome.ask
    if ask is None:
        return outcome.words
    told = ask["tool_result"] or {}
    match ask["status"]:
        case "answered":
            return f"The user answered: {told['content']}"
        case "turn_ended":
            return "The user ended the turn. Stop now, and call no more tools."
        case "cancelled" if ask["reply"]:
            return f"The user did not choose an answer, and replied: {ask['reply']}"
        case "cancelled":
            return "The user declined to answer these questions."
        case "expired":
            return "There is no answer: the questions were not answered in time. Do not assume one."
        case "withdrawn":
            return "There is no answer: the questions were withdrawn. Do not assume one."
        case _:
            return str(told.get("content"))


def denial_reason(outcome: AskOutcome) -> str | None:
    """Why a tool may not be used, in words for the model; None where people allow it."""
    found = structured_result(outcome)
    decision = found.get("hookSpecificOutput", {}).get("decision", found) if found else {}
    if is_answered(outcome) and decision.get("behavior") == "allow":
        return None
    if is_answered(outcome):
        return "The user does not allow this use of the tool."
    return decision.get("message") or describe_outcome(outcome)
