"""Cancelling a tool call over HTTP, where the cancellation is a request of its own.

Before revision 2026-07-28, a client that gives up on a call sends ``notifications/cancelled``, but may keep its stream
open.
https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import anyio
from pydantic import JsonValue

from answerback.service.late_answers import ResponseTracker

SESSION_HEADER: Final = "Mcp-Session-Id"
CANCELLED: Final = "notifications/cancelled"
_CROSSING_SECONDS: Final = 10.0
"""Seconds after its response for which a call can be cancelled: the two may cross."""
_MAX_CLIENT_NAME: Final = 100


class CallKey(NamedTuple):
    """Identifies a request: a client numbers its requests within its session."""

    agent: str | None
    session: str
    request_id: str


@dataclass(frozen=True, slots=True)
class CancellableCall:
    """A request that its client may cancel."""

    tracker: ResponseTracker | None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def cancel(self) -> None:
        """End it; whatever its response reports was not delivered."""
        self.scope.cancel()
        if self.tracker is not None:
            await self.tracker.undo_seen()


class CancellableCalls:
    """The calls in progress, and those that have just been answered."""

    def __init__(self) -> None:
        self._calls: dict[CallKey, CancellableCall] = {}

    @contextmanager
    def track(self, key: CallKey | None, call: CancellableCall) -> Iterator[None]:
        """Let a call be cancelled while it runs and shortly after; without a key, by its connection alone."""
        if key is None:
            yield
            return
        self._calls[key] = call
        try:
            yield
        finally:
            asyncio.get_running_loop().call_later(_CROSSING_SECONDS, self._forget, key, call)

    async def cancel(self, key: CallKey | None) -> None:
        """Cancel a call, if it is known."""
        if key is not None and (call := self._calls.pop(key, None)) is not None:
            await call.cancel()

    def _forget(self, key: CallKey, call: CancellableCall) -> None:
        if self._calls.get(key) is call:
            del self._calls[key]


def call_key(agent: str | None, session: str | None, request_id: JsonValue) -> CallKey | None:
    """The key of a request; None without a session, as other clients use the same numbers."""
    if session is None or isinstance(request_id, bool) or not isinstance(request_id, int | str):
        return None
    return CallKey(agent, session, str(request_id))


def new_session_id(params: JsonValue) -> str:
    """Make a session's id from the parameters of ``initialize``. It contains the client's name, as nothing is kept."""
    info = params.get("clientInfo") if isinstance(params, Mapping) else None
    name = info.get("name") if isinstance(info, Mapping) else None
    text = name[:_MAX_CLIENT_NAME] if isinstance(name, str) else ""
    encoded = base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode()
    return f"{secrets.token_urlsafe(16)}.{encoded}"


def client_name_in(session: str | None) -> str | None:
    """The client's name in a session id of `new_session_id`."""
    try:
        name = base64.urlsafe_b64decode((session or "").partition(".")[2]).decode()
    except (binascii.Error, ValueError):
        return None
    return name or None
