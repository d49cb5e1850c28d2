"""Clients of an MCP endpoint on loopback, without TLS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def mcp_client(url: str, token: str | None = None, **options: Any) -> AsyncIterator[Client]:
    """Connect a client. It loads no certificates, because that takes longer than most calls.

    Args:
        url: the endpoint's URL.
        token: the agent's, if it has one.
        options: passed to the client.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = httpx2.Timeout(10, read=60)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, verify=False) as http,
        Client(streamable_http_client(url, http_client=http), **options) as client,
    ):
        yield client
