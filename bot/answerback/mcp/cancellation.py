"""Cancelling a tool call over HTTP, where the cancellation is a request of its own.

Before revision 2026-07-28, a client that gives up on a call sends ``notifications/cancelled``, but may keep its stream
open.
https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
from pydantic import JsonValue

from answerback.ports.claims import RemoteChanges
from answerback.service.late_answers import ResponseTracker

SESSION_HEADER: Final = "Mcp-Session-Id"
CANCELLED: Final = "notifications/cancelled"
_CROSSING_SECONDS: Final = 10.0
"""Seconds after its response for which a call can be cancelled: the two may cross."""
_MAX_EARLY: Final = 1_000
"""Cancellations without a call that are remembered at a time, at most."""
_KEY_PREFIX: Final = "mcp call "
_MAX_CLIENT_NAME: Final = 100


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
    """The calls in progress, and those that have just been answered.

    Args:
        changes: tells the other processes of cancellations, as one of them may hold the call.
        crossing: seconds after its response for which a call can be cancelled, and for which a cancellation that may
            have overtaken its call is remembered.
    """

    def __init__(self, changes: RemoteChanges, crossing: float = _CROSSING_SECONDS) -> None:
        self._changes, self._crossing = changes, crossing
        self._calls: dict[str, CancellableCall] = {}
        self._early: set[str] = set()
        """The keys of cancellations without a call, which may be on its way."""
        self._cancelling: set[asyncio.Task[None]] = set()
        changes.listen(self._handle_announcement)

    @contextmanager
    def track(self, key: str | None, call: CancellableCall) -> Iterator[None]:
        """Let a call be cancelled while it runs and shortly after; without a key, by its connection alone."""
        if key is None:
            yield
            return
        self._calls[key] = call
        if key in self._early:
            self._early.remove(key)
            self._handle_announcement(key)
        try:
            yield
        finally:
            asyncio.get_running_loop().call_later(self._crossing, self._forget, key, call)

    async def cancel(self, key: str | None) -> None:
        """Cancel a call, here or in the process that holds it."""
        if key is None:
            return
        if (call := self._calls.pop(key, None)) is None:
            self._remember(key)
            self._changes.announce(key)
        else:
            await call.cancel()

    def _handle_announcement(self, name: str | None) -> None:
        """Cancel a call whose cancellation reached another process."""
        if name is None or not name.startswith(_KEY_PREFIX):
            return
        if (call := self._calls.pop(name, None)) is None:
            self._remember(name)
        else:
            task = asyncio.create_task(call.cancel(), name="cancelling an MCP call")
            self._cancelling.add(task)
            task.add_done_callback(self._cancelling.discard)

    def _remember(self, key: str) -> None:
        """Remember a cancellation for a while, as its call may have yet to arrive."""
        if len(self._early) < _MAX_EARLY:
            self._early.add(key)
            asyncio.get_running_loop().call_later(self._crossing, self._early.discard, key)

    def _forget(self, key: str, call: CancellableCall) -> None:
        if self._calls.get(key) is call:
            del self._calls[key]


def call_key(agent: str | None, session: str | None, request_id: JsonValue) -> str | None:
    """The key of a request, as a client numbers its requests within its session; None without a session.

    It is a digest, so that it can be announced however long it is, and so that no other client can know it.
    """
    if session is None or isinstance(request_id, bool) or not isinstance(request_id, int | str):
        return None
    identity = json.dumps([agent, session, str(request_id)])
    return f"{_KEY_PREFIX}{hashlib.sha256(identity.encode()).hexdigest()}"


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
