"""The running server that a bridge follows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pydantic import JsonValue

from answerback.core.base_error import AnswerbackError

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
            ForeignServerError: it is another kind of server.
        """

    async def sessions(self) -> list[str]:
        """The ids of the newest sessions, which are checked for late answers."""
