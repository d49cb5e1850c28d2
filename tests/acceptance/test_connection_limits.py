"""A process with few file descriptors and many strangers still serves its agents."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.acceptance.process import PATIENCE, Process, serving

pytestmark = pytest.mark.acceptance

FORM = {"questions": [{"id": "apply", "text": "Apply?", "answer_type": "boolean"}]}
FILES = 128


async def public_address(process: Process) -> tuple[str, int]:
    """Return the public listener's address, which is printed after the agents'."""
    line = await process.line()
    parts = urlsplit(line.removeprefix("public on "))
    return str(parts.hostname), int(parts.port or 0)


@pytest.mark.rule("DATA-11")
async def test_strangers_leave_the_agents_their_descriptors(tmp_path: Path) -> None:
    environment = {"ANSWERBACK_PUBLIC__PORT": "0"}
    async with serving(tmp_path, environment, files=FILES) as (process, url):
        host, port = await public_address(process)
        connections = [await asyncio.open_connection(host, port) for _ in range(2 * FILES)]
        for number, (_, writer) in enumerate(connections):
            writer.write((b"", b"POST /slack/ev", b"GET /a/-/ HTTP/1.1\r\nHost: x\r\n")[number % 3])
        async with aiohttp.ClientSession(url) as http:
            waits = [await submit(http) for _ in range(20)]
            assert {one.status for one in await asyncio.gather(*waits)} == {202}
        closed = await asyncio.gather(
            *(asyncio.wait_for(reader.read(), PATIENCE) for reader, _ in connections[:FILES]),
            return_exceptions=True,
        )
        assert all(one == b"" or isinstance(one, ConnectionError) for one in closed), closed
        for _, writer in connections:
            writer.close()
        await asyncio.gather(*(w.wait_closed() for _, w in connections), return_exceptions=True)


async def submit(http: aiohttp.ClientSession) -> asyncio.Task[aiohttp.ClientResponse]:
    """Submit an ask whose agent keeps waiting for the answer."""
    async with http.post("/v1/asks", json={"name": "ask_user", "arguments": FORM}) as response:
        assert response.status == 201
        place = response.headers["Location"]
    return asyncio.ensure_future(http.get(place, headers={"Prefer": "wait=1"}))
