"""``answerback bridge`` at work: an agent's server on one side, people on the other, until somebody stops it."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from answerback.agents.bridges.opencode import Bridge
from answerback.agents.bridges.opencode_server import NotOpencodeError, Server
from answerback.agents.bridges.people import People
from answerback.cli.output import fail, say
from answerback_client import AsyncClient, ClientError

_TO_START: Final = 20.0
"""Seconds for which a service that is away is called again at the start; later, for as long as it takes."""


def opencode(
    server: str, url: str, token_env: str, to: str | None, directory: str | None, password_env: str
) -> None:
    """Follows an opencode server."""

    async def follow() -> None:
        async with _people(url, token_env) as client, aiohttp.ClientSession() as http:
            password = os.environ.get(password_env) or None
            followed = Server(http, server, directory, password)
            source = {"bridge": "opencode", "server": followed.url}
            if directory is not None:
                source["directory"] = directory
            await Bridge(followed, People(client, source, to), say).run()

    _run(follow())


@asynccontextmanager
async def _people(url: str, token_env: str) -> AsyncIterator[AsyncClient]:
    """The service, which answers and knows the token."""
    token = os.environ.get(token_env) or None
    async with AsyncClient(url, token, patience=_TO_START) as first:
        await first.open_asks(1)
    async with AsyncClient(url, token, patience=math.inf) as client:
        yield client


def _run(work: Coroutine[object, object, None]) -> None:
    try:
        asyncio.run(work)
    except* (NotOpencodeError, ClientError) as group:
        fail(str(group.exceptions[0]))
