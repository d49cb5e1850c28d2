"""The surfaces' plug-ins that are installed, found by their entry points.

Owns what can be wrong with one. A plug-in that cannot be used concerns only who configures it.
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
    """The plug-ins that can be used, by name and in order, and why each of the others cannot."""

    usable: Mapping[str, Plugin]
    broken: Mapping[str, str]

    def __iter__(self) -> Iterator[Plugin]:
        return iter(self.usable.values())

    @property
    def names(self) -> frozenset[str]:
        """The names of all surfaces there are, configured or not."""
        return frozenset({*self.usable, *self.broken})

    @property
    def home(self) -> str:
        """Where asks go when nothing says where.

        Raises:
            ConfigError: no installed surface takes them.
        """
        for plugin in self:
            if plugin.home:
                return plugin.name
        why = "".join(f" {problem}." for problem in self.broken.values())
        raise ConfigError(
            f"No installed surface takes asks without being configured.{why} Install answerback again, with "
            "its entry points: `pip install --force-reinstall --no-deps answerback`, or in a checkout "
            "`pip install --no-deps --editable .`"
        )


@cache
def installed_plugins() -> Plugins:
    """The plug-ins of all installed distributions, looked up once."""
    return discover_plugins(entry_points(group=GROUP))


def discover_plugins(entries: Iterable[EntryPoint]) -> Plugins:
    """The plug-ins of these entry points."""
    named: dict[str, list[EntryPoint]] = {}
    for entry in entries:
        named.setdefault(entry.name, []).append(entry)
    usable: list[Plugin] = []
    broken: dict[str, str] = {}
    for name, rivals in sorted(named.items()):
        plugin = _loaded(rivals[0]) if len(rivals) == 1 else _rivals(name, rivals)
        if isinstance(plugin, str):
            broken[name] = plugin
        else:
            usable.append(plugin)
    usable.sort(key=lambda plugin: plugin.order)
    return Plugins({plugin.name: plugin for plugin in usable}, broken)


def _rivals(name: str, rivals: Iterable[EntryPoint]) -> str:
    whose = " and ".join(sorted(_distribution(entry) for entry in rivals))
    return f"{whose} both have a plug-in called {name!r}; uninstall one of them"


def _loaded(entry: EntryPoint) -> Plugin | str:
    """The plug-in of an entry point, or why it cannot be used."""
    whose = f"the plug-in {entry.name!r} of {_distribution(entry)} cannot be used"
    if not _NAME.fullmatch(entry.name):
        return f"{whose}: a surface's name has small letters, digits and single underscores only"
    try:
        made = entry.load()
        plugin = made() if isinstance(made, type) else made
        if isinstance(plugin, SurfacePlugin):
            plugin.settings()  # every key has a default: who does not configure it is not asked for one
    except Exception as error:  # noqa: BLE001 - whatever a stranger's module does when it is imported, it is told
        reason = error
        return f"{whose}: {type(reason).__name__}: {reason}"
    if not isinstance(plugin, SurfacePlugin):
        return f"{whose}: {entry.value} is not a subclass of answerback.ports.plugin.SurfacePlugin"
    if plugin.name != entry.name:
        return f"{whose}: it calls itself {plugin.name!r}"
    return plugin


def _distribution(entry: EntryPoint) -> str:
    return "an unknown distribution" if entry.dist is None else str(entry.dist.name)
