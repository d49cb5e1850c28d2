"""The work of ``answerback export`` and ``answerback erase``: for operators, over the HTTP API."""

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

from answerback.cli.api_client import call_service
from answerback.cli.output import EXIT_FAILED, fail, print_result, say, warn
from answerback.cli.person_key import ServiceAccess, UnprovedServiceError, resolve_access
from answerback.presentation.sanitize import as_json
from answerback_client import AsyncClient, RefusedError

Json = dict[str, JsonValue]

_EXIT_USAGE: Final = 2
_MAX_LINE: Final = 64 * 1024 * 1024
"""The maximum size of an exported line, in bytes."""


def export(url: str | None, token: str | None, config: Path | None) -> None:
    """Print everything; fails if the service stops before the end."""
    if not asyncio.run(_print_export(resolve_access(url, token, config))):
        fail("The export is incomplete, as the service stopped before its end. Export again.")


def erase(
    asks: Sequence[str],
    url: str | None,
    token: str | None,
    config: Path | None,
    *,
    json_output: bool,
) -> None:
    """Erase each ask; fails if one was refused."""

    async def work(client: AsyncClient) -> list[Json]:
        return [await _erase_one(client, ask_id) for ask_id in asks]

    done = call_service(resolve_access(url, token, config), work)
    for result in done:
        if result["refused"] is None:
            say(f"{result['id']}: erased.")
        else:
            warn(f"{result['id']}: {result['refused']}")
    if json_output:
        print_result(as_json([*done]))
    if any(result["refused"] is not None for result in done):
        sys.exit(EXIT_FAILED)


def confirm_erase(asks: Sequence[str]) -> None:
    """Ask for confirmation; ends the command if the answer is no."""
    if not sys.stdin.isatty():
        fail(
            "Nothing was erased, as there is no terminal to ask for confirmation. Add --yes.",
            _EXIT_USAGE,
        )
    if not typer.confirm(f"Permanently erase what was written in {len(asks)} ask(s)?", err=True):
        fail("Nothing was erased.")


async def _erase_one(client: AsyncClient, ask_id: str) -> Json:
    """Erase an ask; returns whether it was erased, or why not."""
    try:
        await client.call("POST", f"/v1/asks/{quote(ask_id, safe='')}/erase")
    except RefusedError as error:
        return {"id": ask_id, "erased": False, "refused": str(error)}
    return {"id": ask_id, "erased": True, "refused": None}


async def _print_export(access: ServiceAccess) -> bool:
    ended = False
    timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
    try:
        async with (
            access.open_session() as http,
            http.get(
                f"{access.url}/v1/export",
                allow_redirects=False,
                timeout=timeout,
                read_bufsize=_MAX_LINE,
            ) as response,
        ):
            if response.status != HTTPStatus.OK:
                fail(f"{access.url} refused the export: {await _refusal_reason(response)}")
            async for line in response.content:
                print_result(line.decode().rstrip("\n"))
                ended = json.loads(line)["type"] == "end"
    except UnprovedServiceError as error:
        fail(str(error))
    except (aiohttp.ClientError, TimeoutError, ValueError):
        warn(
            f"The connection to {access.url} failed. Start a service with `answerback serve`, or name it with --url."
        )
    return ended


async def _refusal_reason(response: aiohttp.ClientResponse) -> str:
    body = await response.json(content_type=None)
    return str(body.get("detail") or body["title"])
