"""The answers to Antigravity CLI's hooks. Pure.

An event does not name itself: only one before the use of a tool has the call and neither its result nor an error.
"""

from __future__ import annotations

from typing import Final

from answerback_agents.pipe.host_answers import HostAnswers, Json, is_text


def is_before_tool(event: Json) -> bool:
    """Return True if a tool is about to be used."""
    return isinstance(event.get("toolCall"), dict) and "error" not in event


def _denial(event: Json, reason: str) -> Json | None:
    return {"decision": "deny", "reason": reason} if is_before_tool(event) else None


def _decides(_event: Json, answer: Json) -> bool:
    is_known = answer.get("decision") in ("allow", "deny")
    return is_known and answer.keys() == {"decision", "reason"} and is_text(answer, "reason")


def _adds_context(_event: Json, answer: Json) -> bool:
    match answer:
        case {"injectSteps": [{"userMessage": str(), **step}], **more}:
            return not step and not more
        case _:
            return False


ANSWERS: Final = HostAnswers(_denial, _decides, _adds_context)
