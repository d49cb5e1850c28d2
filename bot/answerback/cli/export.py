"""``answerback export``: prints everything that a service has stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from os.path import splitext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from answerback_agents.cli.options import Config, Token, Url
from answerback_agents.cli.output import fail, print_result

if TYPE_CHECKING:
    import aiohttp

    from answerback_agents.cli.api_client import ServiceAccess

_MAX_LINE: Final = 64 * 1024 * 1024
"""The maximum size of an exported line, in bytes."""
_MAX_NAME: Final = 255
"""The maximum size of a file's name, in bytes, on common file systems."""
_MAX_ENDING: Final = 11
"""The maximum size of the ending of a file's name, in characters."""


Since = Annotated[
    str | None,
    typer.Option(
        help="Print only the asks that have changed since an earlier export: the `next` of its last line, or empty."
    ),
]


Files = Annotated[
    Path | None,
    typer.Option(
        help="Save the files that agents and people sent into this folder, each below its ask's id.",
        file_okay=False,
    ),
]


def command(
    since: Since = None,
    files: Files = None,
    url: Url = None,
    token: Token = None,
    config: Config = None,
) -> None:
    """Print everything as JSON lines: asks, their records, and webhook deliveries.

    Example: `answerback export > answerback.jsonl`

    Run this in the service's folder as the service's user, or give it a front end's token. With an agent's token, it
    prints only that agent's asks.
    """
    import asyncio

    from answerback_agents.cli.api_client import resolve_access

    asyncio.run(_print_export(resolve_access(url, token, config), since, files))


async def _print_export(access: ServiceAccess, since: str | None, files: Path | None) -> None:
    import aiohttp

    from answerback_agents.cli.api_client import START_HINT
    from answerback_client import ClientError, UnreachableError

    began = ended = False
    timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
    try:
        async with (
            access.open_session() as http,
            http.get(
                f"{access.url}/v1/export",
                headers=await access.headers(http),
                params={} if since is None else {"since": since},
                allow_redirects=False,
                timeout=timeout,
                read_bufsize=_MAX_LINE,
            ) as response,
        ):
            if response.status != HTTPStatus.OK:
                fail(f"{access.url} refused the export: {await _refusal_reason(response)}")
            began = True
            async for line in response.content:
                print_result(line.decode().rstrip("\n"))
                exported = json.loads(line)
                ended = exported["type"] == "end"
                if files is not None and exported["type"] == "ask":
                    sent = exported["ask"]
                    for file in (*sent["files"], *sent["answer_files"]):
                        await _save(access, http, file, files / sent["id"])
    except UnreachableError as error:
        fail(f"{error} {START_HINT}")
    except ClientError as error:
        fail(str(error))
    except (aiohttp.ClientError, TimeoutError, ValueError):
        if not began:
            fail(f"Cannot reach Answerback at {access.url}. {START_HINT}")
    if not ended:
        fail("The export is incomplete, as the service stopped before its end. Export again.")


async def _save(
    access: ServiceAccess, http: aiohttp.ClientSession, file: Mapping[str, str], folder: Path
) -> None:
    """Save a file, or end the command if that fails."""
    import asyncio

    address = f"{access.url}/v1/files/{file['id']}"
    headers = await access.headers(http)
    async with http.get(address, headers=headers, allow_redirects=False) as response:
        if response.status == HTTPStatus.NOT_FOUND:
            return  # its ask was erased in the meantime
        response.raise_for_status()
        data = await response.read()
    path = folder / _saved_name(file)
    try:
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        await asyncio.to_thread(path.write_bytes, data)
    except OSError as error:
        fail(
            f"Cannot write {path}: {error.strerror}. Make room there or name another folder with --files, and export"
            " again."
        )


def _saved_name(file: Mapping[str, str]) -> str:
    """Return a name without folders. The id in front tells a file from others; a long stem is cut, not the ending."""
    name = f"{file['id']}-{file['name']}"
    stem, ending = splitext(name)
    if len(ending) > _MAX_ENDING:
        stem, ending = name, ""
    room = _MAX_NAME - len(ending.encode())
    return stem.encode()[:room].decode(errors="ignore") + ending


async def _refusal_reason(response: aiohttp.ClientResponse) -> str:
    body = await response.json(content_type=None)
    return str(body.get("detail") or body["title"])
