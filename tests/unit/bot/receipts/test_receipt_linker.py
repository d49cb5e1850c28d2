"""The linker: receipts get into the chain soon, whoever is killed and whatever fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from answerback.core.errors import LeaseLostError, StoreError
from answerback.ports.claims import Claim, Fence
from answerback_receipts import linker as receipt_linker
from answerback_receipts.checks import check, check_store
from answerback_receipts.linker import ReceiptLinker
from answerback_receipts.stored_receipts import NewLink, StoredReceipt
from answerback_storage.sqlite.store import SqliteStore
from answerback_storage.sqlite.writer_thread import JobThread
from tests.service_support import WAIT
from tests.unit.bot.receipt_support import Signed, chain_of

ANN, BEN = Claim("ann", 60.0), Claim("ben", 60.0)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Poll until something is stored that sends no notification."""
    async with asyncio.timeout(WAIT):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.01)


@pytest.mark.rule("RCPT-2")
async def test_receipts_are_linked_within_a_second_of_their_outcomes(signed: Signed) -> None:
    running = asyncio.create_task(signed.linker.run())
    try:
        for number in (1, 2):
            ask = await signed.decided()

            async def linked(ask: Any = ask) -> bool:
                return (await signed.stored(ask)).n is not None

            await until(linked)
            assert (await signed.stored(ask)).n == number
            assert check(await signed.receipt(ask), signed.keys).faults == []
    finally:
        running.cancel()
    assert receipt_linker._GATHERING + max(receipt_linker._POLL, ReceiptLinker.sharing) < 1


@pytest.mark.rule("RCPT-2")
async def test_links_are_committed_with_what_comes_next(signed: Signed) -> None:
    if not isinstance(signed.store, SqliteStore):
        pytest.skip("each transaction of PostgreSQL has a connection of its own")
    linker = signed.another_linker(sharing=60.0)
    ask = await signed.decided()
    linking = asyncio.create_task(linker.link_all())
    writer = signed.store.database._writer
    assert isinstance(writer, JobThread)

    async def is_waiting() -> bool:
        return bool(writer._patient)

    await until(is_waiting)
    assert (await signed.stored(ask)).n is None
    await signed.submit()
    assert await linking
    assert (await signed.stored(ask)).n == 1


@pytest.mark.rule("RCPT-2")
async def test_two_processes_make_one_chain(open_store: Callable[[], Any]) -> None:
    ann = Signed(await open_store(), ANN)
    ben = Signed(await open_store(), BEN, ann.key)
    for one in (ann, ben) * 6:
        await one.decided()
    tasks = [asyncio.create_task(one.linker.run()) for one in (ann, ben)]
    try:

        async def whole() -> bool:
            return len(await ann.linker.receipts.list_linked(0, 99)) == 12

        await until(whole)
    finally:
        for task in tasks:
            task.cancel()
    assert (await check_store(ben.store, ann.keys)).lines == 12


@pytest.mark.rule("RCPT-2")
async def test_another_process_links_what_a_killed_one_left_behind(
    open_store: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = Signed(await open_store(), ANN)
    ben = Signed(await open_store(), BEN, ann.key)
    await ann.decided()
    killed = asyncio.Event()

    async def die(*_: object) -> None:
        killed.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(ann.linker.receipts, "add_links", die)
    dying = asyncio.create_task(ann.linker.link_all())
    await killed.wait()
    dying.cancel()  # it holds the lease, and no longer does anything
    assert not await ben.linker.link_all()
    running = asyncio.create_task(ben.linker.run())
    try:

        async def linked() -> bool:
            return bool(await ben.linker.receipts.last_link())

        await until(linked)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await dying
    assert (await check_store(ben.store, ann.keys)).lines == 1


@pytest.mark.rule("RCPT-2")
async def test_links_are_made_once_the_store_works_again_and_the_log_says_so_once(
    signed: Signed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    linker = signed.another_linker(first_pause=0.001)
    pauses, works = 3, linker.receipts.list_unlinked

    async def fail(limit: int) -> Sequence[StoredReceipt]:
        nonlocal pauses
        pauses -= 1
        if pauses < 0:
            return await works(limit)
        raise StoreError("The disk is full.")

    monkeypatch.setattr(linker.receipts, "list_unlinked", fail)
    ask = await signed.decided()

    def lines() -> list[logging.LogRecord]:
        return [each for each in caplog.records if "The chain of receipts" in each.getMessage()]

    async def works_again() -> bool:
        return len(lines()) > 1

    running = asyncio.create_task(linker.run())
    try:
        await until(works_again)
    finally:
        running.cancel()
    assert (await signed.stored(ask)).n == 1
    assert [vars(each)["action"] for each in lines()] == [
        "platform_unreachable",
        "platform_reached",
    ]
    assert "The disk is full." in lines()[0].getMessage()


@pytest.mark.rule("RCPT-2")
async def test_the_lease_is_kept_and_its_holder_alone_adds_links(
    open_store: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = Signed(await open_store(), ANN)
    ben = Signed(await open_store(), BEN, ann.key)
    takes, take = 0, ann.store.leases.take

    async def count(name: str, claim: Claim) -> int | None:
        nonlocal takes
        takes += 1
        return await take(name, claim)

    monkeypatch.setattr(ann.store.leases, "take", count)
    for _ in range(3):
        await ann.decided()
        assert await ann.linker.link_all()
    assert takes == 1
    await ben.decided()
    assert not await ben.linker.link_all()
    assert await ann.linker.link_all()
    monkeypatch.setattr(ann.linker, "_renew_at", 0.0)
    await ann.decided()
    assert await ann.linker.link_all()
    assert takes == 2
    assert (await check_store(ben.store, ann.keys)).lines == 5


@pytest.mark.rule("RCPT-2")
async def test_a_long_backlog_is_linked_in_several_transactions(
    signed: Signed,
) -> None:
    for _ in range(5):
        await signed.decided()
    assert await signed.another_linker(batch=2).link_all()
    verdict = await check_store(signed.store, signed.keys)
    assert (verdict.lines, verdict.unlinked, verdict.fault) == (5, 0, None)


@pytest.mark.rule("RCPT-2")
@pytest.mark.parametrize("when", ["while it adds links", "afterwards"])
async def test_a_process_that_ends_leaves_the_lease_to_the_others(
    open_store: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    ann = Signed(await open_store(), ANN)
    ben = Signed(await open_store(), BEN, ann.key)
    await ann.decided()
    works, linked = ann.linker.receipts.add_links, asyncio.Event()

    async def add(links: Sequence[NewLink], fence: Fence, within: float) -> None:
        await works(links, fence, within)
        linked.set()
        if when == "while it adds links":
            await asyncio.Event().wait()

    monkeypatch.setattr(ann.linker.receipts, "add_links", add)
    running = asyncio.create_task(ann.linker.run())
    async with asyncio.timeout(WAIT):
        await linked.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await ben.decided()
    assert await ben.linker.link_all()
    assert (await check_store(ben.store, ann.keys)).lines == 2


@pytest.mark.rule("RCPT-2")
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(
    "error", [LeaseLostError("receipts"), StoreError("The connection is lost.")]
)
async def test_after_a_failure_of_unknown_outcome_the_chain_goes_on_from_its_end(
    signed: Signed, monkeypatch: pytest.MonkeyPatch, error: StoreError, *, added: bool
) -> None:
    await chain_of(signed, 2)
    works = signed.linker.receipts.add_links

    async def fail(links: Sequence[NewLink], fence: Fence, _within: float) -> None:
        monkeypatch.setattr(signed.linker.receipts, "add_links", works)
        if added:
            await works(links, fence)
        raise error

    monkeypatch.setattr(signed.linker.receipts, "add_links", fail)
    await signed.decided()
    with suppress(StoreError):
        await signed.linker.link_all()
    await signed.decided()
    assert await signed.linker.link_all()
    verdict = await check_store(signed.store, signed.keys)
    assert (verdict.lines, verdict.unlinked, verdict.fault) == (4, 0, None)


@pytest.mark.rule("RCPT-2")
async def test_what_another_process_has_just_linked_is_not_linked_again(
    open_store: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = Signed(await open_store(), ANN)
    ben = Signed(await open_store(), BEN, ann.key)
    ask = await ann.decided()
    works = ben.linker.receipts.list_unlinked

    async def read_before(limit: int) -> Sequence[StoredReceipt]:
        monkeypatch.setattr(ben.linker.receipts, "list_unlinked", works)
        stale = await works(limit)
        assert await ann.linker.link_all()
        await ann.store.leases.release(receipt_linker.LEASE, ANN.holder)
        return stale

    monkeypatch.setattr(ben.linker.receipts, "list_unlinked", read_before)
    assert await ben.linker.link_all()
    assert (await ann.stored(ask)).n == 1
    assert (await check_store(ann.store, ann.keys)).lines == 1
