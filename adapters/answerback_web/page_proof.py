"""Prove to an open page that an answer comes from the service, not from a program that has taken its port.

A page carries an id and a secret derived from it. Its script sends the id with a nonce, and takes in only an answer
that carries an HMAC of the nonce and the body under the secret. Nothing is stored: the service derives the secret
again. It does not depend on a key, so that it works for every visitor. It depends on the host that the page was
requested from: a program on another port cannot have the service prove an answer for it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

CHALLENGE_HEADER: Final = "Answerback-Challenge"
PROOF_HEADER: Final = "Answerback-Proof"
_CHALLENGE: Final = re.compile(r"([0-9a-f]{32})\.([0-9a-f]{32})")
_HOST: Final[ContextVar[str]] = ContextVar("host")
"""The host of the request that is being handled."""


@dataclass(frozen=True, slots=True)
class PageProofs:
    """Makes the proofs of one site; ``secret`` is its own."""

    secret: bytes = field(repr=False)

    def new_pair(self) -> str:
        """Return an id and its secret, for a page in response to the current request."""
        page_id = secrets.token_hex(16)
        return f"{page_id}.{self._secret(page_id, _HOST.get())}"

    def challenged_page(self, request: web.Request) -> str | None:
        """Return the id of the page that a request comes from; None if it has no challenge."""
        match = _CHALLENGE.fullmatch(request.headers.get(CHALLENGE_HEADER, ""))
        return None if match is None else match[1]

    def sealing_key(self, page_id: str, host: str) -> bytes:
        """Return the key of AES-256-GCM for what a page and the service tell each other."""
        secret = bytes.fromhex(self._secret(page_id, host))
        return hmac.new(secret, b"seal", hashlib.sha256).digest()

    def prove(self, challenge: str, host: str, body: bytes) -> str | None:
        match = _CHALLENGE.fullmatch(challenge)
        if match is None:
            return None
        key = bytes.fromhex(self._secret(match[1], host))
        return hmac.new(key, match[2].encode() + body, hashlib.sha256).hexdigest()

    def _secret(self, page_id: str, host: str) -> str:
        message = f"answerback:web:page:{page_id}:{host}".encode("utf-8", "surrogateescape")
        return hmac.new(self.secret, message, hashlib.sha256).hexdigest()

    def guard(self, route: web.RouteDef) -> web.RouteDef:
        """Return a route whose answers carry a proof if the request has a challenge."""

        async def handle(request: web.Request) -> web.StreamResponse:
            _HOST.set(request.host)
            response: web.StreamResponse = await route.handler(request)
            challenge = request.headers.get(CHALLENGE_HEADER)
            if challenge is not None and isinstance(response, web.Response):
                body = response.body if isinstance(response.body, bytes) else b""
                proof = self.prove(challenge, request.host, body)
                if proof is not None:
                    response.headers[PROOF_HEADER] = proof
            return response

        return web.RouteDef(route.method, route.path, handle, route.kwargs)
