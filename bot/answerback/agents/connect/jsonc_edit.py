"""JSON with comments, edited in place: everything but what is put in or taken out stays, byte for byte.

A text is parsed into spans. What is put in goes behind the last member of its object, and what is taken out goes with
the comma and the line that came with it; so the one undoes the other, whatever else was edited in between.
The formats read so: https://code.visualstudio.com/docs/languages/json#_json-with-comments.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final, NoReturn

from pydantic import JsonValue

from answerback.agents.connect.settings_entries import (
    ConnectError,
    Entry,
    Json,
    Setting,
    handlers,
    our_groups_at,
    runs_answerback,
)

_TRIVIA: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.S)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM: Final = re.compile(r"[^\s,:\[\]{}\"/]+")
_PAIRS: Final = {"{": "}", "[": "]"}
_DEEPEST: Final = 100
_INDENT: Final = "  "
NodePath = tuple[str | int | None, ...]
"""A way down from the whole: keys, places in arrays, and None for an item that is not there yet."""


@dataclass(slots=True)
class Node:
    """A value, or a member of an object with its key, and where it is."""

    start: int
    end: int = 0
    inner: int = 0
    """Where the value begins: behind the key, for a member."""
    value: JsonValue = None
    key: str | None = None
    items: list[Node] = field(default_factory=list)
    is_container: bool = False

    def child(self, key: str | int) -> Node | None:
        """The member of a key, the last one if there are two, or the item at a place."""
        if isinstance(key, int):
            return self.items[key]
        found = None
        for item in self.items if isinstance(self.value, dict) else []:
            found = item if item.key == key else found
        return found


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
            self.refuse("there is more behind the end of the JSON")
        return node

    def skip(self) -> None:
        found = _TRIVIA.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def refuse(self, why: str) -> NoReturn:
        line = self.text.count("\n", 0, self.at) + 1
        raise ConnectError(f"line {line} is not JSON: {why}. Fix it first.")

    def take(self, pattern: re.Pattern[str], what: str) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            self.refuse(f"{what} is expected here")
        self.at = found.end()
        return found[0]

    def decoded(self, raw: str) -> JsonValue:
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
        if depth > _DEEPEST:
            self.refuse(f"it is nested more than {_DEEPEST} deep")
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


def parse_jsonc(text: str) -> Node | None:
    """The JSON of a text; None where there is none.

    Raises:
        ConnectError: it is not JSON, or not an object.
    """
    root = _Parser(text).whole()
    if root is not None and not isinstance(root.value, dict):
        raise ConnectError("the file holds JSON that is not an object. Fix it first.")
    return root


class JsoncFormat:
    """JSON files, with comments and trailing commas or without."""

    def data(self, text: str) -> Json:
        """What the file says; a missing or empty file says nothing."""
        root = parse_jsonc(text)
        return root.value if root is not None and isinstance(root.value, dict) else {}

    def put_entry(self, text: str, entry: Entry, newline: str) -> str:
        """The text with an entry, put in or brought up to date."""
        root = parse_jsonc(text)
        if root is None:
            text += f"{{}}{newline}"
        if isinstance(entry, Setting):
            return _put(text, entry.path, entry.value, newline)
        for i, group in our_groups_at(self.data(text), entry.path):
            mine = [j for j, each in enumerate(handlers(group) or []) if runs_answerback(each)]
            if len(mine) < len(handlers(group) or []):
                return _put(text, (*entry.path, i, "hooks", mine[0]), entry.handler, newline)
            return _put(text, (*entry.path, i), entry.value, newline)
        return _put(text, (*entry.path, None), entry.value, newline)

    def remove_entry(self, text: str, entry: Entry, original: str | None) -> str:
        """The text without an entry, or with what the original has in its place."""
        if isinstance(entry, Setting):
            return _restored(text, entry.path, original, entry.path)
        before = [i for i, _ in our_groups_at(self.data(original or ""), entry.path)]
        now = [*our_groups_at(self.data(text), entry.path)]
        for n, (i, group) in reversed([*enumerate(now)]):
            place: NodePath = (*entry.path, i)
            kept: NodePath | None = (*entry.path, before[n]) if n < len(before) else None
            listed = handlers(group) or []
            mine = [j for j, each in enumerate(listed) if runs_answerback(each)]
            if kept is None and len(mine) < len(listed):
                for j in reversed(mine):
                    text = _restored(text, (*place, "hooks", j), original, None)
            else:
                text = _restored(text, place, original, kept)
        return text


def _node(text: str | None, path: NodePath) -> Node | None:
    node = parse_jsonc(text or "")
    for key in path:
        node = None if node is None or key is None else node.child(key)
    return node


def _put(text: str, path: NodePath, value: JsonValue, newline: str) -> str:
    """The text with a value at a place; what is missing on the way is made. None in a path is a new item."""
    above = _node(text, ())
    assert above is not None
    for depth, key in enumerate(path):
        below = None if key is None else above.child(key)
        if below is None:
            if not above.is_container or isinstance(above.value, list) != (key is None):
                where = ".".join(map(str, path[:depth])) or "the file"
                expected = "a list" if key is None else "an object"
                raise ConnectError(f"{where} is not {expected}. Fix it first.")
            for missing in reversed(path[depth + 1 :]):
                value = [value] if missing is None else {str(missing): value}
            return _inserted(text, above, None if key is None else str(key), value, newline)
        above = below
    if above.value == value:
        return text
    shown = _shown(text, value, _line_indent(text, above.start), newline)
    return text[: above.inner] + shown + text[above.end :]


def _inserted(text: str, into: Node, key: str | None, value: JsonValue, newline: str) -> str:
    """The text with a new last member."""
    many_lines = "\n" in text[into.inner : into.end] or not into.items
    close = into.end - 1
    outer = _line_indent(text, into.start)
    unit = _unit(text)
    indent = f"{newline}{outer}{unit}" if many_lines else " "
    if into.items and many_lines and _starts_line(text, into.items[-1].start):
        indent = newline + _line_indent(text, into.items[-1].start)
    shown = _shown(text, value, indent.strip("\r\n"), newline, compact=not many_lines)
    shown = shown if key is None else f"{json.dumps(key, ensure_ascii=False)}: {shown}"
    if not into.items:
        at = _after_comments(text, into.inner + 1, close)
        rest = text[at:close]
        closing = rest if "\n" in rest else f"{newline}{outer}"
        return text[:at] + indent + shown + closing + text[close:]
    last = into.items[-1].end
    comma = _comma(text, last, close)
    at = _line_end(text, last if comma is None else comma + 1, close)
    if comma is None:
        return text[:last] + "," + text[last:at] + indent + shown + text[at:]
    return text[:at] + indent + shown + "," + text[at:]


def _restored(text: str, path: NodePath, original: str | None, kept: NodePath | None) -> str:
    """The text with what the original has at a place, or nothing; what was made on the way goes too."""
    node = _node(text, path)
    if node is None:
        return text
    old = None if kept is None else _node(original, kept)
    if old is not None and original is not None:
        return text[: node.inner] + original[old.inner : old.end] + text[node.end :]
    above = _node(text, path[:-1])
    assert above is not None
    text = _removed(text, above, above.items.index(node))
    left = _node(text, path[:-1])
    if left is None or left.items:
        return text
    before = _node(original, path[:-1])
    if before is None and len(path) > 1:
        return _restored(text, path[:-1], original, None)
    inner = (
        "" if before is None or original is None else original[before.inner + 1 : before.end - 1]
    )
    now = text[left.inner + 1 : left.end - 1]
    if (before is None or not before.items) and _bare(now) == _bare(inner):
        return text[: left.inner + 1] + inner + text[left.end - 1 :]
    return text


def _removed(text: str, above: Node, i: int) -> str:
    """The text without a member, its comma and the line that came with it."""
    node = above.items[i]
    close = above.end - 1
    after = above.items[i + 1].start if i + 1 < len(above.items) else close
    comma = _comma(text, node.end, after)
    before = above.items[i - 1].end if i else above.inner + 1
    own = None if i == 0 else _comma(text, before, node.start)
    start = _after_comments(text, before if own is None else own + 1, node.start)
    if comma is not None:
        return text[:start] + text[node.end : comma] + text[comma + 1 :]
    if own is None:
        return text[:start] + text[node.end :]
    return text[:own] + text[own + 1 : start] + text[node.end :]


def _comma(text: str, start: int, end: int) -> int | None:
    """Where a comma is between two members, outside of comments."""
    blanked = _COMMENT.sub(lambda found: " " * len(found[0]), text[start:end])
    at = blanked.find(",")
    return None if at < 0 else start + at


def _after_comments(text: str, start: int, end: int) -> int:
    """Behind the last comment of a gap, or where the gap begins."""
    return max((found.end() for found in _COMMENT.finditer(text, start, end)), default=start)


def _line_end(text: str, start: int, end: int) -> int:
    """Behind the last comment on the line that a gap begins in."""
    at = start
    for found in _COMMENT.finditer(text, start, end):
        if "\n" in text[at : found.start()]:
            break
        at = found.end()
    return at


def _bare(inner: str) -> str:
    return "".join(inner.split())


def _starts_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """What a file indents by: as its first indented line."""
    found = re.search(r"^([ \t]+)\S", text, re.M)
    return found[1] if found else _INDENT


def _shown(text: str, value: JsonValue, indent: str, newline: str, *, compact: bool = False) -> str:
    """A value as JSON that fits in at an indent."""
    if compact:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return f"{newline}{indent}".join(lines)
