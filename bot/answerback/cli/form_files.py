"""The form files that commands are given: a whole tool call, or its arguments alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from answerback.cli.output import fail
from answerback.core.errors import Problem, ProblemError
from answerback.http.json_parsing import MAX_BODY, parse_json
from answerback_chat.sanitize import one_line

EXIT_INVALID: Final = 2


def read_call(path: str) -> dict[str, JsonValue]:
    """The tool call in a file: arguments alone are a call of ``ask_user``. Ends the command if it cannot be read."""
    try:
        raw = sys.stdin.buffer.read(MAX_BODY + 1) if path == "-" else _read(Path(path))
    except OSError as error:
        fail(f"{path} cannot be read: {error.strerror}.", EXIT_INVALID)
    if len(raw) > MAX_BODY:
        fail(f"{path} is over {MAX_BODY // 1024} KiB, more than a call may have.", EXIT_INVALID)
    try:
        body = parse_json(raw)
    except ProblemError as error:
        where = "Standard input" if path == "-" else path
        fail(f"{where}: {error.detail}", EXIT_INVALID)
    if not isinstance(body, dict):
        fail(f'{path} holds no JSON object: a form is {{"questions": […]}}.', EXIT_INVALID)
    return (
        body if "name" in body and "arguments" in body else {"name": "ask_user", "arguments": body}
    )


def format_problems(problems: tuple[Problem, ...]) -> list[str]:
    """The mistakes of a call, a line each: where, which, and how to fix it."""
    return [one_line(f"{one.pointer or '/'}: {one.code}: {one.message}") for one in problems]


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BODY + 1)
