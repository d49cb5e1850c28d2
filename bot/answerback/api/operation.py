"""One call of the API: what an operation declares, and what its handler is handed.

The routes and the OpenAPI document are both made from `Operation`s, so that neither can know a
route, a parameter or a status that the other does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from answerback.api.auth import AgentTokens
from answerback.api.json_bodies import dump_json
from answerback.api.metrics import Metrics
from answerback.api.replica_status import ReplicaStatus
from answerback.core.ask import Ask
from answerback.core.errors import ProblemError
from answerback.core.walker import Person
from answerback.ports.person_key import KeyHolderSource, is_operator
from answerback.ports.store import Store
from answerback.ports.surface import Surface
from answerback.service.agent_requests import RESPONSE_TRACKER
from answerback.service.body_errors import problems_of
from answerback.service.inbox import concerns
from answerback.service.serialize import ask_json
from answerback.service.service import Service
from answerback.service.submission_request import Agent

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
Role = Literal["agent", "surface"]

ANY_ROLE: Final[frozenset[Role]] = frozenset({"agent", "surface"})
AGENT_ONLY: Final[frozenset[Role]] = frozenset({"agent"})
SURFACE_ONLY: Final[frozenset[Role]] = frozenset({"surface"})


@dataclass(frozen=True, slots=True)
class Api:
    """What the API serves from."""

    service: Service
    store: Store
    surfaces: Mapping[str, Surface]
    tokens: AgentTokens
    holders: KeyHolderSource
    metrics: Metrics
    enabled: Callable[[str], bool]
    """Whether a tool of this name is served."""
    show_counts: Callable[[], Mapping[tuple[str, str], int]] = dict
    """How often showing ended how, by surface."""
    replica: Callable[[], ReplicaStatus] | None = None
    """How this process stands among those that share its store; None: it has it for itself."""
    pending_changes: set[asyncio.Task[object]] = field(default_factory=set)
    """Changes under way; a caller that hangs up does not undo them."""

    async def run_to_completion(self, change: Coroutine[object, object, T]) -> T:
        """Carries a change through to its end, even if the caller hangs up meanwhile."""
        return await asyncio.shield(self.start_change(change))

    def start_change(self, change: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Begins a change that is finished before the process ends."""
        task = asyncio.create_task(change)
        self.pending_changes.add(task)
        task.add_done_callback(self.pending_changes.discard)
        return task


API: Final = web.AppKey("api", Api)


@dataclass(frozen=True, slots=True)
class Call:
    """One request and who makes it: an agent by its token, a person by their key, or (neither) anybody here."""

    api: Api
    request: web.Request
    agent: Agent | None = None
    person: Person | None = None

    @property
    def service(self) -> Service:
        """The service."""
        return self.api.service

    async def ask(self) -> Ask:
        """The ask that the path names.

        Raises:
            ProblemError: 404, also for another agent's ask: that it exists is not this agent's business.
        """
        ask_id = self.request.match_info["id"]
        ask = await self.service.get(ask_id)
        if ask is None or not self.may_see(ask):
            raise ProblemError(404, "Not found", f"There is no ask {ask_id[:100]}.")
        return ask

    def may_see(self, ask: Ask) -> bool:
        """Whether the caller may know of an ask: an agent of its own, somebody with a personal link of theirs."""
        if self.agent_scope is not None:
            return ask.request.agent == self.agent_scope
        return self.guest is None or concerns(ask, self.guest)

    def mark_seen_by_agent(self, ask: Ask) -> Ask:
        """The ask, which the response tells its agent of: a front end or a person who reads it is not told for it."""
        if self.is_from_agent:
            self.request[RESPONSE_TRACKER].add_outcome(ask)
        return ask

    def carry(self, ask: Ask) -> None:
        """The response is to tell the agent how the ask ends."""
        if self.is_from_agent:
            self.request[RESPONSE_TRACKER].hold_back(ask)

    @property
    def is_from_agent(self) -> bool:
        """Whether an agent calls, as anybody does here who shows neither a token nor a key."""
        return self.person is None and (self.agent is None or self.agent.role == "agent")

    @property
    def guest(self) -> Person | None:
        """Who calls with the key of a personal link, and so may see what is theirs alone."""
        return None if self.person is None or is_operator(self.person) else self.person

    @property
    def agent_scope(self) -> str | None:
        """The agent whose asks alone the caller may see; None: everybody's."""
        return self.agent.name if self.agent is not None and self.agent.role == "agent" else None

    def query(self, model: type[M]) -> M:
        """The query string as a model.

        Raises:
            ProblemError: 400, with every mistake.
        """
        found: dict[str, str] = {}
        for name, value in self.request.query.items():
            if name in found:
                raise ProblemError(400, "Bad query", f"The parameter {name[:100]} is given twice.")
            found[name] = value
        try:
            return model.model_validate(found)
        except ValidationError as error:
            raise ProblemError(400, "Bad query", None, problems_of(error)) from error


OperationHandler = Callable[[Call], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class ResponseSpec:
    """One status that an operation answers with."""

    description: str
    model: type[BaseModel] | None = None
    media: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    """Header names and what they say."""


@dataclass(frozen=True, slots=True)
class HeaderSpec:
    """A request header that an operation understands."""

    name: str
    description: str
    schema: Mapping[str, JsonValue] = field(default_factory=lambda: {"type": "string"})


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path."""

    id: str
    method: Literal["GET", "POST", "DELETE"]
    path: str
    summary: str
    handle: OperationHandler
    replies: Mapping[int, ResponseSpec]
    roles: frozenset[Role] | None = ANY_ROLE
    """Whose tokens may call it, where tokens are configured; None: anybody."""
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    example: JsonValue = None
    """A body that works."""
    links: tuple[str, ...] = ()
    """Operations that take the id in this one's answer."""
    headers: tuple[HeaderSpec, ...] = ()
    description: str = ""
    guests: bool = True
    """Whether the keys of personal links may call it, where the service's own may."""


class NoQuery(BaseModel):
    """Of an operation that takes no query."""

    model_config = ConfigDict(extra="forbid")


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A JSON answer."""
    return json_bytes_response(dump_json(value), status, headers)


def json_bytes_response(
    body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A JSON answer whose text is made already."""
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


def ask_response(
    ask: Ask, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """An ask as it stands."""
    return json_response(ask_json(ask), status, headers)
