"""What commands print: results on standard output, everything for people on standard error."""

from __future__ import annotations

import json
import sys
from typing import Final, NoReturn

from rich.console import Console

EXIT_FAILED: Final = 1
"""The command could not do its work."""

console: Final = Console(stderr=True, highlight=False, soft_wrap=True)


def say(line: str) -> None:
    """A line for the person at the terminal, as it is: nothing in it is markup."""
    console.print(line, markup=False)


def warn(line: str) -> None:
    """A line about something that is wrong."""
    console.print(line, style="bold red", markup=False)


def fail(line: str, code: int = EXIT_FAILED) -> NoReturn:
    """Ends the command with a sentence."""
    warn(line)
    sys.exit(code)


def result(text: str) -> None:
    """The command's result, for programs."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()


def as_json(value: object) -> str:
    """JSON for a program's or a person's eyes."""
    return json.dumps(value, ensure_ascii=False, indent=2)
