"""Contract tests for the changes that an export follows: each is listed, after the cursor of every earlier list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from answerback.core.ask import Ask, RecordEntry
from answerback.ports.store import Decision, Store, Write
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import end_decision, read_only_decision

_NOTE = RecordEntry(at=1_000.0, kind="note", body={"seen": True})


def _created(number: int) -> Write:
    return Write(new_ask(number), (_NOTE,))


async def _all_after(store: Store, after: str, limit: int = 100) -> tuple[list[str], str]:
    """Return the asks that have changed, and the cursor behind them."""
    ids: list[str] = []
    while True:
        changed = await store.record.list_changed(after, limit)
        ids += changed.ids
        after = changed.after
        if changed.is_last:
            return ids, after


class ChangesContract:
    """`Record.list_changed`."""

    @pytest.mark.rule("API-19")
    async def test_asks_are_listed_in_the_order_of_their_changes(self, store: Store) -> None:
        assert await _all_after(store, "") == ([], "")
        for number in (1, 2, 3):
            await store.asks.create(_created(number), None)
        await store.record.add(None, _NOTE)
        ids, after = await _all_after(store, "")
        assert ids == ["ask_1", "ask_2", "ask_3"]
        assert await _all_after(store, after) == ([], after)
        await store.record.add("ask_2", _NOTE)
        await store.record.add("ask_1", _NOTE)
        await store.record.add("ask_2", _NOTE)
        ids, after = await _all_after(store, after)
        assert ids == ["ask_2", "ask_1"], "each once"
        await store.asks.change("ask_3", read_only_decision)
        await store.maintenance.prune_audit(2_000.0)
        assert await _all_after(store, after) == ([], after)

    @pytest.mark.rule("API-19")
    async def test_pages_continue_where_the_one_before_ended(self, store: Store) -> None:
        for number in range(7):
            await store.asks.create(_created(number), None)
        assert (await _all_after(store, "", 2))[0] == [f"ask_{number}" for number in range(7)]

    @pytest.mark.rule("API-19")
    async def test_an_erased_ask_is_listed_again(self, store: Store) -> None:
        await store.asks.create(_created(1), None)
        await store.asks.change("ask_1", end_decision())
        _, after = await _all_after(store, "")
        await store.erasure.erase("ask_1", 2_000.0, ())
        assert (await _all_after(store, after))[0] == ["ask_1"]

    @pytest.mark.rule("API-19")
    @pytest.mark.parametrize(
        "cursor", ["?", "YXNrczox", "Y2hhbmdlczowOjk5", "Y2hhbmdlczowOjA", "Y2hhbmdlczowOjAx"]
    )
    async def test_an_unknown_cursor_is_refused(self, store: Store, cursor: str) -> None:
        """Not one at all, one of a list of asks, and one behind a line that this database does not have."""
        await store.asks.create(_created(1), None)
        with pytest.raises(ValueError, match="start over"):
            await store.record.list_changed(cursor, 10)

    @pytest.mark.rule("API-19")
    async def test_nothing_is_skipped_while_many_changes_are_committed(self, store: Store) -> None:
        await _follow_while_writing(store, [store])


class SharedChangesContract:
    """`Record.list_changed` of a store that several processes use."""

    @pytest.mark.rule("API-19")
    async def test_nothing_is_skipped_while_several_processes_commit(
        self, make_store: Callable[[], Store], store: Store
    ) -> None:
        other = make_store()
        await other.open()
        await _follow_while_writing(store, [store, other])
        await other.close()


async def _follow_while_writing(store: Store, writers: Sequence[Store]) -> None:
    """Assert that whoever follows the changes reads every ask after its last one."""
    names = [f"ask_{number}" for number in range(12)]
    for number in range(12):
        await store.asks.create(_created(number), None)
    revisions: dict[str, int] = {}

    async def follow(after: str) -> str:
        ids, after = await _all_after(store, after, 3)
        for ask_id in ids:
            ask = await store.asks.get(ask_id)
            assert ask is not None
            revisions[ask_id] = ask.revision
        return after

    async def write(writer: Store, name: str) -> None:
        for _ in range(8):
            await writer.asks.change(name, _add_revision)

    writing = asyncio.gather(*(write(writer, name) for name in names for writer in writers))
    after = ""
    while not writing.done():
        after = await follow(after)
        await asyncio.sleep(0)
    await writing
    await follow(after)
    assert revisions == dict.fromkeys(names, 1 + 8 * len(writers))


def _add_revision(ask: Ask | None) -> Decision[None]:
    assert ask is not None
    return Decision(Write(replace(ask, revision=ask.revision + 1), (_NOTE,)), None)
