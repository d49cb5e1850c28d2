"""Changes to JSON texts in which everything that is not changed keeps its bytes, such as 1.50 and 1e400."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from answerback_base.strict_json import dump_as_written

_DECODER: Final = json.JSONDecoder()
_BLANKS: Final = re.compile(r"[ \t\r\n]*")


def with_members(text: str, path: Sequence[str], members: Mapping[str, Any]) -> str:
    """Return the text of an object with members set in the object at a path, which is added if there is none.

    Args:
        text: valid JSON, in which no key occurs twice.
        members: their values; None removes a member.
    """
    raw = dict(_members(text))
    if path:
        raw[path[0]] = with_members(raw.get(path[0], "{}"), path[1:], members)
    else:
        raw |= {name: dump_as_written(value) for name, value in members.items()}
        for name in [name for name, value in members.items() if value is None]:
            del raw[name]
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in raw.items()) + "}"


def _members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the members of an object, with the texts of their values."""
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield name, text[start:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    """Return where the blanks at a position end."""
    return _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
