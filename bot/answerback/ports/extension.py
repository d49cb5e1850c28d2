"""The door for extensions: what a distribution adds to the service, besides a place where people are asked.

It names a subclass of `Extension` in the entry-point group `answerback.extensions`. Every command imports the module,
so an extension imports what it runs with in `Extension.open`. Proved by `answerback_testing.extension_contract`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, TypeVar

from answerback.ports.extension_rows import NO_ROWS, Rows, RowTable, SchemaTable
from answerback.ports.settings_tables import Table

if TYPE_CHECKING:  # commands that need no service import this module, too
    from contextlib import AsyncExitStack
    from ipaddress import IPv4Network, IPv6Network
    from pathlib import Path

    from aiohttp import web

    from answerback.core.ask import Ask, Change
    from answerback.core.intents import ResolvedAction
    from answerback.core.labels import Labels
    from answerback.core.people import People
    from answerback.core.person import Person
    from answerback.ports.claims import Claim
    from answerback.ports.clock import Clock
    from answerback.ports.commands import Command
    from answerback.ports.operation import ApiCall, Operation
    from answerback.ports.person_key import KeyHolder, KeyHolderSource
    from answerback.ports.plugin import Finding, Strength, SurfaceSettings
    from answerback.ports.sender import SendResult
    from answerback.ports.settings_tables import LimitSettings
    from answerback.ports.store import Store
    from answerback.ports.store_values import AskLimits, Delivery, Page
    from answerback.ports.surface import Acted, Actor, Rejected, Surface

GROUP: Final = "answerback.extensions"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Configured:
    """The parts of the configuration that an extension reads."""

    table: Any
    """The extension's own table, of the type `Extension.settings`."""
    agent_secrets: Mapping[str, Sequence[str]] | None = field(repr=False)
    """The callback secrets of each agent; None if agents need no tokens."""
    labels: Labels
    surfaces: frozenset[str]
    """The names of all existing surfaces, configured or not."""
    default_route: str
    surface_table: Callable[[str], object]
    """Returns the table of a surface, which has the keys of `Extension.surface_keys`; None: it is not installed."""
    surface_of: Callable[[str], str | None]
    """Returns the surface where a route asks; None if that depends on the ask."""
    limits: Callable[[LimitSettings], AskLimits]
    """Returns the limits of an agent with these settings: unset keys have those of ``[limits]``."""
    public_url: str | None
    """The public listener's address as seen from outside; None if there is no public listener."""

    @property
    def uses_tokens(self) -> bool:
        """True if agents need tokens."""
        return self.agent_secrets is not None


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """The parts of the process that an extension can use."""

    configured: Configured
    store: Store
    clock: Clock
    claim: Claim
    """This process's claim on work that others with the same store could also do."""
    database_file: Path
    """The database's file, or where one would be: what else is to be kept is put beside it."""
    database_name: str
    """The name that people know the database by, without its password."""
    people: People
    surfaces: Mapping[str, Surface]
    """The surfaces by name; empty until all extensions are open."""
    holders: KeyHolderSource
    """Returns the valid keys and whom they belong to."""
    signed_in_by: str | None
    """The name of the source that says who a proxy has signed in; None if no proxy signs people in."""
    credential_of: Callable[[Person], Awaitable[str | None]]
    """Returns what proves now who a person is; see `answerback.service.grants.CredentialOf`."""
    is_agent: Callable[[str], bool]
    """Returns whether the configuration has an agent or a front end of a name."""
    address: str
    """The address at which people reach the service."""
    proxies: Sequence[IPv4Network | IPv6Network]
    """The proxies whose word counts for where a request comes from."""
    run_to_completion: RunToCompletion
    wake_outbox: Callable[[], None]
    """Say that the outbox has something new which `Running.on_change` has not returned."""
    act: Callable[[str, ResolvedAction, Actor], Awaitable[Acted | Rejected]]
    """Act on an ask as a person, by the same rules; only once the service is built."""
    quiet_until: Callable[[Person, float], float | None]
    """Returns until when a person is not to be told of what waits, by all extensions; None: they may be."""
    lists: PeoplesLists
    """The lists of what waits for people; only once the service is built."""
    on_changed: Callable[[Callable[[Ask], None]], None]
    """Have a function called with each ask that changes or is new in this process, once that is stored."""
    on_ended: Callable[[Callable[[Ask], None]], None]
    """Have a function called with each ask that ends in this process, once that is stored."""
    trace_headers: Callable[[], Mapping[str, str]]
    """Returns the headers that pass the current trace on."""
    stack: AsyncExitStack
    """Closes what the extension opens."""


class KnownAgent(NamedTuple):
    """An agent that an extension knows by its token."""

    name: str
    routes: tuple[str, ...]
    """The names of the only routes that it may use; empty: all."""
    label: str | None
    """The name of the asker that people see; None: its name."""
    owner: str | None
    """The person in the directory on whose behalf it asks."""
    limits: AskLimits


class PeoplesLists(Protocol):
    """The lists of what waits for people."""

    async def list_waiting_for(self, actor: Actor, after: str | None, limit: int) -> Page[Ask]:
        """Return a page of a person's list; see `answerback.ports.surface.Asks`."""

    async def is_waiting_for(self, person: Person, ask: Ask) -> bool:
        """Return whether an ask waits for a person, even if an extension hides it from them."""

    def list_changed(self, person: Person, ask: Ask) -> None:
        """Say that an ask has left a person's list or is there again, though the ask has not changed."""


class RunToCompletion(Protocol):
    """Runs a change to its end, even if the caller disconnects meanwhile, and before the process ends."""

    async def __call__(self, change: Coroutine[object, object, T]) -> T:
        """Start the change, and wait for it; a caller that is cancelled meanwhile does not cancel the change."""


class Running:
    """An extension that runs. Each method does nothing unless it is overridden."""

    sends: str = ""
    """The beginning of the types of the deliveries that `send` sends, such as ``push.``; empty if it sends none."""

    kinds: frozenset[str] | None = None
    """`on_change` is called only with changes that add such lines to the record, such as ``ended``; None: with each."""
    only_callbacks: bool = False
    """True if `on_change` is called only for asks whose agents want to be sent the outcome."""

    def on_change(self, before: Ask | None, change: Change, at: float) -> Rows:
        """Return what is stored with a change of the ask ``before`` (None: it is new). Pure and quick: it is called in
        the transaction, and perhaps again."""
        return NO_ROWS

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        """Attempt a delivery; see `answerback.ports.sender.Sender`."""
        raise AssertionError(f"{type(self).__name__} sends nothing")

    def callback_problem(self, url: str, agent: str | None) -> str | None:
        """Say why an agent's outcomes cannot be sent to a URL; None if they can."""
        return "No installed extension sends webhooks. Leave the callback out."

    async def find_agent(self, token: str) -> KnownAgent | None:
        """Return the agent that has a token which the configuration does not name."""
        return None

    async def token_hashes(self) -> Collection[str]:
        """Return the hashes of the tokens of all such agents."""
        return ()

    def routes(self) -> Sequence[web.RouteDef]:
        """The routes on the agents' listener, each of which authenticates its callers."""
        return ()

    async def hidden_from(self, person: Person) -> Callable[[Ask], bool] | None:
        """Return which of the asks that wait for a person are left out of their list for now; None: none of them."""
        return None

    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """Return the background loops, by names for the log. One that fails is started again."""
        return {}

    def commands(self) -> Sequence[Command]:
        """Return the commands that people can give by ``/answerback``."""
        return ()

    def quiet_until(self, person: Person, at: float) -> float | None:
        """Return until when a person is not to be reminded or notified of what waits for them; None: they may be."""
        return None

    def for_page(self, surface: str) -> object | None:
        """Return the part that a surface gets in `answerback.ports.plugin.Host.additions`, by the extension's name;
        None: nothing."""
        return None

    async def signed_in(self) -> Sequence[KeyHolder]:
        """The people who are signed in now, besides those who have keys: see `KeyHolderSource`."""
        return ()

    def credential_of(self, person: Person) -> str | None:
        """Return the proof of who a person is that it has signed in, as long as they may sign in; None: it has not
        signed them in."""
        return None

    def reload(self, configured: Configured) -> Callable[[], None] | None:
        """Check a changed configuration, and return the function that applies it; None: that needs a restart.

        Raises:
            ConfigError: it is invalid.
        """
        return None

    def on_reload(self) -> None:
        """React to a changed configuration, once all of it is in force."""


class Extension(ABC):
    """The class that an extension's entry point names. Commands of the program have a door of their own,
    `answerback.commands`."""

    name: ClassVar[str]
    order: ClassVar[int] = 100
    table: ClassVar[str] = ""
    """The name of its table of the configuration; empty if it has none."""
    settings: ClassVar[type[Table] | type[bool]] = Table
    """A `Table`, an `ExtensionTable` if it means something to the service, too, or bool if it is only a switch."""
    surface_keys: ClassVar[Mapping[str, type[SurfaceSettings]]] = {}
    """Keys that it adds to the tables of surfaces, by the surface's name."""
    tables: ClassVar[Sequence[RowTable]] = ()
    schema_tables: ClassVar[Sequence[SchemaTable]] = ()

    def check(self, configured: Configured) -> None:  # noqa: B027 - few extensions have anything to check
        """Check the configuration; raises ConfigError if `open` would refuse it."""

    def summary(self, configured: Configured) -> Sequence[str]:
        """The lines that describe it in what `answerback serve --check` prints."""
        return ()

    def listed_commands(self, configured: Configured) -> Sequence[Command]:
        """Return the commands that people can give by ``/answerback`` where it runs; `answerback doctor` lists them."""
        return ()

    def strengths(self, configured: Configured) -> Sequence[Strength]:
        """Return the further evidence by which two people may differ because of it; `answerback doctor` lists it."""
        return ()

    def operations(self) -> Sequence[Operation[ApiCall]]:
        """The operations that it adds to the API, also where the configuration does not use it; see `ApiCall.running`.

        The API authenticates their callers, and describes them in its OpenAPI document."""
        return ()

    @abstractmethod
    async def open(self, parts: ServiceParts) -> Running | None:
        """Return the extension as it runs with a service; None if the configuration does not use it."""

    async def findings(self, configured: Configured) -> AsyncIterator[Finding]:
        """The checks of `answerback doctor`; they change nothing. There are none unless it is overridden."""
        nothing: tuple[Finding, ...] = ()
        for finding in nothing:
            yield finding
