"""Render what an approval is about as Markdown to decide by: what matters first, and every value verbatim.

Arguments are in code blocks whose fences are longer than any run of backticks in them, so nothing that an agent writes
can break out of its block. The layout resembles YAML, but is only for reading: nothing parses it. Rendering takes time
linear in the size of the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.form import MAX_TEXT
from answerback_base import strict_json

_LENGTH_LIMITS: Final = (None, 16_000, 8_000, 2_000, 500, 100)
"""Limits for the characters of one text, tried in order until everything fits."""
_MAX_LEVEL: Final = 3
"""Objects and arrays nested deeper than this become one line of JSON: indenting them multiplies their size."""
_SHORT: Final = 80
"""The most characters in an array that stays on one line."""
_KEY: Final = re.compile(r"[\w.$@/-]+")
_NOT_BARE: Final = re.compile(
    r"""["\[{|].*|- .*|null|true|false|-?\d[\d.eE+-]*|\s.*|.*\s|.*[\r\n\x85\u2028\u2029].*|""",
    re.DOTALL,
)
"""Strings that would be mistaken for something else without quotes."""


_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class Block(NamedTuple):
    """A part of the context that is shown before the arguments."""

    title: str
    """One line of Markdown above it, or nothing."""
    text: str
    language: str | None = ""
    """The language of its code block; None: the text is Markdown itself."""


@dataclass(slots=True)
class _Page:
    """The state of a layout: how much text was left out."""

    longest: int | None = None
    """The most characters of one text; longer ones are cut in the middle. None: no limit."""
    left_out: int = 0

    def cut(self, text: str) -> str:
        """Cut a text that is too long to its beginning and end."""
        if self.longest is None or len(text) <= self.longest:
            return text
        begin, end = self.longest * 3 // 4, len(text) - self.longest // 4
        self.left_out += end - begin
        return f"{text[:begin]}\n[{end - begin} characters are not shown here]\n{text[end:]}"


def render_context(lead: Sequence[Block], *groups: JsonValue, most: int = MAX_TEXT) -> str | None:
    """Render what matters most, then a tool's arguments and the host's notes; None if there is nothing.

    If it has more than ``most`` characters, some are left out; a line at the top, where no text by an agent can be,
    then says so.
    """
    for longest in _LENGTH_LIMITS:
        page = _Page(longest)
        shown = _with_omission_notice(
            page, [_render(block) for block in _blocks(lead, groups, page)]
        )
        if len(shown) <= most:
            return shown or None
    everything = "\n\n".join(
        f"{each.title}\n{each.text}" for each in _blocks(lead, groups, _Page())
    )
    for longest in _LENGTH_LIMITS[1:]:
        page = _Page(longest)
        shown = _with_omission_notice(page, [_fenced(page.cut(everything))])
        if len(shown) <= most:
            return shown
    raise AssertionError("the shortest limit must always fit")


def inline_code(text: str) -> str:
    """Return a text as a Markdown code span on one line, with everything unusual in it escaped as in JSON."""
    shown = text if text.isprintable() else to_json_text(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    blank = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def close_fences(markdown: str) -> str:
    """Close a code block that a text leaves open: what follows it is not the agent's."""
    fence = ""
    for line in re.split(r"\r\n|[\r\n]", markdown):
        found = _FENCE.match(line)
        if found is None:
            continue
        if not fence:
            is_fence = found[1][0] == "~" or "`" not in found[2]
            fence = found[1] if is_fence else ""
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return f"{markdown}\n{fence}" if fence else markdown


def _render(block: Block) -> str:
    body = block.text if block.language is None else _fenced(block.text, block.language)
    return "\n\n".join(filter(None, (block.title, body)))


def _with_omission_notice(page: _Page, blocks: list[str]) -> str:
    """Join blocks, after a line that says how much was left out, if anything was."""
    notice = f"**Not all of it is shown: {page.left_out} characters are left out.**"
    return "\n\n".join([notice, *blocks] if page.left_out else blocks)


def _blocks(lead: Sequence[Block], groups: Sequence[JsonValue], page: _Page) -> Iterator[Block]:
    yield from (each._replace(text=page.cut(each.text)) for each in lead)
    for group in groups:
        if lines := [*_lines(group, page)]:
            yield Block("", "\n".join(lines))


def parse_json_arguments(arguments: JsonValue) -> JsonValue:
    """Parse arguments that a host sends as JSON in a string; return any other value or string unchanged.

    Strictly: of two equal keys, the tool might use the value that is not shown.
    """
    if not isinstance(arguments, str):
        return arguments
    try:
        parsed = strict_json.parse(arguments)
    except strict_json.NotJsonError:
        return arguments
    return parsed if strict_json.is_all_encodable(parsed) else arguments


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
    return iter(() if arguments is None else (to_json_text(arguments),))


def _entries(values: dict[str, JsonValue], level: int, page: _Page) -> Iterator[str]:
    for key, value in values.items():
        name = key if _KEY.fullmatch(key) else to_json_text(key)
        yield from _named_value(f"{name}:", value, level, page)


def _items(values: list[JsonValue], level: int, page: _Page) -> Iterator[str]:
    for value in values:
        yield from _named_value("-", value, level, page)


def _named_value(name: str, value: JsonValue, level: int, page: _Page) -> Iterator[str]:
    """Yield the lines of a value after its name, on the same line if it is short."""
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
    """Return whether an array of plain values fits on one line."""
    plain = not any(isinstance(value, (dict, list)) for value in values)
    return plain and len(to_json_text(values)) <= _SHORT


def _scalar(value: JsonValue) -> str:
    return (
        value if isinstance(value, str) and not _NOT_BARE.fullmatch(value) else to_json_text(value)
    )


def to_json_text(value: JsonValue) -> str:
    """Format a value as JSON for people to read, with each number as the host wrote it: rounded, it may be another."""
    return strict_json.dump_as_written(value, ensure_ascii=False)
