"""``answerback export`` and ``answerback erase`` at work: for operators, over the HTTP API."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote

import aiohttp
import typer
from pydantic import JsonValue

from answerback.cli.api_client import call_service, resolve_service
from answerback.cli.output import EXIT_FAILED, fail, print_result, say, warn
from answerback_chat.sanitize import as_json
from answerback_client import AsyncClient, RefusedError

Json = dict[str, JsonValue]

_EXIT_USAGE: Final = 2
_MAX_LINE: Final = 64 * 1024 * 1024
"""Bytes of one exported line, at the most."""


def export(url: str | None, token: str | None, config: Path | None) -> None:
    """Prints everything; fails where the service stopped before the end."""
    if not asyncio.run(_exported(*resolve_service(url, token, config))):
        fail("The export is incomplete: the service stopped before its end. Export again.")


def erase(
    asks: Sequence[str],
    url: str | None,
    token: str | None,
    config: Path | None,
    *,
    json_output: bool,
) -> None:
    """Erases each ask; fails where one was refused."""

    async def work(client: AsyncClient) -> list[Json]:
        return [await _erased(client, ask_id) for ask_id in asks]

    done = call_service(*resolve_service(url, token, config), work)
    for one in done:
        if one["refused"] is None:
            say(f"{one['id']}: erased.")
        else:
            warn(f"{one['id']}: {one['refused']}")
    if json_output:
        print_result(as_json([*done]))
    if any(one["refused"] is not None for one in done):
        sys.exit(EXIT_FAILED)


def confirm_erase(asks: Sequence[str]) -> None:
    """Asks before anything is erased; ends the command where the answer is no."""
    if not sys.stdin.isatty():
        fail("Nothing is erased: there is no terminal to ask at. Add --yes.", _EXIT_USAGE)
    if not typer.confirm(f"Erase what was said in {len(asks)} ask(s), for good?", err=True):
        fail("Nothing is erased.")


async def _erased(client: AsyncClient, ask_id: str) -> Json:
    """Whether an ask is erased, or why not."""
    try:
        await client.call("POST", f"/v1/asks/{quote(ask_id, safe='')}/erase")
    except RefusedError as error:
        return {"id": ask_id, "erased": False, "refused": str(error)}
    return {"id": ask_id, "erased": True, "refused": None}


async def _exported(base: str, token: str | None) -> bool:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    ended = False
    timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
    try:
        async with (
            aiohttp.ClientSession(headers=headers, timeout=timeout, read_bufsize=_MAX_LINE) as http,
            http.get(f"{base}/v1/export") as response,
        ):
            if response.status != HTTPStatus.OK:
                fail(f"{base} refused: {await _why(response)}")
            async for line in response.content:
                print_result(line.decode().rstrip("\n"))
                ended = json.loads(line)["type"] == "end"
    except (aiohttp.ClientError, TimeoutError, ValueError):
        warn(
            f"The connection to {base} failed. Start a service with `answerback serve`, or name it with --url."
        )
    return ended


async def _why(response: aiohttp.ClientResponse) -> str:
    body = await response.json(content_type=None)
    return str(body.get("detail") or body["title"])
