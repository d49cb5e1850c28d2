"""A real PostgreSQL server for tests: the machine's binaries in a temporary directory, never run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

from answerback.ports.store import Store
from answerback_postgres.store import PostgresStore
from answerback_storage.sqlite.store import SqliteStore
from tests.ports import free_port

if TYPE_CHECKING:
    import pytest

USER: Final = "answerback"
GUARDED: Final = "guarded"
"""A role that needs a password ("right") and owns nothing."""
STORES: Final = ("sqlite", "postgresql")
"""Parameters for fixtures that exist once for each store; see `database_of`."""
_STARTS_WITHIN: Final = 60.0
"""Seconds within which a program of PostgreSQL ends, or the server accepts connections, perhaps after a crash."""
_HBA: Final = f"""
host all {GUARDED} 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
local all all trust
"""
_EMPTY: Final = """DO $$ DECLARE name text; BEGIN
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    SET LOCAL session_replication_role = replica; -- the record's triggers prevent deletion
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
        AND tablename NOT IN ('answerback_migrations', 'health', 'listed')
    LOOP
        EXECUTE format('LOCK TABLE %I', name); -- a terminated backend may be in the middle of something
        IF pg_table_size(format('%I', name)) > 200000 THEN
            EXECUTE format('TRUNCATE %I', name); -- creates new files: deleting is faster if there is little data
        ELSIF pg_relation_size(format('%I', name)) > 0 THEN
            EXECUTE format('DELETE FROM %I', name);
        END IF;
    END LOOP;
    PERFORM setval(format('%I', sequencename), start_value, false) FROM pg_sequences
        WHERE schemaname = 'public' AND last_value IS NOT NULL;
    IF to_regclass('listed') IS NOT NULL THEN UPDATE listed SET last = 0; END IF;
END $$"""
"""Deletes what a test left behind."""
_EXPIRE_CLAIMS: Final = """DO $$ BEGIN
    UPDATE leases SET until = clock_timestamp();
    UPDATE asks SET show_until = clock_timestamp() WHERE show_holder IS NOT NULL;
    UPDATE asks SET due_until = clock_timestamp() WHERE due_holder IS NOT NULL;
    UPDATE deliveries SET claimed_until = clock_timestamp() WHERE holder IS NOT NULL;
END $$"""
_SETTINGS: Final = {
    "fsync": "off",  # tests kill processes, never the machine
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "100",
    "autovacuum": "off",
    "deadlock_timeout": "100ms",
    "max_wal_size": "128MB",  # the directory may be in memory
}


def binaries() -> Path | None:
    """Return the directory of the newest PostgreSQL server on this machine, or None."""
    on_path = [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    debian_folders = Path("/usr/lib/postgresql").glob("*/bin")
    newest = sorted(debian_folders, key=lambda folder: float(folder.parent.name), reverse=True)
    return next((folder for folder in [*on_path, *newest] if (folder / "postgres").exists()), None)


def runs_as() -> dict[str, Any]:
    """Return the user to run the server as, since `initdb` refuses root.

    https://www.postgresql.org/docs/current/app-initdb.html
    """
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Server:
    """A PostgreSQL server on loopback, on a free port, with databases that tests use one at a time."""

    def __init__(self, binaries: Path, folder: Path, **settings: str) -> None:
        self._binaries = binaries
        self._folder = folder
        self._settings = _SETTINGS | settings
        self._runs_as = runs_as()
        self._process: subprocess.Popen[bytes] | None = None
        self._idle_databases: list[str] = []
        self._wrapper: list[str] = []
        """The command that starts the server, if it needs a wrapper."""
        self.port = free_port()

    def make(self) -> None:
        """Create the server's files."""
        if self._runs_as:
            os.chown(self._folder, self._runs_as["user"], self._runs_as["group"])
        self._run("initdb", "-D", "data", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync")
        (self._folder / "data" / "pg_hba.conf").write_text(_HBA)

    def mount(self, size: int) -> None:
        """From the next start on, mount a disk of ``size`` MiB at the directory "small", visible only to the server."""
        folder = self.folder_for("small")
        script = f'mount -t tmpfs -o size={size}m tmpfs "{folder}" && exec "$0" "$@"'
        namespace = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount"]
        self._wrapper = [*namespace, "sh", "-c", script]

    def folder_for(self, name: str) -> Path:
        """Create a directory that the server's user may read and write."""
        created = self._folder / name
        created.mkdir()
        if self._runs_as:
            os.chown(created, self._runs_as["user"], self._runs_as["group"])
        return created

    def start(self) -> None:
        """Start the server, and return once it accepts connections."""
        settings = self._settings | {
            "port": str(self.port),
            "unix_socket_directories": str(self._folder),
        }
        program = [*self._wrapper, str(self._binaries / "postgres"), "-D", "data"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*program, *(f"-c{k}={v}" for k, v in settings.items())],
                cwd=self._folder,
                stdout=log,
                stderr=log,
                **self._runs_as,
            )  # fmt: skip
        until = time.monotonic() + _STARTS_WITHIN
        while True:
            try:
                self._run("pg_isready", "-q", "-h", str(self._folder), "-p", str(self.port))
            except AssertionError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.02)
            else:
                return

    def stop(self, by: signal.Signals = signal.SIGINT) -> None:
        """Stop the server and end every connection; with SIGQUIT immediately, as in a crash."""
        if self._process is not None:
            self._process.send_signal(by)
            self._process.wait(30)
            self._process = None

    def _run(self, program: str, *arguments: str) -> None:
        completed = subprocess.run(
            [self._binaries / program, *arguments],
            cwd=self._folder,
            capture_output=True,
            timeout=_STARTS_WITHIN,
            check=False,
            **self._runs_as,
        )
        assert completed.returncode == 0, f"{program}: {completed.stderr.decode()} {self.log()}"

    @property
    def pid(self) -> int:
        """The parent process id of the server's processes."""
        assert self._process is not None
        return self._process.pid

    def log(self) -> str:
        """Return the server's log."""
        return (self._folder / "log").read_text("utf-8", "replace")

    def url(self, database: str, *, user: str = USER, port: int | None = None) -> str:
        """Return the URL of a database, over TCP."""
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"

    def run(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the superuser."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def expire_claims(self, url: str) -> None:
        """Expire all claims in a database, as happens some seconds after their processes died."""
        self.run(_EXPIRE_CLAIMS, url.rpartition("/")[2])

    @contextmanager
    def borrow_database(self) -> Iterator[str]:
        """Lend an empty database and yield its name.

        Tests reuse it one after the other, which is faster than a new one.
        """
        if self._idle_databases:
            name = self._idle_databases.pop()
        else:
            name = f"lent_{uuid.uuid4().hex[:12]}"
            self.run(f"CREATE DATABASE {name}")
        yield name
        self.run(_EMPTY, name)
        self._idle_databases.append(name)

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """Create a database, yield its name, and drop it at the end."""
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
    """Yield the ``storage.url`` of one of `STORES`, by default the fixture's parameter.

    SQLite's file is in the directory.
    """
    if (store or request.param) == "sqlite":
        yield f"sqlite:///{folder / 'answerback.db'}"
        return
    server: Server = request.getfixturevalue("postgres_server")
    with server.borrow_database() as name:
        yield server.url(name)


def store_at(url: str) -> Store:
    """Return the store of a ``storage.url``, not opened."""
    if url.startswith("sqlite:///"):
        return SqliteStore(url.removeprefix("sqlite:///"))
    return PostgresStore(url)


@contextmanager
def server(small: int | None = None, **settings: str) -> Iterator[Server]:
    """Run a server until the context ends. Raises AssertionError if this machine has none.

    Args:
        small: the size in MiB of a disk that fills up quickly, with the tablespace "small".
        settings: the server's settings, in addition to the usual ones.
    """
    found = binaries()
    assert found is not None, "PostgreSQL is missing: run .ci/system-packages, which installs it"
    temp_root = os.environ.get("PYTEST_DEBUG_TEMPROOT")
    folder = Path(tempfile.mkdtemp(prefix="answerback-postgres-", dir=temp_root))
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
