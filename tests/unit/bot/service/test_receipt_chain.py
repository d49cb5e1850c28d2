"""The chain of receipts: made soon, without gap or fork, and whatever is done to it is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.canonical_json import canonical
from answerback.core.errors import UnreadableRowError
from answerback_receipts import checks as receipt_checks
from answerback_receipts.checks import ChainVerdict, check, check_store, parse
from answerback_receipts.payload import VERSION
from answerback_receipts.stored_receipts import StoredReceipt
from answerback_storage.sqlite.database import SqliteDatabase
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import with_values
from tests.unit.bot.receipt_support import Signed, chain_of


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


def database(signed: Signed) -> SqliteDatabase:
    """The file, for whoever changes what is in it."""
    assert isinstance(signed.store, SqliteStore)
    return signed.store.database


async def spoil(signed: Signed, line: StoredReceipt, **changes: Any) -> None:
    """Store a line as it was, but for these changes."""
    _, *values = line._replace(**changes)
    statement = """INSERT OR REPLACE INTO receipts (seq, receipt, beside, n, link)
        SELECT seq, $2, $3, $4, $5 FROM asks WHERE id = $1"""
    await database(signed).execute(statement, line.ask_id, *values)


async def remove(signed: Signed, ask_id: str) -> None:
    """Remove the receipt of an ask."""
    statement = "DELETE FROM receipts WHERE seq = (SELECT seq FROM asks WHERE id = $1)"
    await database(signed).execute(statement, ask_id)


async def get(signed: Signed, ask_id: str) -> Ask:
    found = await signed.store.asks.get(ask_id)
    assert found is not None
    return found


async def rewrite(signed: Signed, ask: Ask, **changes: Any) -> None:
    """Store an ask as it is, but for these changes."""
    await database(signed).transact(lambda tx: tx.update(ask, with_values(ask, **changes)))


async def restore(signed: Signed, ask: Ask) -> None:
    """Store an ask as it was, also in the columns that an update leaves alone because the ask has not changed."""
    await rewrite(signed, ask)
    status = "UPDATE asks SET status = $2 WHERE id = $1"
    await database(signed).execute(status, ask.id, ask.status.value)


@pytest.mark.rule("RCPT-8")
async def test_the_first_line_that_was_changed_is_named(signed: Signed) -> None:
    lines = await chain_of(signed)

    async def fault() -> str:
        verdict = await check_store(signed.store, signed.keys)
        assert verdict.fault is not None
        return verdict.fault

    second, third = lines[1], lines[2]
    await spoil(signed, second, receipt=second.receipt.replace('"allow"', '"deny"'))
    assert "Line 2 (" in await fault()
    assert "was changed" in await fault()
    await spoil(signed, second, receipt=third.receipt)
    assert "Line 2 (" in await fault()
    await spoil(signed, second, link=(second.link or "").replace('"n":2', '"n":3'))
    assert "was moved: it was signed as line 3" in await fault()
    digest = json.loads(third.link or "")["digest"]
    await spoil(signed, second, link=json.dumps(json.loads(second.link or "") | {"digest": digest}))
    assert "another receipt's" in await fault()
    huge = second.receipt.replace('"payload":{', '"payload":{"more":1' + "0" * 400 + ",")
    infinite = second.receipt.replace('"payload":{', '"payload":{"more":1e999,')
    twice = second.receipt.replace('"payload":{', '"payload":{"answers":{},')
    for garbage in (
        *({"link": "{"}, {"link": "{}"}, {"link": f'{{"n":9,{(second.link or "")[1:]}'}),
        *({"receipt": text} for text in ("{", "[]", huge, infinite, twice)),
    ):
        await spoil(signed, second, **garbage)
        assert await fault() == (
            f"Line 2 ({second.ask_id}) was changed. It is no longer a receipt with a link."
        )
    for beside in ("x", "{}", "[]", '{"salt":5}', '{"salt":"!"}', f'{{"salt":"{"A" * 200}"}}'):
        await spoil(signed, second, beside=beside)
        assert "was changed. What is stored of the ask, or its salt," in await fault()
    await spoil(signed, second)
    stored = await get(signed, second.ask_id)
    for changed in ({"outcome": None}, {"walk": replace(stored.walk, at=99)}):
        await rewrite(signed, stored, **changed)
        assert f"Line 2 ({second.ask_id}) was changed. " in await fault()
    await restore(signed, stored)
    surrogate = "UPDATE asks SET state = replace(state, $2, $2 || $3) WHERE id = $1"
    await database(signed).execute(surrogate, stored.id, '"walk":{', r'"reply":"\ud800",')
    assert f"Line 2 ({second.ask_id}) was changed. " in await fault()
    await restore(signed, stored)
    await spoil(signed, second, beside=None)
    assert "was changed. Its salt is gone, but its ask was not erased." in await fault()
    await spoil(signed, second, link=third.link, n=3)
    await spoil(signed, third, link=second.link, n=2)
    assert "Line 2 (" in await fault()
    await spoil(signed, second)
    await spoil(signed, third)
    await_fine = await check_store(signed.store, signed.keys)
    assert await_fine.fault is None
    await remove(signed, second.ask_id)
    assert await fault() == "Line 2 is missing: line 3 comes after line 1."
    await spoil(signed, second)
    ask = await get(signed, third.ask_id)
    await rewrite(signed, ask, responders=("U9",))
    assert (await check_store(signed.store, signed.keys)).fault is None
    given = replace(ask.walk.answers[0], value="allow")
    await rewrite(signed, ask, walk=replace(ask.walk, answers=(given,)))
    assert "Line 3" in await fault()
    assert "not what was signed: answers, decisions" in await fault()


@pytest.mark.rule("RCPT-8")
async def test_a_chain_that_was_cut_and_goes_on_elsewhere_is_found(signed: Signed) -> None:
    lines = await chain_of(signed)
    second, third = lines[1], lines[2]
    link = json.loads(third.link or "")
    link["previous"] = json.loads(second.link or "")["previous"]
    await spoil(signed, third, link=json.dumps(link))
    fault = (await check_store(signed.store, signed.keys)).fault
    assert fault is not None
    assert fault.endswith(
        "does not follow the line before: one of them was changed, removed or moved."
    )
    link = json.loads(third.link or "")
    link["signature"] = link["signature"][::-1]
    await spoil(signed, third, link=json.dumps(link))
    fault = (await check_store(signed.store, signed.keys)).fault
    assert fault is not None
    assert fault.endswith("was changed. The signature of its link is wrong.")


@pytest.mark.rule("RCPT-8")
async def test_an_old_backup_is_found_by_a_receipt_that_was_kept(signed: Signed) -> None:
    backup = await chain_of(signed, 2)
    lost = await signed.decided()
    await signed.linker.link_all()
    kept = await signed.receipt(lost)
    fine = await check_store(signed.store, signed.keys, kept)
    assert (fine.lines, fine.fault) == (3, None)
    await remove(signed, lost.id)
    for line in backup:
        await spoil(signed, line)
    short = await check_store(signed.store, signed.keys, kept)
    assert (await check_store(signed.store, signed.keys)).fault is None, "alone it looks whole"
    restored = Signed(signed.store, key=signed.key)
    await restored.decided()
    await restored.linker.link_all()
    other = await check_store(signed.store, signed.keys, kept)
    for verdict in (short, other):
        assert verdict.fault is not None
        assert "Line 3 of the chain is not the one in the receipt that was kept" in verdict.fault
        assert "restored from an older backup" in verdict.fault


@pytest.mark.rule("RCPT-8")
async def test_an_old_backup_is_found_by_a_receipt_that_was_kept_before_it_was_linked(
    signed: Signed,
) -> None:
    await chain_of(signed, 2)
    ask = await signed.decided()
    kept = await signed.receipt(ask)
    assert kept["link"] is None
    assert (await check_store(signed.store, signed.keys, kept)).fault is None
    await signed.linker.link_all()
    assert (await check_store(signed.store, signed.keys, kept)).fault is None
    line = await signed.stored(ask)
    await spoil(signed, line, receipt=signed.receipts.make(ask).receipt, n=None, link=None)
    for _ in range(2):
        fault = (await check_store(signed.store, signed.keys, kept)).fault
        assert fault is not None
        assert fault.startswith(f"The store does not have the receipt of {ask.id} that was kept")
        await remove(signed, ask.id)


@pytest.mark.rule("RCPT-8")
async def test_all_receipts_that_are_not_in_the_chain_yet_are_checked(
    signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipt_checks, "_BATCH", 2)
    *_, last = [await signed.decided() for _ in range(5)]
    assert (await check_store(signed.store, signed.keys)).unlinked == 5
    for garbage in ("{", "[]", '{"payload": {}}'):
        await spoil(signed, await signed.stored(last), receipt=garbage)
        fault = (await check_store(signed.store, signed.keys)).fault
        assert fault is not None
        assert fault.endswith("which is not in the chain yet: It is no longer a receipt.")


@pytest.mark.rule("RCPT-8")
async def test_receipts_that_are_not_in_the_chain_yet_are_checked_too(signed: Signed) -> None:
    ask = await signed.decided()
    assert (await check_store(signed.store, signed.keys)).unlinked == 1
    line = await signed.stored(ask)
    await spoil(signed, line, receipt=line.receipt.replace('"allow"', '"deny"'))
    fault = (await check_store(signed.store, signed.keys)).fault
    assert fault is not None
    assert fault.startswith(f"The receipt of {ask.id}, which is not in the chain yet: ")
    await spoil(signed, line)
    await database(signed).execute("UPDATE asks SET state = '{' WHERE id = $1", ask.id)
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
    line = lines[0]
    await spoil(signed, line, n=None, link=None)
    fault = (await check_store(signed.store, signed.keys)).fault
    assert fault is not None
    assert fault.endswith("which is not in the chain yet: Its ask cannot be read.")


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
    body["receipt"]["payload"]["version"] = VERSION + 1
    body["receipt"]["signature"] = signed.key.sign(canonical(body["receipt"]["payload"]))
    assert check(body, signed.keys).faults == [
        "It was made by another version of Answerback. Use that version to check it."
    ]


@pytest.mark.rule("RCPT-9")
async def test_a_member_that_occurs_twice_is_found_whichever_a_reader_takes(signed: Signed) -> None:
    body = await signed.receipt(await signed.decided())
    text = json.dumps(body, separators=(",", ":"))
    name = next(iter(body["disclosed"]))
    assert parse(text.encode()) is not None
    for old, more in (
        ('"payload":{', '"answers":{"decision":"deny"},'),
        ('"disclosed":{', f'"{name}":["","Run ls"],'),
        ("{", '"link":null,'),
    ):
        assert parse(text.replace(old, f"{old}{more}", 1).encode()) is None


@pytest.mark.rule("RCPT-9")
@pytest.mark.parametrize("number", ["1e999", "1" + "0" * 400])
def test_numbers_that_no_double_holds_are_no_part_of_a_receipt(number: str) -> None:
    payload = f'{{"payload":{{"n":{number}}},"signature":"","kid":""}}'
    assert parse(f'{{"receipt":{payload},"link":null,"disclosed":{{}}}}'.encode()) is None


@pytest.mark.rule("RCPT-9")
@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b'{"receipt": NaN}'])
def test_what_is_no_receipt_is_not_read_as_one(text: bytes) -> None:
    assert parse(text) is None
