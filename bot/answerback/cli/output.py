"""Output of the commands: results go to standard output, messages for people to standard error.

Messages for people, and results on a terminal, have their control characters made visible, as an agent may have written
part of them.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Final, NoReturn

from answerback.presentation.sanitize import visible

if TYPE_CHECKING:
    from rich.console import Console

EXIT_FAILED: Final = 1
"""The command failed."""


@cache
def console() -> Console:
    """The person's terminal. Rich is only imported on first use, as printing a result does not need it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(line: str) -> None:
    """Print a message for the person at the terminal; markup in it is not interpreted."""
    console().print(visible(line), markup=False)


def warn(line: str) -> None:
    """Print a message about a problem."""
    console().print(visible(line), style="bold red", markup=False)


def fail(line: str, code: int = EXIT_FAILED) -> NoReturn:
    """End the command with an error message."""
    warn(line)
    sys.exit(code)


def print_result(text: str) -> None:
    """Print the command's result: verbatim for programs, with control characters made visible on a terminal."""
    if sys.stdout.isatty():
        text = visible(text)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()
