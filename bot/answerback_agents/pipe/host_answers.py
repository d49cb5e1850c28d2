"""The answers to a host's hooks: the part `answers` of its folder, and what the hosts have in common. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from answerback_agents.pipe.json_rpc import as_object
from answerback_base.hosts import load_part

Json = dict[str, Any]

SPECIFIC: Final = "hookSpecificOutput"
_AROUND: Final = frozenset({SPECIFIC, "continue", "stopReason", "systemMessage"})


def output(event: Json, fields: Json) -> Json:
    """Build the answer to an event in the shape of all hosts but Copilot."""
    return {SPECIFIC: {"hookEventName": event["hook_event_name"], **fields}}


def adds_context(event: Json, answer: Json) -> bool:
    """Return True if an answer adds words for the model, and nothing else."""
    specific = as_object(answer.get(SPECIFIC))
    return (
        answer.keys() == {SPECIFIC}
        and specific.keys() == {"hookEventName", "additionalContext"}
        and specific["hookEventName"] == event.get("hook_event_name")
        and is_text(specific, "additionalContext")
    )


class HostAnswers(NamedTuple):
    """The answers that a host takes."""

    denial: Callable[[Json, str], Json | None]
    """Builds the answer that refuses what an event is about, with the reason; None if the event decides nothing."""
    decides: Callable[[Json, Json], bool]
    """Return True if an answer to such an event is a decision in the host's shape."""
    adds_context: Callable[[Json, Json], bool] = adds_context
    """Return True if an answer to any other event adds words for the model, and nothing else."""
    found: Callable[[Json], Json | None] = lambda _event: None
    """Finds what people need and the host did not send, on the host's own machine: fields to add to an event."""
    question: Callable[[Json], str | None] = lambda _event: None
    """Returns the field of an event with a question for people, which may show pictures; None: it asks for permission,
    or nothing."""


@cache
def answers_of(agent: str) -> HostAnswers | None:
    """Return how a host is answered; None if it is not one whose hooks are known."""
    part = load_part(agent, "answers")
    answers: HostAnswers | None = None if part is None else part.ANSWERS
    return answers


def denial(agent: str, event: Json, reason: str) -> Json | None:
    """Build the answer that refuses what an event is about, in the host's shape; None if the event decides nothing."""
    answers = answers_of(agent)
    return None if answers is None else answers.denial(event, reason)


def deny(agent: str, event: Json, reason: str) -> Json:
    """Build the `denial` of an event that decides something."""
    denied = denial(agent, event, reason)
    if denied is None:
        raise AssertionError("people are asked only about events that can be denied")
    return denied


def decision_in(event: Json, answer: Json) -> Json | None:
    """Return what a host of the common shape is told about an event; None if anything else is in the answer."""
    specific = as_object(answer.get(SPECIFIC))
    is_of_event = specific.get("hookEventName") == event["hook_event_name"]
    return specific if is_of_event and not answer.keys() - _AROUND else None


def is_permission(decision: Json, *, interrupt: bool) -> bool:
    """Return True if a decision allows or denies; `interrupt` says if it may also end the turn."""
    is_plain = interrupt or "interrupt" not in decision
    if decision.get("behavior") == "deny":
        return is_plain and is_text(decision, "message")
    return is_plain and decision.get("behavior") == "allow"


def is_text(fields: Json, key: str) -> bool:
    return isinstance(fields.get(key), str)
