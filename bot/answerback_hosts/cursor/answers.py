"""The answers to Cursor's hooks. Pure."""

from __future__ import annotations

from typing import Final

from answerback_agents.pipe.host_answers import HostAnswers, Json, is_text

DECIDED: Final = ("beforeShellExecution", "beforeMCPExecution")
"""The events about which people are asked."""


def _denial(event: Json, reason: str) -> Json | None:
    if event.get("hook_event_name") not in DECIDED:
        return None
    return {"permission": "deny", "user_message": reason, "agent_message": reason}


def _decides(_event: Json, answer: Json) -> bool:
    match answer.get("permission"):
        case "allow":
            return answer.keys() == {"permission"}
        case "deny":
            messages = ("user_message", "agent_message")
            return answer.keys() == {"permission", *messages} and all(
                is_text(answer, each) for each in messages
            )
        case _:
            return False


def _adds_context(event: Json, answer: Json) -> bool:
    is_stop = event.get("hook_event_name") == "stop"
    return is_stop and answer.keys() == {"followup_message"} and is_text(answer, "followup_message")


ANSWERS: Final = HostAnswers(_denial, _decides, _adds_context)
