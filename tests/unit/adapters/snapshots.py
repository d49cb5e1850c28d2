"""Where the snapshots of a surface's payloads are stored, and how.

pytest's main process imports this module at the end of a run, so it imports nothing of the project.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

_SNAPSHOTS: Final = Path(__file__).parents[2] / "snapshots"
_WIDTH: Final = 150
"""Characters of a line up to which a JSON value stays on it."""
_LONG: Final = 800
"""Characters of a text from which a snapshot has only its ends and its length."""
_END: Final = 200
_UNREAD: Final = frozenset({"script", "style", "title"})
_INLINE: Final = frozenset(
    ("a", "b", "bdi", "code", "em", "i", "kbd", "s", "small", "span", "strong", "time")
)
_ENTERED: Final = ("type", "value", "placeholder", "checked", "selected")


class InFolder(JSONSnapshotExtension):
    """Stores one file per test case, in tests/snapshots/<surface>/<test module>."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder of a test's files."""
        module = Path(test_location.filepath)
        return str(_SNAPSHOTS / module.parent.name / module.stem)


class Messages(SingleFileSnapshotExtension):
    """Stores what a surface shows of many asks as one text, in tests/snapshots/<test module>."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder of a test's files."""
        return str(_SNAPSHOTS / Path(test_location.filepath).stem)


def readable(payload: object) -> str:
    """Return a payload as lines for a snapshot: JSON with short values on one line, or what a page says."""
    lines = _PageLines.of(payload) if isinstance(payload, str) else _json_lines(payload)
    return "\n".join(lines)


def _ends(text: str) -> str:
    if len(text) <= _LONG:
        return text
    return f"{text[:_END]} [… {len(text) - 2 * _END} characters …] {text[-_END:]}"


def _json_lines(value: object, indent: str = "", before: str = "") -> Iterator[str]:
    value = _ends(value) if isinstance(value, str) else value
    short = json.dumps(value, ensure_ascii=False)
    nested = isinstance(value, (dict, list)) and value
    if not nested or len(indent + before + short) <= _WIDTH:
        yield f"{indent}{before}{short}"
        return
    yield f"{indent}{before}".rstrip() or f"{indent}-"
    inner: Iterable[tuple[str, object]] = ()
    if isinstance(value, dict):
        inner = ((f"{name}: ", each) for name, each in value.items())
    elif isinstance(value, list):
        inner = (("- ", each) for each in value)
    for name, each in inner:
        yield from _json_lines(each, f"{indent}  ", name)


class _PageLines(HTMLParser):
    """The text of a page, a line for each element that is not within a line, with its buttons and inputs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = [""]
        self._unread = 0

    @classmethod
    def of(cls, page: str) -> list[str]:
        """Return the lines of a page."""
        reader = cls()
        reader.feed(page)
        reader.close()
        return [_ends(line) for each in reader.lines if (line := " ".join(each.split()))]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line, unless the element is within one."""
        self._unread += tag in _UNREAD
        if tag in _INLINE:
            return
        self.lines.append("")
        if tag in {"button", "input", "option", "select", "textarea", "summary", "h1", "h2"}:
            said = dict(attrs)
            known = [f"{name}={said[name] or ''}" for name in _ENTERED if name in said]
            self.lines[-1] = f"<{' '.join((tag, *known))}> "

    def handle_endtag(self, tag: str) -> None:
        """End a line, unless the element is within one."""
        self._unread -= tag in _UNREAD
        if tag not in _INLINE:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        """Add text to the line."""
        if not self._unread:
            self.lines[-1] += data
