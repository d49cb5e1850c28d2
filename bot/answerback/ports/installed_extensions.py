"""The installed extensions: those of all distributions, ours among them, by their entry points."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint

from answerback.ports.extension import GROUP, Extension
from answerback_base.entry_points import Discovered, UnusablePluginError, discover, entry_points


def installed_extensions() -> Discovered[Extension]:
    """Return the extensions of all installed distributions, ours among them."""
    return discover_installed()


@cache
def discover_installed() -> Discovered[Extension]:
    """Look for them; `answerback_testing.chosen_extensions` takes its place."""
    return discover_extensions(entry_points(group=GROUP))


def discover_extensions(entries: Iterable[EntryPoint]) -> Discovered[Extension]:
    """Load and check the extensions of the given entry points."""
    return discover(entries, "extension", _accept)


def _accept(loaded: object) -> Extension:
    extension = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(extension, Extension):
        raise UnusablePluginError("is not a subclass of answerback.ports.extension.Extension")
    extension.settings()  # every key must have a default, so that the extension need not be configured
    for table in extension.tables:
        if table.name.partition(".")[0] != extension.name:
            raise UnusablePluginError(
                f"has the table {table.name!r}, which does not begin with its name"
            )
    return extension
