"""Report progress to a client while its request waits for people, so that it goes on waiting."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from answerback_agents.mcp_proxy.pending_asks import Pending
from answerback_agents.pipe.json_rpc import Json, encode_notification, id_key, params
from answerback_agents.pipe.lines import LineWriter

_STEP: Final = 1e-6
"""Less than any progress that a server reports: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress
says that it must only grow."""
MAX_TOKENS: Final = 1_000


@dataclass(eq=False)
class Progress:
    client: LineWriter
    interval: float
    """Seconds between two reports."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: dict[str, float] = field(default_factory=dict)

    def note(self, message: Json) -> None:
        """Note what the server reports."""
        fields = params(message)
        progress = fields.get("progress")
        if isinstance(progress, int | float):
            self._advance(fields.get("progressToken"), float(progress))

    def report(self, pending: Pending, tokens: Collection[object], text: str) -> None:
        """Report until a request waits no longer."""
        while tokens and not pending.over.wait(self.interval):
            for token in tokens:
                line = encode_notification(
                    "notifications/progress",
                    progressToken=token,
                    progress=self._advance(token, None),
                    message=text,
                )
                self.client.try_write_line(line)

    def _advance(self, token: object, to: float | None) -> float:
        """Return the latest progress: what the server reports, or a step more than the last one."""
        key = id_key(token)
        with self._lock:
            last = self._last.pop(key, 0.0)
            self._last[key] = last + _STEP if to is None else max(last, to)
            if len(self._last) > MAX_TOKENS:
                del self._last[next(iter(self._last))]
            return self._last[key]
