"""An agent that asks and waits over MCP; each call goes to whichever replica the load balancer picks."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import anyio
import httpx2
from mcp.shared.exceptions import MCPError

from answerback.mcp.server import IDEMPOTENCY_KEY
from tests.mcp_clients import mcp_client

_PATIENCE: Final = 5.0
"""Seconds that a call may take before it is made again, at the next replica."""
_FAILURES: Final = (MCPError, httpx2.HTTPError, TimeoutError, anyio.BrokenResourceError)
"""The errors of a failed call; the last one if its response arrives in the moment in which the client gives up."""
_WAIT: Final = 2.0
"""Seconds for which a call waits for an answer."""


class McpAgent:
    """Makes each call over its own connection, again and again until it is answered.

    Args:
        url: the load balancer's address.
        token: the agent's.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = f"{url}/mcp", token

    async def ask(self, questions: list[dict[str, Any]], key: str) -> str:
        """Ask, and return the ask's id. The key finds an ask that was stored before."""
        arguments = {"questions": questions, "to": "web", "wait_seconds": 0}
        return str((await self._call_until_answered("ask_user", arguments, key))["ask_id"])

    async def answer(self, ask_id: str) -> dict[str, Any]:
        """Return how an ask ended, in the shape of the ask's JSON."""
        while True:
            arguments = {"ask_id": ask_id, "wait_seconds": _WAIT}
            result = await self._call_until_answered("wait_for_answer", arguments)
            if result.get("status") != "pending":
                return {"status": "answered", "answers": result}

    async def _call_until_answered(
        self, tool: str, arguments: dict[str, Any], key: str = ""
    ) -> dict[str, Any]:
        while True:
            try:
                async with asyncio.timeout(_PATIENCE), mcp_client(self._url, self._token) as client:
                    meta: Any = {IDEMPOTENCY_KEY: key} if key else None
                    result = await client.call_tool(tool, arguments, meta=meta)
                    if not result.is_error:
                        assert result.structured_content is not None
                        return dict(result.structured_content)
            except* _FAILURES:
                pass
            await asyncio.sleep(0.1)
