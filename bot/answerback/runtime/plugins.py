"""Discover the installed surface plug-ins by their entry points, and check them.

A broken plug-in only matters if its surface is configured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, TypeAlias

from answerback.core.errors import ConfigError
from answerback.ports.plugin import GROUP, SurfacePlugin
from answerback_base.entry_points import Discovered, UnusablePluginError, discover, entry_points

Plugin: TypeAlias = SurfacePlugin[Any]


class Plugins(Discovered[Plugin]):
    """The usable plug-ins, by name and in order, and for each broken one the reason."""

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
    found = discover(entries, "surface", _accept)
    return Plugins(found.usable, found.broken)


def _accept(loaded: object) -> Plugin:
    plugin = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(plugin, SurfacePlugin):
        raise UnusablePluginError("is not a subclass of answerback.ports.plugin.SurfacePlugin")
    plugin.settings()  # every key must have a default, so that the surface need not be configured
    return plugin
