"""The limits of an agent, and the texts for it and its model when it has reached one."""

from __future__ import annotations

import math
from typing import Final

from answerback.core.ask import Ask, ToolResult
from answerback.core.errors import DeclinedCallError, Problem
from answerback.ports.store_values import AskLimits, LimitReached

_RETRY_OPEN: Final = 10
"""Seconds after which an agent with too many open asks may try again: one may have ended."""
_MESSAGES: Final = {
    "asks_per_minute": "The limit of {count} asks per minute is reached. Wait {wait} seconds, or ask several questions "
    "together in one call.",
    "open_asks": "The limit of {count} asks that wait for people at the same time is reached. Wait until some are "
    "answered or withdraw what is no longer needed, and ask several questions together in one call.",
    "open_asks_per_conversation": "The limit of {count} asks that wait for people in one conversation is reached. Wait "
    "until some are answered or withdraw what is no longer needed, and ask several questions together in one call.",
}


def too_many_asks(ask: Ask, reached: LimitReached, limits: AskLimits) -> DeclinedCallError:
    """Build the error for an ask that was not stored because of a limit."""
    wait = _RETRY_OPEN if reached.retry_after is None else math.ceil(reached.retry_after)
    count = getattr(limits, reached.limit)
    message = _MESSAGES[reached.limit].format(count=count, wait=wait)
    problem = Problem(pointer="", code="too_many_asks", message=message)
    result = ToolResult(
        content=message, structured={"errors": [problem.model_dump()]}, is_error=True
    )
    request = ask.request
    return DeclinedCallError(
        request.name[:100],
        "Too many asks",
        problem,
        request.dialect,
        result.model_dump(),
        retry_after=wait,
    )
