"""Rows that are not as this version writes them: whoever wants one is told so, and nobody else notices."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from bot.ask import Ask
from bot.errors import OutcomeUnknownError, StoreError
from bot.form import AnswerType, Form, Question
from bot.ports import Write
from bot.stored import Idempotency
from storage.sqlite import SqliteStore
from tests.contract.store_examples import answering, ending, looking, new_ask

SPOILT = {
    "a field of another version": "UPDATE asks SET state = json_set(state, '$.newer', 1) WHERE id = 'ask_1'",
    "no JSON": "UPDATE asks SET state = 'secret' WHERE id = 'ask_1'",
    "its request is missing": "DELETE FROM requests WHERE seq = 1",
    "a request of another version": 'UPDATE requests SET request = \'{"name": "secret"}\' WHERE seq = 1',
}


async def spoilt(path: Path, statement: str) -> SqliteStore:
    """A store with a row that cannot be read and one that can."""
    store = SqliteStore(path)
    await store.open()
    for number in (1, 2):
        await store.create(Write(new_ask(number)), None)
    await store.close()
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    store = SqliteStore(path)
    await store.open()
    return store


@pytest.mark.parametrize("how", SPOILT)
async def test_an_ask_that_cannot_be_read_fails_for_who_wants_it_alone(
    tmp_path: Path, how: str
) -> None:
    store = await spoilt(tmp_path / "a.db", SPOILT[how])
    outcome, (moved, _) = await asyncio.gather(  # type: ignore[misc] # the second does not fail
        store.change("ask_1", answering()),
        store.change("ask_2", answering()),
        return_exceptions=True,
    )
    assert isinstance(outcome, StoreError)
    assert "ask_1 is stored in a way that this version cannot read" in str(outcome)
    assert "secret" not in str(outcome), "what people and agents wrote is in no message"
    assert await store.get("ask_2") == moved
    with pytest.raises(StoreError, match="cannot read"):
        await store.get("ask_1")
    await store.check()
    await store.close()


async def test_a_delivery_whose_id_is_no_text_fails_alone(tmp_path: Path) -> None:
    store = await spoilt(tmp_path / "a.db", "SELECT 1")
    outcome, (moved, _) = await asyncio.gather(  # type: ignore[misc] # the second does not fail
        store.change("ask_1", answering(), delivery="half \ud800"),
        store.change("ask_2", answering()),
        return_exceptions=True,
    )
    assert isinstance(outcome, StoreError)
    assert "no text" in str(outcome)
    assert await store.get("ask_1") == new_ask(1)
    assert await store.get("ask_2") == moved
    await store.close()


class FailingOnce:
    """A connection of which one COMMIT fails, with nothing stored."""

    def __init__(self, inner: sqlite3.Connection) -> None:
        self._inner = inner
        self._failed = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        """As the real one, but for the first COMMIT."""
        if statement == "COMMIT" and not self._failed:
            self._failed = True
            self._inner.execute("ROLLBACK")
            raise sqlite3.OperationalError("disk I/O error")
        return self._inner.execute(statement, *values)  # type: ignore[arg-type] # passed on as it came


async def test_what_was_read_in_a_transaction_that_failed_is_not_taken_for_what_came_after(
    tmp_path: Path,
) -> None:
    store = SqliteStore(tmp_path / "a.db")
    await store.open()
    inner = store._connections._writer
    assert inner is not None
    store._connections._writer = FailingOnce(inner)  # type: ignore[assignment] # as good as one
    key = Idempotency("coder", "key", "digest")
    twice = [store.create(Write(new_ask(n)), key) for n in (1, 9)]
    outcomes = await asyncio.gather(*twice, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [OutcomeUnknownError] * 2
    drop = Question(id="drop", text="Drop it?", answer_type=AnswerType.BOOLEAN)
    other = new_ask(
        2, form=Form(questions=(drop,))
    )  # takes the number of the row that is not there
    await store.create(Write(other), None)
    assert await store.get("ask_2") == other
    assert await store.change("ask_2", looking) == (other, False)
    await store.close()


async def test_a_store_that_is_opened_again_knows_what_others_did_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store, other = SqliteStore(path), SqliteStore(path)
    await store.open()
    await store.create(Write(new_ask()), None)
    await store.change("ask_1", answering())
    await store.close()
    await other.open()
    ended: Ask
    ended, _ = await other.change("ask_1", ending())
    await other.close()
    await store.open()
    assert await store.change("ask_1", looking) == (ended, False)
    await store.close()
