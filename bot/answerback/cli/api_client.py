"""Calls of the service's API from a shell: with which key, and what is told where it is away or refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

from answerback.cli.output import fail
from answerback.cli.service_address import local_key, resolve_url
from answerback_client import (
    AsyncClient,
    ClientError,
    NotFoundError,
    UnauthorizedError,
    UnreachableError,
)

T = TypeVar("T")

START_HINT: Final = "Start one with `answerback serve`, or name it with --url."
TOKEN_HINT: Final = "Put a token into ANSWERBACK_TOKEN."
_PATIENCE: Final = 5.0


def resolve_service(
    url: str | None, token: str | None, config: Path | None = None
) -> tuple[str, str | None]:
    """The service, and what opens it: the person's key of the service here where no token is given."""
    base = resolve_url(url, config)
    return base, token or local_key(base, config)


def call_service(
    base: str,
    token: str | None,
    work: Callable[[AsyncClient], Awaitable[T]],
    ask_id: str = "",
) -> T:
    """What comes of some calls; ends the command in words where one fails."""
    try:
        return asyncio.run(_with(base, token, work))
    except NotFoundError:
        fail(f"There is no ask {ask_id}.")
    except UnreachableError as error:
        fail(f"{error} {START_HINT}")
    except UnauthorizedError as error:
        fail(f"{base}: {error} {TOKEN_HINT}")
    except ClientError as error:
        fail(f"{base}: {error}")


async def _with(base: str, token: str | None, work: Callable[[AsyncClient], Awaitable[T]]) -> T:
    async with AsyncClient(base, token, patience=_PATIENCE) as client:
        return await work(client)
