"""The extensions of a service: opened with it, and what they add to its parts, put together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from answerback.core.ask import Ask
from answerback.core.person import Person
from answerback.ports.commands import Command
from answerback.ports.extension import Configured, Extension, Running, ServiceParts
from answerback.ports.extension_rows import RowTable
from answerback.ports.installed_extensions import installed_extensions
from answerback.runtime.config import Settings, extension_settings
from answerback.runtime.from_settings import build_agent_limits, surface_of_route
from answerback.runtime.plugins import installed_plugins
from answerback.service.submission_request import Agent

_NO_EXTENSION = Running()


def configured_for(settings: Settings, extension: Extension) -> Configured:
    """Return what the configuration says to an extension."""
    secrets = {
        name: [secret.get_secret_value() for secret in agent.callback_secret]
        for name, agent in settings.agents.items()
    }
    public = settings.public
    is_public = public.port is not None and public.url is not None
    return Configured(
        table=extension_settings(settings, extension),
        agent_secrets=secrets if settings.uses_tokens else None,
        labels=settings.labels,
        surfaces=installed_plugins().names,
        default_route=settings.default_route,
        surface_table=lambda name: getattr(settings, name, None),
        surface_of=partial(surface_of_route, settings),
        limits=partial(build_agent_limits, settings),
        public_url=str(public.url).rstrip("/") if is_public else None,
    )


def check_extensions(settings: Settings) -> None:
    """Check the tables of all installed extensions; raises ConfigError if one is invalid."""
    for extension in installed_extensions().usable.values():
        extension.check(configured_for(settings, extension))


def describe_extensions(settings: Settings) -> list[str]:
    """Return the lines that describe the installed extensions to whoever wrote the configuration."""
    return [
        line
        for extension in installed_extensions().usable.values()
        for line in extension.summary(configured_for(settings, extension))
    ]


def list_commands(settings: Settings) -> list[Command]:
    """Return what people can do by ``/answerback`` in a service with these settings."""
    return [
        command
        for extension in installed_extensions().usable.values()
        for command in extension.listed_commands(configured_for(settings, extension))
    ]


def row_tables() -> list[RowTable]:
    """Return the tables of rows of all installed extensions, even of those that do not run now."""
    return [table for each in installed_extensions().usable.values() for table in each.tables]


@dataclass(frozen=True, slots=True)
class Extensions:
    """The extensions that run, by name."""

    running: Mapping[str, Running]

    def storing(self) -> Sequence[Running]:
        """Return those that store something with changes."""
        return [
            each for each in self.running.values() if type(each).on_change is not Running.on_change
        ]

    def having_agents(self) -> Sequence[Running]:
        """Return those that may have further agents."""
        return [
            each
            for each in self.running.values()
            if type(each).find_agent is not Running.find_agent
        ]

    def callback_problem(self, url: str, agent: Agent | None) -> str | None:
        """Say why an agent's outcomes cannot be sent to a URL; None if an extension does."""
        problem = _NO_EXTENSION.callback_problem(url, None)
        for each in self.running.values():
            if type(each).callback_problem is not Running.callback_problem:
                problem = each.callback_problem(url, agent.name if agent else None)
                if problem is None:
                    return None
        return problem

    def quiet_until(self, person: Person, at: float) -> float | None:
        """Return until when a person is not to be told of what waits; None: they may be."""
        found = (each.quiet_until(person, at) for each in self.running.values())
        return max((until for until in found if until is not None), default=None)

    async def hidden_from(self, person: Person) -> Callable[[Ask], bool] | None:
        """Return which asks are left out of a person's list; None: none are."""
        found = [await each.hidden_from(person) for each in self._hiding()]
        hiding = [hides for hides in found if hides is not None]
        return (lambda ask: any(hides(ask) for hides in hiding)) if hiding else None

    def _hiding(self) -> Sequence[Running]:
        return [
            each
            for each in self.running.values()
            if type(each).hidden_from is not Running.hidden_from
        ]

    def routes(self) -> list[web.RouteDef]:
        """Return further routes of the agents' listener."""
        return [route for each in self.running.values() for route in each.routes()]

    def commands(self) -> list[Command]:
        """Return what people can do by ``/answerback`` because of them."""
        return [command for each in self.running.values() for command in each.commands()]

    def loops(self) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
        """Yield what they run in the background."""
        for each in self.running.values():
            yield from each.loops().items()

    def signing_in(self) -> list[Running]:
        """Return those by which people sign in."""
        return [
            each for each in self.running.values() if type(each).signed_in is not Running.signed_in
        ]

    def for_page(self, surface: str) -> dict[str, object]:
        """Return what they add to a surface's pages."""
        found = ((name, each.for_page(surface)) for name, each in self.running.items())
        return {name: added for name, added in found if added is not None}

    def check_reload(self, settings: Settings) -> Callable[[], list[str]]:
        """Check changed tables; return the function that applies them, and then returns those that need no restart.

        Raises:
            ConfigError: a table is invalid.
        """
        check_extensions(settings)  # also of those that do not run yet
        installed = installed_extensions().usable
        changes = {
            installed[name].table: each.reload(configured_for(settings, installed[name]))
            for name, each in self.running.items()
        }

        def apply() -> list[str]:
            for change in changes.values():
                if change is not None:
                    change()
            return [table for table, change in changes.items() if table and change is not None]

        return apply

    def on_reload(self) -> None:
        """Say that a changed configuration is in force."""
        for each in self.running.values():
            each.on_reload()


async def open_extensions(
    settings: Settings, parts: Callable[[Configured], ServiceParts]
) -> Extensions:
    """Open all installed extensions that the configuration uses.

    Raises:
        ConfigError: the table of one is invalid.
        StoreError: what one needs cannot be read.
    """
    running = {}
    for name, extension in installed_extensions().usable.items():
        opened = await extension.open(parts(configured_for(settings, extension)))
        if opened is not None:
            running[name] = opened
    return Extensions(running)
