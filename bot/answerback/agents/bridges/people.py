"""What bridges share: a request of an agent's server is put to people once, and withdrawn if it is no longer needed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback_client import Ask, AsyncClient, EndedError, NotFoundError

Json = dict[str, JsonValue]

_REQUEST: Final = "request"
"""The field of an ask's metadata with the id of the request that it puts to people."""
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


class People:
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

    async def outcome(self, request: Request, gone: asyncio.Event) -> Ask | None:
        """How people's ask ended; None if the request was gone before, and the ask is withdrawn.

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
            "metadata": {**self._source, _REQUEST: request.id},
        }
        given = {key: value for key, value in body.items() if value is not None}
        key = f"{self._source['bridge']}:{request.id}"
        ask = await self._client.submit_body(given, key=key)
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

    async def withdraw_others(
        self, pending: Collection[str], is_needed: Callable[[Ask], Awaitable[bool]]
    ) -> None:
        """Withdraws what an earlier run of this bridge asked and its server does not need any more.

        Args:
            pending: the ids of the requests that wait for an answer.
            is_needed: whether an answer to an ask is of use all the same.
        """
        for ask in await self._client.open_asks(_MOST_OPEN):
            metadata = ask.json["metadata"]
            if not isinstance(metadata, dict) or not metadata.items() >= self._source.items():
                continue
            if str(metadata[_REQUEST]) not in pending and not await is_needed(ask):
                await self._withdraw(ask.id)

    async def _withdraw(self, ask_id: str) -> None:
        with contextlib.suppress(EndedError, NotFoundError):
            await self._client.withdraw(ask_id)
