"""A connection to one service for asyncio: the token's proof before each request, errors, and retries.

`answerback_client.async_client` has the operations. Programs that speak another protocol to the service use this.
"""

from __future__ import annotations

import asyncio
import io
import random
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import aiohttp
from pydantic import ValidationError

from answerback_client.models import (
    OBJECT,
    ClientError,
    EndedError,
    InvalidCallError,
    Json,
    NotFoundError,
    RefusedError,
    StaleError,
    TooManyAsksError,
    UnauthorizedError,
    UnreachableError,
    reason_of,
)
from answerback_client.token_proof import MAX_PROOF, TokenChallenge, is_provable, is_unknown

_CHALLENGE_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 10.0
_REFUSALS: Final = {
    401: UnauthorizedError,
    403: UnauthorizedError,
    404: NotFoundError,
    409: StaleError,
    410: EndedError,
    422: InvalidCallError,
    429: TooManyAsksError,
}


class _UnsentError(UnreachableError):
    """The request was not sent: nothing listens, or the listener did not prove that it knows the token."""


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
            raise _UnsentError(self._why_unreachable(error)) from error
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
            raise _UnsentError(self._why_unreachable(error)) from error
        if challenge.is_proved_by(body):
            return
        if is_unknown(status, body):
            detail = f"No agent has {self._token_name}."
            raise UnauthorizedError(HTTPStatus.UNAUTHORIZED, {"detail": detail})
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _UnsentError(f"{self.url} answered HTTP {status}.")
        raise _UnsentError(
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


class Retries:
    """The tries of one call to a service that is down.

    Args:
        patience: seconds for which the call is tried again.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._failures = 0
        self._may_have_acted = False
        self.renew()

    def renew(self) -> None:
        """Begin the patience anew: the service is there."""
        self._until = time.monotonic() + self._patience

    async def pause_after(
        self, error: UnreachableError | TooManyAsksError, *, changes: bool, repeat: bool = True
    ) -> None:
        """Pause before the next try, or raise the error: there is none.

        Args:
            changes: whether the call may have changed something, if it was sent.
            repeat: whether the call may be sent again.
        """
        pause = _pause_after(self._failures)
        self._failures += 1
        if isinstance(error, TooManyAsksError):
            pause = max(pause, error.retry_after)
        else:
            self._may_have_acted |= changes and not isinstance(error, _UnsentError)
            error.may_have_acted = self._may_have_acted
        if not repeat or time.monotonic() + pause > self._until:
            raise error
        await asyncio.sleep(pause)


def _pause_after(failures: int) -> float:
    """Seconds until the next try, random so that clients that failed together do not retry together."""
    grown: float = _FIRST_PAUSE * 2.0 ** min(failures, 10)
    return min(grown, _LONGEST_PAUSE) * random.uniform(1.0, 1.25)


def parse_response(response: aiohttp.ClientResponse, url: str, raw: bytes) -> Json:
    """Return the JSON object of a response; raises what `check_response` and `parse_body` do."""
    check_response(response, url, raw)
    return parse_body(url, raw, response.status)


def parse_body(url: str, raw: bytes, status: int = HTTPStatus.OK) -> Json:
    """Return a JSON object.

    Args:
        url: the address of the service, for errors.
        status: of its response.

    Raises:
        ClientError: it is none, so this is not Answerback.
    """
    try:
        return OBJECT.validate_json(raw)
    except ValidationError:
        message = f"The server at {url} is not Answerback (HTTP {status:d}, no JSON object)."
        raise ClientError(message) from None


def check_response(response: aiohttp.ClientResponse, url: str, raw: bytes) -> None:
    """Raise an error if a response reports one.

    Args:
        url: the address of the service, for errors.
        raw: the response's body.

    Raises:
        RefusedError: the service refused the call; one of its subclasses.
        UnreachableError: the service cannot answer now.
        ClientError: it is not Answerback.
    """
    status = response.status
    if status < HTTPStatus.BAD_REQUEST:
        return
    try:
        body = parse_body(url, raw, status)
    except ClientError as error:
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnreachableError(f"{url} answered HTTP {status}.") from error
        raise
    # 501 does not pass: the service lacks a part.
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED:
        raise UnreachableError(f"{url} answered HTTP {status}.")
    # A 409 without an ask has another cause, such as erasing an ask that is still open.
    is_specific = status != HTTPStatus.CONFLICT or "revision" in body
    refusal = (_REFUSALS.get(status, RefusedError) if is_specific else RefusedError)(status, body)
    if isinstance(refusal, TooManyAsksError):
        retry_after = response.headers.get("Retry-After", "")
        refusal.retry_after = float(retry_after) if retry_after.isdecimal() else 0.0
    raise refusal
