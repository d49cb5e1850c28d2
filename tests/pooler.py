"""Debian's pgbouncer in front of a database on the test server."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests import postgres
from tests.ports import free_port

_TIMEOUT: Final = 10.0


class Pooler:
    """A pooler on loopback, on a free port."""

    def __init__(
        self,
        program: str,
        server: postgres.Server,
        database: str,
        size: int,
        mode: str,
        through: int | None,
    ) -> None:
        self._program = program
        self.port = free_port()
        self._folder = server.folder_for(f"pooler-{self.port}")
        self._process: subprocess.Popen[bytes] | None = None
        (self._folder / "pgbouncer.ini").write_text(
            f"""[databases]
{database} = user={postgres.USER} host=127.0.0.1 port={through or server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
server_login_retry = 1
"""
        )

    def start(self) -> None:
        """Start the pooler, and return once it listens."""
        self._process = subprocess.Popen(
            [self._program, "-q", "pgbouncer.ini"],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **postgres.runs_as(),
        )
        until = time.monotonic() + _TIMEOUT
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
            except OSError:
                assert time.monotonic() < until, "pgbouncer does not listen"
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """Kill the pooler, and with it every connection through it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_TIMEOUT)


def program() -> str | None:
    """Return the path of pgbouncer, or None if it is not installed."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def pooler(
    server: postgres.Server,
    database: str,
    size: int = 2,
    *,
    mode: str = "transaction",
    through: int | None = None,
) -> Iterator[Pooler]:
    """Run a pooler with the given number of connections to the database of this name.

    Args:
        through: the port of a proxy to the server.
    """
    found = program()
    assert found is not None, "pgbouncer is missing: run .ci/system-packages, which installs it"
    running = Pooler(found, server, database, size, mode, through)
    try:
        running.start()
        yield running
    finally:
        running.kill()
