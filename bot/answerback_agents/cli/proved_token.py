"""Calls with an agent's token, which is sent only to a listener that has proved that it knows it."""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import aiohttp

from answerback_base.token_proof import hash_of, token_id, token_proof
from answerback_client import UnauthorizedError

_MAX_PROOF: Final = 4_096
"""Bytes of a proof, which may come from any program."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)


def open_session(url: str, token: str | None, token_env: str) -> aiohttp.ClientSession:
    """Open a session for calls of a service, with a token if there is one."""
    if token is None:
        return aiohttp.ClientSession()
    return aiohttp.ClientSession(middlewares=(_TokenBearer(url.rstrip("/"), token, token_env),))


@dataclass(frozen=True, slots=True)
class _TokenBearer:
    """Adds the token to each call, after a challenge: the program at the address may be another one by then."""

    base: str
    token: str = field(repr=False)
    token_env: str

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        await self._challenge(request.session)
        request.headers["Authorization"] = f"Bearer {self.token}"
        return await handler(request)

    async def _challenge(self, http: aiohttp.ClientSession) -> None:
        """Make the listener prove that it knows the token.

        Raises:
            UnauthorizedError: it says that it is the service, and has no such token.
            aiohttp.ClientConnectionError: it does not, like a service that is away: another program may have its port
                for a while.
        """
        nonce, hashed = secrets.token_hex(16), hash_of(self.token)
        query = {"nonce": nonce, "token": token_id(hashed)}
        async with http.get(
            f"{self.base}/v1/proof",
            params=query,
            middlewares=(),
            allow_redirects=False,
            timeout=_TIMEOUT,
        ) as response:
            body = await response.content.read(_MAX_PROOF)
        if response.status == HTTPStatus.NOT_FOUND and b'"Token unknown"' in body:
            detail = f"No agent has the token in {self.token_env}."
            raise UnauthorizedError(HTTPStatus.UNAUTHORIZED, {"detail": detail})
        if not hmac.compare_digest(proof_in(body), token_proof(hashed, nonce).encode()):
            raise aiohttp.ClientConnectionError(
                f"the program there did not prove that it knows the token in {self.token_env}, and did not get it"
            )


def proof_in(body: bytes) -> bytes:
    """Return the proof in a response, or nothing."""
    try:
        return str(json.loads(body)["proof"]).encode("utf-8", "replace")
    except (ValueError, TypeError, KeyError, RecursionError):
        return b""
