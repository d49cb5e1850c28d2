"""API calls from a command: what authenticates them, and how failures are reported.

The person's key is sent to the configured service, and only after it has proved that it knows the key.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlencode, urlsplit

import aiohttp
from pydantic import JsonValue, TypeAdapter

from answerback_agents.cli.ask_output import get_dicts
from answerback_agents.cli.output import fail
from answerback_agents.cli.service_address import resolve_url
from answerback_base.key_proof import key_proof
from answerback_client import (
    AsyncClient,
    ClientError,
    NotFoundError,
    RefusedError,
    UnauthorizedError,
    UnreachableError,
)
from answerback_client.token_proof import MAX_PROOF, proof_in

T = TypeVar("T")
JsonObject = dict[str, JsonValue]

JSON_OBJECT: Final = TypeAdapter(JsonObject)
ROWS: Final = TypeAdapter(list[JsonObject])

START_HINT: Final = "Start one with `answerback serve`, or name it with --url."
_MAY_HAVE_ACTED: Final = "The command may have taken effect. Check before you run it again."
TOKEN_HINT: Final = "Set ANSWERBACK_TOKEN to a token."
_KEY_HINT: Final = (
    "Without one, the person's key is sent, but only to the address in the configuration."
)
_PATIENCE: Final = 5.0


class UnprovedServiceError(ClientError):
    """The program at the service's address did not prove that it knows the person's key, which was not sent."""


@dataclass(frozen=True, slots=True)
class ServiceAccess:
    """A service's address, and what calls are authenticated with."""

    url: str
    token: str | None = field(repr=False)
    """The token that the caller names. It is used for any address that they name: an agent's token only once that has
    proved itself."""
    key: str | None = field(default=None, repr=False)
    """The key of the configured service, if no token is named and this is its address."""

    def open_session(self) -> aiohttp.ClientSession:
        if self.key is not None:
            return aiohttp.ClientSession(middlewares=(_KeyBearer(self.url, self.key),))
        return aiohttp.ClientSession()

    async def headers(self, http: aiohttp.ClientSession) -> dict[str, str]:
        """The headers of a call without the client, with the token, if the listener knows it."""
        if self.token is None:
            return {}
        await self.client(http).prove_listener()
        return {"Authorization": f"Bearer {self.token}"}

    def client(self, http: aiohttp.ClientSession) -> AsyncClient:
        return AsyncClient(self.url, self.token, http=http, patience=_PATIENCE)


def resolve_access(url: str | None, token: str | None, config: Path | None = None) -> ServiceAccess:
    """The service that a command calls, and the token for it: by default the person's key of the configured service."""
    base = resolve_url(url, config)
    if token is not None:
        return ServiceAccess(base, token)
    from answerback_agents.cli.local_service import address_and_key

    base, key = address_and_key(base, config)
    return ServiceAccess(base, None, key)


def agent_access(url: str | None, token: str | None) -> ServiceAccess:
    """The service that an agent's command calls, to which the person's key is never sent."""
    return ServiceAccess(resolve_url(url), token)


def call_service(
    access: ServiceAccess, work: Callable[[AsyncClient], Awaitable[T]], hint: str = ""
) -> T:
    """Run API calls and return their result; ends the command with a message if one fails.

    Args:
        hint: what to add to the message that there is no such thing.
    """

    async def call() -> T:
        async with access.open_session() as http:
            return await work(access.client(http))

    try:
        return asyncio.run(call())
    except NotFoundError as error:
        fail(f"{error}{hint}")
    except UnreachableError as error:
        fail(f"{error} {_MAY_HAVE_ACTED if error.may_have_acted else START_HINT}")
    except UnauthorizedError as error:
        fail(f"{access.url}: {error} {TOKEN_HINT} {_KEY_HINT}")
    except RefusedError as error:
        messages = [str(each["message"]) for each in get_dicts(error.problem, "errors")]
        fail(f"{access.url}: {' '.join(messages) or error}")
    except ClientError as error:
        fail(f"{access.url}: {error}")


def call_api(access: ServiceAccess, method: str, path: str, hint: str = "") -> JsonObject:
    return call_service(access, lambda client: client.call(method, path), hint)


async def fetch_all(
    client: AsyncClient, path: str, query: dict[str, str], rows: str
) -> list[JsonObject]:
    fetched: list[JsonObject] = []
    after: JsonValue = ""
    while after is not None:
        more = {"after": str(after)} if after else {}
        page = await client.call("GET", f"{path}?{urlencode(query | more)}")
        fetched += ROWS.validate_python(page[rows])
        after = page["next"]
    return fetched


@dataclass(frozen=True, slots=True)
class _KeyBearer:
    """Adds the key to each call, after a challenge: the program at the address may have changed since the last call."""

    base: str
    key: str = field(repr=False)

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        await self._challenge(request.session)
        request.headers["Authorization"] = f"Bearer {self.key}"
        return await handler(request)

    async def _challenge(self, http: aiohttp.ClientSession) -> None:
        nonce = secrets.token_hex(32)
        async with http.get(
            f"{self.base}/v1/proof",
            params={"nonce": nonce},
            middlewares=(),
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=10),
        ) as response:
            body = await response.content.read(MAX_PROOF)
        parts = urlsplit(self.base)
        expected = key_proof(self.key.encode(), nonce, parts.hostname or "", parts.port or 80)
        if not hmac.compare_digest(proof_in(body), expected.encode()):
            raise UnprovedServiceError(
                f"The program at {self.base} did not prove that it is your Answerback service, so it got no key and "
                "nothing was done. Another program may be using its port."
            )
