"""The interface between a surface's plug-in and the service. A distribution names its plug-in in the entry-point group
``answerback.surfaces``; see `docs/surfaces.md`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from answerback.ports.settings_tables import Table

if TYPE_CHECKING:  # commands that only list the plug-ins do not need these
    import aiohttp
    from aiohttp import web
    from pydantic import JsonValue

    from answerback.core.ask import Ask
    from answerback.core.labels import Labels
    from answerback.ports.claims import SharedLeases
    from answerback.ports.commands import Command
    from answerback.ports.person_key import KeyHolderSource
    from answerback.ports.surface import Asks, Surface

GROUP: Final = "answerback.surfaces"
"""The entry-point group: the entry's name is the surface's, its object a subclass of `SurfacePlugin`."""


Strength: TypeAlias = Literal["accounts", "links"]
"""The evidence that two people who acted are different: their accounts on a platform or at a proxy, or only their
personal links."""


class SurfaceSettings(Table):
    """A surface's configuration table. Every key has a default; a validator reports what is missing."""

    def configured(self) -> bool:
        """Return True if the surface is to be started: by default, if any of its keys is set."""
        return bool(self.model_fields_set)

    def http_actions_setting(self) -> str | None:
        """The setting that makes people's actions arrive on the public listener; None if they do not."""
        return None

    def public_address_setting(self) -> str | None:
        """The setting that makes the public listener's address matter to people; None if it does not."""
        return None

    def extras(self) -> Sequence[tuple[str, Sequence[str], str]]:
        """The extras that the settings need besides the surface's own: name, packages, and what needs them."""
        return ()

    def name_of(self, user_id: str) -> str:
        """The name of a person without a platform account, from the id that a personal link or a proxy gives."""
        return user_id

    def strength(self) -> Strength:
        """Return the evidence by which two people are told apart here."""
        return "accounts"

    def proxies(self) -> Sequence[str]:
        """The networks of proxies whose word counts for where a request comes from."""
        return ()

    def signed_in_by(self) -> str | None:
        """Return the name of the source that says who a proxy has signed in here; None if no proxy signs people in."""
        return None

    def connection(self) -> str:
        """Return the way in which actions arrive, in a word or two for `answerback serve --check`; empty if there is no
        choice."""
        return ""


S = TypeVar("S", bound=SurfaceSettings)


@dataclass(frozen=True, slots=True)
class Host:
    """The parts of the process that a surface can use."""

    http: aiohttp.ClientSession
    """For all outgoing calls; it does not limit the number of connections."""
    labels: Labels
    secret: Callable[[], Awaitable[bytes]]
    """Returns 32 random bytes that belong to this surface and never change."""
    local_url: str
    """The address of the agents' listener."""
    public_url: str | None
    """The public listener's address as seen from outside; None if there is no public listener."""
    holders: KeyHolderSource
    """Returns the valid keys and whom they belong to."""
    tokens: bool
    """True if agents need tokens."""
    now: Callable[[], float]
    """Returns the time in seconds since the epoch."""
    additions: Mapping[str, object] = field(default_factory=dict)
    """The parts that extensions add to this surface's pages, by their names; see
    `answerback.ports.extension.Running.for_page`."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """Agents' display names, by the agents' names; empty if agents need no tokens."""
    shared: SharedLeases | None = None
    """The parts that are shared with other processes; None if this process has its store to itself."""


class OperatorPages(Protocol):
    """The pages that the operator may open on this machine."""

    async def inbox_url(self) -> str:
        """The URL of the page of open asks. It contains the person's key, so only the operator may see it."""

    async def answering_url(self, ask_id: str) -> str:
        """The URL where the operator may answer one ask."""


@dataclass(frozen=True, slots=True)
class BuiltSurface:
    """A surface, and the routes that the listeners serve for it."""

    surface: Surface
    hooks: Sequence[web.RouteDef] = ()
    """Routes that the platform calls, on the public listener; the surface authenticates them and handles all errors."""
    pages: Sequence[web.RouteDef] = ()
    """Pages that people open in a browser, on the agents' listener."""
    public_pages: Sequence[web.RouteDef] = ()
    """Pages that people open in a browser, on the public listener."""
    operator_pages: OperatorPages | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `answerback doctor` checked. ``wrong`` is None if it is fine; ``fix`` says what to do."""

    what: str
    wrong: str | None = None
    fix: str = ""
    warning: bool = False
    """True if ``wrong`` is only a risk to know about, and nothing is broken."""

    @property
    def is_ok(self) -> bool:
        """True if nothing is broken."""
        return self.wrong is None or self.warning


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """The context of the checks that `answerback doctor` makes on a surface, besides its settings."""

    http: aiohttp.ClientSession
    public_url: str | None = None
    channels: Sequence[str] = ()
    """The channels that routes name."""
    responders: Sequence[str] = ()
    """The responders that routes to this surface name."""
    direct: Sequence[Sequence[str]] = ()
    """The lists of those who may answer, or confirm, in a direct message."""
    fix: bool = False
    """True to change the settings at the platform that can be changed there."""
    commands: Sequence[Command] = ()
    """The commands that people can give by ``/answerback``."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A prompt as it will look."""

    payload: JsonValue
    """The payload that is sent."""
    html: str
    """An HTML rendering of it, with all text escaped. A picture of the ask has the address ``cid:`` and the file's id;
    its bytes are written there."""
    source: JsonValue = None
    """The JSON to show next to the rendering; None: the payload."""
    hint: str = ""
    """A hint at the use of that JSON."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A file that configures the platform's side: ``answerback manifest NAME`` prints it."""

    help: str
    """Instructions for using it, in Markdown, with an example of the command."""
    modes: Sequence[str]
    """The ways in which payloads can arrive; the first is the default, and ``http`` needs an address."""
    make: Callable[[str, str], str]
    """Returns the text for a mode and an address."""
    example_url: str = "https://answerback.example.com"


class SurfacePlugin(ABC, Generic[S]):
    """The entry point of a surface's distribution.

    Every command imports its module, so it must import the platform's libraries only inside its methods.
    """

    name: ClassVar[str]
    """The entry point's name, the configuration table's name, and the part before the colon in ``name:channel``."""
    title: ClassVar[str]
    """The platform's name, as people write it."""
    order: ClassVar[int] = 100
    """Its position in lists: lower comes first."""
    home: ClassVar[bool] = False
    """True if asks without a destination can go here: such a surface needs no settings and has `OperatorPages`."""
    settings: type[S]
    variables: ClassVar[Mapping[str, str]] = {}
    """Environment variables that people already set for this platform, and the keys they stand for."""
    packages: ClassVar[Sequence[str]] = ()
    """The packages that the extra of its name installs, for a plug-in of the distribution ``answerback``: anyone who
    configures the surface without them is asked to install the extra. A separate distribution declares its
    own dependencies."""
    loggers: ClassVar[Sequence[str]] = ()
    """Loggers of libraries that are verbose at the level "info"."""

    def load(self) -> None:
        """Import what `build` and `findings` need. Runs before them in a thread, not to block the event loop."""

    @abstractmethod
    async def build(self, settings: S, host: Host, asks: Asks) -> BuiltSurface:
        """Build the surface, complete but not connected yet.

        Args:
            asks: the service, to which the surface passes on what people do.
        """

    async def findings(self, settings: S, checkup: DoctorContext) -> AsyncIterator[Finding]:
        """The checks of `answerback doctor`; they post nothing. By default, that the surface is configured."""
        yield Finding(self.title)

    def preview(self, ask: Ask, labels: Labels) -> Preview | None:
        """Return the prompt of an ask as it will look; None if there is no preview."""
        return None

    def manifest(self) -> Manifest | None:
        """The file that configures the platform's side; None if there is none."""
        return None
