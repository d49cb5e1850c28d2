"""The chain of receipts: made soon, without gap or fork, and whatever is done to it is found."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.canonical_json import canonical
from answerback.core.errors import StoreError, UnreadableRowError
from answerback.ports.claims import Claim
from answerback.ports.receipts import StoredReceipt
from answerback.service.receipt_checks import ChainVerdict, check, check_store, parse
from answerback.testing.memory_store.database import Tables
from answerback.testing.memory_store.store import MemoryStore
from answerback.workers import receipt_linker
from tests.service_support import WAIT
from tests.unit.bot.receipt_support import Signed

ANN, BEN = Claim("ann", 60.0), Claim("ben", 60.0)


@pytest.fixture
async def tables() -> Tables:
    return Tables()


@pytest.fixture
async def open_store(tables: Tables) -> AsyncIterator[Callable[[], Any]]:
    """Open one more process's view of the tables."""
    opened: list[MemoryStore] = []

    async def another() -> MemoryStore:
        store = MemoryStore(tables)
        await store.open()
        opened.append(store)
        return store

    yield another
    for store in opened:
        await store.close()


@pytest.fixture
async def signed(open_store: Callable[[], Any]) -> Signed:
    return Signed(await open_store())


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Poll until something is stored that sends no notification."""
    async with asyncio.timeout(WAIT):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.01)


async def chain_of(signed: Signed, length: int = 4) -> list[StoredReceipt]:
    """Fill the chain, and return its lines."""
    for number in range(length):
        await signed.decided("allow" if number % 2 else "deny")
    await signed.linker.link_all()
    return [*await signed.store.receipts.list_linked(0, 99)]


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
    assert receipt_linker._GATHERING + receipt_linker._TRY_AGAIN < 1


@pytest.mark.rule("RCPT-2")
async def test_each_link_names_the_one_before(signed: Signed) -> None:
    lines = await chain_of(signed)
    links = [json.loads(line.link or "") for line in lines]
    assert [link["n"] for link in links] == [1, 2, 3, 4]
    assert links[0]["previous"] is None
    assert len({link["previous"] for link in links}) == 4
    last = json.loads(lines[-1].link or "")
    assert set(last) == {"n", "digest", "previous", "signature", "kid"}
    verdict = await check_store(signed.store, signed.keys)
    assert (verdict.lines, verdict.unlinked, verdict.fault) == (4, 0, None)


@pytest.mark.rule("RCPT-2")
async def test_two_processes_make_one_chain(open_store: Callable[[], Any]) -> None:
    ann = Signed(await open_store(), ANN)
    ben = Signed(await open_store(), BEN, ann.key)
    for one in (ann, ben) * 6:
        await one.decided()
    tasks = [asyncio.create_task(one.linker.run()) for one in (ann, ben)]
    try:

        async def whole() -> bool:
            return len(await ann.store.receipts.list_linked(0, 99)) == 12

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

    monkeypatch.setattr(ann.store.receipts, "add_links", die)
    dying = asyncio.create_task(ann.linker.link_all())
    await killed.wait()
    dying.cancel()  # it holds the lease, and no longer does anything
    assert not await ben.linker.link_all()
    running = asyncio.create_task(ben.linker.run())
    try:

        async def linked() -> bool:
            return bool(await ben.store.receipts.last_link())

        await until(linked)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await dying
    assert (await check_store(ben.store, ann.keys)).lines == 1


@pytest.mark.rule("RCPT-2")
async def test_links_are_made_once_the_store_works_again(
    signed: Signed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failed = asyncio.Event()
    works = signed.store.receipts.list_unlinked

    async def fail(_limit: int) -> list[StoredReceipt]:
        monkeypatch.setattr(signed.store.receipts, "list_unlinked", works)
        failed.set()
        raise StoreError("The disk is full.")

    monkeypatch.setattr(signed.store.receipts, "list_unlinked", fail)
    ask = await signed.decided()
    running = asyncio.create_task(signed.linker.run())
    try:
        await failed.wait()

        async def linked() -> bool:
            return (await signed.stored(ask)).n == 1

        await until(linked)
    finally:
        running.cancel()
    [line] = [each for each in caplog.records if vars(each).get("action") == "unlinked"]
    assert (line.levelno, "The disk is full." in line.getMessage()) == (logging.WARNING, True)


def spoil(tables: Tables, line: StoredReceipt, **changes: Any) -> None:
    tables.receipts[line.ask_id] = line._replace(**changes)


@pytest.mark.rule("RCPT-8")
async def test_the_first_line_that_was_changed_is_named(signed: Signed, tables: Tables) -> None:
    lines = await chain_of(signed)

    async def fault() -> str:
        verdict = await check_store(signed.store, signed.keys)
        assert verdict.fault is not None
        return verdict.fault

    second, third = lines[1], lines[2]
    spoil(tables, second, receipt=second.receipt.replace('"allow"', '"deny"'))
    assert "Line 2 (" in await fault()
    assert "was changed" in await fault()
    spoil(tables, second, receipt=third.receipt)
    assert "Line 2 (" in await fault()
    spoil(tables, second, link=(second.link or "").replace('"n":2', '"n":3'))
    assert "was moved: it was signed as line 3" in await fault()
    spoil(
        tables, second, link=(second.link or "").replace('"digest":"sha256:', '"digest":"sha256:0')
    )
    assert "another receipt's" in await fault()
    spoil(tables, second, link=third.link, n=3)
    spoil(tables, third, link=second.link, n=2)
    assert "Line 2 (" in await fault()
    spoil(tables, second)
    spoil(tables, third)
    await_fine = await check_store(signed.store, signed.keys)
    assert await_fine.fault is None
    del tables.receipts[second.ask_id]
    assert await fault() == "Line 2 is missing: line 3 comes after line 1."
    spoil(tables, second)
    ask = tables.asks[third.ask_id]
    tables.asks[third.ask_id] = replace(ask, responders=("U9",))
    assert (await check_store(signed.store, signed.keys)).fault is None
    given = replace(ask.walk.answers[0], value="allow")
    tables.asks[third.ask_id] = replace(ask, walk=replace(ask.walk, answers=(given,)))
    assert "Line 3" in await fault()
    assert "not what was signed: answers, decisions" in await fault()


@pytest.mark.rule("RCPT-8")
async def test_a_chain_that_was_cut_and_goes_on_elsewhere_is_found(
    signed: Signed, tables: Tables
) -> None:
    lines = await chain_of(signed)
    second, third = lines[1], lines[2]
    link = json.loads(third.link or "")
    link["previous"] = json.loads(second.link or "")["previous"]
    spoil(tables, third, link=json.dumps(link))
    fault = (await check_store(signed.store, signed.keys)).fault
    assert fault is not None
    assert fault.endswith(
        "does not follow the line before: one of them was changed, removed or moved."
    )
    link = json.loads(third.link or "")
    link["signature"] = link["signature"][::-1]
    spoil(tables, third, link=json.dumps(link))
    fault = (await check_store(signed.store, signed.keys)).fault
    assert fault is not None
    assert fault.endswith("was changed. The signature of its link is wrong.")


@pytest.mark.rule("RCPT-8")
async def test_an_old_backup_is_found_by_a_receipt_that_was_kept(
    signed: Signed, tables: Tables
) -> None:
    await chain_of(signed, 2)
    backup = {**tables.receipts}
    lost = await signed.decided()
    await signed.linker.link_all()
    kept = await signed.receipt(lost)
    fine = await check_store(signed.store, signed.keys, kept)
    assert (fine.lines, fine.fault) == (3, None)
    tables.receipts = backup
    short = await check_store(signed.store, signed.keys, kept)
    assert (await check_store(signed.store, signed.keys)).fault is None, "alone it looks whole"
    await signed.decided()
    await signed.linker.link_all()
    other = await check_store(signed.store, signed.keys, kept)
    for verdict in (short, other):
        assert verdict.fault is not None
        assert "Line 3 of the chain is not the one in the receipt that was kept" in verdict.fault
        assert "restored from an older backup" in verdict.fault


@pytest.mark.rule("RCPT-8")
async def test_receipts_that_are_not_in_the_chain_yet_are_checked_too(
    signed: Signed, tables: Tables
) -> None:
    ask = await signed.decided()
    assert (await check_store(signed.store, signed.keys)).unlinked == 1
    line = await signed.stored(ask)
    spoil(tables, line, receipt=line.receipt.replace('"allow"', '"deny"'))
    fault = (await check_store(signed.store, signed.keys)).fault
    assert fault is not None
    assert fault.startswith(f"The receipt of {ask.id}, which is not in the chain yet: ")
    spoil(tables, line)
    del tables.asks[ask.id]
    fault = (await check_store(signed.store, signed.keys)).fault
    assert fault is not None
    assert fault.endswith("Its ask cannot be read.")


@pytest.mark.rule("RCPT-8")
async def test_an_ask_that_cannot_be_read_is_named(
    signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = await chain_of(signed, 1)

    async def fail(_ask_id: str) -> None:
        raise UnreadableRowError("It is damaged.")

    monkeypatch.setattr(signed.store.asks, "get", fail)
    fault = (await check_store(signed.store, signed.keys)).fault
    assert fault == f"Line 1 ({lines[0].ask_id}) was changed. Its ask cannot be read."


@pytest.mark.rule("RCPT-8")
async def test_an_empty_store_has_an_empty_chain(signed: Signed) -> None:
    assert await check_store(signed.store, signed.keys) == ChainVerdict()


@pytest.mark.rule("RCPT-9")
async def test_every_change_of_a_receipt_is_found(signed: Signed) -> None:
    ask = await signed.decided()
    await signed.linker.link_all()
    text = json.dumps(await signed.receipt(ask))
    whole = parse(text.encode())
    assert whole is not None
    assert check(whole, signed.keys).faults == []

    def faults(change: Callable[[Any], object]) -> list[str]:
        body = json.loads(text)
        change(body)
        changed = parse(json.dumps(body).encode())
        assert changed is not None
        verdict = check(changed, signed.keys)
        assert not verdict.proves
        return verdict.faults

    def set_text(body: Any) -> None:
        next(iter(body["disclosed"].values()))[1] = "Run ls"

    def add_text(body: Any) -> None:
        other = Signed(signed.store)
        assert other.keys
        body["disclosed"]["sha256:" + "0" * 64] = ["salt"]

    payload = "its signature is wrong"
    for change, expected in (
        (lambda b: b["receipt"]["payload"].update(status="expired"), payload),
        (lambda b: b["receipt"]["payload"]["answers"].update(decision="deny"), payload),
        (lambda b: b["receipt"].update(signature="AAAA"), payload),
        (lambda b: b["receipt"].update(kid="other"), "not among the keys given"),
        (set_text, "a text beside it was changed"),
        (add_text, "a text beside it was changed"),
        (lambda b: b["link"].update(n=9), "the signature of its link is wrong"),
        (lambda b: b["link"].update(digest="sha256:" + "0" * 64), "another receipt's"),
        (lambda b: b["link"].update(kid="other"), "not among the keys given"),
    ):
        found = faults(change)
        assert any(expected in fault.lower() for fault in found), (expected, found)
    moved = json.loads(text)
    elsewhere = await signed.receipt(await signed.decided("deny"))
    moved["disclosed"] |= elsewhere["disclosed"]
    parsed = parse(json.dumps(moved).encode())
    assert parsed is not None
    assert any("does not belong to it" in fault for fault in check(parsed, signed.keys).faults)


@pytest.mark.rule("RCPT-9")
async def test_a_receipt_of_another_version_is_not_explained(signed: Signed) -> None:
    body: Any = await signed.receipt(await signed.decided())
    body["receipt"]["payload"]["version"] = 2
    body["receipt"]["signature"] = signed.key.sign(canonical(body["receipt"]["payload"]))
    assert check(body, signed.keys).faults == [
        "It was made by another version of Answerback. Use that version to check it."
    ]


@pytest.mark.rule("RCPT-9")
@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b'{"receipt": NaN}'])
def test_what_is_no_receipt_is_not_read_as_one(text: bytes) -> None:
    assert parse(text) is None


@pytest.mark.rule("RCPT-2")
async def test_what_another_process_has_just_linked_is_not_linked_again(
    signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await signed.decided()
    stale, works = [await signed.stored(ask)], signed.store.receipts.list_unlinked
    await signed.linker.link_all()

    async def read_before(_limit: int) -> list[StoredReceipt]:
        monkeypatch.setattr(signed.store.receipts, "list_unlinked", works)
        return stale

    monkeypatch.setattr(signed.store.receipts, "list_unlinked", read_before)
    assert await signed.linker.link_all()
    assert (await check_store(signed.store, signed.keys)).lines == 1
