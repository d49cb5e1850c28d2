"""The installed stores: those of all distributions, ours among them, by their entry points."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint

from answerback.ports.store_plugin import GROUP, StorePlugin
from answerback_base.entry_points import (
    Discovered,
    UnusablePluginError,
    discover,
    entry_points,
)


@cache
def installed_stores() -> Discovered[StorePlugin]:
    """Return the kinds of databases of all installed distributions, discovered once."""
    return discover_stores(entry_points(group=GROUP))


def discover_stores(entries: Iterable[EntryPoint]) -> Discovered[StorePlugin]:
    """Load and check the stores of the given entry points."""
    return discover(entries, "store", _accept)


def store_of(url: str) -> StorePlugin | None:
    """Return the store for an address, by its scheme; None if none of those installed has it."""
    scheme = url.partition("://")[0]
    return next(
        (each for each in installed_stores().usable.values() if scheme in each.schemes), None
    )


def _accept(loaded: object) -> StorePlugin:
    plugin = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(plugin, StorePlugin):
        raise UnusablePluginError("is not a subclass of answerback.ports.store_plugin.StorePlugin")
    return plugin
