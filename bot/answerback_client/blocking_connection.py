"""A connection to one service for programs without asyncio that have to start fast: the standard library alone.

Importing another HTTP client takes too long for a hook. What answers may be any program that took the service's port,
so what it sends is bounded and checked.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlencode, urlsplit

from answerback_client.errors import (
    MAX_RESPONSE,
    ClientError,
    ForeignServiceError,
    Json,
    TooManyAsksError,
    UnauthorizedError,
    UnreachableError,
    UnsentError,
    check_response,
    parse_body,
    reason_of,
)
from answerback_client.retries import CALL_TIMEOUT, Retries
from answerback_client.token_proof import MAX_PROOF, TokenChallenge, is_unknown

SUBMIT_PATIENCE: Final = 60.0
"""Seconds for which calls are retried until the service has accepted the ask: an upgrade takes half a minute."""
ANSWER_PATIENCE: Final = 900.0
"""Seconds for which calls are retried once the service has accepted the ask, which stays open meanwhile."""
LOOKUP_PATIENCE: Final = 2.0
"""Seconds for which a mere look-up is retried."""
_CONNECTIONS: Final = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}
FILES: Final = "Answerback-Files"
"""The header with the files that people sent with what a hook is told."""
_OUTCOMES: Final = "Answerback-Outcomes"
"""The header with the ids of the asks whose outcomes a response reports."""
_OF_EVERY_CALL: Final = ("Content-Type", "Authorization")


def why_unasked(error: UnreachableError) -> str:
    """Say why people's answer is not known, and what the user has to do."""
    advice = f"{error} The user has to start it with `answerback serve`."
    if error.may_have_acted:
        return f"Nobody has answered: {advice} The question may be open already."
    return f"Nobody could be asked: {advice}"


class Response(NamedTuple):
    """A response with a status below 400, and its body."""

    status: int
    body: Json
    text: str = ""
    """The body as it was sent."""
    files: str = ""
    """The header `FILES`; empty without it."""


class DeliveryReceipt:
    """Acknowledges what the last response reports, once that is passed on to the agent.

    It keeps the connection open: if this process is killed, the service notices at once that the agent has nothing.
    """

    def __init__(self) -> None:
        self._connection: http.client.HTTPConnection | None = None
        self._path = ""
        self._headers: dict[str, str] = {}
        self._ask_ids: list[str] = []

    def hold(
        self,
        connection: http.client.HTTPConnection,
        base: str,
        headers: Mapping[str, str],
        outcomes: str,
    ) -> None:
        """Hold the connection of a response that reports outcomes: the ids of asks, separated by commas."""
        self._connection, self._path = connection, f"{base}/v1/acknowledgements"
        self._headers = {name: headers[name] for name in _OF_EVERY_CALL if name in headers}
        self._ask_ids = outcomes.split(",")

    def confirm(self) -> None:
        """Report that the response was passed on to the agent. If that fails, the agent gets it again."""
        connection, self._connection = self._connection, None
        if (
            connection is None or connection.sock is None
        ):  # another listener would have to prove itself again
            return
        with suppress(OSError, http.client.HTTPException), closing(connection):
            connection.sock.settimeout(LOOKUP_PATIENCE)
            body = json.dumps({"asks": self._ask_ids})
            connection.request("POST", self._path, body, self._headers)
            connection.getresponse().read(MAX_PROOF)


@dataclass(frozen=True, slots=True)
class BlockingConnection:
    """A connection to one service, which proves that it knows the token before it gets it, and is called again while it
    is down."""

    url: str
    token: str | None = field(default=None, repr=False)
    token_env: str = "ANSWERBACK_TOKEN"
    """The environment variable that the token comes from."""
    receipt: DeliveryReceipt | None = None
    """Acknowledges a response once it has been passed on to the agent; None: reading it is enough."""
    pause: Callable[[float], None] = time.sleep

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        key: str | None = None,
        *,
        wait: int = 0,
        patience: float = LOOKUP_PATIENCE,
        timeout: float = CALL_TIMEOUT,
        hook: str | None = None,
        waits_out_others: bool = False,
        is_json: bool = True,
    ) -> Response:
        """Call the API, retrying while the service is down.

        With a token, each try begins with a challenge: while the service is down, any program may have its port.

        Args:
            body: the JSON to send, as it is; or a file's bytes.
            key: the call's idempotency key.
            wait: seconds for which the service may hold its response.
            patience: seconds for which the call is retried.
            timeout: seconds after which a single try fails.
            hook: the hook that has to answer.
            waits_out_others: whether the call is also retried while another program answers: the service was there
                before, and comes back.
            is_json: False if the body is a file's bytes.

        Raises:
            UnreachableError: the service is still down.
            ForeignServiceError: another program answers.
            RefusedError: the service refused the call.
        """
        headers = self._headers(key, wait)
        if not is_json:
            headers["Content-Type"] = "application/octet-stream"
        retries = Retries(patience)
        while True:
            try:
                return self._call_once(method, path, body, headers, timeout, hook)
            except (UnreachableError, TooManyAsksError, ForeignServiceError) as error:
                if isinstance(error, ForeignServiceError) and not waits_out_others:
                    raise
                pause = retries.pause_after(error, changes=method != "GET")
            self.pause(pause)

    def upload(self, name: str, data: bytes, patience: float) -> Json:
        """Upload a file, retrying as `call` does, and return what the service says of it.

        Raises:
            UnreachableError: the service is still down.
            ForeignServiceError: another program answers.
            RefusedError: the service refused the file.
        """
        path = f"/v1/files?{urlencode({'name': name})}"
        return self.call("POST", path, data, patience=patience, is_json=False).body

    def read(self, path: str, most: int, timeout: float) -> bytes:
        """Read a file once, with at most some bytes.

        Raises:
            UnreachableError: the service is down, or too slow.
            RefusedError: the service refused the call.
            ClientError: it has more bytes, or another program answers.
        """
        if timeout <= 0:
            raise UnreachableError(f"Answerback at {self.url} did not answer in time.")
        connection, base = self._connection(timeout)
        with closing(connection):
            headers = self._headers(None, 0)
            received, content = self._send(
                connection, base, "GET", base + path, None, headers, most
            )
            if received.status == HTTPStatus.UNAUTHORIZED:
                raise self._wrong_token("is not set")
            retry_after = received.headers.get("Retry-After")
            check_response(self.url, received.status, content, retry_after)
            if len(content) > most:
                raise self.foreign(received.status)
            return content

    def _headers(self, key: str | None, wait: int) -> dict[str, str]:
        preferences = {f"wait={wait}": wait, "acknowledge": self.receipt is not None}
        fields = {
            "Content-Type": "application/json",
            "Idempotency-Key": key,
            "Prefer": ", ".join(name for name, is_set in preferences.items() if is_set) or None,
            "Authorization": f"Bearer {self.token}" if self.token else None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _call_once(
        self,
        method: str,
        path: str,
        raw: bytes | None,
        headers: dict[str, str],
        timeout: float,
        hook: str | None,
    ) -> Response:
        connection, base = self._connection(timeout)
        is_held = False
        try:
            received, content = self._send(connection, base, method, base + path, raw, headers)
            response = self._read(received, content, hook)
            if self.receipt is not None and (outcomes := received.headers.get(_OUTCOMES)):
                self.receipt.hold(connection, base, headers, outcomes)
                is_held = True
            return response
        finally:
            if not is_held:
                connection.close()

    def _send(
        self,
        connection: http.client.HTTPConnection,
        base: str,
        method: str,
        target: str,
        raw: bytes | None,
        headers: dict[str, str],
        most: int = MAX_RESPONSE,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send a request, and return the response with its body."""
        is_sent = False
        try:
            connection.connect()
            if self.token:
                self._challenge(connection, base, self.token)
            is_sent = True
            connection.request(method, target, raw, headers)
            with (
                connection.getresponse() as response
            ):  # which keeps the socket open until it is closed
                return response, response.read(most + 1)
        except (OSError, http.client.HTTPException) as error:
            message = f"Cannot reach Answerback at {self.url}: {reason_of(error)}."
            raise (UnreachableError if is_sent else UnsentError)(message) from error

    def _read(
        self, response: http.client.HTTPResponse, content: bytes, hook: str | None
    ) -> Response:
        """Return a response that is not a refusal."""
        if response.status == HTTPStatus.UNAUTHORIZED:
            raise self._wrong_token("is not set")
        if len(content) > MAX_RESPONSE:
            raise self.foreign(response.status)
        check_response(self.url, response.status, content, response.headers.get("Retry-After"))
        body = parse_body(self.url, content, response.status)
        if hook is not None and response.headers.get("Answerback-Hook") != hook:
            raise self.foreign(response.status)
        text = content.decode(errors="replace")
        return Response(response.status, body, text, response.headers.get(FILES) or "")

    def _challenge(self, connection: http.client.HTTPConnection, base: str, token: str) -> None:
        """Make the listener prove that it knows the token, before that is sent."""
        challenge = TokenChallenge(token)
        connection.request("GET", f"{base}/v1/proof?{urlencode(challenge.query)}")
        with connection.getresponse() as response:
            content = response.read(MAX_PROOF)
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnsentError(f"{self.url} answered HTTP {response.status}.")
        if challenge.is_proved_by(content):
            return
        if is_unknown(response.status, content):
            raise self._wrong_token("holds a different one")
        raise ForeignServiceError(
            f"The program at {self.url} did not prove that it knows the token in {self.token_env}, and did not get it. "
            "It is another program, or an older Answerback: the user has to check that."
        )

    def _wrong_token(self, held: str) -> UnauthorizedError:
        detail = (
            f"Nobody could be asked: Answerback at {self.url} requires an agent's token, and the environment "
            f"variable {self.token_env} {held}. The user has to put the token there."
        )
        return UnauthorizedError(HTTPStatus.UNAUTHORIZED, {"detail": detail})

    def _connection(self, timeout: float) -> tuple[http.client.HTTPConnection, str]:
        """Return a connection and the path of the service's address."""
        with suppress(ValueError):  # an invalid port
            address = urlsplit(self.url)
            kind = _CONNECTIONS.get(address.scheme)
            if address.hostname and kind is not None:
                return kind(address.hostname, address.port, timeout=timeout), address.path
        raise ClientError(f"{self.url} is not a valid Answerback address. Use http://host:port.")

    def foreign(self, status: int) -> ForeignServiceError:
        """Build the error for a response that is not Answerback's."""
        return ForeignServiceError(f"The server at {self.url} is not Answerback (HTTP {status}).")
