"""Contract tests for receipts: stored with an outcome, linked into one chain, and kept when their ask is erased."""

from __future__ import annotations

import asyncio

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import LeaseLostError, StoreError
from answerback.ports.claims import Claim, Fence
from answerback.ports.extension_rows import AskRow
from answerback.ports.store import Decision, Store, Write
from answerback_receipts.stored_receipts import (
    NewLink,
    NewReceipt,
    StoredReceipt,
    StoredReceipts,
)
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import end_decision

_CLAIM = Claim("linker", 60.0)
_LEASE = "receipts"


def receipt_of(number: int) -> NewReceipt:
    """Return an example of a receipt."""
    return NewReceipt(f'{{"payload":{number}}}', '{"salt":"c2FsdA"}')


def receipt_row(receipt: NewReceipt) -> AskRow:
    """Return a receipt as it is stored with the outcome."""
    return AskRow("receipts", NewReceipt._fields, receipt)


async def end_with_receipt(store: Store, number: int) -> StoredReceipt:
    """Create an ask and end it with a receipt; return the receipt as it should be stored."""
    await store.asks.create(Write(new_ask(number)), None)

    def decide(ask: Ask | None) -> Decision[None]:
        write = end_decision()(ask).write
        assert write is not None
        return Decision(write._replace(ask_rows=(receipt_row(receipt_of(number)),)), None)

    await store.asks.change(f"ask_{number}", decide)
    return StoredReceipt(f"ask_{number}", *receipt_of(number), None, None)


async def take_lease(store: Store) -> Fence:
    """Take the lease under which links are added."""
    epoch = await store.leases.take(_LEASE, _CLAIM)
    assert epoch is not None
    return Fence(_LEASE, epoch)


class ReceiptsContract:
    """Tests that every store passes: each receipt is kept once, in one chain."""

    @pytest.mark.rule("RCPT-1")
    async def test_a_receipt_is_stored_with_the_outcome(self, store: Store) -> None:
        assert await StoredReceipts(store.rows).get("ask_1") is None
        expected = await end_with_receipt(store, 1)
        assert await StoredReceipts(store.rows).get("ask_1") == expected
        assert await StoredReceipts(store.rows).list_unlinked(9) == [expected]
        assert await StoredReceipts(store.rows).last_link() is None

    @pytest.mark.rule("RCPT-1")
    async def test_an_ask_that_ends_at_once_has_a_receipt(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(1), ask_rows=(receipt_row(receipt_of(1)),)), None)
        assert await StoredReceipts(store.rows).get("ask_1") == StoredReceipt(
            "ask_1", *receipt_of(1), None, None
        )

    @pytest.mark.rule("RCPT-2")
    async def test_links_are_added_at_the_end_of_one_chain(self, store: Store) -> None:
        for number in (1, 2, 3):
            await end_with_receipt(store, number)
        fence = await take_lease(store)
        found = await StoredReceipts(store.rows).list_unlinked(2)
        assert [each.ask_id for each in found] == ["ask_1", "ask_2"]
        links = [NewLink("ask_1", 1, '{"n":1}'), NewLink("ask_2", 2, '{"n":2}')]
        await StoredReceipts(store.rows).add_links(links, fence)
        await StoredReceipts(store.rows).add_links([NewLink("ask_3", 3, '{"n":3}')], fence)
        assert await StoredReceipts(store.rows).list_unlinked(9) == []
        chain = await StoredReceipts(store.rows).list_linked(0, 9)
        assert [(each.ask_id, each.n, each.link) for each in chain] == [
            ("ask_1", 1, '{"n":1}'),
            ("ask_2", 2, '{"n":2}'),
            ("ask_3", 3, '{"n":3}'),
        ]
        assert await StoredReceipts(store.rows).list_linked(1, 1) == [chain[1]]
        assert await StoredReceipts(store.rows).last_link() == chain[2]
        assert await StoredReceipts(store.rows).get("ask_2") == chain[1]

    @pytest.mark.rule("RCPT-2")
    async def test_the_chain_has_no_gap_and_no_fork(self, store: Store) -> None:
        for number in (1, 2, 3):
            await end_with_receipt(store, number)
        fence = await take_lease(store)
        await StoredReceipts(store.rows).add_links([NewLink("ask_1", 1, "{}")], fence)
        for wrong in (
            [NewLink("ask_2", 3, "{}")],  # a gap
            [NewLink("ask_2", 1, "{}")],  # a fork
            [NewLink("ask_2", 2, "{}"), NewLink("ask_1", 3, "{}")],  # linked twice
            [NewLink("ask_9", 2, "{}")],  # nothing
        ):
            with pytest.raises(StoreError, match="chain of receipts"):
                await StoredReceipts(store.rows).add_links(wrong, fence)
        assert [each.n for each in await StoredReceipts(store.rows).list_linked(0, 9)] == [1]
        both = [NewLink("ask_2", 2, "{}"), NewLink("ask_3", 3, "{}")]
        done = await asyncio.gather(
            *(StoredReceipts(store.rows).add_links(both, fence) for _ in range(3)),
            return_exceptions=True,
        )
        assert [each for each in done if not isinstance(each, StoreError)] == [None]
        assert [each.n for each in await StoredReceipts(store.rows).list_linked(0, 9)] == [1, 2, 3]

    @pytest.mark.rule("RCPT-2")
    async def test_only_the_holder_of_the_lease_adds_links(self, store: Store) -> None:
        await end_with_receipt(store, 1)
        fence = await take_lease(store)
        with pytest.raises(LeaseLostError):
            await StoredReceipts(store.rows).add_links(
                [NewLink("ask_1", 1, "{}")], fence._replace(epoch=fence.epoch + 1)
            )
        await store.leases.release(_LEASE, _CLAIM.holder)
        with pytest.raises(LeaseLostError):
            await StoredReceipts(store.rows).add_links([NewLink("ask_1", 1, "{}")], fence)
        assert await StoredReceipts(store.rows).list_linked(0, 9) == []

    @pytest.mark.rule("RCPT-3")
    async def test_erasing_deletes_what_stands_beside_a_receipt(self, store: Store) -> None:
        stored, other = await end_with_receipt(store, 1), await end_with_receipt(store, 2)
        await StoredReceipts(store.rows).add_links(
            [NewLink("ask_1", 1, "{}")], await take_lease(store)
        )
        await store.erasure.erase("ask_1", 9_000.0, ())
        erased = stored._replace(beside=None, n=1, link="{}")
        assert await StoredReceipts(store.rows).get("ask_1") == erased
        assert await StoredReceipts(store.rows).list_linked(0, 9) == [erased]
        assert await StoredReceipts(store.rows).get("ask_2") == other

    @pytest.mark.rule("RCPT-4")
    async def test_a_key_is_replaced_only_by_who_had_it(self, store: Store) -> None:
        keys = StoredReceipts(store.rows)
        assert await keys.public_keys() == []
        assert await keys.use_key("first", [], 1.0)
        assert await keys.use_key("first", [], 2.0)
        assert not await keys.use_key("other", [], 3.0)
        assert not await keys.use_key("other", ["another"], 3.0)
        assert await keys.use_key("second", ["first"], 4.0)
        assert await keys.use_key("second", ["first"], 5.0)
        assert not await keys.use_key("first", [], 6.0)
        assert not await keys.use_key("first", ["second"], 6.0), "it was replaced"
        assert await keys.public_keys() == ["first", "second"]

    @pytest.mark.rule("RCPT-4")
    async def test_of_different_first_keys_one_is_used(self, store: Store) -> None:
        names = ["one", "two", "three"]
        used = await asyncio.gather(
            *(StoredReceipts(store.rows).use_key(name, [], 1.0) for name in names)
        )
        assert sum(used) == 1
        assert await StoredReceipts(store.rows).public_keys() == [names[used.index(True)]]
