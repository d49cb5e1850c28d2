"""The part of the API of a running ``opencode serve`` that a bridge needs.

Shapes: the package opencode-ai 1.18.33, whose server describes its API at ``/doc``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote

import aiohttp
from pydantic import JsonValue, TypeAdapter, ValidationError

from answerback.core.base_error import AnswerbackError
from answerback_client.connection_errors import reason_of

Json = dict[str, JsonValue]

_Shape = TypeVar("_Shape")
_OBJECT: Final = TypeAdapter(Json)
_ROWS: Final = TypeAdapter(list[Json])
_USER: Final = "opencode"
"""The default user name of a server with a password."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30)
_MAX_SESSIONS: Final = 50
"""The number of sessions that are checked for late answers."""
_STREAM_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
"""A server sends a heartbeat every ten seconds."""


class ServerUnavailableError(Exception):
    """The server cannot be reached, or is temporarily unable to answer."""


class NotOpencodeError(AnswerbackError):
    """The address is not that of an opencode server, or the server refuses the bridge."""


class OpencodeServer:
    """The client of one server, for one of the folders that it works in.

    Args:
        http: the session to use, which the caller closes.
        directory: the folder; by default the server's own.
        password: the server's ``OPENCODE_SERVER_PASSWORD``.
    """

    def __init__(
        self,
        http: aiohttp.ClientSession,
        url: str,
        directory: str | None = None,
        password: str | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._http = http
        self._query = {} if directory is None else {"directory": directory}
        self._headers = (
            {}
            if password is None
            else {"Authorization": aiohttp.encode_basic_auth(_USER, password)}
        )

    @asynccontextmanager
    async def open_event_stream(self) -> AsyncIterator[AsyncIterator[Json]]:
        """Stream the events from now on, until the connection is lost.

        Raises:
            ServerUnavailableError: the server cannot be reached, or the connection was lost.
        """
        async with self._response("GET", "/event", timeout=_STREAM_TIMEOUT) as response:
            if response.status != HTTPStatus.OK or response.content_type != "text/event-stream":
                raise NotOpencodeError(self._describe_foreign_server(response))
            yield self._events(response.content)

    async def pending(self, kind: str) -> list[Json]:
        """The pending questions (``question``) or permission prompts (``permission``)."""
        return await self._rows(f"/{kind}")

    async def sessions(self) -> list[str]:
        """The ids of the newest sessions."""
        return [str(each["id"]) for each in await self._rows(f"/session?limit={_MAX_SESSIONS}")]

    async def was_interrupted(self, session: str, call_id: str) -> bool:
        """Whether a tool call waits for an answer that it cannot get, as its server was restarted meanwhile."""
        at = f"/session/{quote(session, safe='')}/message"
        if session in await self._read("/session/status", _OBJECT):
            return False  # the session is busy, so the call is still running
        return any(
            isinstance(part, dict) and part.get("callID") == call_id and _is_running(part)
            for message in await self._rows(at)
            for part in _parts(message)
        )

    async def _rows(self, path: str) -> list[Json]:
        return await self._read(path, _ROWS)

    async def _read(self, path: str, shape: TypeAdapter[_Shape]) -> _Shape:
        async with self._response("GET", path, timeout=_TIMEOUT) as response:
            raw = await response.read()
            try:
                return shape.validate_json(raw)
            except ValidationError as error:
                raise NotOpencodeError(self._describe_foreign_server(response)) from error

    async def post(self, path: str, body: Json | None = None) -> bool:
        """Post to the server; returns whether it accepted. It refuses an answer to a request that is not pending."""
        async with self._response("POST", path, timeout=_TIMEOUT, json=body) as response:
            await response.read()
            return response.status < HTTPStatus.BAD_REQUEST

    @asynccontextmanager
    async def _response(
        self, method: str, path: str, **more: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self._http.request(
                method, self.url + path, params=self._query, headers=self._headers, **more
            ) as response:
                if response.status == HTTPStatus.UNAUTHORIZED:
                    raise NotOpencodeError(
                        f"The server at {self.url} requires a password. Put it into the environment variable "
                        "OPENCODE_SERVER_PASSWORD, or name another variable with --password-env."
                    )
                if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise ServerUnavailableError(f"{self.url} answered HTTP {response.status}.")
                yield response
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise NotOpencodeError(
                f"{self.url} is not a server address. Use http://host:port."
            ) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ServerUnavailableError(
                f"Cannot reach opencode at {self.url}: {reason_of(error)}."
            ) from error

    async def _events(self, stream: aiohttp.StreamReader) -> AsyncIterator[Json]:
        """Parse the events: one line of JSON each, of any length."""
        rest = b""
        async for chunk in stream.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield self._event(line.removeprefix(b"data:"))

    def _event(self, raw: bytes) -> Json:
        try:
            return _OBJECT.validate_json(raw)
        except ValidationError as error:
            raise NotOpencodeError(
                f"{self.url} sent an event that is not an opencode server's."
            ) from error

    def _describe_foreign_server(self, response: aiohttp.ClientResponse) -> str:
        return f"The server at {self.url} is not an opencode server (HTTP {response.status})."


def _parts(message: Json) -> list[JsonValue]:
    parts = message.get("parts")
    return parts if isinstance(parts, list) else []


def _is_running(part: Json) -> bool:
    state = part.get("state")
    return isinstance(state, dict) and state.get("status") in ("pending", "running")
