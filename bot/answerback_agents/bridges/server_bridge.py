"""The bridge that follows an agent's server: listen, ask people, answer, withdraw, deliver late answers.

A bridge adds what is its host's own: how requests and answers look, and how it knows that a session was interrupted.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import ClassVar, Final, Generic, TypeVar

from answerback_agents.bridges.ask_people import Request, RequestAsker, id_text
from answerback_agents.bridges.event_server import (
    EventServer,
    Json,
    ServerUnavailableError,
    until_available,
)
from answerback_agents.bridges.late_answers import LateAnswerSource
from answerback_agents.bridges.pending_requests import Pending, PendingRequests
from answerback_base.backoff import Backoff
from answerback_client import Ask

Call = tuple[str, Json | None]
"""A call of the server: a path or a method, and the body or the parameters."""
Report = Callable[[str], None]
"""Shows a line to the person who started the bridge."""

_LATE_ANSWER_INTERVAL: Final = 2.0
"""Seconds between two checks for answers to interrupted sessions."""


S = TypeVar("S", bound=EventServer)


@dataclass(eq=False)
class ServerBridge(ABC, Generic[S]):
    host: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    """The kinds of requests that it lists."""
    question_dialect: ClassVar[str]
    """The dialect of the questions whose answers come late if the server ends. Other requests end with it."""
    unreadable: ClassVar[str] = "without a valid id"
    """Why a request is left to the host's own window."""

    server: S
    people: RequestAsker
    late: LateAnswerSource
    """The answers given after the server had ended."""
    report: Report
    _interrupted: set[str] = field(default_factory=set)
    """The sessions with open questions that no longer wait for the answers."""
    _waiting: set[str | None] = field(default_factory=set)
    """The sessions that waited for people when the bridge started."""
    _is_caught_up: bool = False

    def __post_init__(self) -> None:
        self._tasks = asyncio.TaskGroup()
        self.pending = PendingRequests(self.people, self._tasks)

    @abstractmethod
    async def list_pending(self, kind: str) -> list[Json]:
        """The requests of a kind that wait for an answer."""

    @abstractmethod
    async def was_interrupted(
        self, session: str, call_id: str | None, asked_at: float | None
    ) -> bool:
        """Return True if the server ended while a question waited; `asked_at` is known if an earlier run asked it."""

    @abstractmethod
    def handle_event(self, event: Json) -> None:
        """Ask what an event asks, and mark as gone what was answered in the host itself."""

    @abstractmethod
    def parse(self, kind: str, record: Json) -> Request | None:
        """Read a request; None if it is left to the host's own window."""

    @abstractmethod
    def answers(self, kind: str, request: Request, ask: Ask) -> list[Call]:
        """The calls that report to the server how an ask ended."""

    @abstractmethod
    def prompt(self, session: str, text: str) -> Call:
        """The call that continues a session with a text."""

    @abstractmethod
    async def send(self, call: Call) -> bool:
        """Call the server; returns whether it accepts."""

    async def place(self, pending: Pending) -> Request:
        """Complete a request with what the server has to be asked for."""
        return pending.request

    async def run(self) -> None:
        """Follow the server until cancelled; connect again whenever the connection is lost.

        Raises:
            ForeignServerError: the address is not that of such a server, or it refuses the bridge.
            ClientError: Answerback refuses the bridge, or cannot be reached at the start.
        """
        async with self._tasks:
            self._tasks.create_task(self._deliver_late_answers())
            await self._follow()

    async def _follow(self) -> None:
        backoff = Backoff()
        connected = True  # so that a server that is down is reported at once, and only once
        while True:
            try:
                async with self.server.open_event_stream() as events:
                    await self.catch_up()
                    backoff.reset()
                    self.report(f"Connected to {self.server.url}.")
                    connected = True
                    async for event in events:
                        self.handle_event(event)
            except ServerUnavailableError as error:
                if connected:
                    self.report(f"{error} Retrying until it is back.")
                connected = False
            await backoff.wait()

    async def catch_up(self) -> None:
        """Process the requests that came and went while there was no connection."""
        listed = [(kind, row) for kind in self.kinds for row in await self.list_pending(kind)]
        waiting = {id_text(row.get("id")) or "" for _, row in listed}
        for request_id in self.pending.waiting.keys() - waiting:
            await self._handle_missing(request_id)
        for kind, row in listed:
            self.ask(kind, row)
        if not self._is_caught_up:
            await self.people.withdraw_stale_asks(waiting, self._is_needed)
            # What was answered while no bridge ran. A session that waits gets that answer first, and then the others.
            self._waiting = {request.conversation for request in self.pending.waiting.values()}
            for session in {*await self.server.sessions()} - self._waiting:
                await self._deliver(session)
            self._is_caught_up = True

    async def _handle_missing(self, request_id: str) -> None:
        """Handle a request that the server no longer waits for: either answered there, or interrupted by its end."""
        if (asked := self.pending.waiting.get(request_id)) is None:
            return  # it was answered meanwhile
        if await self._comes_late(asked.dialect, asked.conversation, asked.tool_call_id):
            await self.pending.drop(request_id)
        else:
            self.pending.mark_gone(request_id)

    async def _is_needed(self, ask: Ask) -> bool:
        """Return True if the answer to an ask is delivered late: the server that asked has ended."""
        session, call_id = id_text(ask.json["conversation"]), id_text(ask.json["tool_call_id"])
        asked_at = datetime.fromisoformat(str(ask.json["created_at"])).timestamp()
        return await self._comes_late(str(ask.json["dialect"]), session, call_id, asked_at)

    async def _comes_late(
        self,
        dialect: str,
        session: str | None,
        call_id: str | None,
        asked_at: float | None = None,
    ) -> bool:
        if dialect != self.question_dialect or session is None:
            return False
        if is_late := await self.was_interrupted(session, call_id, asked_at):
            self._interrupted.add(session)
        return is_late

    def ask(self, kind: str, record: Json) -> None:
        """Ask people about a request, and call the server with their answer."""
        request = self.parse(kind, record)
        if request is None:
            self.report(f"A {kind} {self.unreadable} stays in {self.host}'s own window.")
            return
        name = f"{kind} {request.id}"

        async def answer(ask: Ask) -> None:
            session = request.conversation
            for call in self.answers(kind, request, ask):
                if not await until_available(partial(self.send, call)):
                    is_late = await until_available(partial(self._is_needed, ask))
                    await self.people.report_outcomes([ask.id], taken=not is_late)
                    if not is_late:
                        self.report(f"{self.host} no longer waits for {name}.")
                    return
            await self.people.report_outcomes([ask.id], taken=True)
            if session is not None and session in self._waiting:
                try:
                    await self._deliver(session)
                except ServerUnavailableError:
                    self._interrupted.add(session)

        self.pending.forward(
            request.id,
            request,
            answer,
            lambda error: self.report(f"{name} stays in {self.host}'s own window: {error}"),
            self.place,
        )

    async def _deliver_late_answers(self) -> None:
        """Deliver to the interrupted sessions until cancelled."""
        while True:
            waiting = {request.conversation for request in self.pending.waiting.values()}
            # A session to which an answer is on its way gets that one first: it may have to be returned.
            for session in self._interrupted - waiting:
                with suppress(ServerUnavailableError):
                    has_more = await self.people.has_open_asks(session)
                    if await self._deliver(session) and not has_more:
                        self._interrupted.discard(session)
            await asyncio.sleep(_LATE_ANSWER_INTERVAL)

    async def _deliver(self, session: str) -> bool:
        """Prompt a session with its late answers, so that it continues; returns whether there were any."""
        late = await self.late.fetch_once_available(session)
        if late is None:
            return False
        try:
            is_taken = await self.send(self.prompt(session, late.text))
        except ServerUnavailableError:
            await self.people.report_outcomes(late.ask_ids, taken=False)
            raise
        await self.people.report_outcomes(late.ask_ids, taken=is_taken)
        return True
