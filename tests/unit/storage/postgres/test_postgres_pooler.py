"""The PostgreSQL store with Debian's pgbouncer in transaction mode: statements through it, notifications past it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from answerback.core.errors import CommitUnknownError, StoreError
from answerback.ports.store import Write
from answerback_postgres import listen_notify
from answerback_postgres.store import PostgresStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_if_at_revision, read_only_decision
from tests import postgres
from tests.pooler import pooler, program
from tests.proxy import proxy
from tests.service_support import WAIT

SOON = 60.0


@pytest.fixture
def pooled(postgres_server: postgres.Server, database: str) -> Iterator[str]:
    """The URL of the test's database behind a pooler with two connections."""
    if program() is None:
        pytest.skip("pgbouncer is missing: run .ci/system-packages, which installs it")
    name = urlsplit(database).path[1:]
    with pooler(postgres_server, name) as pooling:
        yield postgres_server.url(name, port=pooling.port)


@pytest.mark.rule("CONFIG-10")
async def test_behind_a_pooler_clicks_are_stored_and_notifications_arrive(
    pooled: str, database: str
) -> None:
    stores = [PostgresStore(pooled, listen_url=database) for _ in range(2)]
    for store in stores:
        await store.open()
    notifications: asyncio.Queue[str | None] = asyncio.Queue()
    stores[1].changes.listen(notifications.put_nowait)
    await asyncio.gather(*(stores[0].asks.create(Write(new_ask(n)), None) for n in range(20)))
    for revision in range(1, 11):
        results = await asyncio.gather(
            *(
                store.asks.change(
                    f"ask_{n}", answer_if_at_revision(revision), delivery=f"{revision}-{n}-{k}"
                )
                for n in range(10)
                for k, store in enumerate(stores)
            )
        )
        assert sum(result for result, _ in results) == 10
    assert (await stores[1].asks.change("ask_0", read_only_decision, delivery="1-0-0"))[
        0
    ] is not None
    names: set[str | None] = set()
    async with asyncio.timeout(SOON):
        while len(names) < 10:
            names.add(await notifications.get())
    for store in stores:
        await store.close()


@pytest.mark.rule("DATA-5")
async def test_a_pooler_that_swallows_notifications_is_named_at_start(
    pooled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen_notify, "NOTIFICATION_TIMEOUT", 0.3)
    with pytest.raises(StoreError, match=r"notifications do not arrive.*storage\.listen_url"):
        await PostgresStore(pooled).open()


@pytest.mark.rule("DATA-6")
async def test_a_commit_that_a_pooler_reports_as_cut_off_has_an_unknown_outcome(
    postgres_server: postgres.Server, database: str
) -> None:
    if program() is None:
        pytest.skip("pgbouncer is missing: run .ci/system-packages, which installs it")
    name = urlsplit(database).path[1:]
    async with proxy(postgres_server.port) as cutting:
        with pooler(postgres_server, name, through=cutting.port) as pooling:
            store = PostgresStore(postgres_server.url(name, port=pooling.port), listen_url=database)
            await store.open()

            async def write() -> None:
                async with store.database.connections.transaction() as connection:
                    await connection.execute(b"INSERT INTO seen VALUES ('ev', 1)")
                    cutting.cut_after_request = True

            with pytest.raises(CommitUnknownError, match="the pooler lost its connection"):
                await write()
            await store.close()
    # The connection was cut behind the request, so the server may only be about to read that.
    async with asyncio.timeout(WAIT):
        while postgres_server.run("SELECT id FROM seen", name) != [("ev",)]:  # noqa: ASYNC110 nothing signals it
            await asyncio.sleep(0.01)
