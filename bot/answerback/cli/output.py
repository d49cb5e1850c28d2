"""What commands print: results on standard output, everything for people on standard error.

Lines for people, and results on a terminal, are made visible: an agent may have written a part of them.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Final, NoReturn

from answerback_chat.sanitize import visible

if TYPE_CHECKING:
    from rich.console import Console

EXIT_FAILED: Final = 1
"""The command could not do its work."""


@cache
def console() -> Console:
    """The terminal of the person. What prints there is imported then: a result alone needs nothing of it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(line: str) -> None:
    """A line for the person at the terminal: nothing in it is markup."""
    console().print(visible(line), markup=False)


def warn(line: str) -> None:
    """A line about something that is wrong."""
    console().print(visible(line), style="bold red", markup=False)


def fail(line: str, code: int = EXIT_FAILED) -> NoReturn:
    """Ends the command with a sentence."""
    warn(line)
    sys.exit(code)


def print_result(text: str) -> None:
    """The command's result: verbatim for programs, visible on a terminal."""
    if sys.stdout.isatty():
        text = visible(text)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()
