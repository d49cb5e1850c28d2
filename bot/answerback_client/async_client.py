"""A small typed client: ask people and wait for the answer, over restarts of either side; check webhooks.

Knows the HTTP API and nothing of the server's inside. `AsyncClient` for asyncio, `blocking.Client` for
everything else.

Example::

    from answerback_client import AsyncClient

    async with AsyncClient("http://127.0.0.1:8420") as answerback:
        ask = await answerback.ask("ask_user", {"question": "Deploy?", "answer_type": "boolean"})
        print(ask.tool_result.structured)
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Self, Unpack
from urllib.parse import quote, urlencode

import aiohttp
from pydantic import JsonValue, ValidationError

from answerback_client.backoff import Backoff
from answerback_client.connection_errors import reason_of
from answerback_client.models import (
    OBJECT,
    Answers,
    Ask,
    AskedBackError,
    ClientError,
    EndedError,
    Envelope,
    InvalidCallError,
    Json,
    NotFoundError,
    RefusedError,
    StaleError,
    StillOpenError,
    UnauthorizedError,
    UnreachableError,
)

_HOLD: Final = 60.0
"""Seconds that one waiting call lasts: no proxy on the way should cut it off."""
_GRACE: Final = 15.0
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 10.0
PATIENCE: Final = 600.0
"""Seconds for which a service that is away is called again before that is an error."""


_REFUSALS: Final = {
    401: UnauthorizedError,
    403: UnauthorizedError,
    404: NotFoundError,
    409: StaleError,
    410: EndedError,
    422: InvalidCallError,
}


class AsyncClient:
    """Talks to one service, as one agent (or, with a surface's token, for people).

    Args:
        url: where the service listens.
        token: the bearer token, where there are tokens.
        http: a session to use; otherwise the client has its own, closed with it.
        patience: seconds for which a service that is away is called again.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        token: str | None = None,
        *,
        http: aiohttp.ClientSession | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = http
        self._owns_http = http is None
        self._patience = patience

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the client's own session."""
        if self._http is not None and self._owns_http:
            await self._http.close()
            self._http = None

    async def ask(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        key: str | None = None,
        timeout: float | None = None,
        **envelope: Unpack[Envelope],
    ) -> Ask:
        """Asks, and waits until the ask has ended.

        Args:
            name: the tool's name, as the model called it.
            arguments: the tool call's arguments.
            key: the same key again, also from a process started anew, finds the first ask: the id of
                the model's tool call is a good one.
            timeout: seconds to wait; None: for as long as it takes.

        Raises:
            InvalidCallError: the call is wrong, in words for the model.
            StillOpenError: the time is over; the ask stays open.
            UnreachableError: nothing has answered within the time, or the client's patience.
        """
        began = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                ask = await self.submit(name, arguments, key=key, **envelope)
        except TimeoutError as error:
            raise UnreachableError(
                f"Nothing at {self.url} took the call within {timeout:g} seconds. Is `answerback "
                "serve` running there? With the same key it can be asked again without asking twice."
            ) from error
        left = None if timeout is None else timeout - (time.monotonic() - began)
        return await self.wait(ask.id, timeout=left)

    async def submit(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        key: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Ask:
        """Asks, and returns at once. Safe over lost connections: a repeat finds the first ask."""
        return await self.submit_body({"name": name, "arguments": arguments, **envelope}, key=key)

    async def submit_body(self, body: Mapping[str, object], *, key: str | None = None) -> Ask:
        """The same for a body that is whole already: ``name``, ``arguments`` and what else it says."""
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        return Ask.of(await self.call("POST", "/v1/asks", json=body, headers=headers))

    async def get(self, ask_id: str) -> Ask:
        """The ask as it stands."""
        return Ask.of(await self.call("GET", f"/v1/asks/{quote(ask_id, safe='')}"))

    async def wait(self, ask_id: str, *, timeout: float | None = None) -> Ask:
        """The ask once it has ended; resumes a wait that was lost with its process.

        Raises:
            AskedBackError: the ask was submitted with ``accepts=["clarify"]``, and somebody asks for an explanation.
            StillOpenError: the time is over; the ask stays open.
            NotFoundError: there is no such ask.
            UnreachableError: nothing has answered for longer than the client's patience.
        """
        until = None if timeout is None else time.monotonic() + timeout
        path = f"/v1/asks/{quote(ask_id, safe='')}"
        while until is None or time.monotonic() < until:
            left = None if until is None else until - time.monotonic()
            hold = _HOLD if left is None else min(_HOLD, math.ceil(left))
            prefer = {"Prefer": f"wait={hold:.0f}"}
            try:
                async with asyncio.timeout(left):
                    ask = Ask.of(await self.call("GET", path, headers=prefer))
            except TimeoutError:
                break
            if not ask.open:
                return ask
            if ask.clarify is not None:
                raise AskedBackError(ask, ask.clarify)
        ask = Ask.of(await self.call("GET", path, repeat=False))
        if ask.open:
            raise StillOpenError(ask)
        return ask

    async def add_context(self, ask_id: str, text: str) -> Ask:
        """Explains what somebody asked back: shown below the question, which stays open. Repeating it changes nothing.

        Raises:
            EndedError: it has ended already.
            InvalidCallError: it cannot be shown.
        """
        path = f"/v1/asks/{quote(ask_id, safe='')}/context"
        return Ask.of(await self.call("POST", path, json={"text": text}))

    async def withdraw(self, ask_id: str) -> Ask:
        """Takes an ask back.

        Raises:
            EndedError: it has ended already.
        """
        return Ask.of(await self.call("DELETE", f"/v1/asks/{quote(ask_id, safe='')}"))

    async def answers(
        self, conversation: str | None = None, *, after: int | None = None
    ) -> Answers:
        """Asks that ended and that this agent has not been told of, each once.

        Args:
            conversation: of this conversation only; empty: asked without one; None: of any.
            after: the ``next_delay`` that was kept with the answers before: those are acknowledged, and what came later
                and was lost comes again. Begin with 0. None: only what no response has told.
        """
        query = {"conversation": conversation, "after": after}
        given = {name: str(value) for name, value in query.items() if value is not None}
        return Answers.of(await self.call("GET", f"/v1/answers?{urlencode(given)}"))

    async def open_asks(self, limit: int = 50) -> list[Ask]:
        """The newest open asks that the caller may see."""
        page = await self.call("GET", f"/v1/asks?status=open&limit={limit}")
        rows = page["asks"]
        return (
            [Ask.of(OBJECT.validate_python(row)) for row in rows] if isinstance(rows, list) else []
        )

    async def act(
        self, ask_id: str, action: Mapping[str, JsonValue], *, revision: int | None = None,
        actor: Mapping[str, JsonValue] | None = None,
    ) -> Ask:  # fmt: skip
        """Acts as a responder: for custom front ends, never for agents.

        Args:
            action: ``{"action": "answer", "value": …}`` and so on; see docs/api.md.
            revision: the one that the person saw.
            actor: ``{"user_id": …, "name": …}``, for whom a surface's token vouches.

        Raises:
            StaleError: somebody else moved the ask on.
            EndedError: the ask has ended.
            InvalidCallError: the value is no answer to this question.
        """
        body: dict[str, object] = {**action}
        if revision is not None:
            body["revision"] = revision
        if actor is not None:
            body["actor"] = actor
        # Not repeated by itself: without a revision a repeat could be a second step.
        path = f"/v1/asks/{quote(ask_id, safe='')}/actions"
        return Ask.of(await self.call("POST", path, json=body, repeat=False))

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        headers: Mapping[str, str] | None = None,
        repeat: bool = True,
    ) -> Json:
        """One call of the API, repeated while the service is away.

        Raises:
            RefusedError: one of its kinds.
            UnreachableError: nothing has answered for longer than the client's patience.
        """
        until = time.monotonic() + self._patience
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                return await self._once(method, path, json, headers or {})
            except UnreachableError:
                pause = backoff.next_delay()
                if not repeat or time.monotonic() + pause > until:
                    raise
            await asyncio.sleep(pause)

    async def _once(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> Json:
        if self._http is None:
            self._http = aiohttp.ClientSession()
        try:
            async with self._http.request(
                method,
                self.url + path,
                json=body,
                headers={**self._headers, **headers},
                timeout=aiohttp.ClientTimeout(total=_HOLD + _GRACE),
                allow_redirects=False,
            ) as response:
                raw = await response.read()
                status = response.status
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise ClientError(
                f"{self.url} is not a valid Answerback address. Use http://host:port."
            ) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(
                f"Cannot reach Answerback at {self.url}: {reason_of(error)}."
            ) from error
        return _read(self.url, status, raw)


def _read(url: str, status: int, raw: bytes) -> Json:
    try:
        found = OBJECT.validate_json(raw)
    except ValidationError:
        found = None
    if status >= 500:
        raise UnreachableError(f"{url} answered HTTP {status}.")
    if found is None:
        raise ClientError(
            f"What answers at {url} is not an Answerback (HTTP {status}, no JSON object)."
        )
    if status >= 400:
        # A 409 without an ask is about something else, such as an ask that is to be erased and is open.
        moved_on = status != HTTPStatus.CONFLICT or "revision" in found
        kind = _REFUSALS.get(status, RefusedError) if moved_on else RefusedError
        raise kind(status, found)
    return found
