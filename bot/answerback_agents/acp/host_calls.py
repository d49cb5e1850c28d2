"""The host's own way to ask over ACP: the object `ACP_CALLS` of its part `acp_calls`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from answerback_agents.pipe.json_rpc import Json
from answerback_base.hosts import load_parts


class HostCalls(NamedTuple):
    complete: Callable[[Json], Json] | None = None
    """Adds what the host does not send of a tool call, and can be found on this machine."""
    question_dialect: Callable[[Json], str | None] | None = None
    """The dialect of the questions that a permission request for a tool call holds; None: it holds none."""


@cache
def _all() -> tuple[HostCalls, ...]:
    return tuple(part.ACP_CALLS for part in load_parts("acp_calls").values())


def complete(tool_call: Json) -> Json:
    """Add what hosts do not send of a tool call."""
    for host in _all():
        tool_call = host.complete(tool_call) if host.complete else tool_call
    return tool_call


def question_dialect(tool_call: Json) -> str | None:
    """Return the dialect of the questions that a permission request holds; None if it asks for permission."""
    found = (host.question_dialect(tool_call) for host in _all() if host.question_dialect)
    return next(filter(None, found), None)
