"""The entries that are added to an agent's configuration file, independent of its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from pydantic import JsonValue

from answerback.core.base_error import AnswerbackError

Json = dict[str, JsonValue]
Path = tuple[str, ...]

NAME: Final = "answerback"
"""The name of the server, and of the command that hooks run."""
_HOOK_PATH: Final = "/hooks/claude"


class ConnectError(AnswerbackError):
    """The configuration cannot be changed; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A key that belongs to Answerback alone, with its value."""

    path: Path
    value: JsonValue


@dataclass(frozen=True, slots=True)
class ListItem:
    """A group of an event's hooks or a server, in a list that may have items that are not Answerback's."""

    path: Path
    value: Json

    @property
    def handler(self) -> JsonValue:
        """The command or address that a group of hooks runs."""
        candidates: list[JsonValue] = handlers(self.value) or [self.value]
        return candidates[0]


Entry = Setting | ListItem


class Format(Protocol):
    """A format of configuration files: converts text to text, and keeps everything that is not Answerback's."""

    def data(self, text: str) -> Json:
        """The parsed content of a text; empty for an empty text."""

    def put_entry(self, text: str, entry: Entry, newline: str) -> str:
        """The text with an entry added or updated."""

    def remove_entry(self, text: str, entry: Entry, original: str | None) -> str:
        """The text with an entry removed, or replaced with what the original has in its place."""


def runs_answerback(value: object) -> bool:
    """Whether an item is Answerback's: a hook's handler by its command or its address, a server by its name."""
    if not isinstance(value, dict):
        return False
    if value.get("name") == NAME:
        return True
    commands = [str(value.get(key, "")) for key in ("command", "bash", "powershell")]
    address = str(value.get("url", "")).split("?", 1)[0]
    return address.endswith(_HOOK_PATH) or any(_is_our_command(each) for each in commands)


def _is_our_command(command: str) -> bool:
    before, found, _ = command.partition(" hook ")
    return bool(found) and before.strip("'\"").endswith(("answerback", "answerback.exe"))


def handlers(group: object) -> list[Any] | None:
    """The handlers of a group; None if the group is itself a handler, as in Copilot."""
    listed = group.get("hooks") if isinstance(group, Mapping) else None
    return listed if isinstance(listed, list) else None


def is_our_group(group: object) -> bool:
    """Whether an item is Answerback's, or a group of hooks that has a handler of Answerback's."""
    return any(runs_answerback(each) for each in (handlers(group) or [group]))


def value_at(data: object, path: Path) -> object:
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


class OurGroup(NamedTuple):
    """A group of hooks with a handler of Answerback's, or another item of Answerback's, in a list."""

    at: int
    """Its index in the list."""
    value: object
    ours: Sequence[int]
    """The indexes of Answerback's handlers, if the others are somebody else's; else empty."""


def our_groups_at(data: object, path: Path) -> Iterator[OurGroup]:
    """The groups with a handler of Answerback's in the list at a path."""
    listed = value_at(data, path)
    for i, group in enumerate(listed if isinstance(listed, list) else []):
        if is_our_group(group):
            are_ours = [*map(runs_answerback, handlers(group) or [])]
            ours = [] if all(are_ours) else [j for j, is_ours in enumerate(are_ours) if is_ours]
            yield OurGroup(i, group, ours)


def is_ours(data: object, entry: Entry) -> bool:
    """Whether what a configuration has at an entry's path is what connecting wrote, with this address or another."""
    if isinstance(entry, Setting):
        return _without_texts(value_at(data, entry.path)) == _without_texts(entry.value)
    groups = [_without_texts(group.value) for group in our_groups_at(data, entry.path)]
    return groups == [_without_texts(entry.value)]


def _without_texts(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_texts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_texts(each) for each in value]
    return "" if isinstance(value, str) else value


def has_entry(data: object, entry: Entry) -> bool:
    """Whether a configuration has anything of Answerback's at an entry's path."""
    if isinstance(entry, Setting):
        return value_at(data, entry.path) is not None
    return any(True for _ in our_groups_at(data, entry.path))
