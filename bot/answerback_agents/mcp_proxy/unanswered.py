"""The requests that a side has got and not answered yet."""

from __future__ import annotations

import threading
from typing import Final, NamedTuple

from answerback_agents.mcp_proxy import messages
from answerback_agents.pipe.json_rpc import Json, id_key

MAX_REQUESTS: Final = 1_000
"""Requests in progress that are remembered, the latest ones."""


class Sent(NamedTuple):
    """A request that a side has got."""

    message: Json
    line: bytes = b""
    definition: Json | None = None
    """The definition of the tool that is called, as it was allowed."""
    is_repeated: bool = False
    """True if it was made again, after people had opened links."""
    edited: str | None = None
    """The arguments of a call that people have changed, which `message` has not."""


class Unanswered:
    """The latest requests of one side."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[str, Sent] = {}

    def add(self, sent: Sent) -> Sent | None:
        """Note a request; return the one that is forgotten for it."""
        with self._lock:
            self._by_key[id_key(sent.message["id"])] = sent
            if len(self._by_key) <= MAX_REQUESTS:
                return None
            return self._by_key.pop(next(iter(self._by_key)))

    def take(self, request_id: object) -> Sent | None:
        """Return the request that a response is for, and forget it: each is answered once.

        As the official SDKs do, it takes "7" for 7, where no request has the id "7".
        """
        keys = [id_key(request_id)]
        if isinstance(request_id, str) and messages.NUMBER.fullmatch(request_id):
            keys.append(request_id)
        with self._lock:
            key = next((each for each in keys if each in self._by_key), None)
            return None if key is None else self._by_key.pop(key)

    def progress_tokens(self) -> list[object]:
        """Return the tokens under which the calls of tools in progress want progress to be reported."""
        with self._lock:
            calls = [each.message for each in self._by_key.values()]
        return [
            token
            for each in calls
            if messages.is_tool_call(each)
            for token in messages.progress_tokens(each)
        ]
