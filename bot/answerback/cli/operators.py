"""``answerback export`` and ``answerback erase`` at work: for operators, over the HTTP API."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp
import typer

from answerback.cli.address import url_or_configured
from answerback.cli.output import EXIT_FAILED, fail, result, say, warn
from answerback.runtime.config_file import load
from answerback_storage.key_file import KeyFile

_EXIT_USAGE: Final = 2
_MAX_LINE: Final = 64 * 1024 * 1024
"""Bytes of one exported line, at the most."""


def export(url: str | None, token: str | None, config: Path | None) -> None:
    """Prints everything; fails where the service stopped before the end."""
    if not asyncio.run(_exported(url_or_configured(url), _headers(token, config))):
        fail("The export is incomplete: the service stopped before its end. Export again.")


def erase(asks: Sequence[str], url: str | None, token: str | None, config: Path | None) -> None:
    """Erases each ask; fails where one was refused."""
    if not asyncio.run(_erased(url_or_configured(url), _headers(token, config), asks)):
        sys.exit(EXIT_FAILED)


def confirm(asks: Sequence[str]) -> None:
    """Asks before anything is erased; ends the command where the answer is no."""
    if not sys.stdin.isatty():
        fail("Nothing is erased: there is no terminal to ask at. Add --yes.", _EXIT_USAGE)
    if not typer.confirm(f"Erase what was said in {len(asks)} ask(s), for good?", err=True):
        fail("Nothing is erased.")


def _headers(token: str | None, config: Path | None) -> dict[str, str]:
    """The token, else the person's key where the service's folder is."""
    bearer = token or KeyFile(load(config).storage.sqlite_path).read()
    return {"Authorization": f"Bearer {bearer}"} if bearer else {}


async def _exported(base: str, headers: dict[str, str]) -> bool:
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
                result(line.decode().rstrip("\n"))
                ended = json.loads(line)["type"] == "end"
    except (aiohttp.ClientError, TimeoutError, ValueError):
        warn(
            f"The connection to {base} failed. Start a service with `answerback serve`, or name it with --url."
        )
    return ended


async def _erased(base: str, headers: dict[str, str], asks: Sequence[str]) -> bool:
    done = True
    async with aiohttp.ClientSession(headers=headers) as http:
        for ask_id in asks:
            try:
                async with http.post(f"{base}/v1/asks/{ask_id}/erase") as response:
                    if response.status == HTTPStatus.OK:
                        say(f"{ask_id}: erased.")
                        continue
                    warn(f"{ask_id}: {await _why(response)}")
            except (aiohttp.ClientError, TimeoutError, ValueError):
                fail(
                    f"No Answerback answers at {base}. Start one with `answerback serve`, or name it with --url."
                )
            done = False
    return done


async def _why(response: aiohttp.ClientResponse) -> str:
    body = await response.json(content_type=None)
    return str(body.get("detail") or body["title"])
