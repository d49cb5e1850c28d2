"""The names of a host, and the signs by which it is recognised.

Another distribution adds a host by a folder of its own in a package of that name. A hook runs hundreds of times a day:
nothing of a host is imported that is not asked for.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from os import path, scandir
from types import ModuleType
from typing import Final, NamedTuple

_PACKAGE: Final = "answerback_hosts"


class About(NamedTuple):
    """The names of a host, and the signs by which it is recognised."""

    title: str
    programs: tuple[str, ...] = ()
    """The names of its program: its own over ACP, without a scope, and its command; in lower case."""
    requests: tuple[str, ...] = ()
    """The names of the calls that it alone makes."""


@cache
def _folders() -> dict[str, str]:
    """Return the folder of each host, in alphabetical order of their names; the first one on the path counts."""
    package = import_module(_PACKAGE)
    places = [*package.__path__, *(path.join(each, _PACKAGE) for each in sys.path)]
    package.__path__ = [*dict.fromkeys(filter(path.isdir, places))]
    found: dict[str, str] = {}
    for place in package.__path__:
        with scandir(place) as entries:
            for entry in entries:
                if path.isfile(path.join(entry.path, "__init__.py")):
                    found.setdefault(entry.name, entry.path)
    return dict(sorted(found.items()))


def hosts_with(part: str) -> tuple[str, ...]:
    """Return the names of the hosts that have a part, which is a module in their folder."""
    folders = _folders().items()
    return tuple(name for name, each in folders if path.isfile(path.join(each, f"{part}.py")))


def load_part(host: str, part: str) -> ModuleType | None:
    """Import a part of a host; None if it has none."""
    return import_module(f"{_PACKAGE}.{host}.{part}") if host in hosts_with(part) else None


def load_parts(part: str) -> dict[str, ModuleType]:
    """Import a part of all hosts that have it."""
    return {name: import_module(f"{_PACKAGE}.{name}.{part}") for name in hosts_with(part)}
