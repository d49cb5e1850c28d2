"""A small typed client: ask people, and wait for the answer across restarts of either side.

It only depends on the HTTP API, not on the server's code. `AsyncClient` is for asyncio,
`answerback_client.sync_client.Client` for everything else.

Example::

    from answerback_client import AsyncClient

    async with AsyncClient("http://127.0.0.1:8420") as answerback:
        ask = await answerback.ask("ask_user", {"question": "Deploy?", "answer_type": "boolean"})
        print(ask.tool_result.structured)
"""

from __future__ import annotations

import asyncio
import math
import random
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Final, Self, Unpack
from urllib.parse import quote, urlencode

import aiohttp
from pydantic import JsonValue, ValidationError

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
    TooManyAsksError,
    UnauthorizedError,
    UnreachableError,
    reason_of,
)
from answerback_client.token_proof import MAX_PROOF, TokenChallenge, is_provable, is_unknown

_LONG_POLL: Final = 60.0
"""Seconds that one long poll lasts: short enough that no proxy on the way cuts it off."""
_CHALLENGE_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)
_LONG_POLL_GRACE: Final = 15.0
_ACKNOWLEDGE_TIMEOUT: Final = 5.0
"""Seconds for which an outcome is held back to acknowledge it."""
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 10.0
PATIENCE: Final = 600.0
"""Seconds for which calls to a service that is down are retried before that is an error."""
_REFUSALS: Final = {
    401: UnauthorizedError,
    403: UnauthorizedError,
    404: NotFoundError,
    409: StaleError,
    410: EndedError,
    422: InvalidCallError,
    429: TooManyAsksError,
}


class _UnprovedError(UnreachableError):
    """The call was not sent, because the listener did not prove that it knows the token."""


class AsyncClient:
    """A client for one service, as one agent (or, with a surface's token, on behalf of people).

    Args:
        url: the address of the service.
        token: the bearer token, if the service uses tokens. It is sent only to a program that has proved that it knows
            it, before each call. A person's key is sent without that.
        http: a session to use; by default, the client creates its own and closes it.
        patience: seconds for which calls to a service that is down are retried.
        acknowledges: whether an outcome counts as the agent's once it is read here. If not, the caller passes it on,
            and then calls `acknowledge`.
        token_name: how errors name the token.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        token: str | None = None,
        *,
        http: aiohttp.ClientSession | None = None,
        patience: float = PATIENCE,
        acknowledges: bool = True,
        token_name: str = "this token",
    ) -> None:
        self.url = url.rstrip("/")
        self._proved_token = token if token and is_provable(token) else None
        self._token_name = token_name
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._acknowledges = acknowledges
        self._http = http
        self._owns_http = http is None
        self._patience = patience

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the client's own session."""
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
        """Submit an ask, and wait until it has ended.

        Args:
            name: the tool's name, as the model called it.
            arguments: the tool call's arguments.
            key: an idempotency key: repeating it, even from a restarted process, finds the first ask. The id of the
                model's tool call is a good choice.
            timeout: seconds to wait; None: as long as it takes.

        Raises:
            InvalidCallError: the call is invalid; the error explains that to the model.
            StillOpenError: the time is up; the ask stays open.
            UnreachableError: the service did not answer within the timeout or the client's patience.
        """
        began = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                ask = await self.submit(name, arguments, key=key, **envelope)
        except TimeoutError as error:
            unit = "second" if timeout == 1 else "seconds"
            raise UnreachableError(
                f"Answerback at {self.url} did not accept the call within {timeout:g} {unit}. Is "
                "`answerback serve` running there? Retrying with the same key does not ask twice."
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
        """Submit an ask, and return at once. Safe to retry over lost connections: a retry finds the first ask."""
        return await self.submit_body({"name": name, "arguments": arguments, **envelope}, key=key)

    async def submit_body(self, body: Mapping[str, object], *, key: str | None = None) -> Ask:
        """Submit a complete request body, with ``name``, ``arguments`` and the envelope's fields."""
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        return Ask.of(await self.call("POST", "/v1/asks", json=body, headers=headers))

    async def get(self, ask_id: str) -> Ask:
        """Fetch the current state of an ask."""
        return Ask.of(await self.call("GET", _path(ask_id)))

    async def wait(self, ask_id: str, *, timeout: float | None = None) -> Ask:
        """Wait until an ask has ended; also resumes a wait after its process has died.

        Raises:
            AskedBackError: the ask was submitted with ``accepts=["clarify"]``, and a person asks for an explanation.
            StillOpenError: the time is up; the ask stays open.
            NotFoundError: there is no such ask.
            UnreachableError: the service has not answered for longer than the client's patience.
        """
        until = None if timeout is None else time.monotonic() + timeout
        path = _path(ask_id)
        while until is None or time.monotonic() < until:
            left = None if until is None else until - time.monotonic()
            poll = _LONG_POLL if left is None else min(_LONG_POLL, math.ceil(left))
            prefer = {"Prefer": f"wait={poll:.0f}, acknowledge"}
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
        """Answer what a person asked back. The explanation is shown below the question, which stays open.

        Repeating the same explanation has no effect.

        Raises:
            EndedError: the ask has already ended.
            InvalidCallError: the explanation cannot be shown.
        """
        return Ask.of(await self.call("POST", _path(ask_id, "/context"), json={"text": text}))

    async def withdraw(self, ask_id: str) -> Ask:
        """Withdraw an ask.

        Raises:
            EndedError: the ask has already ended.
        """
        return Ask.of(await self.call("DELETE", _path(ask_id)))

    async def report_no_answer(self, ask_id: str) -> Ask:
        """Report that the host of an approval is about to be told no, because nobody has answered.

        Returns the ask once it has ended: tell the host no, or what people have decided in the meantime.
        """
        denied = {"decision": "denied"}
        try:
            return Ask.of(await self.call("POST", _path(ask_id, "/carried"), json=denied))
        except StaleError as error:
            return error.ask

    async def receipt(self, ask_id: str) -> dict[str, JsonValue]:
        """Fetch the receipt of an ask that has ended: it proves to anyone who decided what, and when.

        Raises:
            NotFoundError: there is none.
            RefusedError: the ask is open.
        """
        return await self.call("GET", _path(ask_id, "/receipt"))

    async def consume(self, ask_id: str) -> Ask:
        """Consume an approval: the first of all callers gets it, so that it can be used only once.

        Raises:
            RefusedError: it was consumed before, or nobody has allowed it.
        """
        # Not retried automatically: the first call may have consumed it.
        return Ask.of(await self.call("POST", _path(ask_id, "/consume"), repeat=False))

    async def retry(
        self, ask_id: str, text: str | None = None, *, actor: Mapping[str, JsonValue] | None = None
    ) -> Ask:
        """Tell the agent, as a responder, to try again what nobody allowed in time.

        Args:
            actor: the person, ``{"user_id": …, "name": …}``, whom a surface's token vouches for.

        Raises:
            InvalidCallError: there is nothing to try again, or a person has told the agent already.
        """
        body = _without_none({"text": text, "actor": actor})
        return Ask.of(await self.call("POST", _path(ask_id, "/retry"), json=body, repeat=False))

    async def answers(
        self, conversation: str | None = None, *, after: int | None = None
    ) -> Answers:
        """Fetch asks that have ended and whose outcomes this agent has not seen, each of them once.

        Args:
            conversation: only asks of this conversation; empty: only asks without one; None: all asks.
            after: the ``next`` of the answers that were last processed, starting with 0: acknowledges those, and
                repeats later ones, which may have been lost. None: only answers that no response has delivered.
        """
        fields = _without_none({"conversation": conversation, "after": after})
        query = urlencode(fields, errors="replace")
        return Answers.of(await self.call("GET", f"/v1/answers?{query}"))

    async def acknowledge(self, *ask_ids: str) -> None:
        """Report that the agent has these outcomes. What is not acknowledged comes again, as a late answer."""
        await self.call("POST", "/v1/acknowledgements", json={"asks": ask_ids})

    async def open_asks(self, limit: int = 50) -> list[Ask]:
        """Fetch the newest open asks that the caller may see."""
        page = await self.call("GET", f"/v1/asks?status=open&limit={limit}")
        rows = page["asks"]
        return (
            [Ask.of(OBJECT.validate_python(row)) for row in rows] if isinstance(rows, list) else []
        )

    async def act(
        self, ask_id: str, action: Mapping[str, JsonValue], *, revision: int | None = None,
        actor: Mapping[str, JsonValue] | None = None,
    ) -> Ask:  # fmt: skip
        """Act as a responder: for custom front ends, never for agents.

        Args:
            action: ``{"action": "answer", "value": …}`` or another action; see docs/api.md.
            revision: the revision that the person saw.
            actor: the person, ``{"user_id": …, "name": …}``, whom a surface's token vouches for.

        Raises:
            StaleError: another person has acted on the ask meanwhile.
            EndedError: the ask has ended.
            InvalidCallError: the value is not a valid answer to this question.
        """
        body = {**action, **_without_none({"revision": revision, "actor": actor})}
        # Not retried automatically: without a revision, a retry could act a second time.
        return Ask.of(await self.call("POST", _path(ask_id, "/actions"), json=body, repeat=False))

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        headers: Mapping[str, str] | None = None,
        repeat: bool = True,
    ) -> Json:
        """Call the API, retrying while the service is down or the agent has reached one of its limits.

        Raises:
            RefusedError: the service refused the call; one of its subclasses.
            UnreachableError: the service has not answered for longer than the client's patience.
        """
        until = time.monotonic() + self._patience
        failures, lost = 0, False
        while True:
            try:
                return await self._call_once(method, path, json, headers or {})
            except (UnreachableError, TooManyAsksError) as error:
                pause = _pause_after(failures)
                failures += 1
                if isinstance(error, TooManyAsksError):
                    pause = max(pause, error.retry_after)
                else:
                    unsent = isinstance(error, _UnprovedError) or isinstance(
                        error.__cause__, aiohttp.ClientConnectorError
                    )
                    lost = error.may_have_acted = lost or (method != "GET" and not unsent)
                if not repeat or time.monotonic() + pause > until:
                    raise
            await asyncio.sleep(pause)

    async def _call_once(
        self, method: str, path: str, body: object, headers: Mapping[str, str]
    ) -> Json:
        await self.prove_listener()
        headers = {"Prefer": "acknowledge", **self._headers, **headers}
        if (propagate := sys.modules.get("opentelemetry.propagate")) is not None:
            propagate.inject(headers)  # the caller is traced: its trace continues in the service
        try:
            async with self._session().request(
                method,
                self.url + path,
                json=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=_LONG_POLL + _LONG_POLL_GRACE),
                allow_redirects=False,
            ) as response:
                raw = await response.read()
                status, retry_after = response.status, response.headers.get("Retry-After", "")
                outcomes = response.headers.get("Answerback-Outcomes")
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise self._invalid_address() from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(self._why_unreachable(error)) from error
        if outcomes and self._acknowledges:
            await self._acknowledge_read(outcomes.split(","))
        try:
            return _parse_response(self.url, status, raw)
        except TooManyAsksError as error:
            error.retry_after = float(retry_after) if retry_after.isdecimal() else 0.0
            raise

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession()
        return self._http

    async def prove_listener(self) -> None:
        """Make the listener prove that it knows the token, if there is one: every call does, before it sends that.

        Raises:
            UnauthorizedError: it says that it is the service, and has no such token.
            UnreachableError: it does not, like a service that is away: another program may have its port for a while.
        """
        if self._proved_token is None:
            return
        challenge = TokenChallenge(self._proved_token)
        try:
            async with self._session().get(
                f"{self.url}/v1/proof",
                params=challenge.query,
                timeout=_CHALLENGE_TIMEOUT,
                allow_redirects=False,
            ) as response:
                body = await response.content.read(MAX_PROOF)
                status = response.status
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise self._invalid_address() from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _UnprovedError(self._why_unreachable(error)) from error
        if challenge.is_proved_by(body):
            return
        if is_unknown(status, body):
            detail = f"No agent has {self._token_name}."
            raise UnauthorizedError(HTTPStatus.UNAUTHORIZED, {"detail": detail})
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _UnprovedError(f"{self.url} answered HTTP {status}.")
        raise _UnprovedError(
            f"Cannot reach Answerback at {self.url}: the program there did not prove that it knows {self._token_name}, "
            "and did not get it."
        )

    def _invalid_address(self) -> ClientError:
        return ClientError(f"{self.url} is not a valid Answerback address. Use http://host:port.")

    def _why_unreachable(self, error: Exception) -> str:
        return f"Cannot reach Answerback at {self.url}: {reason_of(error)}."

    async def _acknowledge_read(self, ask_ids: Sequence[str]) -> None:
        """Acknowledge outcomes once, as their caller waits for them: if that fails, they come again."""
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(_ACKNOWLEDGE_TIMEOUT):
                await self._call_once("POST", "/v1/acknowledgements", {"asks": ask_ids}, {})


def _pause_after(failures: int) -> float:
    """Seconds until the next try, random so that clients that failed together do not retry together."""
    grown: float = _FIRST_PAUSE * 2.0 ** min(failures, 10)
    return min(grown, _LONGEST_PAUSE) * random.uniform(1.0, 1.25)


def _path(ask_id: str, part: str = "") -> str:
    return f"/v1/asks/{quote(ask_id, safe='')}{part}"


def _without_none(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _parse_response(url: str, status: int, raw: bytes) -> Json:
    try:
        body = OBJECT.validate_json(raw)
    except ValidationError:
        body = None
    if status >= 500:
        raise UnreachableError(f"{url} answered HTTP {status}.")
    if body is None:
        raise ClientError(f"The server at {url} is not Answerback (HTTP {status}, no JSON object).")
    if status >= 400:
        # A 409 without an ask has another cause, such as erasing an ask that is still open.
        is_specific = status != HTTPStatus.CONFLICT or "revision" in body
        kind = _REFUSALS.get(status, RefusedError) if is_specific else RefusedError
        raise kind(status, body)
    return body
