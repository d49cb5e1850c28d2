"""Erased content is in no file any more: not in a table, an index, an unused page or the log."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from answerback.core import ask as asks
from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.form import AnswerType, Form, Question
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import Idempotency, RememberedAnswer
from answerback_postgres.store import PostgresStore
from answerback_push.stored_subscriptions import StoredSubscriptions
from answerback_receipts.stored_receipts import NewReceipt
from answerback_storage.sqlite import connections
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_erasure import SECRET, answer_secretly, secret_ask
from answerback_testing.store_examples import ANN, end_decision, new_delivery
from answerback_testing.store_grants import end_with_grant, new_grant
from tests.postgres import Server
from tests.service_support import WAIT
from tests.stores.push import new_subscription
from tests.stores.receipts import receipt_row
from tests.stores.teams import ANNS, approve, links_in, new_link, new_token, sign_ins_in


def files_with(text: str, folder: Path) -> list[str]:
    """Return the files that contain this text anywhere."""
    return [file.name for file in folder.iterdir() if text.encode() in file.read_bytes()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answerback.db"


@pytest.mark.rule("DATA-22")
async def test_erased_content_is_in_no_file(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await answer_secretly(store)
    assert files_with(SECRET, path.parent) == ["answerback.db-wal"]
    await store.erasure.erase("ask_1", 9_000.0, ())
    await store.erasure.scrub()
    assert files_with(SECRET, path.parent) == []
    await store.close()
    assert files_with(SECRET, path.parent) == []


def _long_ask(number: int, expected: str) -> Ask:
    form = Form(
        questions=tuple(
            Question(id=f"q{n}", text=f"{n} {expected}", answer_type=AnswerType.TEXT)
            for n in range(3)
        )
    )
    request = {
        "arguments": {"text": expected},
        "agent": "coder",
        "conversation": expected[:200],
        "turn": "t",
    }
    return new_ask(number, form=form, request=request)


@pytest.mark.rule("DATA-22")
async def test_repeatedly_rewritten_content_is_erased_too(path: Path) -> None:
    """Long and short texts that grow and move between pages because of what is written around them."""
    store, chance = SqliteStore(path), random.Random(11)
    await store.open()
    secrets = {number: f"{SECRET}-{number}-" for number in range(0, 60, 3)}
    for number in range(60):
        text = secrets.get(number, "harmless ") * chance.choice((3, 40, 400, 900))
        ask = _long_ask(number, text)
        key = Idempotency("coder", f"{number} {text[:300]}", "d")
        await store.asks.create(Write(ask, asks.request_entry(ask, 1.0)), key)
        await store.drafts.save(f"{ask.id}:1:fill", text, 1.0)
    for _ in range(3):
        for number in chance.sample(range(60), 60):
            text = secrets.get(number, "harmless ") * chance.choice((1, 30, 300))

            def answered(ask: Ask | None, text: str = text, number: int = number) -> Decision[None]:
                assert ask is not None
                change = asks.apply_action(ask, Answer(value=text), at=2_000.0, by=ANN)
                assert isinstance(change, asks.Change)
                delivery = replace(new_delivery(number, ask=ask.id), body=text)
                ended = not change.ask.open
                conversation = ask.request.conversation or ""
                key = ask.form.digest_of(ask.form.questions[0])
                memory = RememberedAnswer("coder", conversation, "t", "", key, text)
                return Decision(
                    Write(change.ask, change.entries, (delivery,) if ended else (), memory), None
                )

            await store.asks.change(f"ask_{number}", answered)
            await store.drafts.save(f"ask_{number}:1:fill", text, 2.0)
    assert files_with(SECRET, path.parent)
    for number in chance.sample(sorted(secrets), len(secrets)):
        await store.erasure.erase(f"ask_{number}", 9_000.0, ())
    await store.erasure.scrub()
    assert files_with(SECRET, path.parent) == []
    assert files_with("harmless", path.parent) == ["answerback.db"]
    await store.close()


async def test_erasing_reports_that_another_process_is_reading_the_log(path: Path) -> None:
    store = SqliteStore(path, busy_timeout=0.05)
    await store.open()
    await answer_secretly(store)
    with closing(sqlite3.connect(path, isolation_level=None)) as backup:
        backup.execute("BEGIN")
        backup.execute("SELECT count(*) FROM asks").fetchone()
        await store.erasure.erase("ask_1", 9_000.0, ())
        with pytest.raises(StoreError, match="still in its log"):
            await store.erasure.scrub()
        backup.execute("COMMIT")
    await store.erasure.scrub()
    assert files_with(SECRET, path.parent) == []
    await store.close()


@pytest.mark.rule("DATA-22")
async def test_our_own_reads_do_not_keep_erased_content_in_the_log(path: Path) -> None:
    store = SqliteStore(path, busy_timeout=0.05)
    await store.open()
    await answer_secretly(store)
    started, release = threading.Event(), threading.Event()

    def read_slowly(db: sqlite3.Connection) -> None:
        cursor = db.execute("SELECT entry FROM record")
        cursor.fetchone()
        started.set()
        release.wait(WAIT)
        cursor.close()

    reading = store.database.read(read_slowly)
    await asyncio.to_thread(started.wait, WAIT)
    await store.erasure.erase("ask_1", 9_000.0, ())
    scrubbing = asyncio.create_task(store.erasure.scrub())
    await asyncio.wait([scrubbing], timeout=0.2)  # without the lock, it gives up after 0.05 s
    assert not scrubbing.done()
    release.set()
    await reading
    await scrubbing
    assert files_with(SECRET, path.parent) == []
    await store.close()


async def test_erasing_reports_a_locked_file(path: Path) -> None:
    store = SqliteStore(path, busy_timeout=0.05)
    await store.open()
    await answer_secretly(store)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="it is locked by another process"):
            await store.erasure.scrub()
    await store.close()


async def test_a_large_file_is_not_rewritten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_VACUUM_BYTES", 4096)
    store = SqliteStore(path)
    await store.open()
    await answer_secretly(store)
    with closing(sqlite3.connect(path)) as db:
        (before,) = db.execute("PRAGMA page_count").fetchone()
    await store.erasure.erase("ask_1", 9_000.0, ())
    await store.erasure.scrub()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA page_count").fetchone() == (before,)
    assert files_with(SECRET, path.parent) == []
    await store.close()


@pytest.mark.rule("DATA-22")
async def test_erased_content_is_in_no_postgresql_table_or_log(
    postgres_server: Server,
) -> None:
    """Not as text, not as a word of the full-text index, and not in the server's log."""
    with postgres_server.borrow_database() as database:
        store = PostgresStore(postgres_server.url(database))
        await store.open()
        await answer_secretly(store)
        assert {"asks", "record", "deliveries"} <= tables_with("nobody", postgres_server, database)
        await store.erasure.erase("ask_1", 9_000.0, ())
        await store.erasure.scrub()
        assert tables_with("nobody", postgres_server, database) == set()
        await store.close()
    assert SECRET not in postgres_server.log()


@pytest.mark.rule("DATA-22")
async def test_the_planners_statistics_have_no_content(postgres_server: Server) -> None:
    with postgres_server.database() as database:  # not one whose tables a test has made anew
        store = PostgresStore(postgres_server.url(database))
        await store.open()
        for number in range(30):
            await store.asks.create(Write(secret_ask(number)), None)
            await store.drafts.save(f"ask_{number}:1:fill:U1", [SECRET], 1_500.0)
            await store.secret(f"secret {number}")
            await end_with_grant(store, new_grant(number + 100, subject=SECRET))
            ended = end_decision()(new_ask(number + 200)).write
            assert ended is not None
            receipt = NewReceipt("{}", f'{{"salt":"{SECRET}{number}"}}')
            await store.asks.create(ended._replace(ask_rows=(receipt_row(receipt),)), None)
            await links_in(store).save(new_link(f"U{number}", replace(ANN, name=SECRET)))
            await StoredSubscriptions(store.rows).save(
                replace(new_subscription(number), device=SECRET)
            )
            token = new_token(number, credential=SECRET)
            await sign_ins_in(store).redeem(await approve(store, number), token, ANNS, 99)
        postgres_server.run("ANALYZE", database)
        kept = postgres_server.run(
            """SELECT tablename, attname FROM pg_stats
                WHERE pg_stats::text LIKE '%nobody%' OR (tablename, attname) = ('secrets', 'value')""",
            database,
        )
        assert kept == []
        known = "SELECT 1 FROM pg_stats WHERE tablename = 'asks' AND attname = 'status'"
        assert postgres_server.run(known, database), "they were gathered"
        await store.close()


def tables_with(word: str, server: Server, database: str) -> set[str]:
    """Return the tables with a row whose text form contains this word. Word vectors count too."""
    names = server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", database)
    found = set()
    for (name,) in names:
        rows = server.run(f"SELECT 1 FROM {name} t WHERE t::text LIKE '%{word}%'", database)
        if rows:
            found.add(name)
    return found
