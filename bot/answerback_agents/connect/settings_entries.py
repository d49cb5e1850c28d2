"""The entries that are added to an agent's configuration file, independent of its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, cast

from pydantic import JsonValue

from answerback_base.base_error import AnswerbackError

Json = dict[str, JsonValue]
Path = tuple[str, ...]
Place = tuple[str | int, ...]
"""Keys and indexes."""

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

    def value_for(self, place: Sequence[object]) -> JsonValue:
        """Return the value for a place in the list: an item itself, or its handler further below."""
        return self.value if len(place) == len(self.path) + 1 else self.handler


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
    """Return True if an item is Answerback's: a hook's handler by its command or its address, a server by its name."""
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
    """Return True if an item is Answerback's, or a group of hooks that has a handler of Answerback's."""
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
    """The indexes of Answerback's handlers, if the others belong to other tools; else empty."""


def our_groups_at(data: object, path: Path) -> Iterator[OurGroup]:
    """The groups with a handler of Answerback's in the list at a path."""
    listed = value_at(data, path)
    for i, group in enumerate(listed if isinstance(listed, list) else []):
        if is_our_group(group):
            are_ours = [*map(runs_answerback, handlers(group) or [])]
            ours = [] if all(are_ours) else [j for j, is_ours in enumerate(are_ours) if is_ours]
            yield OurGroup(i, group, ours)


def as_present(data: object, entry: Entry) -> Entry:
    """An entry with the value that a configuration has for it.

    Raises:
        ConnectError: it has none, or several.
    """
    if isinstance(entry, Setting):
        found = value_at(data, entry.path)
        if found is not None:
            return Setting(entry.path, cast("JsonValue", found))  # it is parsed JSON, TOML or YAML
    else:
        groups = [*our_groups_at(data, entry.path)]
        if len(groups) == 1 and not groups[0].ours and isinstance(groups[0].value, dict):
            return ListItem(entry.path, groups[0].value)
    raise ConnectError(f"There is no single entry at {'.'.join(entry.path)}.")


def has_entry(data: object, entry: Entry) -> bool:
    """Return True if a configuration has anything of Answerback's at an entry's path."""
    if isinstance(entry, Setting):
        return value_at(data, entry.path) is not None
    return any(True for _ in our_groups_at(data, entry.path))


def with_entry(data: Json, entry: Entry, *, at_the_start: bool = False) -> object:
    """The content with an entry added or updated; a new item comes last in its list, or first."""
    if isinstance(entry, Setting):
        return _with_value(data, entry.path, entry.value)
    place = next(places(data, entry), None)
    if place is not None:
        return _with_value(data, place, entry.value_for(place))
    listed = value_at(data, entry.path)
    others = listed if isinstance(listed, list) else []
    items = [entry.value, *others] if at_the_start else [*others, entry.value]
    return _with_value(data, entry.path, items)


def without_entry(data: Json, entry: Entry, original: Json) -> object:
    """The content with an entry removed, or replaced with what the original has in its place."""
    left: object = data
    for place, before in reversed(restorations(data, original, entry)):
        left = _with_value(left, place, before and _value_in(original, before))
    return left


def restorations(data: Json, original: Json, entry: Entry) -> list[tuple[Place, Place | None]]:
    """Return the places of Answerback's values in a content, each with the place of the original's value for it.

    Where a person has since added a handler of their own to a group, or removed one, only Answerback's handler counts.
    """
    found: list[tuple[Place, Place | None]] = []
    originals = iter([*places(original, entry)])
    for place in places(data, entry):
        before = next(originals, None)
        if before is None or len(before) == len(place):
            found.append((place, before))
        else:
            found.append((_handler_place(data, place), _handler_place(original, before)))
    return found


def _handler_place(data: object, place: Place) -> Place:
    """The place of Answerback's handler, given that of its group or its own."""
    listed = handlers(_value_in(data, place))
    return (
        place if listed is None else (*place, "hooks", [*map(runs_answerback, listed)].index(True))
    )


def checked_edit(form: Format, new: str, wanted: object, entry: Entry, by_hand: str) -> str:
    """The new text of a file, if its content is exactly what is wanted.

    Raises:
        ConnectError: it is not; the message says what to do by hand.
    """
    try:
        is_right = _comparable(form.data(new), entry.path) == _comparable(wanted, entry.path)
    except (ConnectError, RecursionError):
        is_right = False
    if not is_right:
        raise ConnectError(f"{'.'.join(entry.path)} cannot be edited in it. {by_hand}")
    return new


def places(data: object, entry: Entry) -> Iterator[Place]:
    """Yield the places of Answerback's values in a content, as keys and indexes."""
    if isinstance(entry, Setting):
        if value_at(data, entry.path) is not None:
            yield entry.path
        return
    for group in our_groups_at(data, entry.path):
        if not group.ours:
            yield (*entry.path, group.at)
        for handler in group.ours:
            yield (*entry.path, group.at, "hooks", handler)


def _value_in(data: Any, place: Sequence[str | int]) -> object:
    for key in place:
        data = data[key]
    return data


def _with_value(data: Any, place: Sequence[str | int], value: object) -> object:
    """A copy of the content with a value at a place, or without what is there if the value is None."""
    key, *below = place
    if isinstance(key, int):
        new = _with_value(data[key], below, value) if below else value
        return [*data[:key], *([] if new is None else [new]), *data[key + 1 :]]
    others = dict(data) if isinstance(data, Mapping) else {}
    old = others.pop(key, None)
    new = _with_value(old, below, value) if below else value
    return others if new is None else {**others, key: new}


def _comparable(value: object, path: Path = ()) -> object:
    """A content without what is empty at a path or on the way to it; not even 1 and true are equal, but NaNs are."""
    if isinstance(value, Mapping):
        kept = {
            key: _comparable(each, path[1:] if path[:1] == (key,) else ())
            for key, each in value.items()
        }
        empty = path and kept.get(path[0]) in ({}, [], repr(None))
        return {key: each for key, each in kept.items() if not (empty and key == path[0])}
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    return repr(value)
