"""Edits TOML in place: adds Answerback's tables after everything else, and removes them again.

A text is split into statements. tomlkit is not used, as it moves comments and blank lines around the tables it adds.
After each edit, what tomllib reads has to be exactly what was intended.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from answerback_agents.connect.settings_entries import (
    ConnectError,
    Entry,
    Format,
    Json,
    ListItem,
    Path,
    Setting,
    checked_edit,
    handlers,
    is_our_group,
    our_groups_at,
    runs_answerback,
    value_at,
    with_entry,
    without_entry,
)

_STRINGS: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]',
    re.S,
)
_BLANK: Final = " \t\r"
"""White space in TOML; other white space characters can only be part of a comment."""
_COMMA: Final = re.compile(r"\s*, ?")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class _Table(NamedTuple):
    """A table with a header, from the header to its last key."""

    path: Path
    start: int
    end: int


class TomlFormat(Format):
    def data(self, text: str) -> Json:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConnectError(f"it is not valid TOML: {error}. Fix it first.") from error
        except RecursionError as error:
            raise ConnectError(f"it is nested too deeply. {_BY_HAND}") from error

    def put_entry(self, text: str, entry: Entry, newline: str) -> str:
        data = self.data(text)
        array = None
        if isinstance(entry, ListItem):
            if entry.value in [group.value for group in our_groups_at(data, entry.path)]:
                return text
            array = _find_array(text, entry.path)
        elif value_at(data, entry.path) == entry.value:
            return text
        if array is None:
            new = _put_table(text, entry, newline)
        else:
            new = _put_in_array(text, array, _render_inline(entry.value))
        wanted = with_entry(data, entry, at_the_start=array is not None)
        return checked_edit(self, new, wanted, entry, _BY_HAND)

    def remove_entry(self, text: str, entry: Entry, original: str | None) -> str:
        wanted = without_entry(self.data(text), entry, self.data(original or ""))
        if (array := _find_array(text, entry.path)) is not None:
            new = _remove_from_array(text, array, original, entry.path)
        else:
            new = _remove_tables(text, entry, original)
        return checked_edit(self, new, wanted, entry, _REMOVE_BY_HAND)


_BY_HAND: Final = "Rewrite it as tables with headers, or add what --print shows by hand."
_REMOVE_BY_HAND: Final = "Rewrite it as tables with headers, or remove it by hand."


def _put_table(text: str, entry: Entry, newline: str) -> str:
    """The text with Answerback's first tables replaced, or with new ones at the end."""
    place = next(_find_spans(text, entry), None)
    whole = place is None or _is_whole(text, place, entry)
    block = newline.join(_render_entry(entry, whole=whole))
    if place is not None:
        start, end = place
        return text[:start] + block + text[end:]
    ended = text if not text or text.endswith("\n") else text + newline
    return ended + (newline if ended else "") + block + newline


def _remove_tables(text: str, entry: Entry, original: str | None) -> str:
    before, found = original or "", list[tuple[tuple[int, int], tuple[int, int] | None]]()
    originals = iter([*_find_spans(before, entry)])
    for span in _find_spans(text, entry):
        old = next(originals, None)
        if old is not None and _is_whole(text, span, entry) != _is_whole(before, old, entry):
            # A person has since added a handler to the group, or removed theirs: only Answerback's counts.
            span, old = _handler_span(text, span, entry), _handler_span(before, old, entry)
        found.append((span, old))
    for (start, end), old in reversed(found):
        if old is not None:
            text = text[:start] + before[slice(*old)] + text[end:]
        else:
            text = _remove_statements(text, start, end, original)
    return text


def _is_whole(text: str, span: tuple[int, int], entry: Entry) -> bool:
    """Return True if a span begins with the table of the entry, and not with one below it."""
    return _parse_header(text[slice(*span)].split("\n")[0].rstrip()) == entry.path


def _handler_span(text: str, span: tuple[int, int], entry: Entry) -> tuple[int, int]:
    """The span of Answerback's handler, given that of its group or its own."""
    tables = [each for each in _split_tables(text) if span[0] <= each.start < span[1]]
    [first, *_] = [each for each in tables if each.path != entry.path]
    return first.start, first.end


def _find_spans(text: str, entry: Entry) -> Iterator[tuple[int, int]]:
    """The spans of Answerback's tables, from their first header to their last key."""
    if isinstance(entry, ListItem):
        for run in _group_tables(text, entry.path, new_at_each=True):
            if run[0].path == entry.path:
                yield from _our_spans(text, entry.path, run)
        return
    for run in _group_tables(text, entry.path, new_at_each=False):
        yield run[0].start, run[-1].end


def _group_tables(text: str, path: Path, *, new_at_each: bool) -> list[list[_Table]]:
    """The tables at or below a path, with adjacent ones grouped."""
    found: list[list[_Table]] = []
    follows = False
    for table in _split_tables(text):
        below = table.path[: len(path)] == path
        if below and follows and not (new_at_each and table.path == path):
            found[-1].append(table)
        elif below:
            found.append([table])
        follows = below
    return found


def _our_spans(text: str, path: Path, group: Sequence[_Table]) -> Iterator[tuple[int, int]]:
    """The span of a group of hooks, or of just those handlers in it that are Answerback's."""
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


class _Array(NamedTuple):
    """An array that is written as the value of a key, with the spans of its items."""

    start: int
    items: list[tuple[int, int]]
    ours: list[int]
    """The indexes of Answerback's items."""


def _find_array(text: str, path: Path) -> _Array | None:
    table: Path = ()
    for start, end in _split_statements(text):
        statement = text[start:end]
        if statement.startswith("["):
            table = _parse_header(statement)
        elif table == path[: len(table)] and not statement.startswith("#"):
            listed = value_at(tomllib.loads(statement), path[len(table) :])
            opens, items = _split_array(text, start, end)
            if isinstance(listed, list) and text[opens - 1] == "[" and len(items) == len(listed):
                return _Array(
                    opens, items, [i for i, each in enumerate(listed) if is_our_group(each)]
                )
    return None


def _split_array(text: str, start: int, end: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the index after the bracket of a key's value, and the spans of the tables and arrays in it."""
    depth, opens, begins = 0, start, start
    items: list[tuple[int, int]] = []
    for found in _STRINGS.finditer(text, start, end):
        if found[0] in ("[", "{"):
            depth += 1
            opens = found.end() if depth == 1 else opens
            begins = found.start() if depth == 2 else begins
        elif found[0] in ("]", "}"):
            if depth == 2:
                items.append((begins, found.end()))
            depth -= 1
    return opens, items


def _put_in_array(text: str, array: _Array, item: str) -> str:
    """The text with an item replaced, or added before the others: so nothing depends on a comma after the last one."""
    if array.ours:
        start, end = array.items[array.ours[0]]
        return text[:start] + item + text[end:]
    return text[: array.start] + item + ", " + text[array.start :]


def _remove_from_array(text: str, array: _Array, original: str | None, path: Path) -> str:
    before = _find_array(original or "", path)
    restored = [] if before is None else [before.items[i] for i in before.ours]
    for n, i in reversed([*enumerate(array.ours)]):
        start, end = array.items[i]
        if original is not None and n < len(restored):
            text = text[:start] + original[slice(*restored[n])] + text[end:]
        else:
            found = _COMMA.match(text, end)
            text = text[:start] + text[end if found is None else found.end() :]
    return text


@lru_cache(maxsize=2)  # each entry reads the same text several times: 14 ms for 34 kB
def _split_tables(text: str) -> tuple[_Table, ...]:
    tables: list[_Table] = []
    for start, end in _split_statements(text):
        statement = text[start:end]
        if statement.startswith("["):
            tables.append(_Table(_parse_header(statement), start, end))
        elif tables and not statement.startswith("#"):
            tables[-1] = tables[-1]._replace(end=end)
    return tuple(tables)


def _parse_header(statement: str) -> Path:
    path: list[str] = []
    value: Any = tomllib.loads(statement)
    while value:
        [(key, value)] = (value[0] if isinstance(value, list) else value).items()
        path.append(key)
        value = None if value == [{}] else value
    return tuple(path)


def _split_statements(text: str) -> Iterator[tuple[int, int]]:
    """The span of each statement, with comments on its line and without surrounding white space."""
    start = depth = 0
    for found in _STRINGS.finditer(text):
        token = found[0]
        if token in ("[", "{"):
            depth += 1
        elif token in ("]", "}"):
            depth -= 1
        elif token == "\n" and depth == 0:
            yield from _trim(text, start, found.start())
            start = found.end()
    yield from _trim(text, start, len(text))


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    line = text[start:end]
    if line.strip(_BLANK):
        first = start + len(line) - len(line.lstrip(_BLANK))
        yield first, start + len(line.rstrip(_BLANK))


def _remove_statements(text: str, start: int, end: int, original: str | None) -> str:
    """The text without a span of statements, the rest of its line, and the blank line before it."""
    head, tail = text[:start], text[end:]
    tail = re.sub(r"\A\r?\n", "", tail)
    head = re.sub(r"(\A|\n)\r?\n\Z", r"\1", head)
    if original and not tail and not original.endswith("\n"):
        head = head.removesuffix("\n").removesuffix("\r")
    return head + tail


def _render_entry(entry: Entry, *, whole: bool) -> list[str]:
    """The lines of an entry, or of just its handler."""
    value = entry.value if whole or isinstance(entry, Setting) else entry.handler
    assert isinstance(value, dict)
    path = entry.path if whole else (*entry.path, "hooks")
    return [*_render_table(path, value, is_item=isinstance(entry, ListItem))]


def _render_table(path: Path, value: Json, *, is_item: bool) -> Iterator[str]:
    name = ".".join(map(_render_key, path))
    yield f"[[{name}]]" if is_item else f"[{name}]"
    for key, each in value.items():
        if not isinstance(each, list):
            yield f"{_render_key(key)} = {_render_inline(each)}"
    for key, each in value.items():
        for item in each if isinstance(each, list) else []:
            assert isinstance(item, dict)
            yield ""
            yield from _render_table((*path, key), item, is_item=True)


def _render_inline(value: JsonValue) -> str:
    """Render a value on one line: TOML strings, numbers and booleans are written as in JSON."""
    if isinstance(value, dict):
        pairs = (f"{_render_key(key)} = {_render_inline(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_render_inline, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _render_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key)
