"""A connection to one service for asyncio: the token's proof before each request, and errors.

`answerback_client.async_client` has the operations. Programs that speak another protocol to the service use this.
"""

from __future__ import annotations

import io
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import aiohttp

from answerback_client import errors
from answerback_client.errors import (
    ClientError,
    Json,
    UnauthorizedError,
    UnreachableError,
    UnsentError,
    parse_body,
    reason_of,
)
from answerback_client.models import EndedError, InvalidCallError, StaleError
from answerback_client.token_proof import MAX_PROOF, TokenChallenge, is_provable, is_unknown

_CHALLENGE_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)
_REFUSALS: Final = errors.REFUSALS | {
    409: StaleError,
    410: EndedError,
    422: InvalidCallError,
}


class ServiceConnection:
    """A connection to one service, as one agent, front end or person.

    Args:
        url: the address of the service.
        token: sent only to a program that has proved that it knows it, before each request. A person's key is sent
            without that.
        http: a session to use; by default, the connection creates its own and closes it.
        token_name: how errors name the token.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        http: aiohttp.ClientSession | None = None,
        token_name: str = "this token",
    ) -> None:
        self.url = url.rstrip("/")
        self._proved_token = token if token and is_provable(token) else None
        self._token_name = token_name
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = http
        self._owns_http = http is None

    async def close(self) -> None:
        """Close the connection's own session."""
        if self._http is not None and self._owns_http:
            await self._http.close()
            self._http = None

    @asynccontextmanager
    async def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        headers: Mapping[str, str],
        timeout: float | None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request once, and let its response be read.

        Args:
            body: JSON, or bytes that are sent as they are; None: nothing.
            timeout: seconds until the response has been read; None: unlimited.

        Raises:
            UnauthorizedError: the service has no such token.
            UnreachableError: the service is down, or the connection broke, also while the response was read.
        """
        await self.prove_listener()
        headers = {**self._headers, **headers}
        if (propagate := sys.modules.get("opentelemetry.propagate")) is not None:
            propagate.inject(headers)  # the caller is traced: its trace continues in the service
        try:
            async with self._session().request(
                method,
                self.url + path,
                json=None if isinstance(body, bytes) else body,
                data=io.BytesIO(body) if isinstance(body, bytes) else None,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=timeout),
                allow_redirects=False,
            ) as response:
                yield response
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise self._invalid_address() from error
        except aiohttp.ClientConnectorError as error:
            raise UnsentError(self._why_unreachable(error)) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(self._why_unreachable(error)) from error

    async def prove_listener(self) -> None:
        """Make the listener prove that it knows the token, if there is one: every request does, before it sends that.

        Raises:
            UnauthorizedError: it says that it is the service, and has no such token.
            UnreachableError: it does not, like a service that is away: another program may have its port for a while.
        """
        if self._proved_token is None:
            return
        challenge = TokenChallenge(self._proved_token)
        try:
            async with self._session().get(
                f"{self.url}/v1/proof",
                params=challenge.query,
                timeout=_CHALLENGE_TIMEOUT,
                allow_redirects=False,
            ) as response:
                body = await response.content.read(MAX_PROOF)
                status = response.status
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise self._invalid_address() from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnsentError(self._why_unreachable(error)) from error
        if challenge.is_proved_by(body):
            return
        if is_unknown(status, body):
            detail = f"No agent has {self._token_name}."
            raise UnauthorizedError(HTTPStatus.UNAUTHORIZED, {"detail": detail})
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnsentError(f"{self.url} answered HTTP {status}.")
        raise UnsentError(
            f"Cannot reach Answerback at {self.url}: the program there did not prove that it knows {self._token_name}, "
            "and did not get it."
        )

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession()
        return self._http

    def _invalid_address(self) -> ClientError:
        return ClientError(f"{self.url} is not a valid Answerback address. Use http://host:port.")

    def _why_unreachable(self, error: Exception) -> str:
        return f"Cannot reach Answerback at {self.url}: {reason_of(error)}."


def parse_response(response: aiohttp.ClientResponse, url: str, raw: bytes) -> Json:
    """Return the JSON object of a response; raises what `check_response` and `parse_body` do."""
    check_response(response, url, raw)
    return parse_body(url, raw, response.status)


def check_response(response: aiohttp.ClientResponse, url: str, raw: bytes) -> None:
    """Raise an error if a response reports one; see `answerback_client.errors.check_response`."""
    retry_after = response.headers.get("Retry-After")
    errors.check_response(url, response.status, raw, retry_after, _REFUSALS)
