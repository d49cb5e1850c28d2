"""The contract of stores: what extensions store with changes of asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import LeaseLostError, StoreError
from answerback.ports.claims import Fence
from answerback.ports.extension_rows import NewRow, RowTransaction
from answerback.ports.store import Decision, Store, Write
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, end_decision

_TABLE = "outcomes"
_SLOW = """WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50000)
    SELECT count(*) FROM numbers"""


async def _add(store: Store, ask_id: str, *rows: NewRow) -> None:
    def decide(ask: Ask | None) -> Decision[None]:
        assert ask is not None
        return Decision(Write(ask, rows=rows), None)

    await store.asks.change(ask_id, decide)


class RowsContract:
    """Rows of extensions."""

    @pytest.mark.rule("PLUGIN-9")
    async def test_rows_are_stored_with_new_and_changed_asks_and_keep_their_order(
        self, store: Store
    ) -> None:
        first, second, other = (NewRow(name, {"n": name}) for name in (_TABLE, _TABLE, "other"))
        await store.asks.create(Write(new_ask(1), rows=(first, other)), None)
        await _add(store, "ask_1", second, second)
        found = await store.rows.list(_TABLE)
        assert [(row.ask_id, row.value, row.at) for row in found] == [
            ("ask_1", {"n": _TABLE}, 1_000.0)
        ] * 3
        numbers = [row.number for row in found]
        assert numbers == sorted(set(numbers))
        after = await store.rows.list(_TABLE, after=numbers[0], limit=1)
        assert [row.number for row in after] == numbers[1:2]
        assert [row.value for row in await store.rows.of_ask("other", "ask_1")] == [{"n": "other"}]
        assert await store.rows.of_ask("other", "ask_2") == []

    @pytest.mark.rule("PLUGIN-9")
    async def test_a_row_of_a_change_that_is_not_stored_is_not_stored(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(1)), None)

        def decide(ask: Ask | None) -> Decision[None]:
            assert ask is not None
            return Decision(Write(ask, rows=(NewRow(_TABLE, "\ud800"),)), None)

        with pytest.raises(Exception, match="text"):
            await store.asks.change("ask_1", decide)
        await store.asks.change("ask_1", answer_decision(), delivery="Ev1")
        await store.asks.change(
            "ask_1",
            lambda ask: Decision(Write(ask, rows=(NewRow(_TABLE, 1),)) if ask else None, None),
            delivery="Ev1",
        )
        assert await store.rows.list(_TABLE) == []

    @pytest.mark.rule("PLUGIN-9")
    async def test_deleted_rows_are_gone_and_their_numbers_are_not_used_again(
        self, store: Store
    ) -> None:
        await store.asks.create(
            Write(new_ask(1), rows=(NewRow(_TABLE, 1), NewRow("other", 2))), None
        )
        [row] = await store.rows.list(_TABLE)
        [other] = await store.rows.list("other")
        await store.rows.delete(_TABLE, [row.number, other.number])
        await store.rows.delete(_TABLE, [])
        assert await store.rows.list(_TABLE) == []
        assert await store.rows.list("other") == [other], "a table deletes only its own rows"
        await store.rows.delete("other", [other.number])
        await _add(store, "ask_1", NewRow(_TABLE, 3))
        [again] = await store.rows.list(_TABLE)
        assert again.number > other.number

    @pytest.mark.rule("PLUGIN-9")
    async def test_old_rows_of_a_table_are_pruned(self, store: Store) -> None:
        for number, at in ((1, 1_000.0), (2, 2_000.0)):
            rows = (NewRow(_TABLE, number), NewRow("other", number))
            await store.asks.create(Write(new_ask(number, at=at), rows=rows), None)
        await store.rows.prune(_TABLE, 1_500.0)
        assert [row.value for row in await store.rows.list(_TABLE)] == [2]
        assert [row.value for row in await store.rows.list("other")] == [1, 2]

    @pytest.mark.rule("PLUGIN-9")
    async def test_the_rows_of_an_erased_ask_are_deleted(self, store: Store) -> None:
        for number in (1, 2):
            await store.asks.create(Write(new_ask(number), rows=(NewRow(_TABLE, number),)), None)
        await store.asks.change("ask_1", end_decision())
        await store.erasure.erase("ask_1", 3_000.0, ())
        assert [row.ask_id for row in await store.rows.list(_TABLE)] == ["ask_2"]

    @pytest.mark.rule("PLUGIN-9")
    async def test_json_is_written_to_a_column_and_read_in_order(self, store: Store) -> None:
        save = "INSERT INTO away (person, value, at) VALUES {values}"
        values = [{"n": "\u00fc'$1{}"}, [1, None], {}]
        await store.rows.write(save, [[f"p{n}", each, 9.0 - n] for n, each in enumerate(values)])
        assert list(await store.rows.read_values("away", order="at")) == values[::-1]
        with pytest.raises(StoreError, match="text"):
            await store.rows.write(save, [["p9", {"n": "\ud800"}, 1.0]])
        assert len(await store.rows.read_values("away", order="at")) == 3

    @pytest.mark.rule("PLUGIN-9")
    async def test_statements_of_a_transaction_are_stored_together_or_not_at_all(
        self, store: Store
    ) -> None:
        add = "INSERT INTO away (person, value, at) VALUES ($1, $2, $3)"

        async def fail(tx: RowTransaction) -> None:
            await tx.execute(add, "ann", "1", 1.0)
            assert await tx.execute("SELECT person FROM away") == [("ann",)]
            await tx.execute("INSERT INTO away (person) VALUES (NULL)")

        async def add_one(tx: RowTransaction) -> None:
            await tx.execute(add, "ann", "1", 1.0)

        with pytest.raises(StoreError):
            await store.rows.transact(fail, lock="away")
        with pytest.raises(LeaseLostError):
            await store.rows.transact(add_one, fence=Fence("rows", 1))
        assert await store.rows.read("SELECT person FROM away") == []

    @pytest.mark.rule("PLUGIN-9")
    async def test_who_counts_under_the_lock_of_a_table_counts_what_others_have_added(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        add = "INSERT INTO away (person, value, at) VALUES ($1, $2, $3)"

        def add_if_alone(name: str) -> Callable[[RowTransaction], Coroutine[Any, Any, bool]]:
            async def run(tx: RowTransaction) -> bool:
                [(count,)] = await tx.execute("SELECT count(*) FROM away")
                await tx.execute(_SLOW)  # so that others count meanwhile, if they can
                if not count:
                    await tx.execute(add, name, "1", 1.0)
                return not count

            return run

        other = make_store()
        await other.open()
        try:
            added = await asyncio.gather(
                *(
                    each.rows.transact(add_if_alone(f"{n}"), lock="away")
                    for n, each in enumerate((store, other) * 2)
                )
            )
        finally:
            await other.close()
        assert added.count(True) == 1
