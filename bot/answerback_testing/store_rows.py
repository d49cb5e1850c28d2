"""The contract of stores: what extensions store with changes of asks."""

from __future__ import annotations

import pytest

from answerback.core.ask import Ask
from answerback.ports.extension_rows import NewRow
from answerback.ports.store import Decision, Store, Write
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, end_decision

_TABLE = "outcomes"


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
