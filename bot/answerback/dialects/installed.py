"""The installed dialects: those of all distributions, ours among them, by their entry points."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint

from answerback.core.errors import ConfigError
from answerback.dialects.dialect import GROUP, CallRule, Dialect, Tool
from answerback_base.entry_points import Discovered, UnusablePluginError, discover, entry_points
from answerback_base.hosts import hosts_with


@cache
def installed_dialects() -> Discovered[Dialect]:
    """Return the dialects of all installed distributions, discovered once.

    Raises:
        ConfigError: not even ours can be used.
    """
    return discover_dialects([*entry_points(group=GROUP), *_in_folders_of_hosts()])


def _in_folders_of_hosts() -> Iterable[EntryPoint]:
    """Return the dialects that are a part of a host."""
    for name in hosts_with("dialect"):
        yield EntryPoint(name, f"answerback_hosts.{name}.dialect:DIALECT", GROUP)


def discover_dialects(entries: Iterable[EntryPoint]) -> Discovered[Dialect]:
    """Load and check the dialects of the given entry points.

    Raises:
        ConfigError: none can be used.
    """
    found = discover(entries, "dialect", _accept)
    if not found.usable:
        why = "".join(f" {problem}." for problem in found.broken.values())
        raise ConfigError(
            f"No dialect is installed.{why} Reinstall answerback with its entry points: `pip install "
            "--force-reinstall --no-deps answerback`, or in a checkout `pip install --no-deps --editable .`"
        )
    return found


@cache
def call_rules() -> tuple[tuple[str, CallRule], ...]:
    """Return which calls are of which dialect: the first rule that matches decides."""
    rules = [
        (each.name, rule) for each in installed_dialects().usable.values() for rule in each.calls
    ]
    return tuple(sorted(rules, key=lambda each: (each[1].shape is None, each[1].order)))


def tool_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, rule in call_rules() for name in rule.names))


def dialects_for_tool_name(name: str) -> tuple[str, ...]:
    """Return the dialects that calls with a name may have, in the order of the table."""
    return tuple(dict.fromkeys(dialect for dialect, rule in call_rules() if name in rule.names))


def tool_names_of(dialect: str) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(name for each, rule in call_rules() if each == dialect for name in rule.names)
    )


def installed_tools() -> tuple[Tool, ...]:
    """Return the definitions of all dialects' tools, the best one of each name first."""
    tools = (each.tool for each in installed_dialects().usable.values())
    return tuple(tool for tool in tools if tool is not None)


def _accept(loaded: object) -> Dialect:
    if not isinstance(loaded, Dialect):
        raise UnusablePluginError("is not an answerback.dialects.dialect.Dialect")
    if loaded.tool is not None and loaded.tool.dialect != loaded.name:
        raise UnusablePluginError(f"has the tool of the dialect {loaded.tool.dialect!r}")
    return loaded
