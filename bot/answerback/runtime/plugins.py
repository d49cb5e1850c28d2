"""Discover the installed surface plug-ins by their entry points, and check them.

A broken plug-in only matters if its surface is configured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, TypeAlias

from answerback.core.errors import ConfigError
from answerback.ports.plugin import GROUP, SurfacePlugin

Plugin: TypeAlias = SurfacePlugin[Any]
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, eq=False)
class Plugins:
    """The usable plug-ins, by name and in order, and for each broken one the reason."""

    usable: Mapping[str, Plugin]
    broken: Mapping[str, str]

    def __iter__(self) -> Iterator[Plugin]:
        return iter(self.usable.values())

    @property
    def names(self) -> frozenset[str]:
        """The names of all installed surfaces, configured or not."""
        return frozenset({*self.usable, *self.broken})

    @property
    def home(self) -> str:
        """The surface where asks go by default.

        Raises:
            ConfigError: there is none.
        """
        for plugin in self:
            if plugin.home:
                return plugin.name
        why = "".join(f" {problem}." for problem in self.broken.values())
        raise ConfigError(
            f"No installed surface accepts asks without configuration.{why} Reinstall answerback with "
            "its entry points: `pip install --force-reinstall --no-deps answerback`, or in a checkout "
            "`pip install --no-deps --editable .`"
        )


@cache
def installed_plugins() -> Plugins:
    """The plug-ins of all installed distributions, discovered once."""
    return discover_plugins(entry_points(group=GROUP))


def discover_plugins(entries: Iterable[EntryPoint]) -> Plugins:
    """Load and check the plug-ins of the given entry points."""
    named: dict[str, list[EntryPoint]] = {}
    for entry in entries:
        named.setdefault(entry.name, []).append(entry)
    usable: list[Plugin] = []
    broken: dict[str, str] = {}
    for name, entries_of_name in sorted(named.items()):
        plugin = (
            _load(entries_of_name[0])
            if len(entries_of_name) == 1
            else _conflict_message(name, entries_of_name)
        )
        if isinstance(plugin, str):
            broken[name] = plugin
        else:
            usable.append(plugin)
    usable.sort(key=lambda plugin: plugin.order)
    return Plugins({plugin.name: plugin for plugin in usable}, broken)


def _conflict_message(name: str, entries_of_name: Iterable[EntryPoint]) -> str:
    label = " and ".join(sorted(_distribution(entry) for entry in entries_of_name))
    return f"{label} both have a plug-in called {name!r}; uninstall one of them"


def _load(entry: EntryPoint) -> Plugin | str:
    """The plug-in of an entry point, or why it cannot be used."""
    label = f"the plug-in {entry.name!r} of {_distribution(entry)} cannot be used"
    if not _NAME.fullmatch(entry.name):
        return f"{label}: a surface's name may only contain lower-case letters, digits and single underscores"
    try:
        loaded = entry.load()
        plugin = loaded() if isinstance(loaded, type) else loaded
        if isinstance(plugin, SurfacePlugin):
            plugin.settings()  # every key must have a default, so that the surface need not be configured
    except Exception as error:  # noqa: BLE001 - third-party code may raise anything on import; the reason is reported
        reason = error
        return f"{label}: {type(reason).__name__}: {reason}"
    if not isinstance(plugin, SurfacePlugin):
        return f"{label}: {entry.value} is not a subclass of answerback.ports.plugin.SurfacePlugin"
    if plugin.name != entry.name:
        return f"{label}: its name is {plugin.name!r}"
    return plugin


def _distribution(entry: EntryPoint) -> str:
    return "an unknown distribution" if entry.dist is None else str(entry.dist.name)
