"""The server behind the proxy over streamable HTTP: what is read from standard input is posted to it.

https://modelcontextprotocol.io/specification, transports. The bytes of a message are sent as they are. Each request
has a connection and a thread of its own.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from answerback_agents.mcp_proxy import messages
from answerback_agents.mcp_proxy.messages import MAX_LINE, RefusedLineError
from answerback_agents.pipe.json_rpc import Json, as_object, encode_message, id_key, params
from answerback_base.backoff import Backoff
from answerback_base.connection_errors import is_temporary

_CONNECT_TIMEOUT: Final = 30.0
_CLOSE_TIMEOUT: Final = 2.0
_SERVER_ERROR: Final = -32000
_MAX_RECONNECTS: Final = 5
"""Attempts in a row to continue reading a stream that broke off, or to send a message again."""
_RECONNECT_PAUSE: Final = 1.0
_MAX_PAUSE: Final = 60.0
_FAILURES: Final = (OSError, http.client.HTTPException, ValueError)
"""The errors of an exchange that fails: a ValueError if a header would have what none can, such as a line end in a
version."""


class ServerError(Exception):
    """The server did not answer a request as the protocol says."""


class UnavailableError(ServerError):
    """The server, or a proxy in its place, cannot answer now."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        super().__init__(_status_line(response))
        self.retry_after = _retry_after(response)


_TEMPORARY: Final = (OSError, http.client.HTTPException, UnavailableError)
"""The errors after which the same message may be accepted."""


@dataclass
class _Stream:
    """The state of a stream of events."""

    pause: float
    """Seconds before the stream is read again."""
    last_id: str | None = None


@dataclass(eq=False)
class HttpServer:
    """A server at an address.

    Args:
        headers: sent with each request.
        receive: gets each message from the server, as a line.
        listed: the definition of a tool, as the server has listed it.
        warn: reports trouble.
    """

    url: str
    headers: Mapping[str, str]
    receive: Callable[[bytes], None]
    listed: Callable[[str], Json | None]
    warn: Callable[[str], None]
    _session: dict[str, str] = field(default_factory=dict)
    """The headers of the session, as the server has opened it."""
    _requests: dict[str, socket.socket | None] = field(default_factory=dict)
    """The connections that wait for an answer, by the keys of their requests' ids."""
    _ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._address = urlsplit(self.url)

    def send(self, line: bytes, message: Json) -> None:
        """Send a message; a request is answered later."""
        if "method" in message and "id" in message:
            self._requests[id_key(message["id"])] = None
            threading.Thread(target=self._request, args=[line, message], daemon=True).start()
            return
        is_newer = not self._session
        if message.get("method") == messages.CANCELLED and is_newer:
            self._abort(id_key(params(message).get("requestId")))
            return
        post = partial(self._post, line, message)
        try:
            post()
        except _TEMPORARY as error:  # other messages do not wait for this one
            threading.Thread(target=self._post_again, args=[post, error], daemon=True).start()
        except (*_FAILURES, ServerError) as error:
            self._warn_of_refusal(error)

    def end(self) -> None:
        self._ended.set()
        if "Mcp-Session-Id" in self._session:
            with (
                contextlib.suppress(*_FAILURES),
                self._open("DELETE", None, self._session, timeout=_CLOSE_TIMEOUT),
            ):
                pass

    # --- notifications and responses -----------------------------------------------------------

    def _post(self, line: bytes, message: Json) -> None:
        headers = self._message_headers(message)
        with self._open("POST", line, headers, timeout=_CONNECT_TIMEOUT) as response:
            response.read(MAX_LINE)
        if is_temporary(response.status):
            raise UnavailableError(response)
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise ServerError(_status_line(response))
        if message.get("method") == "notifications/initialized" and self._session:
            threading.Thread(target=self._listen, daemon=True).start()

    def _post_again(self, post: Callable[[], None], error: Exception) -> None:
        try:
            self._repeat(post, error)
        except (*_FAILURES, ServerError) as latest:
            self._warn_of_refusal(latest)

    def _warn_of_refusal(self, error: Exception) -> None:
        self.warn(f"The server at {self.url} did not accept a message: {error}.")

    def _repeat(self, attempt: Callable[[], None], error: Exception) -> None:
        """Repeat an attempt that failed with a temporary error; raises the latest error if it keeps failing."""
        for failures in range(_MAX_RECONNECTS):
            least = error.retry_after if isinstance(error, UnavailableError) else 0.0
            if self._ended.wait(_pause(_RECONNECT_PAUSE, failures, least)):
                break
            try:
                attempt()
            except _TEMPORARY as latest:
                error = latest
            else:
                return
        raise error

    # --- requests ------------------------------------------------------------------------------

    def _request(self, line: bytes, message: Json) -> None:
        key = id_key(message["id"])
        exchange = partial(self._exchange, line, message, key)
        try:
            try:
                exchange()
            except _TEMPORARY as error:
                if not _is_repeatable(message):
                    raise
                self._repeat(exchange, error)
        except (*_FAILURES, ServerError, RefusedLineError) as error:
            if key in self._requests:  # else the client has cancelled it
                why = str(error) or type(error).__name__
                text = f"The server at {self.url} did not answer: {why}."
                self.receive(messages.error_response(message, _SERVER_ERROR, text))
        finally:
            self._requests.pop(key, None)

    def _exchange(self, line: bytes, message: Json, key: str) -> None:
        with self._open("POST", line, self._message_headers(message), key=key) as response:
            kind = response.headers.get_content_type()
            if is_temporary(response.status) and _is_repeatable(message):
                raise UnavailableError(response)
            if response.status >= HTTPStatus.BAD_REQUEST:
                self._deliver_error(response, message)
            elif kind == "application/json":
                self._deliver_response(_read_body(response), message, response)
            elif kind == "text/event-stream":
                self._read_until_answered(response, message)
            else:
                raise ServerError(f"HTTP {response.status} without an answer")

    def _deliver_error(self, response: http.client.HTTPResponse, message: Json) -> None:
        try:
            found = messages.parse(_one_line(_read_body(response)))
        except RefusedLineError:
            found = {}
        if not isinstance(found.get("error"), dict):
            raise ServerError(_status_line(response))
        self.receive(encode_message({"id": message["id"], "error": found["error"]}))

    def _deliver_response(
        self, data: bytes, message: Json, response: http.client.HTTPResponse
    ) -> bool:
        """Pass on a message, and return whether it answers a request."""
        line = _one_line(data)
        found = messages.parse(line)
        is_answer = "method" not in found and id_key(found.get("id")) == id_key(message["id"])
        if is_answer and message["method"] == "initialize" and "result" in found:
            version = as_object(found["result"]).get("protocolVersion")
            self._session = {"MCP-Protocol-Version": str(version)}
            if session := response.headers.get("Mcp-Session-Id"):
                self._session["Mcp-Session-Id"] = session
        self.receive(line + b"\n")
        return is_answer

    def _read_until_answered(self, response: http.client.HTTPResponse, message: Json) -> None:
        """Read the events of a response, also those after it broke off, until the request is answered."""
        stream = _Stream(_RECONNECT_PAUSE)
        with contextlib.suppress(*_FAILURES):  # resumed where it broke off
            for data in _events(response, stream):
                if self._deliver_response(data, message, response):
                    return
        for data in self._resumed(stream, self._message_headers(message)):
            if self._deliver_response(data, message, response):
                return
        raise ServerError("the stream ended early")

    # --- streams -------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Read what the server sends of its own accord, as long as it offers that."""
        try:
            for data in self._resumed(_Stream(_RECONNECT_PAUSE, last_id=""), self._session):
                self.receive(_one_line(data) + b"\n")
        except (RefusedLineError, ServerError) as error:
            self.warn(f"The server at {self.url} no longer responds: {error}.")

    def _resumed(self, stream: _Stream, headers: Mapping[str, str]) -> Iterator[bytes]:
        """Yield the events of a stream from where it broke off, unless the server does not offer that.

        Raises:
            ServerError: no attempt had any event.
        """
        failures, pause = 0, 0.0
        while stream.last_id is not None and not self._ended.wait(pause):
            last = {"Last-Event-ID": stream.last_id} if stream.last_id else {}
            failures += 1
            least = 0.0
            with (
                contextlib.suppress(*_FAILURES),
                self._open("GET", None, {**headers, **last}) as response,
            ):
                if is_temporary(response.status):
                    least = _retry_after(response)
                elif response.headers.get_content_type() != "text/event-stream":
                    return
                else:
                    for data in _events(response, stream):
                        failures = 0
                        yield data
            if failures == _MAX_RECONNECTS:
                raise ServerError("the stream ended early")
            pause = _pause(stream.pause, failures, least)

    # --- connections ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def _open(
        self,
        method: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        key: str = "",
        timeout: float | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request, and read its response."""
        https = self._address.scheme == "https"
        kind = http.client.HTTPSConnection if https else http.client.HTTPConnection
        connection = kind(
            self._address.hostname or "", self._address.port, timeout=_CONNECT_TIMEOUT
        )
        try:
            connection.connect()
            connection.sock.settimeout(timeout)
            if key in self._requests:
                self._requests[key] = connection.sock
            path = self._address.path or "/"
            target = f"{path}?{self._address.query}" if self._address.query else path
            accept = {"Accept": "application/json, text/event-stream"}
            typed = {} if body is None else {"Content-Type": "application/json"}
            sent = None if body is None else body.rstrip(b"\r\n")
            connection.request(method, target, sent, {**accept, **typed, **self.headers, **headers})
            with (
                connection.getresponse() as response
            ):  # which keeps the socket open until it is closed
                yield response
        finally:
            connection.close()

    def _abort(self, key: str) -> None:
        """Cancel a request of the newer generation: by closing its connection."""
        connected = self._requests.pop(key, None)
        if connected is not None:
            with contextlib.suppress(OSError):  # the server may have closed it
                connected.shutdown(socket.SHUT_RDWR)

    def _message_headers(self, message: Json) -> dict[str, str]:
        """The headers that repeat what is in a message."""
        if not messages.is_modern(message):
            return {} if message.get("method") == "initialize" else self._session
        # Only here: importing it takes a second.
        from mcp.shared import inbound

        fields = params(message)
        version = as_object(fields["_meta"])[messages.VERSION_META]
        headers = {"MCP-Protocol-Version": str(version), "Mcp-Method": str(message["method"])}
        name = fields.get(inbound.NAME_BEARING_METHODS.get(message["method"], ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = inbound.encode_header_value(name)
            schema = (self.listed(name) or {}).get("inputSchema")
            if message["method"] == messages.TOOL_CALL and isinstance(schema, dict):
                repeated = inbound.x_mcp_header_map(schema)
                headers |= inbound.mcp_param_headers(repeated, as_object(fields.get("arguments")))
        return headers


def _is_repeatable(request: Json) -> bool:
    """Return True if a request may arrive twice: one with a person's answer may, but not a call."""
    return request.get("method") == messages.TASK_UPDATE


def _status_line(response: http.client.HTTPResponse) -> str:
    return f"HTTP {response.status} {response.reason}"


def _retry_after(response: http.client.HTTPResponse) -> float:
    """The seconds that a response says to wait at least."""
    value = response.headers.get("Retry-After", "")
    return min(float(value), _MAX_PAUSE) if value.isdecimal() else 0.0


def _pause(first: float, failures: int, least: float) -> float:
    """The seconds until the next attempt: more after each failure."""
    return max(Backoff(first, _MAX_PAUSE).delay_after(failures), least)


def _read_body(response: http.client.HTTPResponse) -> bytes:
    return response.read(MAX_LINE + 1)


def _one_line(data: bytes) -> bytes:
    """A message as one line: between its parts, JSON may have line ends, which mean nothing."""
    return data.strip().replace(b"\r", b" ").replace(b"\n", b" ")


def _events(response: http.client.HTTPResponse, stream: _Stream) -> Iterator[bytes]:
    """Yield the data of a stream's events: https://html.spec.whatwg.org/multipage/server-sent-events.html."""
    data: list[bytes] = []
    size = 0
    while line := response.readline(MAX_LINE + 1):
        size += len(line)
        if size > MAX_LINE:
            raise RefusedLineError(f"an event has more than {MAX_LINE} bytes", b"")
        name, _, value = line.rstrip(b"\r\n").partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"id":
            stream.last_id = value.decode("ascii", "replace")
        elif name == b"retry" and value.isdigit():
            stream.pause = min(int(value[:9]) / 1000, _MAX_PAUSE)
        elif not line.strip(b"\r\n"):
            if any(data):
                yield b"\n".join(data)
            data, size = [], 0
