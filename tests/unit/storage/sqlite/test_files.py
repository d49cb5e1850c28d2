"""The files that the SQLite store creates, accepts and refuses, and its messages when it refuses one."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlite_utils import Database

from answerback.core.ask import Ask
from answerback.core.errors import DatabaseTooNewError, StoreError
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.store import Write
from answerback.ports.store_values import Delivery
from answerback_storage import rows
from answerback_storage.sqlite.migrate import migrations
from answerback_storage.sqlite.schema import APPLICATION_ID
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import new_delivery
from tests.meta.project import PYTHONPATH
from tests.stores.every_query import make_every_query

NOBODY = 65534


@contextmanager
def without_rights() -> Iterator[None]:
    """Run as a user whom permissions restrict, because root is not restricted."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answerback.db"


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory that other users can enter, unlike pytest's own."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield directory
    directory.chmod(0o755)
    shutil.rmtree(directory)


async def refusal(path: Path) -> str:
    """Return the error message of a failed open."""
    store = SqliteStore(path)
    with pytest.raises(StoreError) as refused:
        await store.open()
    await store.close()
    return str(refused.value)


@pytest.mark.rule("DATA-17")
async def test_only_the_owner_may_read_the_files(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.asks.create(Write(new_ask()), None)
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    names = ("answerback.db", "answerback.db-shm", "answerback.db-wal")
    assert modes == dict.fromkeys(names, 0o600)
    await store.close()
    assert [file.name for file in path.parent.iterdir()] == ["answerback.db"]


async def test_an_empty_file_is_accepted(path: Path) -> None:
    path.touch()
    store = SqliteStore(path)
    await store.open()
    await store.check()
    await store.close()


async def test_a_closed_store_can_be_reopened(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.asks.create(Write(new_ask()), None)
    await store.close()
    with pytest.raises(StoreError, match="not open"):
        await store.asks.get("ask_1")
    await store.open()
    assert await store.asks.get("ask_1") == new_ask()
    await store.close()


async def test_work_submitted_while_closing_is_refused(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreError, match="closed"):
        await store.check()
    await closing


async def test_several_stores_can_open_a_new_file_at_once(tmp_path: Path) -> None:
    for attempt in range(30):  # each attempt is a separate race
        stores = [SqliteStore(tmp_path / f"{attempt}.db") for _ in range(5)]
        await asyncio.gather(*(store.open() for store in stores))
        await stores[0].asks.create(Write(new_ask()), None)
        assert await stores[4].asks.get("ask_1") == new_ask()
        await asyncio.gather(*(store.close() for store in stores))


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    message = await refusal(tmp_path / "none" / "answerback.db")
    assert f"there is no directory {tmp_path / 'none'}. Create it" in message


async def test_a_directory_is_not_a_database(tmp_path: Path) -> None:
    assert "is a directory" in await refusal(tmp_path)


@pytest.mark.parametrize("locked", ["directory", "file"])
async def test_what_is_not_writable_is_named(open_to_all: Path, locked: str) -> None:
    path = open_to_all / "answerback.db"
    if locked == "file":
        store = SqliteStore(path)
        await store.open()
        await store.close()
        path.chmod(0o444)
        open_to_all.chmod(0o777)
    else:
        open_to_all.chmod(0o555)
    with without_rights():
        message = await refusal(path)
    assert (
        f"{path if locked == 'file' else open_to_all} is not readable and writable. Give the user"
        in message
    )


@pytest.mark.rule("DATA-17")
async def test_another_programs_database_is_refused_and_unchanged(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE songs (title TEXT)")
    other.close()
    before = path.read_bytes()
    assert "belongs to another program (it has the tables songs)" in await refusal(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["answerback.db"]


async def test_another_programs_empty_database_is_refused(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("PRAGMA application_id = 1")
    other.close()
    assert "belongs to another program" in await refusal(path)


@pytest.mark.rule("DATA-17")
async def test_a_file_that_is_not_a_database_is_refused_and_unchanged(path: Path) -> None:
    path.write_text("# answerback.toml, named as the database by mistake\n" * 100)
    before = path.read_bytes()
    assert "not an SQLite database" in await refusal(path)
    assert path.read_bytes() == before


async def test_a_half_written_file_is_refused(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.asks.create(Write(new_ask()), None)
    await store.close()
    whole = path.read_bytes()
    for length in (50, 1_000, 4_096, len(whole) // 2, len(whole) - 4_096):
        path.write_bytes(whole[:length])
        assert "damaged" in await refusal(path)


def schema_of(path: Path) -> list[tuple[str, ...]]:
    """Return what a file consists of, and what was applied to it."""
    with closing(sqlite3.connect(path)) as db:
        tables = db.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY rowid").fetchall()
        applied = "SELECT id, migration_set, name FROM _sqlite_migrations ORDER BY id"
        return (
            tables + db.execute(applied).fetchall() + db.execute("PRAGMA application_id").fetchall()
        )


async def test_a_new_file_is_what_the_migrations_make_of_an_empty_one(
    path: Path, tmp_path: Path
) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.close()
    other = tmp_path / "other.db"

    def migrate() -> None:
        with closing(sqlite3.connect(other, isolation_level=None)) as db:
            migrations.apply(Database(db, execute_plugins=False))

    await asyncio.to_thread(migrate)
    assert schema_of(path) == schema_of(other)


@pytest.mark.parametrize("is_new", [True, False])
async def test_a_start_with_nothing_to_migrate_does_not_import_sqlite_utils(
    path: Path, *, is_new: bool
) -> None:
    if not is_new:
        store = SqliteStore(path)
        await store.open()
        await store.close()
    script = f"""
import asyncio, pathlib, sys
from answerback_storage.sqlite.store import SqliteStore
async def start():
    store = SqliteStore(pathlib.Path({str(path)!r}))
    await store.open()
    await store.close()
asyncio.run(start())
sys.exit("sqlite_utils" in sys.modules)
"""
    command = [sys.executable, "-c", script]
    started = await asyncio.create_subprocess_exec(*command, env={"PYTHONPATH": PYTHONPATH})
    assert await started.wait() == 0


async def test_a_start_recovers_from_one_killed_before_its_first_migration(
    path: Path,
) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.close()
    other = sqlite3.connect(path)
    (table,) = other.execute(
        "SELECT sql FROM sqlite_master WHERE name = '_sqlite_migrations'"
    ).fetchone()
    other.close()
    path.unlink()
    other = sqlite3.connect(path)
    other.execute(table)
    other.close()
    await store.open()
    await store.check()
    await store.close()


def write_before_claims(path: Path, ask: Ask, delivery: Delivery) -> None:
    """Write a file of the version before claims."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        migrations.apply(Database(db, execute_plugins=False), stop_before="claims")
        db.execute("INSERT INTO requests VALUES (1, ?)", (rows.dump_request(ask.request),))
        db.execute(
            """INSERT INTO asks (seq, id, created_at, status, surface, channel, thread_id, due, message,
                thread, revision, updated_at, shown_revision, state)
                VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1000.0, 0, ?)""",
            (ask.id, ask.created_at, *rows.lookup_columns(ask)[:-2], rows.dump_state(ask)),
        )
        db.execute(
            f"INSERT INTO deliveries ({rows.DELIVERY_COLUMNS}) VALUES ({','.join('?' * 13)})",
            rows.delivery_row(rows.new_delivery(delivery)),
        )


@pytest.mark.rule("CLAIM-1")
async def test_a_file_from_before_claims_is_migrated(path: Path) -> None:
    ask, delivery = new_ask(expires_at=5_000.0), new_delivery()
    await asyncio.to_thread(write_before_claims, path, ask, delivery)
    store = SqliteStore(path)
    await store.open()
    assert await store.claims.claim_message("ask_1", SOLE_CLAIM) == ask
    assert await store.claims.claim_message("ask_1", SOLE_CLAIM._replace(holder="other")) is None
    assert await store.claims.claim_due(SOLE_CLAIM, 9_000.0, 5) == ["ask_1"]
    assert await store.outbox.claim(SOLE_CLAIM, 9_000.0, 5) == [rows.new_delivery(delivery)]
    assert await store.leases.take("gateway", SOLE_CLAIM) == 1
    await store.close()


async def test_a_failed_migration_leaves_the_file_unchanged(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    other.execute("CREATE TABLE asks (id)")
    other.close()
    before = path.read_bytes()
    assert "table asks already exists" in await refusal(path)
    assert path.read_bytes() == before


@pytest.mark.rule("DATA-17")
async def test_a_newer_database_is_refused_and_unchanged(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.close()
    other = sqlite3.connect(path)
    other.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
        " VALUES ('answerback', 'teleportation', '')"
    )
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseTooNewError, match=r"newer Answerback.*teleportation.*Install"):
        await store.open()
    assert path.read_bytes() == before
    await store.close()


@pytest.mark.rule("DATA-1")
async def test_every_commit_is_durable(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()

    def pragmas(db: sqlite3.Connection) -> tuple[object, ...]:
        asked = ("synchronous", "journal_mode")
        return tuple(db.execute(f"PRAGMA {name}").fetchone()[0] for name in asked)

    full = 2
    assert await store.database.write(pragmas) == (full, "wal")
    await store.close()


@pytest.mark.rule("DATA-8", "NUMBERS-9")
async def test_no_statement_of_a_running_store_reads_or_sorts_a_whole_table(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    statements: set[str] = set()
    for run in (store.database.write, store.database.read):
        await run(lambda db: db.set_trace_callback(statements.add))
    await make_every_query(store)
    await store.close()
    # A partial index holds only the open or pending rows, in the requested order.
    handed_in = ("json_each VIRTUAL TABLE", "step", "new", "found", "oldest", "always", "(subquery")
    unlinked = "receipts USING INDEX receipts_unlinked"
    indexes = (
        *("asks USING INDEX asks_behind", "deliveries USING INDEX deliveries_", unlinked),
        *("files USING INDEX files_unclaimed", "grants USING INDEX grants_by_time"),
        "file_chunks USING COVERING INDEX",  # once an hour
        "numbers USING COVERING INDEX numbers_by_call",  # when an operator asks for numbers
    )
    searched = "asks_words VIRTUAL TABLE INDEX 0:M"  # a look-up in the full-text index
    allowed = ("counters", "listed", "line", searched, *handed_in, *indexes)
    plan = sqlite3.connect(path)
    selected = [
        each
        for each in statements
        if each.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE", "INSERT", "WITH"))
        and "'asks_words_" not in each  # what the full-text index asks itself
    ]
    assert len(selected) > 25
    for statement in selected:
        for *_, step in plan.execute(f"EXPLAIN QUERY PLAN {statement}"):
            scan = step.removeprefix("SCAN ")
            is_handed_in = "CONSTANT ROW" in scan or scan.startswith(allowed)
            is_last_line = scan == "record" and "FROM record ORDER BY seq DESC LIMIT 1" in statement
            assert scan == step or is_handed_in or is_last_line, (statement, step)
            # The largest value of a column counts as searched even if no index has it. The number of a row needs none.
            is_number = "max(seq)" in statement or step == "SEARCH times"
            assert " USING " in step or not step.startswith("SEARCH") or is_number, (
                statement,
                step,
            )
            is_of_a_week = "FROM numbers WHERE week = " in statement  # and counted
            is_of_index_alone = "COVERING INDEX numbers_summed" in step or "TEMP B-TREE" in step
            assert is_of_index_alone or not is_of_a_week, (statement, step)
            # Only few rows are sorted: messages to show, by place in turn; the outcomes of all an agent's
            # conversations that it has not seen, by number; the grants of a scope; and the calls that numbers list.
            is_of_all = "ORDER BY number IS NULL" in statement and "conversation" not in statement
            is_of_few = any(
                part in statement for part in ("row_number()", "FROM grants", "always AS")
            )
            is_sorted = is_of_few or is_of_all or is_of_a_week
            assert is_sorted or "TEMP B-TREE" not in step, (statement, step)
    plan.close()
