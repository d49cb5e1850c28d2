"""The PostgreSQL store when the server, its disk, its privileges or the network fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from answerback.core.ask import Ask, RecordEntry
from answerback.core.errors import CommitUnknownError, DatabaseTooNewError, StoreError
from answerback.ports.store import Decision, Write
from answerback_postgres import connections, listen_notify, migrations
from answerback_postgres.store import PostgresStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, end_decision, read_only_decision
from tests import postgres
from tests.ports import free_port
from tests.proxy import Proxy, proxy

SOON = 60.0


@pytest.fixture
def run(database: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection to the test's database."""
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def fresh(postgres_server: postgres.Server) -> Iterator[str]:
    """The name of a database that the test may break."""
    with postgres_server.database() as name:
        yield name


@pytest.fixture
async def store(database: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(database)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def between(
    database: str, postgres_server: postgres.Server
) -> AsyncIterator[tuple[PostgresStore, Proxy]]:
    """A store whose statements go through a proxy, while its listening connection does not."""
    async with proxy(postgres_server.port) as cutting:
        far = database.replace(str(postgres_server.port), str(cutting.port))
        store = PostgresStore(far, listen_url=database)
        await store.open()
        yield store, cutting
        await store.close()


async def refused(url: str, match: str, kind: type[StoreError] = StoreError) -> None:
    """Check that opening fails with this message."""
    with pytest.raises(kind, match=match) as error:
        await PostgresStore(url).open()
    assert "\n" not in str(error.value)
    assert "wrong" not in str(error.value), "the message contains the password"


# --- at start ---


@pytest.mark.rule("DATA-5")
async def test_a_server_that_cannot_be_reached_is_named_with_what_to_do() -> None:
    port = free_port()
    await refused(
        f"postgresql://ann@127.0.0.1:{port}/asks",
        rf"asks on 127\.0\.0\.1:{port}: it cannot be reached\. Check that the server runs",
    )


@pytest.mark.rule("DATA-5")
async def test_a_wrong_password_and_a_missing_database_are_named(
    postgres_server: postgres.Server, fresh: str
) -> None:
    guarded = postgres_server.url(fresh, user=f"{postgres.GUARDED}:wrong")
    await refused(guarded, "rejects the user or the password")
    await refused(postgres_server.url("nowhere"), "no such database. Create it with `createdb`")


@pytest.mark.rule("DATA-5")
async def test_a_role_without_privileges_gets_the_grant_to_run(
    postgres_server: postgres.Server, fresh: str
) -> None:
    await refused(
        postgres_server.url(fresh, user=f"{postgres.GUARDED}:right"), "lacks a privilege.*GRANT"
    )


@pytest.mark.rule("DATA-5")
async def test_a_newer_schema_is_refused_and_unchanged(
    store: PostgresStore, run: psycopg.Connection, database: str
) -> None:
    run.execute("INSERT INTO answerback_migrations VALUES ('tomorrow', now())")
    try:
        await refused(database, "newer Answerback.*tomorrow", DatabaseTooNewError)
    finally:
        run.execute("DELETE FROM answerback_migrations WHERE name = 'tomorrow'")


async def test_another_programs_tables_are_refused_and_unchanged(
    postgres_server: postgres.Server, fresh: str
) -> None:
    postgres_server.run("CREATE TABLE asks (a int)", fresh)
    await refused(postgres_server.url(fresh), r"another program \(it has the tables asks\)")


async def test_a_server_that_is_too_old_is_refused(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "MIN_VERSION", 99)
    await refused(database, "Answerback needs 99 or newer")


async def test_a_database_that_cannot_store_all_text_is_refused(
    postgres_server: postgres.Server,
) -> None:
    postgres_server.run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    await refused(postgres_server.url("latin"), "encoding LATIN1.*--encoding=UTF8")


@pytest.mark.rule("DATA-1")
async def test_a_server_with_asynchronous_commits_is_refused(
    postgres_server: postgres.Server, fresh: str
) -> None:
    postgres_server.run(f"ALTER DATABASE {fresh} SET synchronous_commit = off")
    await refused(postgres_server.url(fresh), "before they are on disk.*synchronous_commit = on")


async def test_concurrent_starts_migrate_once(postgres_server: postgres.Server, fresh: str) -> None:
    stores = [PostgresStore(postgres_server.url(fresh)) for _ in range(4)]
    await asyncio.gather(*(store.open() for store in stores))
    for store in stores:
        await store.check()
        await store.close()


# --- while running ---


@pytest.mark.rule("DATA-5")
@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("53100", "the server's disk is full. Free some space"),
        ("42501", "the role lacks a privilege"),
        ("25006", "it is read-only. Name the primary server"),
        ("58030", "the server's disk failed"),
        ("22000", "a bug in Answerback"),
    ],
)
async def test_server_errors_are_explained_and_nothing_is_stored(
    store: PostgresStore, run: psycopg.Connection, code: str, text: str
) -> None:
    await store.asks.create(Write(new_ask()), None)
    with failing(run, code):
        with pytest.raises(StoreError, match=text) as error:
            await store.asks.change("ask_1", answer_decision(), delivery="ev")
        assert not isinstance(error.value, CommitUnknownError)
        entry = RecordEntry(at=1.0, kind="answered")
        with pytest.raises(StoreError, match=text):
            await store.asks.create(Write(new_ask(2), (entry,)), None)
    assert await store.asks.get("ask_1") == new_ask()
    assert await store.asks.get("ask_2") is None
    assert (await store.asks.change("ask_1", answer_decision(), delivery="ev"))[1] is False


@pytest.mark.rule("DATA-5")
async def test_a_deadlock_is_retried_a_limited_number_of_times(
    store: PostgresStore, run: psycopg.Connection
) -> None:
    await store.asks.create(Write(new_ask()), None)
    with failing(run, "40P01", times=2):
        moved, _ = await store.asks.change("ask_1", answer_decision())
    assert await store.asks.get("ask_1") == moved
    with (
        failing(run, "40001"),
        pytest.raises(StoreError, match="other transactions conflicted"),
    ):
        await store.asks.change("ask_1", answer_decision("prod"))
    assert await store.asks.get("ask_1") == moved
    ended, _ = await store.asks.change("ask_1", end_decision())
    with (
        failing(run, "40P01"),
        pytest.raises(StoreError, match="other transactions conflicted with every attempt"),
    ):
        await store.erasure.erase("ask_1", 9.0, ())
    assert await store.asks.get("ask_1") == ended
    with failing(run, "40P01", times=2):
        erased = await store.erasure.erase("ask_1", 9.0, ())
    assert erased is not None
    assert erased.erased_at == 9.0


@pytest.mark.rule("DATA-5")
async def test_a_statement_timeout_is_explained_and_nothing_is_stored(
    run: psycopg.Connection, database: str
) -> None:
    slow = PostgresStore(f"{database}?options=-cstatement_timeout%3D100ms")
    await slow.open()
    await slow.asks.create(Write(new_ask()), None)
    with run.transaction():
        run.execute("SELECT 1 FROM asks FOR UPDATE")
        with pytest.raises(StoreError, match="cancelled, by `statement_timeout`"):
            await slow.asks.change("ask_1", answer_decision())
    assert await slow.asks.get("ask_1") == new_ask()
    await slow.close()


@pytest.mark.rule("DATA-5")
async def test_an_unresponsive_server_leaves_the_outcome_unknown(
    run: psycopg.Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(database)
    await store.open()
    await store.asks.create(Write(new_ask()), None)
    with run.transaction(), monkeypatch.context() as impatient:
        run.execute("SELECT 1 FROM asks FOR UPDATE")
        impatient.setattr(connections, "STATEMENT_TIMEOUT", 0.2)
        with pytest.raises(CommitUnknownError, match=r"did not answer.*is not known"):
            await store.asks.change("ask_1", answer_decision())
    await store.check()
    await store.close()


@pytest.mark.long
@pytest.mark.rule("DATA-5")
async def test_a_store_works_again_once_its_server_is_back(
    store: PostgresStore, postgres_server: postgres.Server
) -> None:
    await store.asks.create(Write(new_ask()), None)
    notifications: asyncio.Queue[str | None] = asyncio.Queue()
    store.changes.listen(notifications.put_nowait)
    await asyncio.to_thread(postgres_server.stop)
    with pytest.raises(StoreError, match="cannot be reached") as error:
        await store.asks.change("ask_1", answer_decision())
    assert not isinstance(error.value, CommitUnknownError), "nothing was sent"
    with pytest.raises(StoreError, match="cannot be reached"):
        await store.asks.get("ask_1")
    async with asyncio.timeout(SOON):
        assert await notifications.get() is None
    await asyncio.to_thread(postgres_server.start)
    moved, _ = await store.asks.change("ask_1", answer_decision())
    assert await store.asks.get("ask_1") == moved


@pytest.mark.rule("DATA-5")
@pytest.mark.parametrize("stored", [True, False])
async def test_a_connection_cut_while_storing_a_click_leaves_its_outcome_unknown(
    between: tuple[PostgresStore, Proxy], stored: bool
) -> None:
    store, cutting = between
    await store.asks.create(Write(new_ask()), None)
    while (sending := store.notifier._sending) is not None:
        await asyncio.wait({sending})  # otherwise its notification would be cut
    results: list[Ask] = []

    def decide(ask: Ask | None) -> Decision[Ask]:
        cutting.cut_after_request = stored
        cutting.cut_before_request = not stored
        return answer_decision()(ask)

    with pytest.raises(CommitUnknownError, match=r"connection was lost.*is not known"):
        await store.asks.change("ask_1", decide, delivery="ev", then=results.append)
    assert results == []
    async with asyncio.timeout(SOON):
        while stored and (await store.asks.get("ask_1")) == new_ask():  # noqa: ASYNC110 nothing signals it
            await asyncio.sleep(0.01)
    seen, repeated = await store.asks.change("ask_1", read_only_decision, delivery="ev")
    assert repeated is stored, "what was stored is known by its delivery"
    if seen == new_ask():
        await store.asks.change("ask_1", answer_decision(), delivery="ev")
    found = await store.asks.get("ask_1")
    assert found is not None
    assert found.revision == 2


async def test_a_read_is_repeated_if_its_connection_is_cut(
    between: tuple[PostgresStore, Proxy],
) -> None:
    store, cutting = between
    await store.asks.create(Write(new_ask()), None)
    cutting.cut_before_request = True
    assert await store.asks.get("ask_1") == new_ask()
    cutting.cut()
    assert await store.asks.get("ask_1") == new_ask()


async def test_a_transaction_cut_off_during_commit_has_an_unknown_outcome(
    between: tuple[PostgresStore, Proxy],
) -> None:
    store, cutting = between
    database = store.database.connections
    with pytest.raises(CommitUnknownError):
        async with database.transaction():
            cutting.cut_before_request = True
    with pytest.raises(StoreError) as error:
        async with database.transaction() as connection:
            await connection.execute(b"SELECT 1 FROM nothing")
    assert not isinstance(error.value, CommitUnknownError)
    assert "a table is missing" in str(error.value)


# --- notifications ---


async def test_a_pooler_that_swallows_notifications_is_refused_at_start(
    database: str, monkeypatch: pytest.MonkeyPatch, postgres_server: postgres.Server
) -> None:
    monkeypatch.setattr(listen_notify, "NOTIFICATION_TIMEOUT", 0.1)
    with (
        postgres_server.database() as other,
        pytest.raises(StoreError, match=r"storage\.listen_url"),
    ):
        await PostgresStore(database, listen_url=postgres_server.url(other)).open()


@pytest.mark.parametrize("channel", ["", "x" * 70])
async def test_errors_that_prevent_listening_are_explained(
    database: str, monkeypatch: pytest.MonkeyPatch, channel: str
) -> None:
    monkeypatch.setattr(listen_notify, "CHANNEL", channel)
    await refused(database, "PostgreSQL rejected the statement")


async def test_a_lost_listening_connection_is_reopened(
    store: PostgresStore, run: psycopg.Connection, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    notifications: asyncio.Queue[str | None] = asyncio.Queue()
    store.changes.listen(notifications.put_nowait)
    with caplog.at_level(logging.WARNING):
        run.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        )
        async with asyncio.timeout(SOON):
            assert await notifications.get() is None, "notifications may have been lost"
    assert "is being reopened" in caplog.text
    other = PostgresStore(database)
    await other.open()
    await other.asks.create(Write(new_ask()), None)
    async with asyncio.timeout(SOON):
        while (name := await notifications.get()) is None:
            pass
    assert name == "ask_1"
    await other.close()


async def test_notifications_that_cannot_be_sent_are_logged(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise StoreError("no")

    monkeypatch.setattr(store.database.connections, "write", fail)
    store.notifier.notify(["ask_1"])
    with caplog.at_level(logging.WARNING):
        async with asyncio.timeout(SOON):
            while "were not notified" not in caplog.text:  # noqa: ASYNC110 nothing signals it
                await asyncio.sleep(0.01)


def failing(run: psycopg.Connection, code: str, times: int = 1_000) -> Failing:
    """Make new record lines fail with this error code, the given number of times."""
    return Failing(run, code, times)


class Failing:
    """A trigger on the record that raises an error. A sequence counts, since it survives the rollback."""

    def __init__(self, run: psycopg.Connection, code: str, times: int) -> None:
        self._run = run
        self._code = code
        self._times = times

    def __enter__(self) -> None:
        self._run.execute(
            f"""CREATE SEQUENCE failures;
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('failures') <= {self._times} THEN
                    RAISE EXCEPTION 'told to fail' USING ERRCODE = '{self._code}';
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER failing BEFORE INSERT ON record FOR EACH ROW EXECUTE FUNCTION fail()""".encode()
        )

    def __exit__(self, *_: object) -> None:
        self._run.execute(
            b"DROP TRIGGER failing ON record; DROP FUNCTION fail; DROP SEQUENCE failures"
        )
