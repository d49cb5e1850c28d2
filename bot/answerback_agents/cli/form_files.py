"""The form files that commands read: a whole tool call, or just its arguments."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path

from pydantic import JsonValue

from answerback_agents.cli.output import EXIT_USAGE, fail
from answerback_base.strict_json import MAX_BODY, NotJsonError, parse_bytes


def read_call(path: str) -> dict[str, JsonValue]:
    """Read the tool call in a file; bare arguments are a call of ``ask_user``. Ends the command if that fails."""
    try:
        raw = sys.stdin.buffer.read(MAX_BODY + 1) if path == "-" else _read(Path(path))
    except OSError as error:
        fail(f"Cannot read {path}: {error.strerror}.", EXIT_USAGE)
    if len(raw) > MAX_BODY:
        fail(f"{path} is larger than {MAX_BODY // 1024} KiB, the limit for a call.", EXIT_USAGE)
    try:
        body = parse_bytes(raw.removeprefix(codecs.BOM_UTF8))  # some editors save one
    except NotJsonError as error:
        where = "Standard input" if path == "-" else path
        fail(f"{where} is not valid JSON: {error}.", EXIT_USAGE)
    if not isinstance(body, dict):
        fail(f'{path} is not a JSON object. A form looks like {{"questions": […]}}.', EXIT_USAGE)
    is_call = "name" in body and ("arguments" in body or "input" in body)
    return body if is_call else {"name": "ask_user", "arguments": body}


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BODY + 1)
