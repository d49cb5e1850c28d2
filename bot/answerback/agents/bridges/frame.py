"""The frame of every bridge: listens to an agent's server, asks people, answers, withdraws, and delivers late answers.

A bridge adds what is its host's own: how requests and answers look, and how it knows that a session was interrupted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol

from pydantic import JsonValue

from answerback.agents.bridges.ask_people import Request, RequestAsker
from answerback.agents.bridges.late_answers import LateAnswerSource
from answerback.core.base_error import AnswerbackError
from answerback_client import Ask, ClientError
from answerback_client.backoff import Backoff

Json = dict[str, JsonValue]
Report = Callable[[str], None]
"""Shows a line to the person who started the bridge."""

_FIRST_PAUSE: Final = 0.25
_MAX_PAUSE: Final = 10.0
_LATE_ANSWER_INTERVAL: Final = 2.0
"""Seconds between two checks for answers to interrupted sessions."""


class ServerUnavailableError(Exception):
    """The server cannot be reached, or is temporarily unable to answer."""


class ForeignServerError(AnswerbackError):
    """The address is not that of such a server, or the server refuses the bridge."""


class EventServer(Protocol):
    """A running server that reports what happens in it."""

    url: str

    def open_event_stream(self) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        """Stream the events from now on, until the connection is lost.

        Raises:
            ServerUnavailableError: the server cannot be reached, or the connection was lost.
            ForeignServerError: it is another kind of server.
        """


@dataclass(slots=True)
class Pending:
    """A request that people are asked about."""

    request: Request
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server no longer waits for an answer."""
    task: asyncio.Task[None] = field(init=False)
    """Waits for the answer."""


class PendingRequests:
    """The requests of a server that wait for people, by key: each is asked once, and answered once."""

    def __init__(self, people: RequestAsker, tasks: asyncio.TaskGroup) -> None:
        self._people = people
        self._tasks = tasks
        self._by_key: dict[str, Pending] = {}

    @property
    def waiting(self) -> dict[str, Request]:
        """The requests that wait."""
        return {key: pending.request for key, pending in self._by_key.items()}

    def forward(
        self,
        key: str,
        request: Request,
        answer: Callable[[Ask], Awaitable[None]],
        refused: Callable[[ClientError], None],
        place: Callable[[Pending], Awaitable[Request]] | None = None,
    ) -> None:
        """Ask people about a request, unless that is being done.

        Args:
            answer: tells the server how the ask ended.
            refused: called if people cannot be asked; the request is not asked about again until it is dropped.
            place: completes the request with what the server has to be asked for.
        """
        if key in self._by_key:
            return
        pending = self._by_key[key] = Pending(request)

        async def forwarded() -> None:
            try:
                whole = request if place is None else await place(pending)
                ask = await self._people.ask_and_wait(whole, pending.gone)
            except ClientError as error:
                if not pending.gone.is_set():
                    refused(error)
                return
            if ask is not None:
                await answer(ask)
            self._by_key.pop(key, None)

        pending.task = self._tasks.create_task(forwarded())

    def mark_gone(self, key: str) -> bool:
        """Withdraw what was asked, as the server no longer waits; returns whether it was being asked."""
        pending = self._by_key.pop(key, None)
        if pending is not None:
            pending.gone.set()
        return pending is not None

    def drop(self, key: str) -> None:
        """Stop to wait, and leave the ask open: its answer comes late."""
        if (pending := self._by_key.pop(key, None)) is not None:
            pending.task.cancel()

    def end(self) -> None:
        """Stop to wait for all: the server has ended."""
        for pending in self._by_key.values():
            pending.task.cancel()


class LateDelivery:
    """Delivers answers to sessions that were interrupted while they waited.

    Args:
        prompt: continues a session with a text; returns whether the server accepted it.
    """

    def __init__(
        self, late: LateAnswerSource, prompt: Callable[[str, str], Awaitable[bool]]
    ) -> None:
        self._late = late
        self._prompt = prompt
        self.interrupted: set[str] = set()
        """The sessions with open questions that no longer wait for the answers."""

    async def deliver(self, session: str) -> bool:
        """Prompt a session with its late answers, so that it continues; returns whether there were any."""
        words = await self._late.fetch(session)
        if words is None:
            return False
        try:
            if await self._prompt(session, words.text):
                words.receipt.confirm()
        finally:
            words.receipt.abandon()  # has no effect once confirmed
        return True

    async def run(self) -> None:
        """Deliver to the interrupted sessions until cancelled."""
        while True:
            with contextlib.suppress(ServerUnavailableError):
                waiting = [*self.interrupted]
                self.interrupted -= {each for each in waiting if await self.deliver(each)}
            await asyncio.sleep(_LATE_ANSWER_INTERVAL)


async def follow(
    server: EventServer,
    catch_up: Callable[[], Awaitable[None]],
    handle: Callable[[Json], None],
    report: Report,
) -> None:
    """Follow a server until cancelled; connect again whenever the connection is lost.

    Args:
        catch_up: processes what came and went while there was no connection.
    """
    backoff = Backoff(_FIRST_PAUSE, _MAX_PAUSE)
    connected = True  # so that a server that is down is reported at once, and only once
    while True:
        try:
            async with server.open_event_stream() as events:
                await catch_up()
                backoff.reset()
                report(f"Connected to {server.url}.")
                connected = True
                async for event in events:
                    handle(event)
        except ServerUnavailableError as error:
            if connected:
                report(f"{error} Retrying until it is back.")
            connected = False
        await backoff.wait()


async def until_accepted(post: Callable[[], Awaitable[bool]]) -> bool:
    """Post until the server has received it; returns whether it accepted: it refuses a second answer."""
    backoff = Backoff(_FIRST_PAUSE, _MAX_PAUSE)
    while True:
        try:
            return await post()
        except ServerUnavailableError:
            await backoff.wait()


def id_text(value: JsonValue) -> str | None:
    """Return an id: they are part of paths, keys and headers."""
    is_id = isinstance(value, str) and value.isascii() and value.isprintable()
    return value if is_id and isinstance(value, str) and value else None
