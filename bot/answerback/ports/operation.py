"""An operation of the API, as the service and extensions declare it.

The routes and the OpenAPI document are both generated from `Operation`s, so that neither can have
a route, a parameter or a status that the other lacks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, Literal, Protocol, TypeVar

from aiohttp import web
from pydantic import BaseModel, JsonValue, RootModel

if TYPE_CHECKING:
    from answerback.core.ask import Ask
    from answerback.core.person import Person
    from answerback.ports.store import Store

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

Role = Literal["agent", "surface"]

ANY_ROLE: Final[frozenset[Role]] = frozenset({"agent", "surface"})
AGENT_ONLY: Final[frozenset[Role]] = frozenset({"agent"})
SURFACE_ONLY: Final[frozenset[Role]] = frozenset({"surface"})


class ApiCall(Protocol):
    """One request, and its caller, who is authenticated: an agent, a front end, or a person with their key."""

    @property
    def request(self) -> web.Request:
        """The request; its body is read by `read_model` or `read_parts`, within the API's bounds."""

    @property
    def store(self) -> Store:
        """The service's store."""

    @property
    def person(self) -> Person | None:
        """The person whose key was sent; None for agents and front ends."""

    @property
    def guest(self) -> Person | None:
        """The holder of the personal link whose key was sent; they may see only their own asks."""

    @property
    def is_from_agent(self) -> bool:
        """True if the caller is an agent. A caller without a token or key counts as one."""

    @property
    def agent_scope(self) -> str | None:
        """The only agent whose asks the caller may see; None if not limited to one."""

    def running(self, kind: type[T]) -> T | None:
        """Return the extension that runs as an object of this class; None if the configuration does not use it."""

    async def ask(self, ask_id: str | None = None, *, acts: bool = False) -> Ask:
        """Load the ask that ``{id}`` in the path names, or another one, on which the caller acts or not.

        Raises:
            ProblemError: 404; also for an ask that the caller may not see.
        """

    def query(self, model: type[M]) -> M:
        """Parse the query string into the model that the operation names as ``query``.

        Raises:
            ProblemError: 400, with every error.
        """

    async def read_model(self, model: type[M], title: str) -> M:
        """Read the body as the model that the operation names as ``body``.

        Raises:
            ProblemError: 400, 413, 415, or 422 with this title.
        """

    def read_parts(self) -> AsyncIterator[bytes]:
        """Yield the bytes of a body of the type that the operation names as ``body_media``, as they arrive.

        The handler counts them: they may be as many as the caller sends within five minutes.

        Raises:
            ProblemError: 408 if it stalls, 400 if it ends early.
        """

    async def run_to_completion(self, change: Coroutine[object, object, T]) -> T:
        """Run a change to its end, even if the caller disconnects meanwhile."""


C = TypeVar("C", bound=ApiCall, contravariant=True)


@dataclass(frozen=True, slots=True)
class ResponseSpec:
    """One status that an operation responds with."""

    description: str
    model: type[object] | None = None
    """The model of the body; an error without one is a problem document."""
    media: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    """Header names and their descriptions."""


@dataclass(frozen=True, slots=True)
class HeaderSpec:
    """A request header that an operation accepts."""

    name: str
    description: str
    schema: Mapping[str, JsonValue] = field(default_factory=lambda: {"type": "string"})


@dataclass(frozen=True, slots=True)
class Operation(Generic[C]):
    """One method on one path."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    id: str
    path: str
    summary: str
    handle: Callable[[C], Awaitable[web.StreamResponse]]
    replies: Mapping[int, ResponseSpec]
    """The responses of its own: those that follow from its path, its query and its body are added."""
    roles: frozenset[Role] | None = ANY_ROLE
    """The roles whose tokens may call it, if tokens are configured; None: anyone may."""
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    is_body_optional: bool = False
    body_media: str | None = None
    """The media type of a body that is no JSON; see `ApiCall.read_parts`."""
    example: JsonValue = None
    """A valid body."""
    links: tuple[str, ...] = ()
    """Ids of operations that take the id in this one's response."""
    headers: tuple[HeaderSpec, ...] = ()
    description: str = ""
    guests: bool = True
    """True if a personal link's key may call it, if the operator's key may."""
    public: bool = False
    """True if the public listener has it, too."""
    after: str = ""
    """The id of the operation that it follows in the description; empty: it comes last."""

    def __post_init__(self) -> None:
        for model in filter(None, (self.query, self.body)):
            is_of_others = issubclass(model, RootModel)  # whose names other models decide
            if not is_of_others and model.model_config.get("extra") != "forbid":
                raise ValueError(
                    f"The operation {self.id} would ignore a misspelled name: {model.__name__} needs extra='forbid'."
                )


get: Final = partial(Operation, "GET")
post: Final = partial(Operation, "POST")
put: Final = partial(Operation, "PUT")
delete: Final = partial(Operation, "DELETE")
