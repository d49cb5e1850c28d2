"""TOML, edited in place: tables of Answerback's are put behind everything else, and taken out again.

A text is cut into statements, since tomlkit moves comments and blank lines of the tables around those that it adds.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from answerback.agents.connect.settings_entries import (
    ConnectError,
    Entry,
    HookGroup,
    Json,
    Path,
    Setting,
    handlers,
    is_our_group,
    our_groups_at,
    runs_answerback,
    value_at,
)

_STRINGS: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]',
    re.S,
)
_SPACE: Final = " \t\r"
"""What TOML takes as blank; other white space is part of the comment that it stands in."""
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


class _Table(NamedTuple):
    """A table with a header: from there to its last key."""

    path: Path
    is_item: bool
    """Whether its header is that of an item of an array."""
    start: int
    end: int


class TomlFormat:
    """TOML files."""

    def data(self, text: str) -> Json:
        """What the file says; a missing or empty file says nothing."""
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConnectError(f"it is not TOML: {error}. Fix it first.") from error

    def put_entry(self, text: str, entry: Entry, newline: str) -> str:
        """The text with an entry, put in or brought up to date."""
        data = self.data(text)
        places = [*_places(text, entry)]
        if isinstance(entry, Setting):
            now = value_at(data, entry.path)
            if now == entry.value:
                return text
            if now is not None and not places:
                raise ConnectError(f"{'.'.join(entry.path)} is not a table of its own. {_BY_HAND}")
        else:
            ours = [group for _, group in our_groups_at(data, entry.path)]
            if entry.value in ours:
                return text
            if value_at(data, entry.path) is not None and not _items(text, entry.path):
                raise ConnectError(
                    f"{'.'.join(entry.path)} is an array on lines of its own. {_BY_HAND}"
                )
        whole = not places or _header(text[slice(*places[0])].split("\n")[0].rstrip()) == entry.path
        block = newline.join(_written(entry, whole=whole))
        if places:
            start, end = places[0]
            return text[:start] + block + text[end:]
        ended = text if not text or text.endswith("\n") else text + newline
        new = ended + (newline if ended else "") + block + newline
        try:
            tomllib.loads(new)
        except tomllib.TOMLDecodeError:
            raise ConnectError(f"{entry.path[0]} is written on one line. {_BY_HAND}") from None
        return new

    def remove_entry(self, text: str, entry: Entry, original: str | None) -> str:
        """The text without an entry, or with what the original has in its place."""
        kept = [*_places(original or "", entry)]
        now = [*_places(text, entry)]
        for n, (start, end) in reversed([*enumerate(now)]):
            if original is not None and n < len(kept):
                text = text[:start] + original[slice(*kept[n])] + text[end:]
            else:
                text = _cut(text, start, end, original)
        return text


_BY_HAND: Final = "Add what --print shows by hand, or write it as tables with headers."


def _places(text: str, entry: Entry) -> Iterator[tuple[int, int]]:
    """Where Answerback's tables are, from their first header to their last key."""
    if isinstance(entry, HookGroup):
        for group in _items(text, entry.path):
            yield from _ours_in(text, entry.path, group)
        return
    for run in _runs(text, entry.path, new_at_each=False):
        yield run[0].start, run[-1].end


def _items(text: str, path: Path) -> list[list[_Table]]:
    """The items of an array of tables, each with the tables below it."""
    return [run for run in _runs(text, path, new_at_each=True) if run[0].path == path]


def _runs(text: str, path: Path, *, new_at_each: bool) -> list[list[_Table]]:
    """The tables at a path and below, those together that follow each other."""
    found: list[list[_Table]] = []
    follows = False
    for table in _tables(text):
        below = table.path[: len(path)] == path
        if below and follows and not (new_at_each and table.path == path):
            found[-1].append(table)
        elif below:
            found.append([table])
        follows = below
    return found


def _ours_in(text: str, path: Path, group: Sequence[_Table]) -> Iterator[tuple[int, int]]:
    """All of a group of hooks, or those of its handlers that are Answerback's."""
    start, end = group[0].start, group[-1].end
    [value] = _list_at(text[start:end], path)
    if not is_our_group(value):
        return
    if all(map(runs_answerback, handlers(value) or [])):
        yield start, end
        return
    for table in group[1:]:
        [handler] = _list_at(text[table.start : table.end], table.path)
        if runs_answerback(handler):
            yield table.start, table.end


def _list_at(text: str, path: Path) -> list[object]:
    found = value_at(tomllib.loads(text), path)
    return found if isinstance(found, list) else [found]


def _tables(text: str) -> Iterator[_Table]:
    open_table: _Table | None = None
    for start, end in _statements(text):
        statement = text[start:end]
        if statement.startswith("["):
            if open_table is not None:
                yield open_table
            is_item = statement.startswith("[[")
            open_table = _Table(_header(statement), is_item, start, end)
        elif open_table is not None and not statement.startswith("#"):
            open_table = open_table._replace(end=end)
    if open_table is not None:
        yield open_table


def _header(statement: str) -> Path:
    path: list[str] = []
    value: Any = tomllib.loads(statement)
    while value:
        [(key, value)] = (value[0] if isinstance(value, list) else value).items()
        path.append(key)
        value = None if value == [{}] else value
    return tuple(path)


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Where each statement is, comments on its line included, without what is blank around it."""
    start = depth = 0
    for found in _STRINGS.finditer(text):
        token = found[0]
        if token in ("[", "{"):
            depth += 1
        elif token in ("]", "}"):
            depth -= 1
        elif token == "\n" and depth == 0:
            yield from _trimmed(text, start, found.start())
            start = found.end()
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    line = text[start:end]
    if line.strip(_SPACE):
        first = start + len(line) - len(line.lstrip(_SPACE))
        yield first, start + len(line.rstrip(_SPACE))


def _cut(text: str, start: int, end: int, original: str | None) -> str:
    """The text without some statements, the rest of their line, and the blank line before them."""
    head, tail = text[:start], text[end:]
    for newline in ("\r\n", "\n"):
        if tail.startswith(newline):
            tail = tail.removeprefix(newline)
            break
    for newline in ("\r\n", "\n"):
        if head.endswith(newline) and (head == newline or head.endswith("\n" + newline)):
            head = head.removesuffix(newline)
            break
    if original and not tail and not original.endswith("\n"):
        head = head.removesuffix("\n").removesuffix("\r")
    return head + tail


def _written(entry: Entry, *, whole: bool) -> list[str]:
    """The lines of an entry, or of what it runs alone."""
    value = entry.value if whole or isinstance(entry, Setting) else entry.handler
    assert isinstance(value, dict)
    path = entry.path if whole else (*entry.path, "hooks")
    return [*_table(path, value, is_item=isinstance(entry, HookGroup))]


def _table(path: Path, value: Json, *, is_item: bool) -> Iterator[str]:
    name = ".".join(key if _BARE.fullmatch(key) else json.dumps(key) for key in path)
    yield f"[[{name}]]" if is_item else f"[{name}]"
    for key, each in value.items():
        if not isinstance(each, list):
            yield f"{key} = {_scalar(each)}"
    for key, each in value.items():
        for item in each if isinstance(each, list) else []:
            assert isinstance(item, dict)
            yield ""
            yield from _table((*path, key), item, is_item=True)


def _scalar(value: JsonValue) -> str:
    """A value: strings, numbers and booleans are written in TOML as in JSON."""
    return json.dumps(value, ensure_ascii=False)
