"""A real PostgreSQL that fails while a store is open: errors are explained, nothing is half stored, and it recovers."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress

import psycopg
import pytest

from answerback.core.ask import Ask
from answerback.core.errors import CommitUnknownError, StoreError
from answerback.ports.store import Write
from answerback_postgres import connections
from answerback_postgres.listen_notify import ChangeNotifier
from answerback_postgres.store import PostgresStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, end_decision
from tests import postgres
from tests.pooler import Pooler, pooler, program

SOON = 60.0
_ROOM = 64
"""MiB of the small disk: an empty database takes about eight, and its tables as much again."""


@pytest.fixture
def fresh(postgres_server: postgres.Server) -> Iterator[str]:
    """The name of a database that the test may break. It belongs to the role with a password."""
    with postgres_server.database() as name:
        postgres_server.run(f"ALTER DATABASE {name} OWNER TO {postgres.GUARDED}")
        postgres_server.run(f"GRANT ALL ON SCHEMA public TO {postgres.GUARDED}", name)
        yield name


@pytest.fixture
async def guarded(postgres_server: postgres.Server, fresh: str) -> AsyncIterator[PostgresStore]:
    """A store whose role has a password, with an ask in it."""
    store = PostgresStore(postgres_server.url(fresh, user=f"{postgres.GUARDED}:right"))
    await store.open()
    await store.asks.create(Write(new_ask()), None)
    yield store
    await store.close()


async def refused(store: PostgresStore, text: str) -> None:
    """Check that a click is not stored, and that the error is one sentence without a password."""
    with pytest.raises(StoreError, match=text) as error:
        await store.asks.change("ask_1", answer_decision(), delivery="ev")
    assert not isinstance(error.value, CommitUnknownError)
    assert "\n" not in str(error.value)
    assert "right" not in str(error.value)


async def accepted(store: PostgresStore) -> None:
    """Check that the same click is stored."""
    assert await store.asks.get("ask_1") == new_ask()
    moved, repeated = await store.asks.change("ask_1", answer_decision(), delivery="ev")
    assert not repeated
    assert await store.asks.get("ask_1") == moved


@pytest.mark.rule("DATA-5")
async def test_a_changed_password_is_explained_and_restoring_it_recovers_the_store(
    guarded: PostgresStore, postgres_server: postgres.Server, fresh: str
) -> None:
    postgres_server.run(f"ALTER ROLE {postgres.GUARDED} PASSWORD 'another'")
    try:
        postgres_server.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{fresh}'"
        )
        await refused(guarded, "rejects the user or the password")
    finally:
        postgres_server.run(f"ALTER ROLE {postgres.GUARDED} PASSWORD 'right'")
    await accepted(guarded)


@pytest.mark.rule("DATA-5")
async def test_a_revoked_privilege_is_explained_and_restoring_it_recovers_the_store(
    guarded: PostgresStore, postgres_server: postgres.Server, fresh: str
) -> None:
    postgres_server.run(f"REVOKE INSERT ON record FROM {postgres.GUARDED}", fresh)
    await refused(guarded, "lacks a privilege.*GRANT")
    postgres_server.run(f"GRANT INSERT ON record TO {postgres.GUARDED}", fresh)
    await accepted(guarded)


@pytest.mark.rule("DATA-5")
async def test_a_store_closed_while_it_reconnects_leaves_no_connection(
    database: str, postgres_server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    telling = asyncio.Event()

    async def blocked_notify(_news: ChangeNotifier, _names: Iterable[str]) -> None:
        telling.set()
        await asyncio.Event().wait()

    store = PostgresStore(database)
    await store.open()
    monkeypatch.setattr(ChangeNotifier, "_notify", blocked_notify)
    name = database.rpartition("/")[2]
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    postgres_server.run(f"SELECT pg_terminate_backend(pid) {others} AND query LIKE 'LISTEN%'", name)
    async with asyncio.timeout(SOON):
        await telling.wait()
        await store.close()
        while postgres_server.run(f"SELECT pid {others}", name):  # noqa: ASYNC110 nothing signals it
            await asyncio.sleep(0.05)


@pytest.mark.rule("DATA-5")
async def test_a_connection_that_can_only_read_is_given_up(
    guarded: PostgresStore, postgres_server: postgres.Server, fresh: str
) -> None:
    """As after a failover, when the old connections lead to what is now a standby."""
    read_only = f"ALTER DATABASE {fresh} SET default_transaction_read_only = on"
    connected = f"FROM pg_stat_activity WHERE datname = '{fresh}'"

    async def erase() -> None:
        await guarded.erasure.erase("ask_1", 9.0, ())

    for change in (guarded.check, erase):
        postgres_server.run(read_only)
        postgres_server.run(f"SELECT pg_terminate_backend(pid, 60000) {connected}")
        with pytest.raises(StoreError, match="it is read-only"):
            await change()
        assert await guarded.asks.get("ask_1") == new_ask()
        postgres_server.run(f"ALTER DATABASE {fresh} RESET default_transaction_read_only")
        await change()


@pytest.mark.rule("DATA-5")
async def test_a_lock_of_another_program_does_not_hold_up_a_transaction_for_ever(
    guarded: PostgresStore,
    postgres_server: postgres.Server,
    fresh: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended, _ = await guarded.asks.change("ask_1", end_decision())
    with psycopg.connect(postgres_server.url(fresh)) as other:
        other.execute("SELECT 1 FROM asks FOR UPDATE")
        erasures = [
            guarded.erasure.erase("ask_1", 9.0, ()) for _ in range(connections.MAX_CONNECTIONS + 1)
        ]
        async with asyncio.timeout(SOON):
            with monkeypatch.context() as impatient:
                impatient.setattr(connections, "STATEMENT_TIMEOUT", 0.2)
                errors = await asyncio.gather(*erasures, return_exceptions=True)
            assert await guarded.asks.get("ask_1") == ended
    for error in errors:
        assert isinstance(error, StoreError)
        assert not isinstance(error, CommitUnknownError), "nothing was to be committed yet"
        assert "did not answer within 0.2 seconds" in str(error)


async def test_a_search_path_that_leads_nowhere_is_named(database: str) -> None:
    with pytest.raises(StoreError, match=r"none of the schemas.*search_path"):
        await PostgresStore(f"{database}?options=-csearch_path%3Dnowhere").open()


# --- a pooler ---


@pytest.fixture
def pooling(postgres_server: postgres.Server, database: str) -> Iterator[Pooler]:
    """A pooler in front of the test's database."""
    if program() is None:
        pytest.skip("pgbouncer is missing: run .ci/system-packages, which installs it")
    with pooler(postgres_server, database.rpartition("/")[2]) as running:
        yield running


@pytest.mark.long
@pytest.mark.rule("DATA-5")
async def test_a_pooler_that_cannot_reach_its_server_is_named(
    pooling: Pooler, postgres_server: postgres.Server, database: str
) -> None:
    store = PostgresStore(
        postgres_server.url(database.rpartition("/")[2], port=pooling.port), listen_url=database
    )
    await store.open()
    await store.asks.create(Write(new_ask()), None)
    postgres_server.stop()
    with pytest.raises(StoreError) as error:
        await store.asks.change("ask_1", answer_decision(), delivery="ev")
    postgres_server.start()
    assert "See the logs of the pooler and the server" in str(error.value)
    async with asyncio.timeout(SOON):
        while await _get(store) is None:  # noqa: ASYNC110 the pooler tries again after a second
            await asyncio.sleep(0.1)
    await accepted(store)
    await store.close()


async def _get(store: PostgresStore) -> Ask | None:
    try:
        return await store.asks.get("ask_1")
    except StoreError:
        return None


# --- a full disk ---


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[postgres.Server]:
    """A server with a tablespace on a disk that fills up quickly, on a mount that nobody else sees."""
    own_mounts = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*own_mounts, "true"], check=False).returncode
    ):
        pytest.skip("this machine lets nobody mount a disk of their own")
    with postgres.server(small=_ROOM) as server:
        yield server


@pytest.fixture
def full(small: postgres.Server) -> Iterator[str]:
    """A database on the small disk."""
    name = f"full_{secrets.token_hex(4)}"
    small.run(f"CREATE DATABASE {name} TABLESPACE small")
    yield small.url(name)
    small.run(f"DROP DATABASE {name} WITH (FORCE)")


def fill(url: str) -> None:
    """Use up all the space on the disk."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE ballast (bytes text)")
        connection.execute("ALTER TABLE ballast ALTER bytes SET STORAGE EXTERNAL")
        for size in (4 << 20, 1 << 18, 1 << 13):
            with suppress(psycopg.errors.DiskFull):
                while True:
                    connection.execute("INSERT INTO ballast VALUES (repeat('x', %s))", (size,))


@pytest.mark.rule("DATA-5")
async def test_a_full_disk_loses_nothing_and_the_store_recovers_once_there_is_space(
    full: str,
) -> None:
    store = PostgresStore(full)
    await store.open()
    await store.asks.create(Write(new_ask()), None)
    fill(full)
    large = new_ask(2, request={"arguments": {"noise": secrets.token_hex(100_000)}})
    with pytest.raises(
        StoreError, match=r"the server's disk is full\. Free some space there"
    ) as error:
        await store.asks.create(Write(large), None)
    assert not isinstance(error.value, CommitUnknownError)
    assert "\n" not in str(error.value)
    assert await store.asks.get("ask_2") is None
    assert await store.asks.get("ask_1") == new_ask()
    with psycopg.connect(full, autocommit=True) as connection:
        connection.execute("DROP TABLE ballast")
    await store.asks.create(Write(large), None)
    assert await store.asks.get("ask_2") == large
    await accepted(store)
    await store.close()


@pytest.mark.rule("DATA-5")
async def test_a_start_on_a_full_disk_is_explained_and_leaves_nothing_half_done(full: str) -> None:
    fill(full)
    with pytest.raises(StoreError, match="the server's disk is full"):
        await PostgresStore(full).open()
    with psycopg.connect(full, autocommit=True) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert tables.fetchall() == [("ballast",)]
        connection.execute("DROP TABLE ballast")
    store = PostgresStore(full)
    await store.open()
    await store.check()
    await store.close()
