"""Read what a tool call would change in files, as diffs, from the arguments of different agents' tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.headline import FileChange

Json = dict[str, JsonValue]

PATHS: Final = (
    "file_path",
    "filePath",
    "path",
    "filepath",
    "notebook_path",
    "fileName",
    "target_file",
)
"""The path of a file, by the field names of different agents' tools."""
_PAIRS: Final = (
    ("old_string", "new_string"),  # Claude Code's Edit; Gemini CLI's replace
    ("oldString", "newString"),  # opencode
    ("old_str", "new_str"),  # Copilot CLI
    ("oldText", "newText"),  # ACP
)
"""The old and new text of an edit, by the field names of different agents' tools."""
_CONTENTS: Final = ("content", "file_text", "contents")
"""The text of a whole file."""
_DIFFS: Final = ("diff", "patch", "unified_diff", "patchText", "input")
"""Fields that may contain a diff or a patch."""
_LISTS: Final = ("edits", "changes", "fileChanges", "content")
"""Fields that may list several changes, or map paths to them."""
_PATCH_FILE: Final = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_PATCH_BEGIN: Final = "*** Begin Patch"
_DIFF_HEADER: Final = re.compile(r"^(?:--- .*\n\+\+\+ .*\n|@@)", re.MULTILINE)
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_TYPES: Final = {
    "add": "Create",
    "create": "Create",
    "delete": "Delete",
    "update": "Edit",
    "edit": "Edit",
}


_OPERATIONS: Final = {"create_file": "Create", "update_file": "Edit", "delete_file": "Delete"}
"""The operations of OpenAI's tool `apply_patch`, which all have a diff, but for the last."""


class Diff(NamedTuple):
    """The change of one file, and its lines."""

    change: FileChange
    text: str


class ReadChanges(NamedTuple):
    """The changes in some arguments, and the arguments that no change shows."""

    diffs: tuple[Diff, ...]
    rest: Json


def read_changes(arguments: Json, *, creates: bool) -> ReadChanges:
    """Read the changes of files.

    Args:
        creates: whether a path with a content is a new file, rather than any other call.
    """
    path_key = next((key for key in PATHS if isinstance(arguments.get(key), str)), None)
    path = None if path_key is None else str(arguments[path_key])
    diffs: list[Diff] = []
    rest: Json = {}
    for key, value in arguments.items():
        if key in _LISTS and isinstance(value, (dict, list)):
            found, left = _read_several(value, path)
            diffs += found
            if left or not value:
                rest[key] = left
        elif (one := _read_value(key, value, arguments, path, creates=creates)) is not None:
            diffs += one
        else:
            rest[key] = value
    if path_key is not None and any(diff.change.path == path for diff in diffs):
        del rest[path_key]
    return ReadChanges(tuple(diffs), rest)


def _read_value(
    key: str, value: JsonValue, arguments: Json, path: str | None, *, creates: bool
) -> list[Diff] | None:
    """Read the changes in one argument, and none if another one has them; None if it is not a change."""
    for old, new in _PAIRS:
        if key in {old, new} and (edit := _edit(arguments, path, old, new)) is not None:
            return [edit] if key == new else []
    if not isinstance(value, str):
        return None
    if key in _DIFFS:
        return _from_patch(value, path)
    return [_created(path, value)] if key in _CONTENTS and creates and path is not None else None


def _edit(arguments: Json, path: str | None, old: str, new: str) -> Diff | None:
    before, after = arguments.get(old), arguments.get(new)
    if old not in arguments or not isinstance(after, str) or not isinstance(before, str | None):
        return None
    if before is None and path is not None:
        return _created(path, after)
    return compare(path, before or "", after)


def _created(path: str | None, content: str) -> Diff:
    lines = _lines(content)
    return Diff(FileChange(path, "Create", len(lines)), "\n".join(f"+{line}" for line in lines))


def _lines(text: str) -> list[str]:
    """Return the lines of a file; the end of the last one begins no further line."""
    lines = text.split("\n") if text else []
    return lines[:-1] if lines and not lines[-1] else lines


def compare(path: str | None, before: str, after: str) -> Diff:
    """Return a diff with the common lines at the start and end, and between them the removed and added lines."""
    old, new = (text.split("\n") if text else [] for text in (before, after))
    fewer = min(len(old), len(new))
    head = next((i for i in range(fewer) if old[i] != new[i]), fewer)
    rest = fewer - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    lines = [
        *(f" {line}" for line in old[:head]),
        *(f"-{line}" for line in removed),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in old[len(old) - tail :]),
    ]
    return Diff(FileChange(path, "Edit", len(added), len(removed)), "\n".join(lines))


def _from_patch(text: str, path: str | None) -> list[Diff] | None:
    """Read a patch of several files, or a diff of one; None if a text is neither."""
    if text.lstrip().startswith(_PATCH_BEGIN):
        return [*_patch_sections(text)]
    if _DIFF_HEADER.search(text) is None:
        return None
    return [Diff(FileChange(path or _diff_path(text), "Edit", *_count(text)), text)]


def _patch_sections(text: str) -> Iterator[Diff]:
    """Yield the files of a patch of `apply_patch`; lines that belong to no file stay with the first one."""
    path, verb, lines = None, "Edit", list[str]()
    for line in text.split("\n"):
        begins = _PATCH_FILE.fullmatch(line.rstrip("\r"))
        if begins is not None:
            if path is not None:
                yield _section(path, verb, lines)
                lines = []
            path, verb = begins[2], _TYPES[begins[1].lower()]
        lines.append(line)
    yield _section(path, verb, lines)


def _section(path: str | None, verb: str, lines: list[str]) -> Diff:
    text = "\n".join(lines)
    return Diff(FileChange(path, verb, *_count(text)), text)


def _diff_path(text: str) -> str | None:
    """Return the path of a diff from its header."""
    named = re.search(r"^\+\+\+ (?:b/)?([^\t\n]+)", text, re.MULTILINE)
    return named[1] if named and named[1] != "/dev/null" else None


def _count(diff: str) -> tuple[int, int]:
    """Count the lines that a diff adds and removes."""
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return added, removed


def _read_several(value: Json | list[JsonValue], path: str | None) -> tuple[list[Diff], JsonValue]:
    """Read a list of changes, or an object of changes by path; return what no diff shows as well."""
    entries: list[tuple[str | None, JsonValue]] = (
        [*value.items()] if isinstance(value, dict) else [(path, each) for each in value]
    )
    diffs: list[Diff] = []
    left: list[tuple[str, JsonValue]] = []
    for number, (at, sent) in enumerate(entries, 1):
        diff, unshown = _one(at, sent, is_key=isinstance(value, dict))
        diffs += [] if diff is None else [diff]
        if diff is None:
            left.append((at or "", sent))
        elif unshown:
            left.append((at or "", {"change": number, **unshown}))
    return diffs, dict(left) if isinstance(value, dict) else [each for _, each in left]


def _one(path: str | None, sent: JsonValue, *, is_key: bool) -> tuple[Diff | None, Json]:
    """Read one of several changes; return its fields that the diff does not show as well.

    Args:
        is_key: whether the change stands under its path, which then counts, whatever its fields say.
    """
    if not isinstance(sent, dict):
        return None, {}
    fields = {**sent}
    kind = fields.pop("type", None) or fields.pop("kind", None)
    if isinstance(kind, dict):
        more = {key: value for key, value in kind.items() if key != "type" and value is not None}
        if more.keys() & fields.keys():
            return None, {}  # only one of the two could be shown
        fields |= more
        kind = kind.get("type")
    if isinstance(fields.get("path"), str) and not (is_key and fields["path"] != path):
        path = str(fields.pop("path"))
    for old, new in _PAIRS:
        pair = {old: None, **fields} if kind == "diff" else fields
        if (edit := _edit(pair, path, old, new)) is not None:
            unshown = {key: value for key, value in fields.items() if key not in {old, new}}
            odd = {} if kind is None or kind == "diff" or str(kind) in _TYPES else {"type": kind}
            return edit, {**odd, **unshown}
    operation, diff = _OPERATIONS.get(str(kind)), fields.get("diff") or ""
    if operation is not None and path is not None and isinstance(diff, str):
        unshown = {
            key: value for key, value in fields.items() if key != "diff" and value is not None
        }
        return Diff(FileChange(path, operation, *_count(diff)), diff), unshown
    verb = _TYPES.get(str(kind))
    for key in ("unified_diff", "diff", "content"):
        text = fields.get(key)
        if verb is not None and isinstance(text, str):
            del fields[key]
            unshown = {name: value for name, value in fields.items() if value is not None}
            return _of_file(path, verb, text, is_diff=key != "content"), unshown
    return None, {}


def _of_file(path: str | None, verb: str, text: str, *, is_diff: bool) -> Diff:
    if verb == "Edit" or (is_diff and _DIFF_HEADER.search(text)):
        return Diff(FileChange(path, verb, *_count(text)), text)
    if verb == "Create":
        return _created(path, text)
    lines = _lines(text)
    return Diff(FileChange(path, verb, 0, len(lines)), "\n".join(f"-{line}" for line in lines))


def add_changes(known: Sequence[Diff], more: Sequence[Diff]) -> list[Diff]:
    """Return the changes in two parts of a call, each once.

    A host may send the same change as its tool's arguments, and as its protocol's diff.
    """
    every = [*known]
    for diff in more:
        same = next((i for i, each in enumerate(every) if _is_same(each, diff)), None)
        if same is None:
            every.append(diff)
        elif diff.change.verb == "Create":  # says more than an edit of an empty text
            every[same] = diff
    return every


def _is_same(one: Diff, other: Diff) -> bool:
    """Return True if two diffs are one change of one file, whose path may be given from the host's folder or from the
    root."""
    short, long = sorted((each.change.path or "" for each in (one, other)), key=len)
    if short and not f"/{long}".endswith(f"/{short}"):
        return False
    return (
        one.text == other.text
        or _changed_lines(one.text) == _changed_lines(other.text)
        or _makes(one.text, other.text)
        or _makes(other.text, one.text)
    )


def _changed_lines(diff: str) -> tuple[list[str], list[str]]:
    """Return the lines that a diff removes and adds."""
    lines = [line for line in diff.split("\n") if not line.startswith(("--- ", "+++ "))]
    removed, added = ([line[1:] for line in lines if line.startswith(mark)] for mark in "-+")
    return removed, added


def _makes(hunks: str, whole: str) -> bool:
    """Return True if a unified diff turns the old text of a diff with all lines into its new text."""
    if _DIFF_HEADER.search(hunks) is None or _DIFF_HEADER.search(whole) is not None:
        return False
    old, new = (
        [line[1:] for line in whole.split("\n") if line[:1] in marks] for marks in (" -", " +")
    )
    made: list[str] = []
    at = 0
    for line in hunks[hunks.index("@@") :].split("\n") if "@@" in hunks else ():
        if begins := _HUNK.match(line):
            start = max(int(begins[1]) - 1, at)
            made += old[at:start]
            at = start
        elif line[:1] in {" ", "-"}:
            if old[at : at + 1] != [line[1:]]:
                return False
            made += [line[1:]] if line[0] == " " else []
            at += 1
        elif line[:1] == "+":
            made.append(line[1:])
    return [*made, *old[at:]] == new
