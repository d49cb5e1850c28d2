"""Render the changes of files: lines with numbers where these are known, and tabs for several files; pure.

The order of the markup is that of the diff; the style sheet shows removed and added lines side by side where they fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from markupsafe import Markup

from answerback.core.headline import file_name
from answerback.core.labels import Labels
from answerback.core.markdown import Block, Code, Paragraph
from answerback_web import limits

LANGUAGES: Final = frozenset({"diff", "patch"})
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_CSS: Final = {"+": "inserted", "-": "deleted", "@": "comment"}
"""The CSS class of a line, by its first character."""
_HEADERS: Final = ("--- ", "--- a/", "+++ ", "+++ b/", "*** Update File: ", "*** Add File: ")
"""The texts that stand before a file's path in a diff."""


class _Line(NamedTuple):
    text: str
    css: str
    number: int | None
    """Its line number in the new file, or of a removed line in the old one; None if that is not known."""


def path_of(before: Block | None, block: Block) -> str | None:
    """Return the path of the file that a block changes, if the block before it is that path."""
    is_diff = isinstance(block, Code) and block.language in LANGUAGES
    if not is_diff or not isinstance(before, Paragraph) or len(before.spans) != 1:
        return None
    (span,) = before.spans
    return span.text if span.code else None


def repeats_path(path: str, code: Code) -> bool:
    """Return True if a diff states again the path that stands above it."""
    return any(_states(path, line) for line in code.text.split("\n"))


def _states(path: str, line: str) -> bool:
    paths = {path, path.removeprefix("/")}
    return any(line.startswith(each) and line.removeprefix(each) in paths for each in _HEADERS)


def render_diff(code: Code, path: str | None, labels: Labels) -> Markup:
    """Render a diff, without what it repeats of the path above it; a long one is collapsed."""
    lines = [line for line in code.text.split("\n") if path is None or not _states(path, line)]
    numbered = [*_numbered(lines)]
    if len(numbered) <= limits.CODE_LINES:
        return _pre(numbered)
    shown = limits.CODE_LINES_SHOWN
    return Markup("{}<details><summary>{}</summary>{}</details>").format(
        _pre(numbered[:shown]),
        labels.show_all_lines.format(n=len(numbered)),
        _pre(numbered[shown:]),
    )


def _numbered(lines: Sequence[str]) -> Iterator[_Line]:
    """Yield the lines with their numbers, which hunks state, or which begin at 1 where a file is created."""
    old: int | None = None
    new = 1 if all(line.startswith("+") for line in lines) else None
    for line, after in zip(lines, (*lines[1:], ""), strict=True):
        mark, number = line[:1], None
        if line.startswith("--- ") and after.startswith("+++ "):
            old = new = None  # another file begins
        elif begins := _HUNK.match(line):
            old, new = int(begins[1]), int(begins[2])
        elif mark in {"", " ", "+", "-"}:
            number = old if mark == "-" else new
            old = old if old is None or mark == "+" else old + 1
            new = new if new is None or mark == "-" else new + 1
        yield _Line(line, f"line {_CSS.get(mark, '')}".rstrip(), number)


def _pre(lines: Iterable[_Line]) -> Markup:
    parts = Markup("").join(
        Markup('<span class="change">{}</span>').format(_lines(run)) if changes else _lines(run)
        for changes, run in groupby(lines, lambda line: line.text[:1] in {"+", "-"})
    )
    return Markup('<pre class="code diff"><code>{}</code></pre>').format(parts)


def _lines(run: Iterable[_Line]) -> Markup:
    return Markup("").join(
        Markup('<span class="{}"{}>{}\n</span>').format(
            line.css,
            "" if line.number is None else Markup(' data-n="{}"').format(line.number),
            line.text,
        )
        for line in run
    )


def render_tabs(paths: Sequence[str], labels: Labels) -> Markup:
    """Render links to the changes of several files; empty if there is only one."""
    if len(paths) < 2:
        return Markup("")
    links = Markup("").join(
        Markup('<a href="#file{}">{}</a>').format(number, file_name(path))
        for number, path in enumerate(paths, 1)
    )
    return Markup('<nav class="files" aria-label="{}">{}</nav>').format(labels.files, links)
