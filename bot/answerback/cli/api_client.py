"""API calls from a command: which key they use, and how failures are reported."""

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
TOKEN_HINT: Final = "Set ANSWERBACK_TOKEN to a token."
_PATIENCE: Final = 5.0


def resolve_service(
    url: str | None, token: str | None, config: Path | None = None
) -> tuple[str, str | None]:
    """The service's address, and the token for it: by default the person's key of the local service."""
    base = resolve_url(url, config)
    return base, token or local_key(base, config)


def call_service(
    base: str,
    token: str | None,
    work: Callable[[AsyncClient], Awaitable[T]],
    ask_id: str = "",
) -> T:
    """Run API calls and return their result; ends the command with a message if one fails."""
    try:
        return asyncio.run(_call_with_client(base, token, work))
    except NotFoundError:
        fail(f"There is no ask {ask_id}.")
    except UnreachableError as error:
        fail(f"{error} {START_HINT}")
    except UnauthorizedError as error:
        fail(f"{base}: {error} {TOKEN_HINT}")
    except ClientError as error:
        fail(f"{base}: {error}")


async def _call_with_client(
    base: str, token: str | None, work: Callable[[AsyncClient], Awaitable[T]]
) -> T:
    async with AsyncClient(base, token, patience=_PATIENCE) as client:
        return await work(client)
