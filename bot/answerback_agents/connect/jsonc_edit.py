"""Edits JSON with comments in place: everything except what is added or removed stays the same, byte for byte.

A text is parsed into spans. A new member is added after the last member of its object. Removing a member also removes
the comma and the line that were added with it, so the one undoes the other, whatever was edited in between.
The format: https://code.visualstudio.com/docs/languages/json#_json-with-comments.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NoReturn

from pydantic import JsonValue

from answerback_agents.connect.settings_entries import (
    ConnectError,
    Entry,
    Format,
    Json,
    Setting,
    places,
    restorations,
)

_TRIVIA: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.S)
_STRING: Final = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_TOKEN_STARTS: Final = frozenset('"{}[],:')
_ATOM: Final = re.compile(r"[^\s,:\[\]{}\"/]+")
_PAIRS: Final = {"{": "}", "[": "]"}
_MAX_DEPTH: Final = 100
_INDENT: Final = "  "
NodePath = tuple[str | int | None, ...]
"""A path from the root: keys, array indexes, and None for an item that does not exist yet."""


@dataclass(slots=True)
class Node:
    """A value, or a member of an object with its key, and its position in the text."""

    start: int
    end: int = 0
    inner: int = 0
    """Where the value starts: after the key, for a member."""
    value: JsonValue = None
    key: str | None = None
    items: list[Node] = field(default_factory=list)
    is_container: bool = False

    def child(self, key: str | int) -> Node | None:
        """The member with a key (the last one if there are several), or the item at an index."""
        if isinstance(key, int):
            return self.items[key]
        members = {item.key: item for item in self.items} if isinstance(self.value, dict) else {}
        return members.get(key)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def whole(self) -> Node | None:
        self.skip()
        if self.at == len(self.text):
            return None
        node = self.value(0)
        self.skip()
        if self.at < len(self.text):
            self.refuse("there is more text after the end of the JSON")
        return node

    def skip(self) -> None:
        if self.text[self.at : self.at + 1] in _TOKEN_STARTS:
            return
        found = _TRIVIA.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def refuse(self, why: str) -> NoReturn:
        line = self.text.count("\n", 0, self.at) + 1
        raise ConnectError(f"line {line} is not valid JSON: {why}. Fix it first.")

    def take(self, pattern: re.Pattern[str], what: str) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            self.refuse(f"{what} is expected here")
        self.at = found.end()
        return found[0]

    def decoded(self, raw: str) -> JsonValue:
        if raw[0] == '"' and "\\" not in raw:
            return raw[1:-1]
        try:
            value: JsonValue = json.loads(raw)
        except ValueError:
            self.refuse(f"{raw[:40]!r} is not a value")
        return value

    def value(self, depth: int) -> Node:
        node = Node(self.at, inner=self.at)
        opening = self.text[self.at : self.at + 1]
        if opening in _PAIRS and opening:
            self.container(node, _PAIRS[opening], depth)
        else:
            pattern = _STRING if opening == '"' else _ATOM
            node.value = self.decoded(self.take(pattern, "a value"))
        node.end = self.at
        return node

    def container(self, node: Node, closing: str, depth: int) -> None:
        if depth > _MAX_DEPTH:
            self.refuse(f"it is nested more than {_MAX_DEPTH} levels deep")
        node.is_container = True
        self.at += 1
        self.skip()
        while self.text[self.at : self.at + 1] != closing:
            node.items.append(self.member(closing, depth))
            self.skip()
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
                self.skip()
            elif self.text[self.at : self.at + 1] != closing:
                self.refuse(f"a comma or {closing} is expected here")
        self.at += 1
        if closing == "}":
            node.value = {str(item.key): item.value for item in node.items}
        else:
            node.value = [item.value for item in node.items]

    def member(self, closing: str, depth: int) -> Node:
        if closing == "]":
            return self.value(depth + 1)
        start = self.at
        key = str(self.decoded(self.take(_STRING, "a key in double quotes")))
        self.skip()
        self.take(re.compile(":"), "a colon")
        self.skip()
        node = self.value(depth + 1)
        node.start, node.key = start, key
        return node


@lru_cache(maxsize=2)  # each entry reads the same text several times: 160 ms for 340 kB
def parse_jsonc(text: str) -> Node | None:
    """Parse a text as JSON; None if it is empty.

    Raises:
        ConnectError: the text is not JSON, or not an object.
    """
    root = _Parser(text).whole()
    if root is not None and not isinstance(root.value, dict):
        raise ConnectError("the JSON in the file is not an object. Fix it first.")
    return root


class JsoncFormat(Format):
    """JSON files, with or without comments and trailing commas."""

    def data(self, text: str) -> Json:
        root = parse_jsonc(text)
        return root.value if root is not None and isinstance(root.value, dict) else {}

    def put_entry(self, text: str, entry: Entry, newline: str) -> str:
        root = parse_jsonc(text)
        if root is None:
            ended = text if not text or text.endswith("\n") else text + newline
            text = f"{ended}{{}}{newline}"
        if isinstance(entry, Setting):
            return _put_value(text, entry.path, entry.value, newline)
        new: NodePath = (*entry.path, None)
        place = next(places(self.data(text), entry), new)
        return _put_value(text, place, entry.value_for(place), newline)

    def remove_entry(self, text: str, entry: Entry, original: str | None) -> str:
        if isinstance(entry, Setting):
            return _restore(text, entry.path, original, entry.path)
        found = restorations(self.data(text), self.data(original or ""), entry)
        for place, before in reversed(found):
            text = _restore(text, place, original, before)
        return text


def _node_at(text: str | None, path: NodePath) -> Node | None:
    node = parse_jsonc(text or "")
    for key in path:
        node = None if node is None or key is None else node.child(key)
    return node


def _put_value(text: str, path: NodePath, value: JsonValue, newline: str) -> str:
    """The text with a value at a path; missing parents are created. None in a path is a new item."""
    parent = _node_at(text, ())
    assert parent is not None
    for depth, key in enumerate(path):
        below = None if key is None else parent.child(key)
        if below is None:
            if not parent.is_container or isinstance(parent.value, list) != (key is None):
                where = ".".join(map(str, path[:depth])) or "the file"
                expected = "a list" if key is None else "an object"
                raise ConnectError(f"{where} is not {expected}. Fix it first.")
            for missing in reversed(path[depth + 1 :]):
                value = [value] if missing is None else {str(missing): value}
            return _insert_member(text, parent, None if key is None else str(key), value, newline)
        parent = below
    if parent.value == value:
        return text
    rendered = _render_value(text, value, _line_indent(text, parent.start), newline)
    return text[: parent.inner] + rendered + text[parent.end :]


def _insert_member(text: str, into: Node, key: str | None, value: JsonValue, newline: str) -> str:
    """The text with a new last member in a container."""
    many_lines = "\n" in text[into.inner : into.end] or not into.items
    close = into.end - 1
    outer = _line_indent(text, into.start)
    unit = _indent_unit(text)
    indent = f"{newline}{outer}{unit}" if many_lines else " "
    if into.items and many_lines and _starts_line(text, into.items[-1].start):
        indent = newline + _line_indent(text, into.items[-1].start)
    rendered = _render_value(text, value, indent.strip("\r\n"), newline, compact=not many_lines)
    rendered = rendered if key is None else f"{json.dumps(key, ensure_ascii=False)}: {rendered}"
    if not into.items:
        at = _after_comments(text, into.inner + 1, close)
        rest = text[at:close]
        closing = rest if "\n" in rest else f"{newline}{outer}"
        return text[:at] + indent + rendered + closing + text[close:]
    last = into.items[-1].end
    comma = _find_comma(text, last, close)
    at = _line_end(text, last if comma is None else comma + 1, close)
    if comma is None:
        return text[:last] + "," + text[last:at] + indent + rendered + text[at:]
    return text[:at] + indent + rendered + "," + text[at:]


def _restore(
    text: str, path: NodePath, original: str | None, original_path: NodePath | None
) -> str:
    """The text with the original's value at a path, or none; parents that were created for it are removed too."""
    node = _node_at(text, path)
    if node is None:
        return text
    old = None if original_path is None else _node_at(original, original_path)
    if old is not None and original is not None:
        return text[: node.inner] + original[old.inner : old.end] + text[node.end :]
    parent = _node_at(text, path[:-1])
    assert parent is not None
    text = _remove_member(text, parent, parent.items.index(node))
    left = _node_at(text, path[:-1])
    if left is None or left.items:
        return text
    before = _node_at(original, path[:-1])
    if before is None and len(path) > 1:
        return _restore(text, path[:-1], original, None)
    inner = (
        "" if before is None or original is None else original[before.inner + 1 : before.end - 1]
    )
    now = text[left.inner + 1 : left.end - 1]
    if (before is None or not before.items) and _without_space(now) == _without_space(inner):
        return text[: left.inner + 1] + inner + text[left.end - 1 :]
    return text


def _remove_member(text: str, parent: Node, i: int) -> str:
    """The text without a member, its comma, and the line that was added with it."""
    node = parent.items[i]
    close = parent.end - 1
    after = parent.items[i + 1].start if i + 1 < len(parent.items) else close
    comma = _find_comma(text, node.end, after)
    before = parent.items[i - 1].end if i else parent.inner + 1
    own = None if i == 0 else _find_comma(text, before, node.start)
    start = _after_comments(text, before if own is None else own + 1, node.start)
    if comma is not None:
        return text[:start] + text[node.end : comma] + text[comma + 1 :]
    if own is None:
        return text[:start] + text[node.end :]
    return text[:own] + text[own + 1 : start] + text[node.end :]


def _find_comma(text: str, start: int, end: int) -> int | None:
    """The position of the comma between two members, outside comments."""
    blanked = _COMMENT.sub(lambda found: " " * len(found[0]), text[start:end])
    at = blanked.find(",")
    return None if at < 0 else start + at


def _after_comments(text: str, start: int, end: int) -> int:
    """The position after the last comment in a gap, or the start of the gap."""
    return max((found.end() for found in _COMMENT.finditer(text, start, end)), default=start)


def _line_end(text: str, start: int, end: int) -> int:
    """The position after the last comment on the line that a gap starts in."""
    at = start
    for found in _COMMENT.finditer(text, start, end):
        if "\n" in text[at : found.start()]:
            break
        at = found.end()
    return at


def _without_space(inner: str) -> str:
    return "".join(inner.split())


def _starts_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    """The indent of a file: that of its first indented line."""
    found = re.search(r"^([ \t]+)\S", text, re.M)
    return found[1] if found else _INDENT


def _render_value(
    text: str, value: JsonValue, indent: str, newline: str, *, compact: bool = False
) -> str:
    if compact:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_indent_unit(text)).split("\n")
    return f"{newline}{indent}".join(lines)
