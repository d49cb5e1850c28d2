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
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, Self, Unpack
from urllib.parse import quote, urlencode

import aiohttp
from pydantic import JsonValue

from answerback_client.connection import ServiceConnection, check_response
from answerback_client.errors import (
    ClientError,
    Json,
    TooManyAsksError,
    UnreachableError,
    parse_body,
)
from answerback_client.models import (
    OBJECT,
    Answers,
    Ask,
    AskedBackError,
    Envelope,
    StaleError,
    StillOpenError,
)
from answerback_client.retries import CALL_TIMEOUT, LONG_POLL, Retries

_ACKNOWLEDGE_TIMEOUT: Final = 5.0
"""Seconds for which an outcome is held back to acknowledge it."""
PATIENCE: Final = 600.0
"""Seconds for which calls to a service that is down are retried before that is an error."""


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
        self._connection = ServiceConnection(url, token, http=http, token_name=token_name)
        self.url = self._connection.url
        self._acknowledges = acknowledges
        self._patience = patience

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the client's own session."""
        await self._connection.close()

    async def ask(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        key: str | None = None,
        timeout: float | None = None,
        folder: str | os.PathLike[str] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Ask:
        """Submit an ask, and wait until it has ended.

        Args:
            name: the tool's name, as the model called it.
            arguments: the tool call's arguments.
            key: an idempotency key: repeating it, even from a restarted process, finds the first ask. The id of the
                agent's run with that of the model's tool call is a good choice; the latter alone may come again in
                another run.
            timeout: seconds to wait; None: as long as it takes.
            folder: see `submit`.

        Raises:
            InvalidCallError: the call is invalid; the error explains that to the model.
            StillOpenError: the time is up; the ask stays open.
            UnreachableError: the service did not answer within the timeout or the client's patience.
        """
        began = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                ask = await self.submit(name, arguments, key=key, folder=folder, **envelope)
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
        folder: str | os.PathLike[str] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Ask:
        """Submit an ask, and return at once. Safe to retry over lost connections: a retry finds the first ask.

        ``files`` are paths, which are uploaded, or what `upload` has returned.

        Args:
            folder: the agent's working folder. Pictures in it that a question's context or preview shows, as in
                ``![Plot](plots/load.png)``, are uploaded; see `answerback_client.folder_pictures`.
        """
        body: dict[str, object] = {"name": name, "arguments": arguments, **envelope}
        files = [
            each if isinstance(each, Mapping) else await self.upload(each)
            for each in envelope.get("files", ())
        ]
        if folder is not None:
            shown, pictures = await self._upload_shown(arguments, Path(folder), files)
            body["arguments"], files = shown, [*files, *pictures]
        if files:
            body["files"] = files
        return await self.submit_body(body, key=key)

    async def _upload_shown(
        self,
        arguments: Mapping[str, JsonValue],
        folder: Path,
        files: Sequence[Mapping[str, JsonValue]],
    ) -> tuple[Mapping[str, JsonValue], list[dict[str, JsonValue]]]:
        """Upload the pictures that a call shows; return its arguments as they refer to these, and the files."""
        # Few calls show pictures.
        from answerback_client.folder_pictures import find_pictures, upload_pictures

        taken = frozenset(str(each.get("name", each.get("id"))) for each in files)
        found = await asyncio.to_thread(find_pictures, dict(arguments), folder, taken)
        uploaded = dict[str, str]()
        kept = await upload_pictures(found, self._store, uploaded)
        return kept.referring(), kept.references(uploaded)

    async def submit_body(self, body: Mapping[str, object], *, key: str | None = None) -> Ask:
        """Submit a complete request body, with ``name``, ``arguments`` and the envelope's fields."""
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        return Ask.of(await self.call("POST", "/v1/asks", json=body, headers=headers))

    async def upload(
        self,
        file: str | os.PathLike[str] | bytes,
        *,
        name: str | None = None,
        alt: str | None = None,
    ) -> dict[str, JsonValue]:
        """Upload a file, for ``files`` of an ask within an hour.

        Args:
            file: its path, or its bytes, at most 10 MiB.
            name: what it is called; a path has a name already. Markdown refers to it as ``![…](file:NAME)``.
            alt: what stands for it where it is not seen.

        Raises:
            RefusedError: it is too large, empty, or a picture with too many pixels.
            OSError: the path cannot be read.
        """
        if isinstance(file, bytes):
            data, called = file, name or "file"
        else:
            path = Path(file)
            data, called = await asyncio.to_thread(path.read_bytes), name or path.name
        stored = await self._store(called, data)
        reference: dict[str, JsonValue] = {"id": stored["id"]}
        return reference if alt is None else {**reference, "alt": alt}

    async def _store(self, name: str, data: bytes) -> dict[str, JsonValue]:
        address = f"/v1/files?{urlencode({'name': name}, errors='replace')}"
        # Repeated while the service is down: a file that was stored twice is deleted within two hours.
        return await self.call("POST", address, data=data)

    async def file(self, file_id: str) -> bytes:
        """Fetch the bytes of a file.

        Raises:
            NotFoundError: there is no such file, or it is another agent's.
        """
        address = f"/v1/files/{quote(file_id, safe='')}"
        return await self._read("GET", address, None, {}, repeat=True)

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
            poll = LONG_POLL if left is None else min(LONG_POLL, math.ceil(left))
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

    async def consume(self, ask_id: str, *, edited: str | None = None) -> Ask:
        """Consume an approval: the first of all callers gets it, so that it can be used only once.

        Args:
            edited: the digest of the call as a person has changed it (`Ask.edited`): without it, such a call is not
                consumed.

        Raises:
            RefusedError: it was consumed before, nobody has allowed it, or what was allowed is another call.
        """
        # Not retried automatically: the first call may have consumed it.
        body = None if edited is None else {"edited": edited}
        return Ask.of(await self.call("POST", _path(ask_id, "/consume"), json=body, repeat=False))

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

    async def open_asks(
        self, limit: int = 50, *, order: Literal["newest", "urgency"] = "newest"
    ) -> list[Ask]:
        """Fetch the first open asks that the caller may see, the newest or the most urgent ones."""
        ordered = "" if order == "newest" else f"&order={order}"
        page = await self.call("GET", f"/v1/asks?status=open&limit={limit}{ordered}")
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
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        repeat: bool = True,
    ) -> Json:
        """Call the API, retrying while the service is down or the agent has reached one of its limits.

        Args:
            data: the body if it is no JSON.

        Raises:
            RefusedError: the service refused the call; one of its subclasses.
            UnreachableError: the service has not answered for longer than the client's patience.
        """
        kind = {} if data is None else {"Content-Type": "application/octet-stream"}
        body = json if data is None else data
        raw = await self._read(method, path, body, kind | dict(headers or {}), repeat=repeat)
        return parse_body(self.url, raw)

    async def _read(
        self, method: str, path: str, body: object, headers: Mapping[str, str], *, repeat: bool
    ) -> bytes:
        """Return the body of the response to what `call` sends."""
        retries = Retries(self._patience)
        while True:
            try:
                return await self._call_once(method, path, body, headers)
            except (UnreachableError, TooManyAsksError) as error:
                pause = retries.pause_after(error, changes=method != "GET", repeat=repeat)
                await asyncio.sleep(pause)

    async def _call_once(
        self, method: str, path: str, body: object, headers: Mapping[str, str]
    ) -> bytes:
        headers = {"Prefer": "acknowledge", **headers}
        async with self._connection.request(
            method, path, body=body, headers=headers, timeout=CALL_TIMEOUT
        ) as response:
            raw = await response.read()
        outcomes = response.headers.get("Answerback-Outcomes")
        if outcomes and self._acknowledges:
            await self._acknowledge_read(outcomes.split(","))
        check_response(response, self.url, raw)
        return raw

    async def prove_listener(self) -> None:
        """Make the listener prove that it knows the token; see `ServiceConnection.prove_listener`."""
        await self._connection.prove_listener()

    async def _acknowledge_read(self, ask_ids: Sequence[str]) -> None:
        """Acknowledge outcomes once, as their caller waits for them: if that fails, they come again."""
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(_ACKNOWLEDGE_TIMEOUT):
                await self._call_once("POST", "/v1/acknowledgements", {"asks": ask_ids}, {})


def _path(ask_id: str, part: str = "") -> str:
    return f"/v1/asks/{quote(ask_id, safe='')}{part}"


def _without_none(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}
