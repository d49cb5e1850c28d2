"""The definitions of a server's tools: as it lists them now, and as they were when their calls were last allowed."""

from __future__ import annotations

import difflib
import json
import os
import threading
from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Final

from answerback_agents.pipe.json_rpc import Json
from answerback_base import strict_json
from answerback_base.base_error import AnswerbackError

_MAX_LINES: Final = 4_000
"""Lines of two definitions that are compared line by line, which takes longer than linear time."""
_MAX_CHANGE: Final = 50_000
"""Characters of a change that are shown: an ask has room for them and for the call's arguments."""


_MAX_SCHEMA: Final = 64 * 1024
_MAX_SCHEMA_DEPTH: Final = 32
_ROOM: Final = 128 * 1024
"""Bytes of a call and its tool's schema together: an ask has room for them and for what else is sent."""


class DefinitionsError(AnswerbackError):
    """The file of allowed definitions cannot be used."""


def input_schema(definition: Json | None, *, beside: bytes) -> Json | None:
    """Return what arguments a tool takes, as a JSON Schema; None if that is not known, or too large for an ask.

    Args:
        beside: the call that it is sent with.
    """
    schema = None if definition is None else definition.get("inputSchema")
    if not isinstance(schema, dict) or not strict_json.is_all_encodable(schema):
        return None
    if strict_json.size(schema, _MAX_SCHEMA_DEPTH).depth > _MAX_SCHEMA_DEPTH:
        return None
    size = len(json.dumps(schema))
    return schema if size <= min(_MAX_SCHEMA, _ROOM - len(beside)) else None


class Definitions:
    """The definitions of one server's tools.

    Args:
        path: the file that keeps the allowed ones from one run to the next.

    Raises:
        DefinitionsError: the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._listed: dict[str, Json] = {}
        self._doubled: Counter[str] = Counter()
        self._allowed = self._read()

    def add_listing(self, tools: object, *, is_first_page: bool) -> None:
        """Note a page of the tools that the server lists to its client."""
        with self._lock:
            if is_first_page:
                self._listed.clear()
                self._doubled.clear()
            for tool in tools if isinstance(tools, list) else []:
                name = tool.get("name") if isinstance(tool, dict) else None
                if isinstance(name, str):
                    self._doubled[name] += name in self._listed
                    self._listed[name] = tool

    def listed(self, tool: str) -> Json | None:
        """The definition that the client has seen; None if it has seen none, or several."""
        with self._lock:
            return None if self._doubled[tool] else self._listed.get(tool)

    def change(self, tool: str, definition: Json | None) -> str | None:
        """Return the changes of a definition since it was allowed, as a diff; None if there are none."""
        allowed = self._allowed.get(tool)
        if definition is None or allowed is None or allowed == _as_text(definition):
            return None
        diff = "\n".join(_diff(allowed.split("\n"), _as_text(definition).split("\n")))
        cut = len(diff) - _MAX_CHANGE
        return diff if cut <= 0 else f"{diff[:_MAX_CHANGE]}\n[{cut} characters are not shown here]"

    def allow(self, tool: str, definition: Json) -> None:
        """Keep a definition with which a call was allowed.

        Raises:
            DefinitionsError: it cannot be kept.
        """
        text = _as_text(definition)
        with self._lock:
            if self._allowed.get(tool) == text:
                return
            self._allowed = {**self._read(), tool: text}
            self._write()

    def _read(self) -> dict[str, str]:
        try:
            found = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise DefinitionsError(f"Cannot read {self._path}: {error}.") from error
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise DefinitionsError(f"{self._path} is not a file of allowed definitions.")
        return found

    def _write(self) -> None:
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_text(json.dumps(self._allowed, indent=1))
            temporary.chmod(0o600)
            temporary.replace(self._path)
        except OSError as error:
            raise DefinitionsError(f"Cannot write {self._path}: {error.strerror}.") from error


def _diff(allowed: list[str], now: list[str]) -> Iterable[str]:
    """Return the changed lines; of very long definitions, all that stand between the first and the last change."""
    if len(allowed) + len(now) <= _MAX_LINES:
        return difflib.unified_diff(allowed, now, "allowed", "now", lineterm="")
    start = _count_equal(allowed, now)
    end = _count_equal(reversed(allowed[start:]), reversed(now[start:]))
    old, new = (lines[start : len(lines) - end] for lines in (allowed, now))
    return (f"@@ line {start + 1} @@", *(f"+{each}" for each in new), *(f"-{each}" for each in old))


def _count_equal(one: Iterable[str], other: Iterable[str]) -> int:
    """Count the lines with which two texts both begin."""
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in equal)


def _as_text(definition: Json) -> str:
    """A definition as text that is the same for equal ones; what deceives the eye is escaped."""
    return json.dumps(definition, indent=2, sort_keys=True)
