"""The requests of an agent's server that wait for people: each is asked once, answered once, or withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from answerback_agents.bridges.ask_people import Request, RequestAsker
from answerback_client import Ask, ClientError


@dataclass(slots=True)
class Pending:
    """A request that people are asked about."""

    request: Request
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server no longer waits for an answer."""
    task: asyncio.Task[None] = field(init=False)
    """Waits for the answer."""
    is_answered: bool = False
    """True if there is an answer, which the server may not have accepted yet."""


@dataclass(slots=True)
class PendingRequests:
    """The requests of a server that wait for people, by key."""

    people: RequestAsker
    tasks: asyncio.TaskGroup
    _by_key: dict[str, Pending] = field(default_factory=dict)

    @property
    def waiting(self) -> dict[str, Request]:
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
                ask = await self.people.ask_and_wait(whole, pending.gone)
            except ClientError as error:
                if not pending.gone.is_set():
                    refused(error)
                return
            if ask is not None:
                pending.is_answered = True
                await answer(ask)
            if self._by_key.get(key) is pending:  # the server may ask the same again by now
                del self._by_key[key]

        pending.task = self.tasks.create_task(forwarded())

    def mark_gone(self, key: str) -> bool:
        """Withdraw what was asked, as the server no longer waits; returns whether it was being asked."""
        pending = self._by_key.pop(key, None)
        if pending is not None:
            pending.gone.set()
        return pending is not None

    async def drop(self, key: str) -> None:
        """Stop to wait, and leave the ask open: its answer comes late. One that is there already is still sent."""
        if (pending := self._by_key.get(key)) is not None and not pending.is_answered:
            del self._by_key[key]
            pending.task.cancel()
            await asyncio.wait([pending.task])

    def end(self) -> None:
        """Stop to wait for all: the server has ended."""
        for pending in self._by_key.values():
            pending.task.cancel()
