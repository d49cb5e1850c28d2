"""Debian's pgbouncer in front of a database of the tests' server."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests import postgres

_SOON: Final = 10.0


class Pooler:
    """A pooler on loopback and a free port."""

    def __init__(
        self, program: str, server: postgres.Server, database: str, size: int, mode: str
    ) -> None:
        self._program = program
        self.port = postgres.free_port()
        self._folder = server.folder_for(f"pooler-{self.port}")
        self._process: subprocess.Popen[bytes] | None = None
        (self._folder / "pgbouncer.ini").write_text(
            f"""[databases]
{database} = user={postgres.USER} host=127.0.0.1 port={server.port}
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
        """Starts it, and returns once it listens."""
        self._process = subprocess.Popen(
            [self._program, "-q", "pgbouncer.ini"],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **postgres.runs_as(),
        )
        until = time.monotonic() + _SOON
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
            except OSError:
                assert time.monotonic() < until, "pgbouncer does not listen"
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """Ends it, and with it every connection through it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_SOON)


def program() -> str | None:
    """The path of pgbouncer, if this machine has it."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def pooler(
    server: postgres.Server, database: str, size: int = 2, *, mode: str = "transaction"
) -> Iterator[Pooler]:
    """A pooler with so many connections to the database of this name."""
    found = program()
    assert found is not None, "pgbouncer is missing: run .ci/system-packages, which installs it"
    made = Pooler(found, server, database, size, mode)
    try:
        made.start()
        yield made
    finally:
        made.kill()
