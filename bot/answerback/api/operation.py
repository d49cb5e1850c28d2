"""The call that the handler of an API operation receives, and the responses that handlers build."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import urlencode

from aiohttp import web
from pydantic import BaseModel, JsonValue

from answerback.api.auth import Authenticator
from answerback.api.metrics import Metrics, ReplicaStatus
from answerback.core.ask import Ask
from answerback.core.errors import ProblemError
from answerback.core.walker import Person
from answerback.http.arriving_body import arriving
from answerback.http.request_body import BODY_TIMEOUT
from answerback.ports.extension import Running
from answerback.ports.operation import ResponseSpec
from answerback.ports.person_key import is_operator
from answerback.ports.store import Store
from answerback.ports.store_values import StoredEntry
from answerback.ports.surface import Surface
from answerback.service.agent_requests import (
    RESPONSE_TRACKER,
    parse_query,
    read_body,
)
from answerback.service.ask_wire import ask_json
from answerback.service.json_bodies import dump_json, parse_json, parse_model
from answerback.service.may_see import Viewer, may_see
from answerback.service.record_wire import entries_for_agent
from answerback.service.service import Service
from answerback.service.submission_request import Agent

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_MAX_INLINE_PARSE: Final = 32 * 1024
"""Bytes of JSON to parse on the event loop. Larger bodies, which take up to 60 ms, are parsed in a thread."""


class PendingChanges:
    """Changes that are finished even if their callers disconnect, and before the process ends."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()

    async def run_to_completion(self, change: Coroutine[object, object, T]) -> T:
        """Run a change to its end, even if the caller disconnects meanwhile."""
        return await asyncio.shield(self.start(change))

    def start(self, change: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Start a change in the background."""
        task = asyncio.create_task(change)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self) -> None:
        """Wait for the changes in progress, whose callers have disconnected."""
        await asyncio.gather(*self._tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Api:
    service: Service
    store: Store
    surfaces: Mapping[str, Surface]
    tokens: Authenticator
    metrics: Metrics
    enabled: Callable[[str], bool]
    """Return True if a tool of this name is served."""
    show_counts: Callable[[], Mapping[tuple[str, str], int]] = dict
    """The number of shows by surface and result."""
    replica: Callable[[], ReplicaStatus] | None = None
    """The status of this process among the replicas that share its store; None if it is the only one."""
    extensions: Collection[Running] = ()
    """The extensions that run."""
    exported_rows: Sequence[str] = ()
    """The tables of extensions whose rows are exported."""
    pending_changes: PendingChanges = field(default_factory=PendingChanges)

    async def run_to_completion(self, change: Coroutine[object, object, T]) -> T:
        """Run a change to its end, even if the caller disconnects meanwhile."""
        return await self.pending_changes.run_to_completion(change)


@dataclass(frozen=True, slots=True)
class Call:
    """One request and its caller: an agent by its token, a person by their key, or (neither) anyone local."""

    api: Api
    request: web.Request
    agent: Agent | None = None
    person: Person | None = None

    @property
    def service(self) -> Service:
        return self.api.service

    @property
    def store(self) -> Store:
        return self.api.store

    def running(self, kind: type[T]) -> T | None:
        """Return the extension that runs as an object of this class; None if there is none."""
        return next((each for each in self.api.extensions if isinstance(each, kind)), None)

    async def run_to_completion(self, change: Coroutine[object, object, T]) -> T:
        return await self.api.run_to_completion(change)

    async def ask(self, ask_id: str | None = None, *, acts: bool = False) -> Ask:
        """Load the ask that the path names, or another one, on which the caller acts or not.

        Raises:
            ProblemError: 404; also for another agent's ask, so that its existence is not revealed.
        """
        ask_id = self.request.match_info["id"] if ask_id is None else ask_id
        ask = await self.service.get(ask_id)
        if ask is None:
            raise _not_found(ask_id)
        self.check_seen(ask, acts=acts)
        return ask

    def check_seen(self, ask: Ask, *, acts: bool) -> None:
        """Raise ProblemError as `ask` does, unless the caller may see an ask."""
        if not self.may_see(ask, acts=acts):
            raise _not_found(ask.id)

    def may_see(self, ask: Ask, *, acts: bool = False) -> bool:
        """Return True if the caller may see an ask, or may as they act on it; see `answerback.service.may_see`."""
        viewer = Viewer(self.agent_scope, self.guest)
        return may_see(ask, viewer, self.service.people, acts=acts)

    def mark_seen_by_agent(self, ask: Ask) -> Ask:
        """Return the ask, and record that its agent sees it; reads by front ends and people do not count."""
        if self.is_from_agent:
            self.request[RESPONSE_TRACKER].add_outcome(ask)
        return ask

    def carry(self, ask: Ask) -> None:
        """Record that this response will report the ask's outcome to the agent."""
        if self.is_from_agent:
            self.request[RESPONSE_TRACKER].hold_back(ask)

    def json_of(self, ask: Ask) -> dict[str, JsonValue]:
        """Return an ask as JSON, as the caller may read it."""
        return ask_json(ask, to_people=not self.is_from_agent)

    def readable(self, ask: Ask, rows: Sequence[StoredEntry]) -> Sequence[StoredEntry]:
        """Return the lines of an ask's record that the caller may read."""
        return entries_for_agent(ask, rows) if self.is_from_agent else rows

    @property
    def is_from_agent(self) -> bool:
        """True if the caller is an agent. A caller without a token or key counts as one."""
        return self.person is None and (self.agent is None or self.agent.role == "agent")

    @property
    def guest(self) -> Person | None:
        """The holder of the personal link whose key was sent; they may see only their own asks."""
        return None if self.person is None or is_operator(self.person) else self.person

    @property
    def agent_scope(self) -> str | None:
        """The only agent whose asks the caller may see; None if not limited to one."""
        return self.agent.name if self.agent is not None and self.agent.role == "agent" else None

    def query(self, model: type[M]) -> M:
        """Parse the query string into a model.

        Raises:
            ProblemError: 400, with every error.
        """
        return parse_query(model, self.request)

    async def read_model(self, model: type[M], title: str) -> M:
        """Read the body as a model.

        Raises:
            ProblemError: 400, 413, 415, or 422 with this title.
        """
        return parse_model(model, await self.read_json(), title)

    def read_parts(self) -> AsyncIterator[bytes]:
        """Yield a body that is no JSON as it arrives.

        Raises:
            ProblemError: 408 if it stalls, 400 if it ends early.
        """
        return arriving(self.request)

    async def read_json(self) -> JsonValue:
        """Read the body as JSON.

        Raises:
            ProblemError: 400, 413 or 415.
        """
        request = self.request
        if request.content_type != "application/json":
            content_type = request.headers.get("Content-Type", "no Content-Type")[:100]
            raise ProblemError(
                415,
                "Not JSON",
                f"The body was sent as {content_type!r}; send Content-Type: application/json.",
            )
        if (request.charset or "utf-8").lower() not in {"utf-8", "utf8"}:
            raise ProblemError(
                415,
                "Not UTF-8",
                "JSON must be sent as UTF-8: remove the charset or set it to utf-8.",
            )
        body = await read_body(request)
        return (
            parse_json(body)
            if len(body) <= _MAX_INLINE_PARSE
            else await asyncio.to_thread(parse_json, body)
        )


def _not_found(ask_id: str) -> ProblemError:
    return ProblemError(404, "Not found", f"There is no ask with the id {ask_id[:100]}.")


BAD: Final = ResponseSpec("The request is malformed; `detail` or `errors` says where.")
NOT_FOUND: Final = ResponseSpec("There is none with this id, or it belongs to another agent.")
TOO_SLOW: Final = ResponseSpec(f"The body did not arrive within {BODY_TIMEOUT:g} seconds.")
TOO_LARGE: Final = ResponseSpec("The body is over 256 KiB.")
NOT_JSON: Final = ResponseSpec("The body is not UTF-8 application/json.")
NEXT: Final = {"Link": "The next page, with rel=next, if there is one."}
"""The header of a response with a page."""


async def checked_cursor(reading: Awaitable[T]) -> T:
    """Return a page that is being read.

    Raises:
        ProblemError: 400; the cursor did not come from a page.
    """
    try:
        return await reading
    except ValueError as error:
        detail = "`after` is not a valid cursor: pass the `next` of the previous page unchanged."
        raise ProblemError(400, "Bad query", detail) from error


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    return json_bytes_response(dump_json(value), status, headers)


def json_bytes_response(
    body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Build a JSON response from JSON that is serialised already."""
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


def ask_response(
    call: Call, ask: Ask, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Build the response with an ask's current state, as the caller may read it."""
    return json_response(call.json_of(ask), status, headers)


def page_response(
    call: Call, name: str, rows: list[JsonValue], after: str | int | None
) -> web.Response:
    """Build the response with a page, with the Link header to the next one (RFC 8288) unless it is the last."""
    headers = None
    if after is not None:
        query = urlencode({**call.request.query, "after": str(after)})
        headers = {"Link": f'<{call.request.path}?{query}>; rel="next"'}
    return json_response({name: rows, "next": after}, headers=headers)
