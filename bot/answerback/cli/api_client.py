"""API calls from a command, and how failures are reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar
from urllib.parse import urlencode

from pydantic import JsonValue, TypeAdapter

from answerback.cli.output import fail
from answerback.cli.person_key import ServiceAccess
from answerback_client import (
    AsyncClient,
    ClientError,
    NotFoundError,
    UnauthorizedError,
    UnreachableError,
)

T = TypeVar("T")
JsonObject = dict[str, JsonValue]

JSON_OBJECT: Final = TypeAdapter(JsonObject)
ROWS: Final = TypeAdapter(list[JsonObject])

START_HINT: Final = "Start one with `answerback serve`, or name it with --url."
TOKEN_HINT: Final = "Set ANSWERBACK_TOKEN to a token."
_KEY_HINT: Final = (
    "Without one, the person's key is sent, but only to the address in the configuration."
)
_PATIENCE: Final = 5.0


def call_service(
    access: ServiceAccess, work: Callable[[AsyncClient], Awaitable[T]], ask_id: str = ""
) -> T:
    """Run API calls and return their result; ends the command with a message if one fails."""
    try:
        return asyncio.run(_call_with_client(access, work))
    except NotFoundError:
        fail(f"There is no ask with the id {ask_id}.")
    except UnreachableError as error:
        fail(f"{error} {START_HINT}")
    except UnauthorizedError as error:
        fail(f"{access.url}: {error} {TOKEN_HINT} {_KEY_HINT}")
    except ClientError as error:
        fail(f"{access.url}: {error}")


@asynccontextmanager
async def open_client(access: ServiceAccess) -> AsyncIterator[AsyncClient]:
    """Open a client of a service that is expected to be running."""
    async with access.open_session() as http:
        yield AsyncClient(access.url, http=http, patience=_PATIENCE)


async def _call_with_client(
    access: ServiceAccess, work: Callable[[AsyncClient], Awaitable[T]]
) -> T:
    async with open_client(access) as client:
        return await work(client)


async def fetch_all(
    client: AsyncClient, path: str, query: dict[str, str], rows: str
) -> list[JsonObject]:
    """Fetch all rows of all pages."""
    fetched: list[JsonObject] = []
    after: JsonValue = ""
    while after is not None:
        more = {"after": str(after)} if after else {}
        page = await client.call("GET", f"{path}?{urlencode(query | more)}")
        fetched += ROWS.validate_python(page[rows])
        after = page["next"]
    return fetched
