"""The identity provider: its metadata and keys, the address to sign in at, and the exchange of a code.

https://openid.net/specs/openid-connect-discovery-1_0.html and https://openid.net/specs/openid-connect-core-1_0.html
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import aiohttp
from pydantic import BaseModel, ConfigDict, ValidationError

from answerback.core.errors import AnswerbackError
from answerback_base.strict_json import parse_bytes
from answerback_oidc.settings import OidcSettings, is_safe
from answerback_oidc.tokens import TokenRefusedError, UnknownKeyError, verify

_PATIENCE: Final = 10.0
"""Seconds that the provider has for a response."""
_MAX_BYTES: Final = 1_000_000
_KEPT: Final = 3_600.0
"""Seconds for which the metadata and the keys are kept."""
_PAUSE: Final = 30.0
_FAILED: Final = 3.0
"""Seconds for which a failure is not tried again, whoever asks."""
_AT_ONCE: Final = 10
"""Codes that are exchanged at once: anyone can send some."""
_REMEMBERED: Final = 3_600.0
"""Seconds for which states are remembered whose code was sent: longer than a sign-in may take."""


def provider_session() -> aiohttp.ClientSession:
    """Return the session for requests to the provider, which neither keeps cookies nor reads proxies from files."""
    return aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())


class ProviderError(AnswerbackError):
    """The provider cannot be reached, or says something that cannot be used. The message says what."""


class Metadata(BaseModel):
    """The fields of a provider's metadata that are used."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str | None = None
    """https://openid.net/specs/openid-connect-rpinitiated-1_0.html"""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    code_challenge_methods_supported: tuple[str, ...] | None = None
    authorization_response_iss_parameter_supported: bool = False


class Attempt(NamedTuple):
    """The values that a sign-in has to return with."""

    state: str
    nonce: str
    verifier: str


class Provider:
    """A provider, as far as it is known."""

    def __init__(self, settings: OidcSettings, http: aiohttp.ClientSession) -> None:
        self._settings, self._http = settings, http
        self._metadata: Metadata | None = None
        self._keys: Mapping[str, Any] = {}
        self._read_at = self._keys_at = -_KEPT
        self._reading = asyncio.Lock()
        self._failure: tuple[float, ProviderError] | None = None
        self.key_pause = _PAUSE
        """Seconds after which the keys are read again because a token names an unknown one."""
        self._exchanging = asyncio.Semaphore(_AT_ONCE)
        self.states_kept = _REMEMBERED
        """Seconds for which a state is remembered whose code was sent."""
        self._used: dict[str, float] = {}
        """The states whose code was sent, and when, oldest first."""

    async def metadata(self) -> Metadata:
        """Return its metadata.

        Raises:
            ProviderError: they cannot be read, or are not those of this issuer.
        """
        async with self._reading:
            now = time.monotonic()
            if self._metadata is not None and now - self._read_at <= _KEPT:
                return self._metadata
            if self._failure is not None and now - self._failure[0] < _FAILED:
                raise self._failure[1]
            try:
                self._metadata = await self._read_metadata()
            except ProviderError as error:
                self._failure = (time.monotonic(), error)
                raise
            self._read_at = time.monotonic()
            return self._metadata

    async def _read_metadata(self) -> Metadata:
        issuer = self._settings.issuer
        url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            found = Metadata.model_validate(await self._request("GET", url))
        except ValidationError as error:
            raise ProviderError(f"The metadata at {url} lack what a provider must say") from error
        if found.issuer != issuer:
            raise ProviderError(f"{url} says that the issuer is {found.issuer!r}, not {issuer!r}")
        for each in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri):
            if not is_safe(each):
                raise ProviderError(f"{url} names an address that is not https: {each!r}")
        methods = found.code_challenge_methods_supported
        if methods is not None and "S256" not in methods:
            raise ProviderError(f"{issuer} does not take PKCE by S256")
        return found

    async def authorization_url(self, attempt: Attempt, redirect_uri: str) -> str:
        """Return the address at which a person signs in."""
        found = await self.metadata()
        challenge = hashlib.sha256(attempt.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(dict.fromkeys(("openid", *self._settings.scopes))),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        endpoint = found.authorization_endpoint
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def sign_out_url(self) -> str | None:
        """Return the address at which a person signs out of the provider, which asks them; None: it names none now."""
        try:
            endpoint = (await self.metadata()).end_session_endpoint
        except ProviderError:
            return None
        if endpoint is None or not is_safe(endpoint):
            return None
        query = urlencode({"client_id": self._settings.client_id})
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"

    async def subject(
        self, code: str, issuer: str | None, attempt: Attempt, redirect_uri: str, now: float
    ) -> str:
        """Exchange a code, and return who has signed in.

        Args:
            issuer: the one that the response names, https://www.rfc-editor.org/rfc/rfc9207.

        Raises:
            ProviderError: the provider cannot be reached, or refuses the code.
            TokenRefusedError: what it says proves nothing, or a code was sent with this state before.
        """
        found = await self.metadata()
        is_named = issuer is not None or found.authorization_response_iss_parameter_supported
        if is_named and issuer != found.issuer:
            raise TokenRefusedError(f"the response comes from {issuer!r}")
        self._use_up(attempt.state)
        async with self._exchanging:
            body = await self._exchange(found, code, attempt.verifier, redirect_uri)
        token = body.get("id_token")
        if not isinstance(token, str):
            raise TokenRefusedError("there is no ID token")
        try:
            return self._verify(token, await self._read_keys(found, _KEPT), attempt, now)
        except UnknownKeyError:
            return self._verify(token, await self._read_keys(found, self.key_pause), attempt, now)

    def _use_up(self, state: str) -> None:
        """Let one code be sent with a state: whoever begins a sign-in could make up any number of them."""
        now = time.monotonic()
        while self._used and now - self._used[oldest := next(iter(self._used))] > self.states_kept:
            del self._used[oldest]
        if state in self._used:
            raise TokenRefusedError("a code was sent with its state before")
        self._used[state] = now

    def _verify(self, token: str, keys: Mapping[str, Any], attempt: Attempt, now: float) -> str:
        own = self._settings
        return verify(
            token, keys, issuer=own.issuer, client_id=own.client_id, nonce=attempt.nonce, now=now
        )

    async def _read_keys(self, found: Metadata, max_age: float) -> Mapping[str, Any]:
        async with self._reading:
            if time.monotonic() - self._keys_at > max_age or not self._keys:
                self._keys = await self._request("GET", found.jwks_uri)
                self._keys_at = time.monotonic()
            return self._keys

    async def _exchange(
        self, found: Metadata, code: str, verifier: str, redirect_uri: str
    ) -> dict[str, Any]:
        own, headers = self._settings, {}
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        secret = own.client_secret.get_secret_value()
        if not secret:
            form["client_id"] = own.client_id
        elif "client_secret_basic" in found.token_endpoint_auth_methods_supported:
            # https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1
            pair = f"{quote(own.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": own.client_id, "client_secret": secret}
        return await self._request("POST", found.token_endpoint, form, headers)

    async def _request(
        self,
        method: str,
        url: str,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Return the JSON object that an address answers with. Redirects are not followed."""
        try:
            async with (
                asyncio.timeout(_PATIENCE),
                self._http.request(
                    method,
                    url,
                    data=form,
                    headers={"Accept": "application/json", **(headers or {})},
                    allow_redirects=False,
                ) as response,
            ):
                body = b""
                async for chunk in response.content.iter_chunked(65_536):
                    body += chunk
                    if len(body) > _MAX_BYTES:
                        raise ProviderError(f"{url} answered with more than {_MAX_BYTES} bytes")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ProviderError(f"{url} cannot be reached: {error!r}") from error
        if response.status != 200:
            raise ProviderError(f"{url} answered with the status {response.status}")
        try:
            found = parse_bytes(body)
        except ValueError as error:
            raise ProviderError(f"{url} answered with something that is not JSON") from error
        if not isinstance(found, dict):
            raise ProviderError(f"{url} answered with something that is no JSON object")
        return found
