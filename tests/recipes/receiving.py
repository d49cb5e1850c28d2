"""A loopback listener for the recipes' applications, and a helper that sends a webhook again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from answerback_client import AsyncClient


@asynccontextmanager
async def listening(app: web.Application) -> AsyncIterator[str]:
    """Serve an application on a free port; yield its address."""
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def send_again(agent: AsyncClient) -> None:
    """Send the newest webhook once more."""
    newest = (await agent.call("GET", "/v1/deliveries"))["deliveries"]
    assert isinstance(newest, list)
    assert isinstance(newest[0], dict)
    await agent.call("POST", f"/v1/deliveries/{newest[0]['id']}/redeliver")
