"""The answers for Imagined's hook. Pure."""

from __future__ import annotations

from typing import Final

from answerback_agents.pipe.host_answers import HostAnswers, Json


def _denial(event: Json, reason: str) -> Json | None:
    return {"go": False, "why": reason} if event.get("event") == "permission" else None


def _decides(_event: Json, answer: Json) -> bool:
    return isinstance(answer.get("go"), bool)


ANSWERS: Final = HostAnswers(_denial, _decides)
