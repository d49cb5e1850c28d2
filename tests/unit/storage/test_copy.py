"""Copying a database into another one of either kind, and back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pytest

from answerback.core.ask import Ask, RecordEntry, Thread
from answerback.core.errors import StoreError
from answerback.core.files import AttachedFile
from answerback.ports.extension_rows import AskRow, NewRow
from answerback.ports.late_answers import LateAnswerQuery
from answerback.ports.receipt_key import SigningKey, new_private_key
from answerback.ports.search import Search, split_words
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import DeliveryState, Existing, Idempotency, RememberedAnswer
from answerback.ports.surface import Shown
from answerback.service.consumption import consume
from answerback_away.away import ADD
from answerback_away.snoozes import SAVE as SAVE_SNOOZE
from answerback_numbers.facts import Facts
from answerback_postgres.copy_endpoint import PostgresCopyTransaction, postgres_endpoint
from answerback_push.stored_subscriptions import StoredSubscriptions
from answerback_receipts.bodies import ReceiptBody
from answerback_receipts.checks import check, check_store
from answerback_receipts.stored_receipts import NewLink, StoredReceipts
from answerback_storage import rows
from answerback_storage.sqlite.copy_endpoint import sqlite_endpoint
from answerback_storage.store_copy import CopyEndpoint, TableDigest, copy, tables
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import (
    answer_decision,
    delivery_result,
    end_decision,
    new_delivery,
    read_only_decision,
)
from answerback_testing.store_grants import new_grant
from answerback_testing.store_places import move_decision
from tests.postgres import store_at
from tests.stores.push import new_subscription
from tests.stores.receipts import end_with_receipt, take_lease
from tests.stores.teams import ANNS, approve, links_in, new_link, new_token, sign_ins_in
from tests.unit.bot.receipt_support import Signed

ODD = "ü\x00\x1a\x1a0😀"
KEY = Idempotency(ODD, "k", "d")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answerback.db"


@pytest.fixture
def full(file: Path) -> Callable[[], CopyEndpoint]:
    """An SQLite file with data in every table."""
    asyncio.run(with_store(f"sqlite:///{file}", fill))
    return partial(sqlite_endpoint, file)


async def with_store(url: str, use: Callable[[Store], Awaitable[object]]) -> None:
    store = store_at(url)
    await store.open()
    try:
        await use(store)
    finally:
        await store.close()


async def fill(store: Store) -> None:
    """Put data into every table."""
    memory = RememberedAnswer("coder", ODD, "turn", "bash", "q", ODD)
    first = Write(new_ask(1, request={"agent": "coder"}), memory=memory, rows=(NewRow("x", [ODD]),))
    await store.asks.create(first, KEY)
    for number in range(2, 5):
        await store.asks.create(Write(new_ask(number, expires_at=number / 3)), None)
    await store.asks.save_shown(
        "ask_1", Shown(1, {"id": "m1", "x": ODD}, Thread(channel="C1", id=ODD))
    )
    await store.asks.save_shown("ask_4", Shown(1, {"id": "m4"}, Thread(channel="C4", id="T4")))
    await store.asks.change("ask_4", move_decision(None))
    await store.asks.change("ask_2", answer_decision(deliveries=(new_delivery(),)), delivery="Ev1")
    await store.outbox.save_results([delivery_result(new_delivery(), DeliveryState.DEAD)], [])
    await end_with_receipt(store, 10)
    await StoredReceipts(store.rows).add_links([NewLink("ask_10", 1, ODD)], await take_lease(store))
    await end_with_receipt(store, 11)
    await store.asks.change(
        "ask_11", lambda ask: Decision(Write(ask, grant=new_grant(11)) if ask else None, None)
    )
    await StoredReceipts(store.rows).use_key("first", [], 1.0)
    await StoredReceipts(store.rows).use_key("second", ["first"], 2.0)
    ended = end_decision()(await store.asks.get("ask_3")).write
    assert ended is not None
    counted = AskRow("numbers", Facts._fields, Facts("1970-01-01", ODD, "", "failed", "0", ""))
    kept = Write(replace(ended.ask, id="ask_9"), owed=True, ask_rows=(counted,))
    await store.asks.create(kept, None)
    await store.late_answers.list_owed(LateAnswerQuery(""), 1.0)
    await store.drafts.save(ODD, [ODD], 1.0)
    await store.record.add(None, RecordEntry(at=1.5, kind="note", body={"a": ODD}))
    await store.secret("web")
    await StoredSubscriptions(store.rows).save(replace(new_subscription(), device=ODD))
    await sign_ins_in(store).redeem(await approve(store), new_token(), ANNS, 9)
    await links_in(store).save(new_link(ODD))
    await store.rows.write(ADD, [[ODD, ODD, 1.5]])
    await store.rows.write(SAVE_SNOOZE, [[ODD, "ask_1", 2.5, ODD]])
    file = AttachedFile(id="file_a", name=ODD, media_type="image/png", bytes=3, sha256="0" * 64)
    await store.files.begin(file.id, "", 1.0, 0)
    await store.files.add_chunk(file.id, 0, b"\0\xff'")
    await store.files.finish(file)
    await store.asks.create(Write(new_ask(12, request={"files": [file]})), None)
    await store.asks.change("ask_12", end_decision())
    signed_in = "INSERT INTO oidc_sessions (id, person, at, until) VALUES {values}"
    await store.rows.write(signed_in, [("sha256:0", ODD, 1.0, 2.5)])


async def holds_everything(store: Store) -> None:
    """Check that everything that `fill` stored is there, and that the store works."""
    existing = await store.asks.create(Write(new_ask(7)), KEY)
    assert isinstance(existing, Existing)
    assert existing.ask.id == "ask_1"
    found = await store.messages.find_by_message("slack", "m1")
    assert found is not None
    assert found.id == "ask_1"
    assert (await store.asks.change("ask_2", read_only_decision, delivery="Ev1"))[1]
    assert await store.asks.get_remembered("coder", ODD, "turn", "bash", "q") == (ODD,)
    assert await store.drafts.get(ODD) == [ODD]
    assert list(await links_in(store).list()) == [new_link(ODD)]
    stored_file = await store.files.get("file_a")
    assert stored_file is not None
    assert (stored_file.file.name, stored_file.ask_id) == (ODD, "ask_12")
    assert await store.files.read_chunk("file_a", 0) == b"\0\xff'"
    [row] = await store.rows.list("x")
    assert (row.ask_id, row.value) == ("ask_1", [ODD])
    assert await store.rows.read("SELECT agent FROM numbers") == [(ODD,)]
    assert await store.rows.read("SELECT person, until FROM oidc_sessions") == [(ODD, 2.5)]
    assert await store.rows.read("SELECT person, value, at FROM away") == [(ODD, ODD, 1.5)]
    snoozed = await store.rows.read("SELECT person, ask_id, until, needs FROM snoozes")
    assert snoozed == [(ODD, "ask_1", 2.5, ODD)]
    moved = await store.messages.find_moved("slack", "C4", "T4", 9e9, 9)
    assert [ask.id for ask in moved] == ["ask_4"]
    assert await store.claims.next_due(0.0) == 2 / 3
    stored = await store.outbox.get("msg_1")
    assert stored is not None
    assert stored.state is DeliveryState.DEAD
    receipts = StoredReceipts(store.rows)
    assert [(each.ask_id, each.n, each.link) for each in await receipts.list_linked(0, 9)] == [
        ("ask_10", 1, ODD)
    ]
    await receipts.add_links([NewLink("ask_11", 2, "{}")], await take_lease(store))
    assert await receipts.public_keys() == ["first", "second"]
    assert await receipts.use_key("third", ["second"], 3.0)
    counts = await store.counts()
    assert (counts["open"], counts["withdrawn"], counts["dead"]) == (4, 4, 1)
    before = await store.record.read("ask_2")
    await store.record.add("ask_2", RecordEntry(at=9.0, kind="note"))
    after = await store.record.read("ask_2")
    assert after[:-1] == before
    assert after[-1].seq > max(line.seq for line in before)
    await store.asks.create(Write(new_ask(8)), None)
    page = await store.asks.page(limit=2)
    assert [ask.id for ask in page.rows] == ["ask_8", "ask_12"]
    assert [
        one.number for one in await store.late_answers.list_owed(LateAnswerQuery("", after=0), 2.0)
    ] == [1]
    searched = await store.search.find(Search(split_words("migration")), None, 9)
    assert [ask.id for ask in searched.rows] == [
        "ask_8",
        "ask_12",
        "ask_9",
        "ask_11",
        "ask_10",
        "ask_4",
        "ask_3",
        "ask_2",
        "ask_1",
    ]


@pytest.mark.rule("DATA-21")
@pytest.mark.rule("RCPT-10")
def test_everything_is_copied_to_the_other_kind_and_back(
    full: Callable[[], CopyEndpoint], file: Path, tmp_path: Path, database: str
) -> None:
    there = copy(full(), postgres_endpoint(database))
    assert all(found.rows for found in there.values()), "every table had something"
    back = tmp_path / "back.db"
    assert copy(postgres_endpoint(database), sqlite_endpoint(back)) == there
    cursors = list[str]()

    async def follow(store: Store) -> None:
        for each in cursors:
            with pytest.raises(ValueError, match="There is nothing behind"):
                await store.record.list_changed(each, 9)
        cursors.append((await store.record.list_changed("", 9)).after)

    for url in (database, f"sqlite:///{back}"):
        asyncio.run(with_store(url, holds_everything))
        asyncio.run(with_store(url, follow))
    with closing(sqlite3.connect(file)) as old, psycopg.connect(database) as new:
        secret = old.execute("SELECT value FROM secrets").fetchone()[0]
        found = new.execute("SELECT value FROM secrets").fetchone()
    assert found is not None
    assert bytes(found[0]) == secret


@pytest.mark.rule("RCPT-10", "RCPT-3", "RCPT-7", "RCPT-8")
def test_a_copied_chain_is_whole_and_goes_on(file: Path, tmp_path: Path, database: str) -> None:
    key, kept = SigningKey(new_private_key()), list[ReceiptBody]()

    async def begin(store: Store) -> None:
        signed = Signed(store, key=key)
        first, _, third = [await signed.decided() for _ in range(3)]
        await signed.linker.link_all()
        kept.extend([await signed.receipt(first), await signed.receipt(third)])
        assert isinstance(await consume(store, third.id, 5.0), Ask)
        await signed.service.erase(first.id)
        kept.append(await signed.receipt(await signed.decided()))

    async def check_and_go_on(store: Store) -> None:
        signed = Signed(store, key=key)
        for each in kept:
            assert check(each, signed.keys).faults == []
            verdict = await check_store(store, signed.keys, each)
            assert (verdict.lines, verdict.unlinked, verdict.fault) == (3, 1, None)
        consumed = str(kept[1]["receipt"]["payload"]["ask_id"])
        assert isinstance(await consume(store, consumed, 6.0), tuple), "an approval opens one door"
        await signed.decided("deny")
        await signed.linker.link_all()
        for each in kept:
            verdict = await check_store(store, signed.keys, each)
            assert (verdict.lines, verdict.unlinked, verdict.fault) == (5, 0, None)

    asyncio.run(with_store(f"sqlite:///{file}", begin))
    back = tmp_path / "back.db"
    copy(sqlite_endpoint(file), postgres_endpoint(database))
    copy(postgres_endpoint(database), sqlite_endpoint(back))
    for url in (f"sqlite:///{file}", database, f"sqlite:///{back}"):
        asyncio.run(with_store(url, check_and_go_on))


@pytest.mark.rule("DATA-21")
def test_copying_into_a_database_that_is_not_empty_is_refused(
    full: Callable[[], CopyEndpoint], file: Path, tmp_path: Path, database: str
) -> None:
    copy(full(), postgres_endpoint(database))
    for source, target in (
        (full(), postgres_endpoint(database)),
        (postgres_endpoint(database), full()),
        (postgres_endpoint(database), sqlite_endpoint(file)),
    ):
        with pytest.raises(StoreError, match=r"is not empty.*Nothing was copied"):
            copy(source, target)
    # An empty database is not accepted as a copy of another empty one either.
    empty = copy(sqlite_endpoint(tmp_path / "a.db"), sqlite_endpoint(tmp_path / "b.db"))
    assert set(empty) == set(tables())
    assert empty["asks"] == TableDigest(0, "0" * 64)


@pytest.mark.rule("DATA-21")
def test_a_copy_that_differs_from_its_source_is_rolled_back(
    full: Callable[[], CopyEndpoint], database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = PostgresCopyTransaction.write

    def spoil(
        side: PostgresCopyTransaction, table: str, columns: Sequence[str], found: Sequence[rows.Row]
    ) -> None:
        write(side, table, columns, found[1:] if table == "record" else found)

    monkeypatch.setattr(PostgresCopyTransaction, "write", spoil)
    with pytest.raises(StoreError, match=r"differs from what was read \(in record\)"):
        copy(full(), postgres_endpoint(database))
    monkeypatch.undo()
    assert copy(full(), postgres_endpoint(database))["asks"].rows == 8


def test_a_database_error_during_the_copy_is_explained(
    full: Callable[[], CopyEndpoint], file: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(database, autocommit=True) as run:
        asyncio.run(with_store(database, Store.check))
        run.execute("ALTER TABLE drafts RENAME TO drafts_lost")
        try:
            with pytest.raises(StoreError, match="a table is missing"):
                copy(full(), postgres_endpoint(database))
        finally:
            run.execute("ALTER TABLE drafts_lost RENAME TO drafts")
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE drafts SET value = CAST(x'ff' AS TEXT)")
        db.commit()
    with pytest.raises(StoreError, match="Could not decode"):
        copy(full(), postgres_endpoint(database))
