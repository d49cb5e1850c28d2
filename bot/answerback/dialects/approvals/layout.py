"""The arguments of a tool call as Markdown that a person can decide by: every value, verbatim; edits as diffs.

Everything stands in code blocks whose fences are longer than any run of backticks in it, so nothing that an agent
writes can leave its block. The layout is YAML's, roughly; it is for reading, and nothing parses it. All of it takes
time linear in what it shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import NoneType
from typing import Final

from pydantic import JsonValue

from answerback.core.json_schema import schemas

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


def context(*groups: JsonValue) -> str | None:
    """What a tool is to be used with and, after it, what the host says of it; None where there is nothing."""
    blocks: list[str] = []
    diffs: list[str] = []
    for group in groups:
        shown = len(diffs)
        lines = [*_lines(group, diffs)]
        blocks += [_fenced("\n".join(lines))] if lines else []
        for number, diff in enumerate(diffs[shown:], shown + 1):
            blocks.append(f"Diff {number}:\n\n{_fenced(diff, 'diff')}")
    return "\n\n".join(blocks) or None


def parsed(arguments: JsonValue) -> JsonValue:
    """Arguments that a host sends as JSON in a string, parsed; any other value, and a string that is no JSON, as is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        found: JsonValue = json.loads(arguments, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return arguments
    usable = schemas.depth(found, _MAX_DEPTH) <= _MAX_DEPTH and schemas.all_text(found)
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


def _lines(arguments: JsonValue, diffs: list[str]) -> Iterator[str]:
    if isinstance(arguments, dict):
        return _entries(arguments, 0, diffs)
    if isinstance(arguments, list):
        return _items(arguments, 0, diffs)
    if isinstance(arguments, str):
        return iter(arguments.split("\n"))
    return iter(() if arguments is None else (_json(arguments),))


def _entries(values: dict[str, JsonValue], level: int, diffs: list[str]) -> Iterator[str]:
    """The lines of an object; what is an edit goes to ``diffs`` and leaves its number."""
    apart: set[str] = set()
    for old, new in _PAIRS:
        before, after = values.get(old), values.get(new)
        if old in values and isinstance(before, (str, NoneType)) and isinstance(after, str):
            apart |= {old, new}
            diffs.append(_diff(before or "", after))
            yield f"{old}, {new}: diff {len(diffs)}"
    for key, value in values.items():
        if key in _PATCHES and isinstance(value, str) and "\n" in value:
            diffs.append(value)
            yield f"{key}: diff {len(diffs)}"
        elif key not in apart:
            name = key if _KEY.fullmatch(key) else _json(key)
            yield from _under(f"{name}:", value, level, diffs)


def _items(values: list[JsonValue], level: int, diffs: list[str]) -> Iterator[str]:
    for value in values:
        yield from _under("-", value, level, diffs)


def _under(name: str, value: JsonValue, level: int, diffs: list[str]) -> Iterator[str]:
    """A value behind its name, on the same line where it is short."""
    below: Iterator[str] | None = None
    if isinstance(value, str) and "\n" in value:
        name, below = f"{name} |", iter(value.split("\n"))
    elif level < _MAX_LEVEL and isinstance(value, dict) and value:
        below = _entries(value, level + 1, diffs)
    elif level < _MAX_LEVEL and isinstance(value, list) and not _is_short(value):
        below = _items(value, level + 1, diffs)
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
