"""Whether an agent has reached one of its limits."""

from __future__ import annotations

from collections.abc import Iterable

from answerback.core.ask import Ask
from answerback.ports.store_values import MINUTE, AskLimits, LimitReached


def find_reached(asks: Iterable[Ask], ask: Ask, limits: AskLimits) -> LimitReached | None:
    """Return the limit that keeps a new ask from being stored, or None."""
    own = [each for each in asks if each.request.agent == ask.request.agent]
    per_minute = limits.asks_per_minute
    if per_minute and len(own) >= per_minute:
        age = abs(ask.created_at - own[-per_minute].created_at)
        if age < MINUTE:
            return LimitReached("asks_per_minute", MINUTE - age)
    open_asks = [each for each in own if each.open] if ask.open else []
    if 0 < limits.open_asks <= len(open_asks):
        return LimitReached("open_asks")
    conversation = ask.request.conversation
    together = [each for each in open_asks if each.request.conversation == conversation]
    if conversation is not None and 0 < limits.open_asks_per_conversation <= len(together):
        return LimitReached("open_asks_per_conversation")
    return None
