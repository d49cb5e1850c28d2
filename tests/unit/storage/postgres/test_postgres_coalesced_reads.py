"""Coalesced statements in PostgreSQL: shared reads, and rows of any values as arrays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.store import Decision, Write
from answerback_postgres.coalesced_reads import CoalescedReads
from answerback_postgres.connections import Database
from answerback_postgres.sql import Parameters
from answerback_postgres.store import PostgresStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_claims import ANN
from answerback_testing.store_examples import answer_decision
from tests.postgres import Server


class Reading:
    """A read that waits until it is released, and returns the letters' positions."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self, keys: Sequence[str]) -> Mapping[str, int]:
        self.asked.append(list(keys))
        self.begun.set()
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return {key: ord(key) for key in keys if key != "?"}


@pytest.fixture
def reading() -> Reading:
    return Reading()


@pytest.fixture
async def database(database: str) -> AsyncIterator[Database]:
    connected = Database(database)
    yield connected
    await connected.close()


@pytest.mark.rule("DATA-20")
async def test_concurrent_reads_share_one_statement(reading: Reading) -> None:
    reading.go.set()
    gathered = CoalescedReads(reading)
    assert await asyncio.gather(*map(gathered.get, "ab?a")) == [97, 98, None, 97]
    assert reading.asked == [["a", "b", "?"]]


@pytest.mark.rule("DATA-20")
async def test_a_read_during_a_statement_is_served_by_the_next_one(reading: Reading) -> None:
    gathered = CoalescedReads(reading)
    first = asyncio.create_task(gathered.get("a"))
    await reading.begun.wait()
    later = [asyncio.create_task(gathered.get(key)) for key in "aba"]
    await asyncio.sleep(0)
    reading.go.set()
    assert await asyncio.gather(first, *later) == [97, 97, 98, 97]
    assert reading.asked == [["a"], ["a", "b"]], "the first was read too early for the others"


@pytest.mark.rule("DATA-20")
async def test_very_many_reads_share_several_statements(reading: Reading) -> None:
    reading.go.set()
    keys = [chr(number) for number in range(200, 350)]
    found = await asyncio.gather(*map(CoalescedReads(reading).get, keys))
    assert found == list(range(200, 350))
    assert [len(asked) for asked in reading.asked] == [64, 64, 22]


@pytest.mark.rule("DATA-20")
async def test_an_error_reaches_everybody_who_shares_the_statement_and_nobody_after(
    reading: Reading,
) -> None:
    gathered = CoalescedReads(reading)
    reading.error = StoreError("it is away")
    reading.go.set()
    errors = await asyncio.gather(*map(gathered.get, "ab"), return_exceptions=True)
    assert errors == [reading.error] * 2
    reading.error = None
    assert await gathered.get("a") == 97


@pytest.mark.rule("DATA-20")
async def test_a_cancelled_read_does_not_affect_the_others(reading: Reading) -> None:
    gathered = CoalescedReads(reading)
    leaving, staying = (asyncio.create_task(gathered.get("a")) for _ in range(2))
    await reading.begun.wait()
    leaving.cancel()
    await asyncio.wait([leaving])
    reading.go.set()
    assert await staying == 97


async def test_any_value_survives_an_array_round_trip(database: Database) -> None:
    kinds = ("text", "bigint", "float8", "boolean", "bytea")
    texts = (
        "",
        "NULL",
        "null",
        '{"a": "b\\"c"}',
        "\\",
        "a,b",
        "{}",
        "\x00\x1a0",
        "\n\t ",
        "é🙂",
        "'",
    )
    found = [
        *((text, 2**63 - 1, 0.1 + 0.2, True, b"\x00\\\xff") for text in texts),
        (None, None, None, None, None),
        ("x", -1, 5, False, b""),
        ("x", 0, float("inf"), False, b'"'),
        ("x", 0, 1e-300, False, b"{,}"),
    ]
    for some in (found, found[:1], []):
        given = Parameters()
        statement = f"SELECT * FROM ({given.rows(some, kinds)}) AS r (a, b, c, d, e, n) ORDER BY n"
        got = await database.read(statement, given.values)
        assert [row[:-1] for row in got] == some


async def test_the_statement_text_does_not_depend_on_the_number_of_rows() -> None:
    written = {Parameters().rows([("a", 1)] * count, ("text", "bigint")) for count in (1, 2, 50)}
    assert written == {"SELECT * FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY"}


@pytest.mark.rule("DATA-20")
async def test_very_many_concurrent_clicks_and_shows_take_few_statements(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(database.url)
    await store.open()
    for number in range(40):
        await store.asks.create(Write(new_ask(number)), None)
    run, sent = Database.run, []

    async def counted(self: Database, connection: object, statement: str, values: object) -> object:
        sent.append(statement)
        return await run(self, connection, statement, values)  # type: ignore[arg-type]

    monkeypatch.setattr(Database, "run", counted)
    await asyncio.gather(*(store.asks.change(f"ask_{n}", answer_decision()) for n in range(40)))
    assert len([one for one in sent if "pg_notify" not in one]) == 4, (
        "two batches, and two statements each"
    )
    sent.clear()
    await asyncio.gather(*(store.claims.claim_message(f"ask_{n}", ANN) for n in range(40)))
    assert len([one for one in sent if one.startswith("SELECT version")]) == 1
    sent.clear()
    assert (
        await asyncio.gather(*(store.rate_limits.get_retry_after("slack:C0") for _ in range(40)))
        == [0.0] * 40
    )
    assert len(sent) == 1
    await store.close()


@pytest.mark.rule("DATA-20")
async def test_a_click_reads_no_other_rows_with_a_plan_cached_when_there_were_few(
    postgres_server: Server,
) -> None:
    """The server caches a statement's plan: https://www.postgresql.org/docs/current/sql-prepare.html."""

    def step(ask: Ask | None) -> Decision[Ask]:
        assert ask is not None
        moved = replace(ask, revision=ask.revision + 1)
        return Decision(Write(moved), moved)

    with postgres_server.database() as name:  # no other test has added to its statistics
        store = PostgresStore(postgres_server.url(name))
        await store.open()
        asks = [f"ask_{number}" for number in range(40)]
        for number in range(40):
            await store.asks.create(Write(new_ask(number)), None)
        for turn in range(25):
            if turn == 20:
                many = "SELECT n::text, 0, '' FROM generate_series(1, 20000) n"
                postgres_server.run(f"INSERT INTO seen {many}", name)
            changes = (store.asks.change(one, step, delivery=f"{one}.{turn}") for one in asks)
            await asyncio.gather(*changes)
        await store.close()
        statistics = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'seen'"
        assert postgres_server.run(statistics, name)[0][0] < 20_000
