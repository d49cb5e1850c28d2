"""Imagined's hook."""

from __future__ import annotations

from typing import Final

from answerback.hooks.host import Call, Host, Json, Outcome
from answerback_agents.pipe.host_answers import deny


def _call(event: Json) -> Call | None:
    if event.get("event") != "permission":
        return None
    asked = {"tool": event.get("tool"), "input": event.get("input")}
    return Call(
        name="imagined/permission",
        arguments=asked,
        dialect="approval",
        conversation=None,
        is_permission=True,
    )


def _answer(event: Json, outcome: Outcome) -> Json:
    why_not = outcome.denial_reason
    return {"go": True} if why_not is None else deny(HOST.name, event, why_not)


HOST: Final = Host("imagined", _call, _answer, lambda _event: None)
