"""Shared by the bridges: ask people about a server's request once, and withdraw the ask if it is no longer needed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from answerback_agents.pipe.json_rpc import without_nulls
from answerback_agents.pipe.origins import origin_of
from answerback_agents.pipe.saved_files import describe_files, fetch_and_save, files_of
from answerback_base import strict_json
from answerback_base.file_text import describe_files_with
from answerback_base.note_text import describe_note
from answerback_client import (
    Ask,
    AsyncClient,
    ClientError,
    EndedError,
    NotFoundError,
    RefusedError,
)

Json = dict[str, JsonValue]

_REQUEST: Final = "request"
"""The field of an ask's metadata with the id of the server's request."""
_PROCESS: Final = "process"
"""The field with the id of the bridge's process, if only that process can use an answer."""
_MAX_ID: Final = 60
"""Characters of a request's id in a key, which may have 255 and be percent-encoded."""
END_TIMEOUT: Final = 5.0
"""Seconds that a bridge takes at its end to withdraw the asks that end with it, and to acknowledge answers."""
_MAX_OPEN: Final = 200
"""The number of open asks that are searched for those of an earlier run."""


class Request(NamedTuple):
    """A request from an agent's server."""

    id: str
    """The same for the same request, so that a restarted bridge finds its first ask."""
    name: str
    dialect: str
    arguments: Json
    conversation: str | None
    tool_call_id: str | None = None
    turn: str | None = None
    folder: str | None = None
    process: int | None = None
    """The only bridge process that can deliver an answer: the ask is withdrawn when it ends. None: a later run can."""


@dataclass(frozen=True, slots=True)
class RequestAsker:
    """Asks people on behalf of a bridge: through one service, as one agent."""

    client: AsyncClient
    """Acknowledges nothing by itself: an outcome counts once the agent's server has it."""
    source: Mapping[str, str]
    """The agent, under the key ``bridge``, and which of its servers; part of each ask's metadata."""
    to: str | None
    """Where to ask; by default the token's route, or else the default route."""
    urgency: str | None = None
    """The urgency of what is asked; by default the route's."""

    async def ask_and_wait(self, request: Request, gone: asyncio.Event) -> Ask | None:
        """Ask people, and return the ask once it has ended; None if the request went away first.

        If the request goes away, the ask is withdrawn. So is an ask that ends with this process when it is cancelled;
        the answer to another one then comes late, even if it is here already.

        Args:
            gone: set when the server no longer needs an answer.

        Raises:
            ClientError: people cannot be asked.
        """
        body = {
            "name": request.name,
            "dialect": request.dialect,
            "arguments": _as_written(request.arguments),
            "to": self.to,
            "urgency": self.urgency,
            "conversation": request.conversation,
            "turn": request.turn,
            "tool_call_id": request.tool_call_id,
            "origin": origin_of(request.folder, request.conversation),
            "leased": request.process is not None or None,
            "metadata": without_nulls(
                {**self.source, _REQUEST: request.id, _PROCESS: request.process}
            ),
        }
        # The id comes from the server, and becomes a header.
        key = f"{self.source['bridge']}:{quote(request.id[:_MAX_ID], safe=':', errors='replace')}"
        asked = asyncio.create_task(self.client.submit_body(without_nulls(body), key=key))
        try:
            # Shielded, because `_leave` can withdraw the ask only once its id is known.
            ended = await self._wait(await asyncio.shield(asked), gone)
            return None if ended is None else await with_saved_files(self.client, ended)
        except asyncio.CancelledError:
            await self._leave(asked, request)
            raise
        finally:
            asked.cancel()

    async def _wait(self, ask: Ask, gone: asyncio.Event) -> Ask | None:
        ended = asyncio.create_task(self.client.wait(ask.id))
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
        """Withdraw the asks of earlier runs of this bridge that its server no longer needs.

        Args:
            pending: the ids of the requests that wait for an answer.
            is_needed: whether an answer to an ask is useful even so.
        """
        for ask in await self.client.open_asks(_MAX_OPEN):
            metadata = ask.json["metadata"]
            if not isinstance(metadata, dict) or not metadata.items() >= self.source.items():
                continue
            if str(metadata.get(_REQUEST)) not in pending and not await is_needed(ask):
                await self._withdraw(ask.id)

    async def has_open_asks(self, conversation: str) -> bool:
        """Return True if people are still asked something for a conversation."""
        query = urlencode({"status": "open", "conversation": conversation, "limit": 1})
        return bool((await self.client.call("GET", f"/v1/asks?{query}"))["asks"])

    async def report_outcomes(self, ask_ids: Sequence[str], *, taken: bool) -> None:
        """Report whether the server has taken these outcomes. If not, they come late, at once."""
        with contextlib.suppress(RefusedError):
            if taken:
                await self.client.acknowledge(*ask_ids)
                return
            for ask_id in ask_ids:
                await self.client.call("POST", f"/v1/asks/{ask_id}/undelivered")

    async def _leave(self, asked: asyncio.Task[Ask], request: Request) -> None:
        """Stop to wait for an ask, without waiting for a service that is down."""
        if request.process is None:
            return  # it stays open, or its answer comes late
        with contextlib.suppress(TimeoutError, ClientError):
            async with asyncio.timeout(END_TIMEOUT):
                await self._withdraw((await asked).id)

    async def _withdraw(self, ask_id: str) -> None:
        with contextlib.suppress(NotFoundError):
            try:
                await self.client.withdraw(ask_id)
            except EndedError:  # nobody needs the outcome
                await self.report_outcomes([ask_id], taken=True)


async def with_saved_files(client: AsyncClient, ask: Ask) -> Ask:
    """Save the files that people sent, and return the ask with their paths."""
    if not ask.answer_files:
        return ask
    conversation = str(ask.json.get("conversation") or ask.id)
    files: list[JsonValue] = [*(await fetch_and_save(ask.answer_files, conversation, client.file))]
    return replace(ask, json={**ask.json, "answer_files": files})


def _as_written(arguments: Json) -> JsonValue:
    """Return the arguments with each number as it was written: as text, if a client would write one otherwise."""
    is_rewritten = strict_json.has_rewritten_numbers(arguments)
    return strict_json.dump_as_written(arguments) if is_rewritten else arguments


async def is_needed_by_its_run(ask: Ask) -> bool:
    """Return True if an answer to another run's ask is still useful: it is a question, or that run is still alive."""
    metadata = ask.json["metadata"]
    process = metadata.get(_PROCESS) if isinstance(metadata, dict) else None
    if not isinstance(process, int):
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # another user's process
    return process != os.getpid()  # this run has not asked anything yet


def is_machine_made(ask: Ask) -> bool:
    """Return True if a deadline, the configuration or another machine answered: only a person's answer counts."""
    return ask.status == "answered" and not ask.by_person


def structured_result(ask: Ask) -> Json | None:
    """The result that the server understands; None if there is none, or no person gave it."""
    result = ask.tool_result
    if result is None or result.is_error or is_machine_made(ask):
        return None
    return result.structured if isinstance(result.structured, dict) else None


def words_for_model(ask: Ask) -> str | None:
    """Tell a model what a person said, where the answer to its host has no place for it; None if there is nothing."""
    note, reply, result = ask.json.get("note"), ask.json["reply"], structured_result(ask) or {}
    headline, files = str(ask.json["headline"]), describe_files(files_of(ask.json))
    if isinstance(note, str) and note not in result.values():
        said = describe_note(headline, note)
    elif not reply or reply in result.values():
        return files_for_model(ask)
    else:
        said = f'The user was asked "{headline}" and replied: {reply}'
    return f"{said}\n{files}" if files else said


def files_for_model(ask: Ask) -> str | None:
    """Tell a model which files a person sent; None if there are none."""
    files = describe_files(files_of(ask.json))
    return describe_files_with(str(ask.json["headline"]), files) if files else None


def reason_for_no_answer(ask: Ask) -> str:
    """Explain to the model why there is no answer for it."""
    content = ask.tool_result.content if ask.tool_result else ""
    why = f"No person answered, but a machine: {content}" if is_machine_made(ask) else content
    files = describe_files(files_of(ask.json))
    return f"{why}\n{files}" if files else why


def id_text(value: JsonValue) -> str | None:
    """Return an id: they are part of paths, keys and headers."""
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return value or None
    return None
