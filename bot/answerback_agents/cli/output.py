"""Output of the commands: results go to standard output, messages for people to standard error.

Messages for people, and results on a terminal, have their control characters made visible, as an agent may have written
part of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import typer

from answerback_base.sanitize import as_json, one_line, visible

if TYPE_CHECKING:
    from pydantic import JsonValue
    from rich.console import Console

T = TypeVar("T")

EXIT_FAILED: Final = 1
"""The command failed."""
EXIT_USAGE: Final = 2
"""The command was called wrongly, or what it was given is invalid."""


@cache
def console() -> Console:
    """The person's terminal. Rich is only imported on first use, as printing a result does not need it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(line: str) -> None:
    """Print a message for the person at the terminal; markup in it is not interpreted."""
    console().print(visible(line), markup=False)


def warn(line: str) -> None:
    console().print(visible(line), style="bold red", markup=False)


def fail(line: str, code: int = EXIT_FAILED) -> NoReturn:
    warn(line)
    sys.exit(code)


def confirm(question: str, otherwise: str) -> None:
    """Ask for confirmation; ends the command if there is none.

    Args:
        otherwise: what is the case then, such as "Nothing was changed".
    """
    if sys.stdin is None or not sys.stdin.isatty():
        fail(
            f"{otherwise}, as there is no terminal to ask for confirmation. Add --yes.", EXIT_USAGE
        )
    if not typer.confirm(question, err=True):
        fail(f"{otherwise}.")


def print_result(text: str) -> None:
    """Print the command's result: verbatim for programs, with control characters made visible on a terminal."""
    print_verbatim(visible(text) if sys.stdout.isatty() else text)


def print_verbatim(text: str) -> None:
    """Print a text and the end of its line in UTF-8, whatever the locale: programs expect nothing else."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()


def print_json(value: object) -> None:
    print_result(as_json(value))


def print_rows(rows: Sequence[T], line: Callable[[T], str], nothing: str, *, json: bool) -> None:
    """Print the command's result: a line for each row, or all of them as JSON.

    Args:
        nothing: what to say to a person if there are no rows.
    """
    if json:
        print_json(rows)
    elif rows:
        print_result("\n".join(map(line, rows)))
    else:
        say(nothing)


def columns(*parts: object) -> str:
    """Format the parts of a row that are not empty."""
    return "  ".join(one_line(str(part)) for part in parts if part)


def counted(count: int, noun: str) -> str:
    """Format a number of things, such as "1 ask" or "2 asks"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def name_of(person: JsonValue) -> str | None:
    """The name of a person as the API returns them, or else their id; None if there is no person."""
    return str(person.get("name") or person.get("user_id")) if isinstance(person, dict) else None
