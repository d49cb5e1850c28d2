"""A real PostgreSQL for tests: the machine's own binaries in a temporary folder, never run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

from answerback.ports.store import Store
from answerback_storage.postgres.store import PostgresStore
from answerback_storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    import pytest

USER: Final = "answerback"
GUARDED: Final = "guarded"
"""A role whose password, "right", is asked for; it owns nothing."""
STORES: Final = ("sqlite", "postgresql")
"""Parameters of fixtures that are there once for each store; see `database_of`."""
_HBA: Final = f"""
host all {GUARDED} 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
local all all trust
"""
_EMPTY: Final = """DO $$ DECLARE name text; BEGIN
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    SET LOCAL session_replication_role = replica; -- the record's triggers let nothing be deleted
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
        AND tablename NOT IN ('answerback_migrations', 'health', 'listed')
    LOOP
        EXECUTE format('LOCK TABLE %I', name); -- whoever was told to end may be in the middle of something
        IF pg_table_size(format('%I', name)) > 200000 THEN
            EXECUTE format('TRUNCATE %I', name); -- makes new files: where there is little, deleting it is quicker
        ELSIF pg_relation_size(format('%I', name)) > 0 THEN
            EXECUTE format('DELETE FROM %I', name);
        END IF;
    END LOOP;
    PERFORM setval(format('%I', sequencename), start_value, false) FROM pg_sequences
        WHERE schemaname = 'public' AND last_value IS NOT NULL;
    IF to_regclass('listed') IS NOT NULL THEN UPDATE listed SET last = 0; END IF;
END $$"""
"""Deletes what a test left."""
_LAPSE: Final = """DO $$ BEGIN
    UPDATE leases SET until = clock_timestamp();
    UPDATE asks SET show_until = clock_timestamp() WHERE show_holder IS NOT NULL;
    UPDATE asks SET due_until = clock_timestamp() WHERE due_holder IS NOT NULL;
    UPDATE deliveries SET claimed_until = clock_timestamp() WHERE holder IS NOT NULL;
END $$"""
_SETTINGS: Final = {
    "fsync": "off",  # tests kill us, never the machine
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "100",
    "autovacuum": "off",
    "deadlock_timeout": "100ms",
    "max_wal_size": "128MB",  # the folder may be in memory
}


def binaries() -> Path | None:
    """The folder of the newest PostgreSQL server on this machine."""
    on_path = [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    debians = Path("/usr/lib/postgresql").glob("*/bin")
    newest = sorted(debians, key=lambda folder: float(folder.parent.name), reverse=True)
    return next((folder for folder in [*on_path, *newest] if (folder / "postgres").exists()), None)


def free_port() -> int:
    """A port that nobody listens on right now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def runs_as() -> dict[str, Any]:
    """Whom the server runs as: `initdb` refuses root (https://www.postgresql.org/docs/current/app-initdb.html)."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Server:
    """A PostgreSQL server on loopback and a free port, with databases for one test each."""

    def __init__(self, binaries: Path, folder: Path, **settings: str) -> None:
        self._binaries = binaries
        self._folder = folder
        self._settings = _SETTINGS | settings
        self._runs_as = runs_as()
        self._process: subprocess.Popen[bytes] | None = None
        self._stock: list[str] = []
        self._before: list[str] = []
        """What starts the server."""
        self.port = free_port()

    def make(self) -> None:
        """Makes the server's files."""
        if self._runs_as:
            os.chown(self._folder, self._runs_as["user"], self._runs_as["group"])
        self._run("initdb", "-D", "data", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync")
        (self._folder / "data" / "pg_hba.conf").write_text(_HBA)

    def mount(self, size: int) -> None:
        """Has the folder "small" be a disk of so many MiB, from the next start on: a mount that it alone sees."""
        folder = self.folder_for("small")
        mounted = f'mount -t tmpfs -o size={size}m tmpfs "{folder}" && exec "$0" "$@"'
        own = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount"]
        self._before = [*own, "sh", "-c", mounted]

    def folder_for(self, name: str) -> Path:
        """A folder that whoever the server runs as may read and write."""
        made = self._folder / name
        made.mkdir()
        if self._runs_as:
            os.chown(made, self._runs_as["user"], self._runs_as["group"])
        return made

    def start(self) -> None:
        """Starts it, and returns once it can be used."""
        settings = self._settings | {
            "port": str(self.port),
            "unix_socket_directories": str(self._folder),
        }
        program = [*self._before, str(self._binaries / "postgres"), "-D", "data"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*program, *(f"-c{k}={v}" for k, v in settings.items())],
                cwd=self._folder,
                stdout=log,
                stderr=log,
                **self._runs_as,
            )  # fmt: skip
        self._run("pg_isready", "-q", "-h", str(self._folder), "-p", str(self.port), tries=200)

    def stop(self, by: signal.Signals = signal.SIGINT) -> None:
        """Has it end every connection, and stop; by SIGQUIT at once, as in a crash."""
        if self._process is not None:
            self._process.send_signal(by)
            self._process.wait(30)
            self._process = None

    def _run(self, program: str, *arguments: str, tries: int = 1) -> None:
        said = b""
        for _ in range(tries):
            done = subprocess.run(
                [self._binaries / program, *arguments],
                cwd=self._folder,
                capture_output=True,
                timeout=60,
                check=False,
                **self._runs_as,
            )
            if done.returncode == 0:
                return
            said = done.stderr
        raise AssertionError(f"{program}: {said.decode()} {self.log()}")

    @property
    def pid(self) -> int:
        """Whose children its processes are."""
        assert self._process is not None
        return self._process.pid

    def log(self) -> str:
        """What the server said."""
        return (self._folder / "log").read_text("utf-8", "replace")

    def url(self, database: str, *, user: str = USER, port: int | None = None) -> str:
        """The address of a database, over TCP."""
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"

    def run(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Runs a statement as the superuser."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def expire_claims(self, url: str) -> None:
        """Whatever processes have claimed in a database is free, as it is some seconds after they died."""
        self.run(_LAPSE, url.rpartition("/")[2])

    @contextmanager
    def borrow_database(self) -> Iterator[str]:
        """The name of a database without rows, used by one test after the other: that is quicker than a new one."""
        if self._stock:
            name = self._stock.pop()
        else:
            name = f"lent_{uuid.uuid4().hex[:12]}"
            self.run(f"CREATE DATABASE {name}")
        yield name
        self.run(_EMPTY, name)
        self._stock.append(name)

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The name of a new database, dropped at the end."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield name
        finally:
            self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def database_of(
    request: pytest.FixtureRequest, folder: Path, store: str | None = None
) -> Iterator[str]:
    """``storage.url`` for one of `STORES`: the fixture's parameter, if not said. SQLite's file is in the folder."""
    if (store or request.param) == "sqlite":
        yield f"sqlite:///{folder / 'answerback.db'}"
        return
    server: Server = request.getfixturevalue("postgres_server")
    with server.borrow_database() as name:
        yield server.url(name)


def store_at(url: str) -> Store:
    """The store of a ``storage.url``, not open."""
    if url.startswith("sqlite:///"):
        return SqliteStore(url.removeprefix("sqlite:///"))
    return PostgresStore(url)


@contextmanager
def server(small: int | None = None, **settings: str) -> Iterator[Server]:
    """A server, for as long as the context lasts; AssertionError where this machine has none.

    Args:
        small: the size in MiB of a disk that is soon full, with the tablespace "small".
        settings: the server's, beside those of every test.
    """
    found = binaries()
    assert found is not None, "PostgreSQL is missing: run .ci/system-packages, which installs it"
    beside_the_tests_own = os.environ.get("PYTEST_DEBUG_TEMPROOT")
    folder = Path(tempfile.mkdtemp(prefix="answerback-postgres-", dir=beside_the_tests_own))
    running = Server(found, folder, **settings)
    try:
        running.make()
        if small is not None:
            running.mount(small)
        running.start()
        if small is not None:
            running.run(f"CREATE TABLESPACE small LOCATION '{folder / 'small'}'")
        running.run(f"CREATE ROLE {GUARDED} LOGIN PASSWORD 'right'")
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder)
