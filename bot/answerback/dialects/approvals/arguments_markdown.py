"""The arguments of a tool call as Markdown that a person can decide by: every value, verbatim; edits as diffs.

Everything stands in code blocks whose fences are longer than any run of backticks in it, so nothing that an agent
writes can leave its block. The layout is YAML's, roughly; it is for reading, and nothing parses it. All of it takes
time linear in what it shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Final

from pydantic import JsonValue

from answerback.core.form import MAX_TEXT
from answerback.core.json_schema import schemas

_LONGEST: Final = (None, 16_000, 8_000, 2_000, 500, 100)
"""Characters of one text that are tried until everything fits."""
_MAX_LEVEL: Final = 3
"""Objects and arrays deeper than this are one line of JSON: indenting them multiplies their size."""
_SHORT: Final = 80
"""Characters of an array that stays on one line."""
_MAX_DEPTH: Final = 64
"""Nesting of JSON that comes in a string; deeper than this the string is shown as it is."""
_PAIRS: Final = (
    ("old_string", "new_string"),  # Claude Code's Edit; Gemini CLI's replace
    ("oldString", "newString"),  # opencode
    ("old_str", "new_str"),  # Copilot CLI
    ("oldText", "newText"),  # ACP
)
"""The two sides of an edit of a file, as the tools of different agents name them."""
_PATCHES: Final = frozenset({"patch", "diff"})
"""What holds a diff already."""
_KEY: Final = re.compile(r"[\w.$@/-]+")
_NOT_BARE: Final = re.compile(
    r"""["\[{|].*|- .*|null|true|false|-?\d[\d.eE+-]*|\s.*|.*\s|.*[\r\n\x85\u2028\u2029].*|""",
    re.DOTALL,
)
"""Strings that without quotes would be read as something else."""


@dataclass(slots=True)
class _Page:
    """What comes of laying out arguments: their diffs, and how much of them is left out."""

    longest: int | None = None
    """Characters of one text; what is longer is cut in the middle. None: nothing is."""
    diffs: list[str] = field(default_factory=list)
    left_out: int = 0

    def cut(self, text: str) -> str:
        """A text with its beginning and its end, where it is too long."""
        if self.longest is None or len(text) <= self.longest:
            return text
        begin, end = self.longest * 3 // 4, len(text) - self.longest // 4
        self.left_out += end - begin
        return f"{text[:begin]}\n[{end - begin} characters are not shown here]\n{text[end:]}"


def render_arguments(*groups: JsonValue) -> str | None:
    """What a tool is to be used with and, after it, what the host says of it; None where there is nothing.

    What is too long to be shown is shown in part, and says so at the top, where nothing that an agent writes stands.
    """
    for longest in _LONGEST:
        page = _Page(longest)
        blocks = [*_blocks(groups, page)]
        shown = _titled(page, [title + _fenced(text, language) for title, text, language in blocks])
        if len(shown) <= MAX_TEXT:
            return shown or None
    everything = "\n\n".join(title + text for title, text, _ in _blocks(groups, _Page()))
    for longest in _LONGEST[1:]:
        page = _Page(longest)
        shown = _titled(page, [_fenced(page.cut(everything))])
        if len(shown) <= MAX_TEXT:
            return shown
    raise AssertionError("a short text in a block is short")


def _titled(page: _Page, blocks: list[str]) -> str:
    """Blocks below a line that says how much is left out of them."""
    missing = f"**Not all of it is shown: {page.left_out} characters are left out.**"
    return "\n\n".join([missing, *blocks] if page.left_out else blocks)


def _blocks(groups: Sequence[JsonValue], page: _Page) -> Iterator[tuple[str, str, str]]:
    """The title, the text and the language of each block."""
    for group in groups:
        shown = len(page.diffs)
        lines = [*_lines(group, page)]
        if lines:
            yield "", "\n".join(lines), ""
        for number, diff in enumerate(page.diffs[shown:], shown + 1):
            yield f"Diff {number}:\n\n", page.cut(diff), "diff"


def parse_json_arguments(arguments: JsonValue) -> JsonValue:
    """Arguments that a host sends as JSON in a string, parsed; any other value, and a string that is no JSON, as is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        found: JsonValue = json.loads(arguments, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return arguments
    usable = schemas.depth(found, _MAX_DEPTH) <= _MAX_DEPTH and schemas.is_all_encodable(found)
    return found if usable else arguments


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """An object whose keys differ: of two alike, the tool may take the one that would not be shown."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("two keys are alike")
    return found


def _fenced(text: str, language: str = "") -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _lines(arguments: JsonValue, page: _Page) -> Iterator[str]:
    if isinstance(arguments, dict):
        return _entries(arguments, 0, page)
    if isinstance(arguments, list):
        return _items(arguments, 0, page)
    if isinstance(arguments, str):
        return iter(page.cut(arguments).split("\n"))
    return iter(() if arguments is None else (_json(arguments),))


def _entries(values: dict[str, JsonValue], level: int, page: _Page) -> Iterator[str]:
    """The lines of an object; what is an edit goes to the page's diffs and leaves its number."""
    apart: set[str] = set()
    for old, new in _PAIRS:
        before, after = values.get(old), values.get(new)
        if old in values and isinstance(before, (str, NoneType)) and isinstance(after, str):
            apart |= {old, new}
            page.diffs.append(_diff(before or "", after))
            yield f"{old}, {new}: diff {len(page.diffs)}"
    for key, value in values.items():
        if key in _PATCHES and isinstance(value, str) and "\n" in value:
            page.diffs.append(value)
            yield f"{key}: diff {len(page.diffs)}"
        elif key not in apart:
            name = key if _KEY.fullmatch(key) else _json(key)
            yield from _under(f"{name}:", value, level, page)


def _items(values: list[JsonValue], level: int, page: _Page) -> Iterator[str]:
    for value in values:
        yield from _under("-", value, level, page)


def _under(name: str, value: JsonValue, level: int, page: _Page) -> Iterator[str]:
    """A value behind its name, on the same line where it is short."""
    below: Iterator[str] | None = None
    value = page.cut(value) if isinstance(value, str) else value
    if isinstance(value, str) and "\n" in value:
        name, below = f"{name} |", iter(value.split("\n"))
    elif level < _MAX_LEVEL and isinstance(value, dict) and value:
        below = _entries(value, level + 1, page)
    elif level < _MAX_LEVEL and isinstance(value, list) and not _is_short(value):
        below = _items(value, level + 1, page)
    if below is None:
        yield f"{name} {_scalar(value)}"
    else:
        yield name
        yield from (f"  {line}" for line in below)


def _is_short(values: list[JsonValue]) -> bool:
    """Whether an array of plain values reads well on one line."""
    plain = not any(isinstance(value, (dict, list)) for value in values)
    return plain and len(_json(values)) <= _SHORT


def _scalar(value: JsonValue) -> str:
    return value if isinstance(value, str) and not _NOT_BARE.fullmatch(value) else _json(value)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _diff(before: str, after: str) -> str:
    """Every line of both: those that they begin and end with alike once, between them what is taken out and put in."""
    old, new = (text.split("\n") if text else [] for text in (before, after))
    fewer = min(len(old), len(new))
    head = next((i for i in range(fewer) if old[i] != new[i]), fewer)
    rest = fewer - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    return "\n".join(
        [
            *(f" {line}" for line in old[:head]),
            *(f"-{line}" for line in old[head : len(old) - tail]),
            *(f"+{line}" for line in new[head : len(new) - tail]),
            *(f" {line}" for line in old[len(old) - tail :]),
        ]
    )
