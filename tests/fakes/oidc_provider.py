"""A provider of OpenID Connect that says whatever a test wants it to say, on loopback."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from answerback.runtime.sockets import bind_socket, socket_url

CLIENT = "answerback"
SECRET = "the secret of the client"


@dataclass
class FakeProvider:
    """A provider: who signs in next, what its tokens say, and what it was asked."""

    url: str
    subject: str = "248289761001"
    kid: str | None = "first"
    """The id of its key; None: it has none."""
    key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    )
    claims: dict[str, Any] = field(default_factory=dict)
    """These replace those of its tokens."""
    metadata: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """The paths that were requested."""
    begun: int = 0
    """The number of codes that were given out."""

    def rotate(self, kid: str | None) -> None:
        """Sign with a new key, and publish no other."""
        self.kid = kid
        self.key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)

    def sign_in(self, url: str, subject: str | None = None) -> str:
        """Sign in at an authorization URL, as a person does; return the query that the browser goes back with.

        Args:
            subject: who signs in, if it is not the provider's next one.
        """
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{self.url}/authorize?")
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        code = f"code{self.begun}"
        self.begun += 1
        self.codes[code] = query if subject is None else {**query, "subject": subject}
        return f"code={code}&state={query['state']}"

    def id_token(self, asked: dict[str, str]) -> str:
        claims = self.claims_for(asked)
        return jwt.encode(claims, self.key, algorithm="RS256", headers=self._key_id())

    def claims_for(self, asked: dict[str, str]) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "sub": asked.get("subject", self.subject),
            "aud": CLIENT,
            "exp": now + 300,
            "iat": now,
            "nonce": asked["nonce"],
        }
        return {name: value for name, value in (claims | self.claims).items() if value is not None}

    def _key_id(self) -> dict[str, str]:
        return {} if self.kid is None else {"kid": self.kid}

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/.well-known/openid-configuration", self._metadata),
            web.get("/keys", self._keys),
            web.post("/token", self._token),
        ]

    async def _metadata(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        found = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "code_challenge_methods_supported": ["S256"],
        }
        return web.json_response(found | self.metadata)

    async def _keys(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        public = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return web.json_response({"keys": [{**public, **self._key_id(), "use": "sig"}]})

    async def _token(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        form = {name: str(value) for name, value in (await request.post()).items()}
        pair = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '%20')}".encode()).decode()
        assert request.headers["Authorization"] == f"Basic {pair}"
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            asked is None
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != form["redirect_uri"]
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        return web.json_response(
            {"access_token": "x", "token_type": "Bearer", "id_token": self.id_token(asked)}
        )


@asynccontextmanager
async def oidc_provider() -> AsyncIterator[FakeProvider]:
    """A running provider."""
    bound = await bind_socket("127.0.0.1", 0, "port")
    provider = FakeProvider(socket_url(bound))
    app = web.Application()
    app.add_routes(provider.routes())
    runner = web.AppRunner(app)
    await runner.setup()
    await web.SockSite(runner, bound).start()
    try:
        yield provider
    finally:
        await runner.cleanup()
