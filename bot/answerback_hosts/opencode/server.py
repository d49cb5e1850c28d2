"""The part of the API of a running ``opencode serve`` that a bridge needs.

Shapes: the package opencode-ai 1.18.33, whose server describes its API at ``/doc``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from pydantic import JsonValue

from answerback_agents.bridges.event_server import (
    EventServer,
    ForeignServerError,
    Json,
    ServerUnavailableError,
)
from answerback_agents.pipe.json_rpc import as_object, objects, parse_message
from answerback_agents.pipe.lines import MAX_LINE
from answerback_base.connection_errors import is_temporary, reason_of
from answerback_base.strict_json import load_with_numbers

_USER: Final = "opencode"
"""The default user name of a server with a password."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30)
_MAX_SESSIONS: Final = 50
"""The number of sessions that are checked for late answers."""
_STREAM_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
"""A server sends a heartbeat every ten seconds."""


@dataclass(eq=False)
class OpencodeServer(EventServer):
    """The client of one server, for one of the folders that it works in."""

    http: aiohttp.ClientSession
    """The session to use, which the caller closes."""
    url: str
    directory: str | None = None
    """The folder; by default the server's own."""
    password: str | None = field(default=None, repr=False)
    """The server's ``OPENCODE_SERVER_PASSWORD``."""

    def __post_init__(self) -> None:
        self.url = self.url.rstrip("/")
        self._query = {} if self.directory is None else {"directory": self.directory}
        self._headers = (
            {}
            if self.password is None
            else {"Authorization": aiohttp.encode_basic_auth(_USER, self.password)}
        )

    @asynccontextmanager
    async def open_event_stream(self) -> AsyncIterator[AsyncIterator[Json]]:
        async with self._response("GET", "/event", timeout=_STREAM_TIMEOUT) as response:
            if response.status != HTTPStatus.OK or response.content_type != "text/event-stream":
                raise ForeignServerError(self._describe_foreign_server(response))
            yield self._events(response.content)

    async def pending(self, kind: str) -> list[Json]:
        """The pending questions (``question``) or permission prompts (``permission``), of either version."""
        word, _, is_v2 = kind.partition(".")
        if not is_v2:
            return await self._rows(f"/{word}")
        try:
            listed = await self._read(f"/api/{word}/request")
        except ForeignServerError:  # a server without the second version
            return []
        return objects(as_object(listed).get("data"))

    async def sessions(self) -> list[str]:
        rows = await self._rows(f"/session?limit={_MAX_SESSIONS}")
        ids = [each.get("id") for each in rows]
        return [session for session in ids if isinstance(session, str) and session.isascii()]

    async def folder(self, session: str) -> str | None:
        found = as_object(await self._read(f"/session/{quote(session, safe='')}"))
        return folder if isinstance(folder := found.get("directory"), str) else None

    async def arguments(self, session: str, call_id: str) -> JsonValue:
        """The arguments of a running tool call, normally an object; None if they are not known."""
        for message in await self._messages(session):
            for part in objects(message.get("parts")):
                if part.get("callID") == call_id:
                    return as_object(part.get("state")).get("input") or None
        return None

    async def was_interrupted(self, session: str, call_id: str) -> bool:
        """Return True if a tool call waits for an answer that it cannot get, as its server was restarted meanwhile.

        Also if the messages of the session cannot be read: they may be too long.
        """
        if session in as_object(await self._read("/session/status")):
            return False  # the session is busy, so the call is still running
        try:
            messages = await self._messages(session)
        except ForeignServerError:
            return True
        return any(
            part.get("callID") == call_id and _is_running(part)
            for message in messages
            for part in objects(message.get("parts"))
        )

    async def _messages(self, session: str) -> list[Json]:
        """The messages of a session; none if it was deleted."""
        found = await self._read(f"/session/{quote(session, safe='')}/message")
        if as_object(found).get("name") == "NotFoundError":
            return []
        return self._as_rows(found)

    async def _rows(self, path: str) -> list[Json]:
        return self._as_rows(await self._read(path))

    def _as_rows(self, found: JsonValue) -> list[Json]:
        if not isinstance(found, list):
            raise ForeignServerError(f"The server at {self.url} is not an opencode server.")
        return objects(found)

    async def _read(self, path: str) -> JsonValue:
        async with self._response("GET", path, timeout=_TIMEOUT) as response:
            try:
                return parse_json(await self._read_body(response))
            except ValueError as error:
                raise ForeignServerError(self._describe_foreign_server(response)) from error

    async def post(self, path: str, body: Json | None = None) -> bool:
        """Post to the server; returns whether it accepted. It refuses an answer to a request that is not pending."""
        async with self._response("POST", path, timeout=_TIMEOUT, json=body) as response:
            await self._read_body(response)
            return response.status < HTTPStatus.BAD_REQUEST

    async def _read_body(self, response: aiohttp.ClientResponse) -> bytes:
        chunks = bytearray()
        async for chunk in response.content.iter_any():
            chunks += chunk
            if len(chunks) > MAX_LINE:
                raise ForeignServerError(self._describe_foreign_server(response))
        return bytes(chunks)

    @asynccontextmanager
    async def _response(
        self, method: str, path: str, **more: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self.http.request(
                method, self.url + path, params=self._query, headers=self._headers, **more
            ) as response:
                if response.status == HTTPStatus.UNAUTHORIZED:
                    raise ForeignServerError(
                        f"The server at {self.url} requires a password. Put it into the environment variable "
                        "OPENCODE_SERVER_PASSWORD, or name another variable with --password-env."
                    )
                if is_temporary(response.status):
                    raise ServerUnavailableError(f"{self.url} answered HTTP {response.status}.")
                yield response
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise ForeignServerError(
                f"{self.url} is not a server address. Use http://host:port."
            ) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ServerUnavailableError(
                f"Cannot reach opencode at {self.url}: {reason_of(error)}."
            ) from error

    async def _events(self, stream: aiohttp.StreamReader) -> AsyncIterator[Json]:
        """Parse the events: one line of JSON each."""
        rest = bytearray()
        async for chunk in stream.iter_any():
            head, *lines = chunk.split(b"\n")
            rest += head
            if len(rest) > MAX_LINE:
                raise ForeignServerError(f"{self.url} sent a line of more than {MAX_LINE} bytes.")
            for following in lines:
                if rest.startswith(b"data:"):
                    yield self._event(bytes(rest).removeprefix(b"data:"))
                rest = bytearray(following)

    def _event(self, raw: bytes) -> Json:
        if not (event := parse_message(raw)):
            raise ForeignServerError(f"{self.url} sent an event that is not an opencode server's.")
        return event

    def _describe_foreign_server(self, response: aiohttp.ClientResponse) -> str:
        return f"The server at {self.url} is not an opencode server (HTTP {response.status})."


def parse_json(raw: bytes) -> JsonValue:
    """Parse JSON in which half a surrogate pair is not a mistake: opencode streams texts in pieces.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return load_with_numbers(raw)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _is_running(part: Json) -> bool:
    return as_object(part.get("state")).get("status") in ("pending", "running")
