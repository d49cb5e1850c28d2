"""A program that a proxy runs between its own standard input and output, with a thread for each direction.

Standard output is reserved for the protocol. The exit status is the program's; if a signal ended the program, it is 128
plus the signal's number, as in a shell.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection
from types import FrameType
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from answerback_agents.cli.options import TOKEN_ENV

if TYPE_CHECKING:
    from answerback_agents.pipe.lines import LineWriter

_EXIT_CANNOT_RUN: Final = 126
_EXIT_NOT_FOUND: Final = 127
Warn = Callable[[str], None]


class Pipes(NamedTuple):
    """A running program, and its standard input and output."""

    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]

    def exit_status(self) -> int:
        """Wait for the program's end, and return its exit status as a shell does."""
        status = self.process.wait()
        return status if status >= 0 else 128 - status


def environment_without(secrets: Collection[str]) -> dict[str, str]:
    """The environment for a program that must not get these variables, nor the usual one for a token."""
    return {key: value for key, value in os.environ.items() if key not in {*secrets, TOKEN_ENV}}


def start_program(command: list[str], environment: dict[str, str] | None, warn: Warn) -> Pipes:
    """Start a program, which gets the signals that end this one; exits if it cannot be started."""
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment)
    except OSError as error:
        warn(f"Cannot run {command[0]}: {error.strerror}.")
        sys.exit(_EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else _EXIT_CANNOT_RUN)
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both are pipes")

    def forward(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, forward)
    return Pipes(process, process.stdin, process.stdout)


def own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output, which threads close.

    Not `sys.stdin` and `sys.stdout`: the interpreter closes those when it exits, and a thread may still block on them.
    """
    return open(0, "rb"), open(1, "wb")


def start_relay(
    relay: Callable[[IO[bytes]], None], source: IO[bytes], target: LineWriter, warn: Warn
) -> threading.Thread:
    """Start relaying in one direction; when it ends, both streams are closed, so that each side sees the other go."""
    from answerback_agents.pipe.lines import LineTooLongError

    def work() -> None:
        try:
            with contextlib.suppress(ConnectionError), source:
                relay(source)
        except LineTooLongError as error:
            warn(f"Stopped relaying: {error}.")
        except Exception as error:
            warn(f"Stopped relaying: {error!r}.")
            raise
        finally:
            target.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
