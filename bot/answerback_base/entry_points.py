"""Discover plug-ins by their entry points. A broken one is not used, and its reason is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any, Final, Generic, Protocol, TypeVar

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


class Plugin(Protocol):
    """The attributes that every plug-in has."""

    @property
    def name(self) -> str:
        """Equal to the name under which ``pyproject.toml`` lists it."""

    @property
    def order(self) -> int:
        """Its position in lists: lower comes first."""


P = TypeVar("P", bound=Plugin)


@cache
def all_entry_points() -> Any:
    """Return the entry points of all groups. To look through the distributions takes 30 ms, so it is done once."""
    return metadata.entry_points()


def entry_points(*, group: str) -> EntryPoints:
    """Return the entry points of all installed distributions in a group."""
    found: EntryPoints = all_entry_points().select(group=group)
    return found


class UnusablePluginError(Exception):
    """An entry point's object is not a plug-in of its group; the message continues a sentence that begins with it."""


@dataclass(frozen=True, slots=True, eq=False)
class Discovered(Generic[P]):
    """The usable plug-ins, by name and in order, and for each broken one the reason."""

    usable: Mapping[str, P]
    broken: Mapping[str, str]


def discover(
    entries: Iterable[EntryPoint], noun: str, accept: Callable[[object], P]
) -> Discovered[P]:
    """Load the plug-ins of the given entry points.

    Args:
        noun: what a plug-in is, for messages: "surface".
        accept: returns an entry point's object as a plug-in, or raises UnusablePluginError.
    """
    named: dict[str, list[EntryPoint]] = {}
    for entry in entries:
        named.setdefault(entry.name, []).append(entry)
    usable: list[P] = []
    broken: dict[str, str] = {}
    for name, entries_of_name in sorted(named.items()):
        plugin = (
            _load(entries_of_name[0], noun, accept)
            if len(entries_of_name) == 1
            else _conflict_message(name, entries_of_name)
        )
        if isinstance(plugin, str):
            broken[name] = plugin
        else:
            usable.append(plugin)
    usable.sort(key=lambda plugin: plugin.order)
    return Discovered({plugin.name: plugin for plugin in usable}, broken)


def _conflict_message(name: str, entries_of_name: Iterable[EntryPoint]) -> str:
    label = " and ".join(sorted(_distribution(entry) for entry in entries_of_name))
    return f"{label} both have a plug-in called {name!r}; uninstall one of them"


def _load(entry: EntryPoint, noun: str, accept: Callable[[object], P]) -> P | str:
    """The plug-in of an entry point, or why it cannot be used."""
    label = f"the plug-in {entry.name!r} of {_distribution(entry)} cannot be used"
    if not _NAME.fullmatch(entry.name):
        return f"{label}: a {noun}'s name may only contain lower-case letters, digits and single underscores"
    try:
        plugin = accept(entry.load())
    except UnusablePluginError as error:
        return f"{label}: {entry.value} {error}"
    except Exception as error:  # noqa: BLE001 - third-party code may raise anything on import; the reason is reported
        reason = error
        return f"{label}: {type(reason).__name__}: {reason}"
    return plugin if plugin.name == entry.name else f"{label}: its name is {plugin.name!r}"


def _distribution(entry: EntryPoint) -> str:
    return "an unknown distribution" if entry.dist is None else str(entry.dist.name)
