"""The device authorization grant for programs (RFC 8628), and the metadata that announces it (RFC 8414).

These are the only calls of agents that need no token. Each is limited, by address and in all, before anything is read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import web
from pydantic import JsonValue

from answerback.api.operation import json_response
from answerback.core.errors import StoreError
from answerback.http.client_address import Network, client_address, scheme_of
from answerback.http.request_body import BodyError, receive_body
from answerback.http.request_rates import RequestRates
from answerback.ports.clock import Clock
from answerback.ports.extension import RunToCompletion
from answerback_teams.sign_ins import CODE_SECONDS, INTERVAL, PollError, SignIns
from answerback_teams.values import AskingProgram

logger = logging.getLogger(__name__)

METADATA: Final = "/.well-known/oauth-authorization-server"
DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
CLIENT: Final = "answerback"
"""The only client: a public one, which proves nothing about the program."""
MAX_BODY: Final = 4 * 1024
BEGINNINGS: Final = (60, 300)
"""Sign-ins that may begin in a minute: from one address, and in all."""
POLLS: Final = (2_400, 12_000)
"""Polls in a minute: those of as many sign-ins as may wait, every five seconds."""
_READS: Final = (600, 6_000)
_CLAIM: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,38}[A-Za-z0-9])?")
"""The names that a program may give itself and its machine: nothing that deceives an eye."""
_HEADERS: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_FORM: Final = "application/x-www-form-urlencoded"
_DESCRIPTIONS: Final = {
    PollError.AUTHORIZATION_PENDING: "Nobody has approved this yet.",
    PollError.SLOW_DOWN: "You ask too often: wait five seconds longer between two calls.",
    PollError.ACCESS_DENIED: "This was denied, or whoever approved it may have no more agents.",
    PollError.EXPIRED_TOKEN: "The code has expired: begin again.",
    PollError.INVALID_GRANT: "There is no such code, or it was used already.",
}


class OAuthError(Exception):
    """A call gets an error of RFC 6749.

    Args:
        pause: seconds after which to call again.
    """

    def __init__(
        self, error: str, description: str, status: int = 400, pause: int | None = None
    ) -> None:
        super().__init__(description)
        self.error, self.status, self.pause = error, status, pause

    def response(self) -> web.Response:
        body: dict[str, JsonValue] = {"error": self.error, "error_description": str(self)}
        headers = {} if self.pause is None else {"Retry-After": str(self.pause)}
        return _response(body, self.status, headers)


class OAuthEndpoints:
    """The endpoints.

    Args:
        address: the address at which people reach the service.
        proxies: the networks of trusted proxies.
    """

    def __init__(
        self,
        sign_ins: SignIns,
        clock: Clock,
        address: str,
        proxies: Sequence[Network],
        run_to_completion: RunToCompletion,
    ) -> None:
        self._sign_ins, self._address, self._proxies = sign_ins, address, proxies
        self._run_to_completion = run_to_completion
        self._beginnings = RequestRates(*BEGINNINGS, clock.monotonic)
        self._polls = RequestRates(*POLLS, clock.monotonic)
        self._reads = RequestRates(*_READS, clock.monotonic)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes, for the agents' listener."""
        return [
            web.get(METADATA, self._limited(self._reads, self._metadata)),
            web.post("/oauth/device_authorization", self._limited(self._beginnings, self._begin)),
            web.post("/oauth/token", self._limited(self._polls, self._token)),
        ]

    def _limited(
        self, rates: RequestRates, answer: Callable[[web.Request], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            if not self._sign_ins.is_open():
                raise web.HTTPNotFound
            source = client_address(request, self._proxies).source
            if (pause := rates.pause(source)) is not None:
                text = "Too many such calls come from this address or in all."
                return OAuthError("slow_down", text, 429, pause).response()
            rates.count(source)
            try:
                return await answer(request)
            except OAuthError as error:
                return error.response()
            except StoreError:
                logger.exception("A sign-in failed", extra={"action": "sign_in"})
                text = "Try again in a moment."
                return OAuthError("temporarily_unavailable", text, 503).response()

        return handle

    async def _metadata(self, request: web.Request) -> web.Response:
        """Describe the endpoints. The issuer is the address that the program called."""
        issuer = f"{scheme_of(request, self._proxies)}://{request.host}"
        return _response(
            {
                "issuer": issuer,
                "device_authorization_endpoint": f"{issuer}/oauth/device_authorization",
                "token_endpoint": f"{issuer}/oauth/token",
                "token_endpoint_auth_methods_supported": ["none"],
                "grant_types_supported": [DEVICE_GRANT],
                "response_types_supported": [],
            }
        )

    async def _begin(self, request: web.Request) -> web.Response:
        """``POST /oauth/device_authorization``."""
        sent = await _read(request)
        address = client_address(request, self._proxies)
        asked_by = AskingProgram(
            _claim(sent, "program"), _claim(sent, "machine"), address.text, address.is_reported
        )
        codes = await self._run_to_completion(self._sign_ins.begin(asked_by))
        if codes is None:
            text = "Too many programs wait for a person already."
            raise OAuthError("slow_down", text, 429, INTERVAL)
        return _response(
            {
                "device_code": codes.device,
                "user_code": codes.user,
                # There is no verification_uri_complete: phishing needs no more than a link with a code in it.
                "verification_uri": f"{self._address.rstrip('/')}/device",
                "expires_in": CODE_SECONDS,
                "interval": INTERVAL,
            }
        )

    async def _token(self, request: web.Request) -> web.Response:
        """``POST /oauth/token``."""
        sent = await _read(request)
        if _required(sent, "grant_type") != DEVICE_GRANT:
            raise OAuthError("unsupported_grant_type", f"The only grant here is {DEVICE_GRANT}.")
        device_code = _required(sent, "device_code")
        issued = await self._run_to_completion(self._sign_ins.poll(device_code))
        if isinstance(issued, PollError):
            raise OAuthError(issued.value, _DESCRIPTIONS[issued])
        agent = issued.agent
        return _response(
            {
                "access_token": issued.token,
                "token_type": "Bearer",
                "expires_in": int(agent.until - agent.at),
                "agent": agent.name,
            }
        )


async def _read(request: web.Request) -> Mapping[str, str]:
    """Return the parameters of a form.

    Raises:
        OAuthError: it is not a form, names a parameter twice, or is another client's.
    """
    if request.content_type != _FORM:
        raise OAuthError("invalid_request", f"Send a form ({_FORM}).")
    try:
        body = (await receive_body(request, MAX_BODY)).decode()
        pairs = parse_qsl(body, keep_blank_values=True, strict_parsing=bool(body), errors="strict")
    except BodyError as error:
        raise OAuthError("invalid_request", str(error), error.status) from error
    except ValueError:  # it cannot be decoded, or has too many fields
        raise OAuthError("invalid_request", "The body is not a form in UTF-8.") from None
    sent = dict(pairs)
    if len(sent) < len(pairs):
        raise OAuthError("invalid_request", "A parameter is given twice.")
    if _required(sent, "client_id") != CLIENT:
        raise OAuthError("invalid_client", f"The only client_id here is {CLIENT}.", 401)
    return sent


def _required(sent: Mapping[str, str], name: str) -> str:
    if not sent.get(name):
        raise OAuthError("invalid_request", f"The parameter {name} is missing.")
    return sent[name]


def _claim(sent: Mapping[str, str], name: str) -> str:
    claim = _required(sent, name)
    if not _CLAIM.fullmatch(claim):
        raise OAuthError(
            "invalid_request",
            f"{name} must be 1 to 40 Latin letters, digits, spaces, dots, - and _, a letter or digit at both ends.",
        )
    return claim


def _response(
    body: dict[str, JsonValue], status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    return json_response(body, status, {**_HEADERS, **(headers or {})})
