"""A running server of an agent that reports what happens in it, and how it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pydantic import JsonValue

from answerback_base.backoff import Backoff
from answerback_base.base_error import AnswerbackError

Json = dict[str, JsonValue]


class ServerUnavailableError(Exception):
    """The server cannot be reached, or is temporarily unable to answer."""


class ForeignServerError(AnswerbackError):
    """The address is not that of such a server, or the server refuses the bridge."""


class EventServer(Protocol):
    """A running server that reports what happens in it."""

    url: str

    def open_event_stream(self) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        """Stream the events from now on, until the connection is lost.

        Raises:
            ServerUnavailableError: the server cannot be reached, or the connection was lost.
            ForeignServerError: it is another kind of server, or refuses the bridge.
        """

    async def sessions(self) -> list[str]:
        """The ids of the newest sessions, which are checked for late answers."""


async def until_available(attempt: Callable[[], Awaitable[bool]]) -> bool:
    """Make an attempt, again and again until the server is available for it; returns its result."""
    backoff = Backoff()
    while True:
        try:
            return await attempt()
        except ServerUnavailableError:
            await backoff.wait()
