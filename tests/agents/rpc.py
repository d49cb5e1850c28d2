"""What programs speak that drive an agent: requests and responses, each a line of JSON."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


class Connection:
    """A program's side of it.

    Args:
        more: the fields of every message, such as ``jsonrpc``.
    """

    def __init__(self, process: asyncio.subprocess.Process, **more: str) -> None:
        self.heard: list[Json] = []
        """What came so far."""
        self._process = process
        self._more = more
        self._ids = itertools.count(1)

    async def request(self, method: str, **params: Any) -> Json:
        """The result of a request."""
        number = next(self._ids)
        self.say({"id": number, "method": method, "params": params})
        response = await self.until(lambda one: one.get("id") == number and "method" not in one)
        assert "error" not in response, response
        result: Json = response["result"]
        return result

    async def until(self, matches: Callable[[Json], bool]) -> Json:
        """The next message like this."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            one: Json = json.loads(line)
            self.heard.append(one)
            if matches(one):
                return one
        raise AssertionError(f"it ended: {self.heard[-3:]}")

    def say(self, message: Json) -> None:
        """Sends a message."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({**self._more, **message}).encode() + b"\n")
