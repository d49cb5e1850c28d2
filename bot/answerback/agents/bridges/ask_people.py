"""What bridges share: a request of an agent's server is put to people once, and withdrawn if it is no longer needed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback_client import Ask, AsyncClient, ClientError, EndedError, NotFoundError

Json = dict[str, JsonValue]

_REQUEST: Final = "request"
"""The field of an ask's metadata with the id of the request that it puts to people."""
PROCESS: Final = "process"
"""The field with the id of the bridge's process, where an answer is of use to that process alone."""
_PARTING: Final = 5.0
"""Seconds in which what ends with a bridge is withdrawn."""
_MOST_OPEN: Final = 200
"""Open asks that are looked through for those of an earlier run."""


class Request(NamedTuple):
    """A request of an agent's server."""

    id: str
    """The same for the same request, so that a bridge that is started again finds the first ask."""
    name: str
    dialect: str
    arguments: Json
    conversation: str | None
    tool_call_id: str | None = None
    turn: str | None = None
    process: int | None = None
    """The bridge that alone can hand on an answer: with its end the ask is withdrawn. None: a later run can too."""


class RequestAsker:
    """People, as a bridge reaches them: by one service, as one agent.

    Args:
        client: the service.
        source: the agent, as ``bridge``, and which of its servers; it goes into each ask's metadata.
        to: where to ask; without it the token's route or the default.
    """

    def __init__(self, client: AsyncClient, source: Mapping[str, str], to: str | None) -> None:
        self._client = client
        self._source = source
        self._to = to

    async def ask_and_wait(self, request: Request, gone: asyncio.Event) -> Ask | None:
        """How people's ask ended; None if the request was gone before, and the ask is withdrawn.

        A bridge that is told to stop withdraws what ends with it.

        Args:
            gone: set when the server does not need an answer any more.

        Raises:
            ClientError: people cannot be asked.
        """
        body = {
            "name": request.name,
            "dialect": request.dialect,
            "arguments": request.arguments,
            "to": self._to,
            "conversation": request.conversation,
            "turn": request.turn,
            "tool_call_id": request.tool_call_id,
            "metadata": _given({**self._source, _REQUEST: request.id, PROCESS: request.process}),
        }
        key = f"{self._source['bridge']}:{request.id}"
        asked = asyncio.create_task(self._client.submit_body(_given(body), key=key))
        try:
            return await self._ended(await asyncio.shield(asked), gone)
        except asyncio.CancelledError:
            if request.process is not None:
                await self._withdraw_at_the_end(asked)
            raise
        finally:
            asked.cancel()

    async def _ended(self, ask: Ask, gone: asyncio.Event) -> Ask | None:
        ended = asyncio.create_task(self._client.wait(ask.id))
        left = asyncio.create_task(gone.wait())
        try:
            await asyncio.wait([ended, left], return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                return ended.result()
            await self._withdraw(ask.id)
            return None
        finally:
            ended.cancel()
            left.cancel()

    async def withdraw_stale_asks(
        self, pending: Collection[str], is_needed: Callable[[Ask], Awaitable[bool]]
    ) -> None:
        """Withdraws what another run of this bridge asked and its server does not need any more.

        Args:
            pending: the ids of the requests that wait for an answer.
            is_needed: whether an answer to an ask is of use all the same.
        """
        for ask in await self._client.open_asks(_MOST_OPEN):
            metadata = ask.json["metadata"]
            if not isinstance(metadata, dict) or not metadata.items() >= self._source.items():
                continue
            if str(metadata.get(_REQUEST)) not in pending and not await is_needed(ask):
                await self._withdraw(ask.id)

    async def _withdraw_at_the_end(self, asked: asyncio.Task[Ask]) -> None:
        """Withdraws while the bridge ends: a service that is away is not waited for."""
        with contextlib.suppress(TimeoutError, ClientError):
            async with asyncio.timeout(_PARTING):
                await self._withdraw((await asked).id)

    async def _withdraw(self, ask_id: str) -> None:
        with contextlib.suppress(EndedError, NotFoundError):
            await self._client.withdraw(ask_id)


def _given(fields: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in fields.items() if value is not None}
