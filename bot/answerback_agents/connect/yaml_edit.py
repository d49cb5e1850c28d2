"""Edits YAML in place: adds an entry of Answerback's to a mapping, on one line, and removes it again.

PyYAML says where things are. After each edit, what it reads has to be exactly what was intended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import yaml

from answerback_agents.connect.settings_entries import (
    ConnectError,
    Entry,
    Format,
    Json,
    checked_edit,
    value_at,
    with_entry,
    without_entry,
)

_BY_HAND: Final = "Write it as an indented mapping, or add what --print shows by hand."
_REMOVE_BY_HAND: Final = "Write it as an indented mapping, or remove it by hand."
_COMMA: Final = re.compile(r"\s*, ?")
_INDENT: Final = "  "
_REST_OF_LINE: Final = re.compile(r"[^\r\n]*\r?\n?")


class _Member(NamedTuple):
    """A key of a mapping, with its value."""

    start: int
    """Where the key starts."""
    end: int
    """Where the value ends."""
    value: yaml.Node


class YamlFormat(Format):
    def data(self, text: str) -> Json:
        try:
            found = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError) as error:
            raise ConnectError(f"it is not valid YAML: {error}. Fix it first.") from error
        except RecursionError as error:
            raise ConnectError(f"it is nested too deeply. {_BY_HAND}") from error
        if not isinstance(found or {}, dict):
            raise ConnectError("the YAML in the file is not a mapping. Fix it first.")
        return found or {}

    def put_entry(self, text: str, entry: Entry, newline: str) -> str:
        data = self.data(text)
        if value_at(data, entry.path) == entry.value:
            return text
        name, line = entry.path[-1], f"{entry.path[-1]}: {json.dumps(entry.value)}"
        parent = _find(text, entry.path[:-1])
        if parent is None:
            ended = text if not text or text.endswith("\n") else text + newline
            new = f"{ended}{entry.path[0]}:{newline}{_INDENT}{line}{newline}"
        elif own := _members(text, parent.value).get(name):
            new = text[: own.start] + line + text[own.end :]
        elif _is_flow(parent.value):
            at = parent.value.start_mark.index + 1
            new = f"{text[:at]}{line}, {text[at:]}"
        elif others := _members(text, parent.value):
            first = next(iter(others.values())).start
            new = f"{text[:first]}{line}{newline}{_indent(text, first)}{text[first:]}"
        else:
            at = _line_end(text, parent.end)
            between = "" if text[:at].endswith("\n") else newline
            new = f"{text[:at]}{between}{_INDENT}{line}{newline}{text[at:]}"
        return checked_edit(self, new, with_entry(data, entry), entry, _BY_HAND)

    def remove_entry(self, text: str, entry: Entry, original: str | None) -> str:
        now = _find(text, entry.path)
        if now is None:
            return text
        if original is not None and (before := _find(original, entry.path)) is not None:
            new = text[: now.start] + original[before.start : before.end] + text[now.end :]
        else:
            new = _without_member(text, now, entry.path[:-1], original)
        wanted = without_entry(self.data(text), entry, self.data(original or ""))
        return checked_edit(self, new, wanted, entry, _REMOVE_BY_HAND)


def _without_member(
    text: str, member: _Member, parent_path: tuple[str, ...], original: str | None
) -> str:
    parent = _find(text, parent_path)
    assert parent is not None
    if _is_flow(parent.value):
        comma = _COMMA.match(text, member.end)
        return text[: member.start] + text[member.end if comma is None else comma.end() :]
    is_created = original is None or _find(original, parent_path) is None
    if is_created and len(_members(text, parent.value)) == 1:
        return _without_lines(text, parent, original)
    return _without_lines(text, member, original)


def _find(text: str, path: tuple[str, ...]) -> _Member | None:
    node, found = yaml.compose(text, Loader=yaml.SafeLoader), None
    for key in path:
        found = _members(text, node).get(key)
        node = None if found is None else found.value
    return found


def _members(text: str, node: yaml.Node | None) -> dict[str, _Member]:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return {
        key.value: _Member(key.start_mark.index, max(_ends(text, key, value)), value)
        for key, value in pairs
    }


def _ends(text: str, *nodes: yaml.Node) -> Iterator[int]:
    """Yield the ends of the parts of nodes: an indented mapping or list reaches to the next part, with comments in
    between."""
    for node in nodes:
        if isinstance(node, yaml.ScalarNode) or _is_flow(node):
            yield len(text[: node.end_mark.index].rstrip())
        elif isinstance(node, yaml.MappingNode):
            yield from _ends(text, *(part for pair in node.value for part in pair))
        else:
            yield from _ends(text, *node.value)


def _is_flow(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip() else ""


def _line_end(text: str, at: int) -> int:
    """Return the end of the line after a position, with its line break."""
    found = _REST_OF_LINE.match(text, at)
    assert found is not None
    return found.end()


def _without_lines(text: str, member: _Member, original: str | None) -> str:
    head = text[: text.rfind("\n", 0, member.start) + 1]
    tail = text[_line_end(text, member.end) :]
    if original and not tail and not original.endswith("\n"):
        head = head.removesuffix("\n").removesuffix("\r")
    return head + tail
