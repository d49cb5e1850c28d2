"""Lines of bytes between programs: read within bounds, and written whole from several threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final

MAX_LINE: Final = 64 * 2**20
"""Bytes of a message from the editor or the agent."""


class LineTooLongError(Exception):
    """A program sent a line that is longer than any message."""


def read_lines(source: IO[bytes], most: int = MAX_LINE) -> Iterator[bytes]:
    """Read the lines of a stream.

    Raises:
        LineTooLongError: a line has more bytes than ``most``.
    """
    while line := source.readline(most + 1):
        if len(line) > most:
            raise LineTooLongError(f"a line has more than {most} bytes")
        yield line


@dataclass(eq=False, slots=True)
class LineWriter:
    """Writes whole lines to a stream, from several threads."""

    stream: IO[bytes]
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write_line(self, line: bytes) -> None:
        """Write a line; blocks until the reader takes it."""
        with self._lock:
            self.stream.write(line)
            self.stream.flush()

    def try_write_line(self, line: bytes) -> None:
        """Write a line that originates in the proxy; it may be lost if the reader is gone."""
        with contextlib.suppress(OSError, ValueError):
            self.write_line(line)

    def close(self) -> None:
        """Close the stream: no more lines follow."""
        with self._lock, contextlib.suppress(OSError):
            self.stream.close()
