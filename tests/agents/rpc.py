"""The protocol of programs that drive an agent: requests and responses, one line of JSON each."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


class Connection:
    """A program's end of the connection.

    Args:
        more: fields to add to every message, such as ``jsonrpc``.
    """

    def __init__(self, process: asyncio.subprocess.Process, **more: str) -> None:
        self.received: list[Json] = []
        """Every message received so far."""
        self._process = process
        self._more = more
        self._ids = itertools.count(1)

    async def request(self, method: str, **params: Any) -> Json:
        """Send a request; return its result."""
        number = next(self._ids)
        self.say({"id": number, "method": method, "params": params})
        response = await self.until(
            lambda message: message.get("id") == number and "method" not in message
        )
        assert "error" not in response, response
        result: Json = response["result"]
        return result

    async def until(self, matches: Callable[[Json], bool]) -> Json:
        """Return the next message that matches."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message: Json = json.loads(line)
            self.received.append(message)
            if matches(message):
                return message
        raise AssertionError(f"it ended: {self.received[-3:]}")

    def say(self, message: Json) -> None:
        """Send a message."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({**self._more, **message}).encode() + b"\n")
