"""The API of a running ``opencode serve``, as far as a bridge needs it.

Read in the package opencode-ai 1.18.33, whose server describes itself at ``/doc``.
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
"""The user of a server with a password, unless the server was told another."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30)
_SESSIONS: Final = 50
"""Sessions that are looked through for late answers."""
_STREAM: Final = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
"""A server sends a heartbeat every ten seconds."""


class ServerUnavailableError(Exception):
    """Nothing answers, or only that it cannot now."""


class NotOpencodeError(AnswerbackError):
    """What answers is not an opencode server, or it refuses the bridge."""


class OpencodeServer:
    """One server, and one of the folders that it works in.

    Args:
        http: the session to use, which the caller closes.
        directory: the folder; None: the server's own.
        password: what the server was given as ``OPENCODE_SERVER_PASSWORD``.
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
        """The events from now on, until the connection is lost.

        Raises:
            ServerUnavailableError: there is no connection, or it was lost.
        """
        async with self._response("GET", "/event", timeout=_STREAM) as response:
            if response.status != HTTPStatus.OK or response.content_type != "text/event-stream":
                raise NotOpencodeError(self._not_ours(response))
            yield self._events(response.content)

    async def pending(self, kind: str) -> list[Json]:
        """The questions (``question``) or permission prompts (``permission``) that wait for an answer."""
        return await self._rows(f"/{kind}")

    async def sessions(self) -> list[str]:
        """The ids of the newest sessions."""
        return [str(each["id"]) for each in await self._rows(f"/session?limit={_SESSIONS}")]

    async def was_interrupted(self, session: str, call_id: str) -> bool:
        """Whether a tool call waits for an answer that it cannot get: its server was ended meanwhile."""
        at = f"/session/{quote(session, safe='')}/message"
        if session in await self._read("/session/status", _OBJECT):
            return False  # it is busy, so it goes on
        return any(
            isinstance(part, dict) and part.get("callID") == call_id and _runs(part)
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
                raise NotOpencodeError(self._not_ours(response)) from error

    async def post(self, path: str, body: Json | None = None) -> bool:
        """Whether the server took it; it refuses an answer to what does not wait for one any more."""
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
                        f"The server at {self.url} has a password. Put it into the environment variable "
                        "OPENCODE_SERVER_PASSWORD, or name another one with --password-env."
                    )
                if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise ServerUnavailableError(f"{self.url} answers HTTP {response.status}.")
                yield response
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise NotOpencodeError(
                f"{self.url} is not the address of a server: use http://host:port."
            ) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ServerUnavailableError(
                f"No opencode answers at {self.url}: {reason_of(error)}."
            ) from error

    async def _events(self, stream: aiohttp.StreamReader) -> AsyncIterator[Json]:
        """Events are one line of JSON each, of any length."""
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
                f"{self.url} sends events that are not those of an opencode server."
            ) from error

    def _not_ours(self, response: aiohttp.ClientResponse) -> str:
        return f"What answers at {self.url} is not an opencode server (HTTP {response.status})."


def _parts(message: Json) -> list[JsonValue]:
    parts = message.get("parts")
    return parts if isinstance(parts, list) else []


def _runs(part: Json) -> bool:
    state = part.get("state")
    return isinstance(state, dict) and state.get("status") in ("pending", "running")
