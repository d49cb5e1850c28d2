"""Rows that this version cannot read: whoever needs one gets an error, and nobody else is affected."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from answerback.core.ask import Ask, RecordEntry, Status
from answerback.core.errors import CommitUnknownError, StoreError, UnreadableRowError
from answerback.core.form import AnswerType, Form, Question
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.store import Write
from answerback.ports.store_values import Idempotency, RememberedAnswer
from answerback_storage import rows
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import (
    answer_decision,
    end_decision,
    new_delivery,
    read_only_decision,
)

SPOILT = {
    "a field of another version": "UPDATE asks SET state = json_set(state, '$.newer', 1) WHERE id = 'ask_1'",
    "no JSON": "UPDATE asks SET state = 'secret' WHERE id = 'ask_1'",
    "its request is missing": "DELETE FROM requests WHERE seq = 1",
    "a time that no date shows": "UPDATE asks SET state = json_set(state, '$.created_at', 1e300) WHERE id = 'ask_1'",
    "bytes that are not text": "UPDATE asks SET state = CAST(x'22ff22' AS TEXT) WHERE id = 'ask_1'",
    "a request that is not text": "UPDATE requests SET request = CAST(x'22ff22' AS TEXT) WHERE seq = 1",
    "a request of another version": 'UPDATE requests SET request = \'{"name": "secret"}\' WHERE seq = 1',
}


async def spoilt(path: Path, statement: str) -> SqliteStore:
    """A store with one unreadable row and one readable one."""
    store = SqliteStore(path)
    await store.open()
    for number in (1, 2):
        await store.asks.create(Write(new_ask(number)), None)
    await store.close()
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    store = SqliteStore(path)
    await store.open()
    return store


@pytest.mark.rule("DATA-12")
@pytest.mark.parametrize("how", SPOILT)
async def test_an_unreadable_ask_fails_only_its_own_change(tmp_path: Path, how: str) -> None:
    store = await spoilt(tmp_path / "a.db", SPOILT[how])
    outcome, (moved, _) = await asyncio.gather(  # type: ignore[misc] # the second does not fail
        store.asks.change("ask_1", answer_decision()),
        store.asks.change("ask_2", answer_decision()),
        return_exceptions=True,
    )
    assert isinstance(outcome, StoreError)
    assert "This version cannot read the stored ask ask_1" in str(outcome)
    assert "secret" not in str(outcome), "what people and agents wrote is in no message"
    assert await store.asks.get("ask_2") == moved
    with pytest.raises(StoreError, match="cannot read"):
        await store.asks.get("ask_1")
    await store.check()
    await store.close()


async def test_a_delivery_whose_id_is_not_text_fails_alone(tmp_path: Path) -> None:
    store = await spoilt(tmp_path / "a.db", "SELECT 1")
    outcome, (moved, _) = await asyncio.gather(  # type: ignore[misc] # the second does not fail
        store.asks.change("ask_1", answer_decision(), delivery="half \ud800"),
        store.asks.change("ask_2", answer_decision()),
        return_exceptions=True,
    )
    assert isinstance(outcome, StoreError)
    assert "not text" in str(outcome)
    assert await store.asks.get("ask_1") == new_ask(1)
    assert await store.asks.get("ask_2") == moved
    await store.close()


class FailingOnce:
    """A connection whose first COMMIT fails, with nothing stored."""

    def __init__(self, inner: sqlite3.Connection) -> None:
        self._inner = inner
        self._failed = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        """Behave like the real one, except for the first COMMIT."""
        if statement == "COMMIT" and not self._failed:
            self._failed = True
            self._inner.execute("ROLLBACK")
            raise sqlite3.OperationalError("disk I/O error")
        return self._inner.execute(statement, *values)  # type: ignore[arg-type] # passed on as it came


async def test_reads_of_a_failed_transaction_are_not_reused(
    tmp_path: Path,
) -> None:
    store = SqliteStore(tmp_path / "a.db")
    await store.open()
    inner = store.database.connections._writer
    assert inner is not None
    store.database.connections._writer = FailingOnce(inner)  # type: ignore[assignment] # as good as one
    key = Idempotency("coder", "key", "digest")
    twice = [store.asks.create(Write(new_ask(n)), key) for n in (1, 9)]
    outcomes = await asyncio.gather(*twice, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [CommitUnknownError] * 2
    drop = Question(id="drop", text="Drop it?", answer_type=AnswerType.BOOLEAN)
    other = new_ask(
        2, form=Form(questions=(drop,))
    )  # takes the number of the row that is not there
    await store.asks.create(Write(other), None)
    assert await store.asks.get("ask_2") == other
    assert await store.asks.change("ask_2", read_only_decision) == (other, False)
    await store.close()


async def test_a_reopened_store_sees_changes_made_in_the_meantime(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store, other = SqliteStore(path), SqliteStore(path)
    await store.open()
    await store.asks.create(Write(new_ask()), None)
    await store.asks.change("ask_1", answer_decision())
    await store.close()
    await other.open()
    ended: Ask
    ended, _ = await other.asks.change("ask_1", end_decision())
    await other.close()
    await store.open()
    assert await store.asks.change("ask_1", read_only_decision) == (ended, False)
    await store.close()


@pytest.mark.rule("DATA-12")
@pytest.mark.parametrize("how", SPOILT)
async def test_lists_skip_an_unreadable_ask_and_log_its_id_once(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = await spoilt(tmp_path / "a.db", SPOILT[how])
    for _ in range(2):
        page = await store.asks.page(limit=1)
        assert [ask.id for ask in page.rows] == ["ask_2"]
        assert [ask.id for ask in (await store.asks.page(status=Status.OPEN)).rows] == ["ask_2"]
        assert page.after is None, "nothing that can be read follows"
        for thread in (None, new_ask().placement.destination.thread):
            found = await store.messages.find_open("slack", "C1", thread, 1)
            assert [ask.id for ask in found] == ["ask_2"]
    (record,) = caplog.records
    assert record.__dict__["id"] == "ask_1"
    assert "secret" not in caplog.text
    await store.close()


@pytest.mark.rule("DATA-12")
async def test_unreadable_deliveries_do_not_block_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.db"
    store = SqliteStore(path)
    await store.open()
    for number in range(4):
        delivery = new_delivery(number, ask=f"ask_{number}")
        await store.asks.create(Write(new_ask(number), deliveries=(delivery,)), None)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE deliveries SET body = CAST(x'22ff22' AS TEXT) WHERE seq < 4")
    due = await store.outbox.claim(SOLE_CLAIM, 2e9, 1)
    assert [one.delivery.id for one in due] == ["msg_3"]
    page = await store.outbox.page(state=None, agent=None, after=None, limit=10)
    assert [one.delivery.id for one in page.rows] == ["msg_3"]
    assert [one.__dict__["id"] for one in caplog.records] == ["msg_0", "msg_1", "msg_2"]
    await store.close()


async def test_an_unreadable_record_line_is_replaced_by_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.db"
    store = SqliteStore(path)
    await store.open()
    lines = tuple(RecordEntry(at=float(n), kind="note", body={"n": n}) for n in range(3))
    await store.asks.create(Write(new_ask(), lines), None)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DROP TRIGGER record_is_not_changed")
        db.execute("UPDATE record SET entry = CAST(x'22ff22' AS TEXT) WHERE seq = 2")
    found = await store.record.read("ask_1")
    assert [line.entry for line in found][::2] == [lines[0], lines[2]]
    assert (found[1].seq, found[1].entry.at) == (2, 1.0)
    assert "unreadable" in found[1].entry.body
    (record,) = caplog.records
    assert (record.__dict__["ask_id"], record.__dict__["line"]) == ("ask_1", 2)
    await store.close()


async def test_unreadable_remembered_answers_and_drafts_count_as_missing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    store = SqliteStore(path)
    await store.open()
    memory = RememberedAnswer("a", "c", "t", "bash", "q", value=True)
    await store.asks.create(Write(new_ask(), memory=memory), None)
    await store.drafts.save("k", {"a": 1}, 1.0)
    assert await store.asks.get_remembered("a", "c", "t", "bash", "q") == (True,)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE remembered SET value = CAST(x'22ff22' AS TEXT)")
        db.execute("UPDATE drafts SET value = 'secret'")
    assert await store.asks.get_remembered("a", "c", "t", "bash", "q") is None
    assert await store.drafts.get("k") is None
    await store.close()


async def test_a_disk_failure_is_not_mistaken_for_unreadable_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await spoilt(tmp_path / "a.db", "SELECT 1")

    def failing(*_: object, **_options: object) -> Ask:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    monkeypatch.setattr(rows.RequestCache, "get", failing)
    with pytest.raises(StoreError, match="failed to read or write"):
        await store.asks.page()
    with pytest.raises(StoreError, match="failed to read or write") as failed:
        await store.asks.get("ask_1")
    assert not isinstance(failed.value, UnreadableRowError)
    with pytest.raises(StoreError, match="failed to read or write"):
        await store.asks.change("ask_1", read_only_decision)
    await store.close()
