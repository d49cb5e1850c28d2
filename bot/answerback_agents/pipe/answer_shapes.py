"""The shapes of answers to a host's event: anything else does not come from the service. Pure."""

from __future__ import annotations

from answerback_agents.pipe.host_answers import Json, adds_context, answers_of, denial


def is_answer(agent: str, event: Json, answer: Json) -> bool:
    """Return True if a host takes this answer to an event for the service's: a decision, where the event needs one."""
    host = answers_of(agent)
    if host is None or denial(agent, event, "") is None:
        return answer == {} or (adds_context if host is None else host.adds_context)(event, answer)
    return host.decides(event, answer)
