"""What a surface's plug-in tells the service. A distribution names its plug-in in the entry-point group
``answerback.surfaces``; see `docs/surfaces.md`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Protocol, TypeVar

from answerback.ports.settings_tables import Table

if TYPE_CHECKING:  # commands that only list the plug-ins do without these
    import aiohttp
    from aiohttp import web
    from pydantic import JsonValue

    from answerback.core.ask import Ask
    from answerback.core.labels import Labels
    from answerback.ports.claims import SharedClaims
    from answerback.ports.person_key import KeyHolderSource
    from answerback.ports.surface import Surface

GROUP: Final = "answerback.surfaces"
"""The entry-point group: the entry's name is the surface's, its object a subclass of `SurfacePlugin`."""


class SurfaceSettings(Table):
    """A surface's table of the configuration. Every key has a default; what is missing is said by a validator."""

    def configured(self) -> bool:
        """Whether the surface is to be started; by default, where any key is set."""
        return bool(self.model_fields_set)

    def http_actions_setting(self) -> str | None:
        """The setting that makes people's actions arrive on the public listener; None: they do not."""
        return None

    def public_address_setting(self) -> str | None:
        """The setting that makes it matter by which address people reach the public listener; None: it does not."""
        return None

    def name_of(self, user_id: str) -> str:
        """What somebody without a platform is called, by the id that a personal link or a proxy gives."""
        return user_id

    def connection(self) -> str:
        """How actions arrive, in a word or two for `answerback serve --check`; empty where nothing can be chosen."""
        return ""


S = TypeVar("S", bound=SurfaceSettings)


@dataclass(frozen=True, slots=True)
class Host:
    """What the process lends a surface."""

    http: aiohttp.ClientSession
    """For all outgoing calls; it has no limit of connections."""
    labels: Labels
    secret: Callable[[], Awaitable[bytes]]
    """32 random bytes of this surface's own, which stay the same."""
    local_url: Callable[[], str]
    """The address of the agents' listener."""
    public_url: Callable[[], str | None]
    """The public listener's address as the world sees it; None where there is none."""
    holders: KeyHolderSource
    """Whose keys are valid."""
    tokens: bool
    """Whether agents need tokens."""
    now: Callable[[], float]
    """The time in seconds since the epoch."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """Who asks, as people see it, by the agents' names; empty where agents need no tokens."""
    shared: SharedClaims | None = None
    """What is shared with other processes; None: this one has its store for itself."""


class OperatorPages(Protocol):
    """The pages that the operator may open on this machine."""

    async def inbox_url(self) -> str:
        """Opens the page of open asks, with the person's key in it: for the operator's eyes alone."""

    async def answering_url(self, ask_id: str) -> str:
        """The address where the operator may answer one ask."""


@dataclass(frozen=True, slots=True)
class BuiltSurface:
    """A surface, and what the listeners serve for it."""

    surface: Surface
    hooks: Sequence[web.RouteDef] = ()
    """What the platform calls, on the public listener; the surface checks who calls and answers every error."""
    pages: Sequence[web.RouteDef] = ()
    """What people open in a browser, on the agents' listener."""
    public_pages: Sequence[web.RouteDef] = ()
    """What people open in a browser, on the public listener."""
    operator_pages: OperatorPages | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `answerback doctor` looked at. ``wrong`` is None when it is well; ``fix`` says what to do."""

    what: str
    wrong: str | None = None
    fix: str = ""
    warning: bool = False
    """Whether ``wrong`` is a risk to know of, and nothing is broken."""

    @property
    def is_ok(self) -> bool:
        """Whether nothing is broken."""
        return self.wrong is None or self.warning


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """What `answerback doctor` is to look at on a surface, beside its settings."""

    http: aiohttp.ClientSession
    public_url: str | None = None
    channels: Sequence[str] = ()
    """The channels that routes name."""
    responders: Sequence[str] = ()
    """The responders that routes to this surface name."""
    fix: bool = False
    """Whether to set at the platform what can be set there."""


@dataclass(frozen=True, slots=True)
class Preview:
    """How one prompt will look."""

    payload: JsonValue
    """What is sent."""
    html: str
    """A picture of it in HTML, every text in it escaped."""
    source: JsonValue = None
    """The JSON to show beside the picture; None: the payload."""
    hint: str = ""
    """What that JSON is good for."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A file that sets up the platform's side: ``answerback manifest NAME`` prints it."""

    help: str
    """Says in Markdown what to do with it, with an example of the command."""
    modes: Sequence[str]
    """How payloads can come in; the first is the default, and ``http`` needs an address."""
    make: Callable[[str, str], str]
    """The text, of a mode and an address."""
    example_url: str = "https://answerback.example.com"


class SurfacePlugin(ABC, Generic[S]):
    """What a surface's distribution brings.

    Every command loads its module, so it imports the platform's libraries inside the methods only.
    """

    name: ClassVar[str]
    """The entry point's name, the configuration's table, and what stands before the colon in ``name:channel``."""
    title: ClassVar[str]
    """The platform's name, as people write it."""
    order: ClassVar[int] = 100
    """Where it stands in lists: the smaller, the earlier."""
    home: ClassVar[bool] = False
    """Whether asks can come here when nothing says where: it needs no settings, and has `OperatorPages`."""
    settings: type[S]
    variables: ClassVar[Mapping[str, str]] = {}
    """The environment variables that people have set for this platform already, and the keys they stand for."""
    packages: ClassVar[Sequence[str]] = ()
    """What the extra of its name installs, for a plug-in of the distribution ``answerback``: who configures the surface
    without them is told to install the extra. A distribution of its own depends on what it needs."""
    loggers: ClassVar[Sequence[str]] = ()
    """Loggers of libraries that say a lot at the level "info"."""

    def load(self) -> None:
        """Imports what `build` and `findings` need. Runs on a thread before them, so that the event loop goes on."""

    @abstractmethod
    async def build(self, settings: S, host: Host) -> BuiltSurface:
        """The surface, not started yet."""

    async def findings(self, settings: S, checkup: DoctorContext) -> AsyncIterator[Finding]:
        """What `answerback doctor` finds out; posts nothing. By default, that the surface is configured."""
        yield Finding(self.title)

    def preview(self, ask: Ask, labels: Labels) -> Preview | None:
        """How the prompt of an ask will look; None where there is no preview."""
        return None

    def manifest(self) -> Manifest | None:
        """What sets up the platform's side; None where there is no such file."""
        return None
