"""The answers to Copilot CLI's hooks. Pure."""

from __future__ import annotations

from typing import Final

from answerback_agents.pipe.host_answers import HostAnswers, Json, is_permission, is_text


def _denial(event: Json, reason: str) -> Json | None:
    match event:
        case {"hookName": "permissionRequest"}:
            return {"behavior": "deny", "message": reason}
        case _:
            return None


def _decides(_event: Json, answer: Json) -> bool:
    return is_permission(answer, interrupt=True)


def _adds_context(_event: Json, answer: Json) -> bool:
    return answer.keys() == {"additionalContext"} and is_text(answer, "additionalContext")


ANSWERS: Final = HostAnswers(_denial, _decides, _adds_context)
