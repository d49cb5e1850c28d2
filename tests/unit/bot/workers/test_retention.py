"""The contents of asks are erased after their retention, as their messages then say; old audit lines are deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, RecordEntry
from answerback.core.errors import StoreError
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import DeliveryState
from answerback.workers.retention import RetentionPolicy
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.store_examples import delivery_result, new_delivery
from tests.service_support import FakePage, FakeSurface, ManualClock, actor, boolean
from tests.unit.bot.background_support import running, shows, submit
from tests.unit.bot.conftest import Parts

DAY = 86_400.0
SECRET = "zebra" * 40


def files_with_secret(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if SECRET.encode() in file.read_bytes()]


async def submit_old(parts: Parts, count: int) -> list[Ask]:
    """Return asks with a secret that have ended two days ago."""
    service = parts.service()
    asks = [await submit(service, boolean(f"a{n}", text=SECRET), to="web") for n in range(count)]
    for ask in asks:
        await service.withdraw(ask.id)
    await parts.clock.advance(2 * DAY)
    return asks


@pytest.fixture
async def impatient(tmp_path: Path) -> AsyncIterator[Parts]:
    """The parts of a service whose store hardly waits for other programs."""
    store = SqliteStore(tmp_path / "asks.db", busy_timeout=0.05)
    await store.open()
    yield Parts(store, ManualClock(), FakeSurface(), FakePage("web", responders=("anyone",)))
    await store.close()


@pytest.mark.rule("DATA-19", "API-18")
async def test_an_ask_is_erased_after_its_retention_and_its_message_says_so(parts: Parts) -> None:
    async with running(parts, days=30.0) as (service, _):
        ask, still_open = await submit(service, boolean("a")), await submit(service, boolean("b"))
        await parts.chat.until(shows(parts, ask, 1))
        await service.act(ask.id, Answer(value=True), actor())
        await parts.chat.until(shows(parts, ask, 2))
        await parts.clock.advance(29 * DAY)
        later = await submit(service, boolean("c"))
        await parts.chat.until(shows(parts, later, 1))
        await service.act(later.id, Answer(value=True), actor())
        await parts.chat.until(shows(parts, later, 2))
        assert parts.chat.messages[ask.id].erased_at is None
        await parts.clock.wait_for_sleepers(5)
        await parts.clock.advance(1 * DAY + 3_600)
        await parts.chat.until(shows(parts, ask, 3))
        shown = parts.chat.messages[ask.id]
        assert shown.erased_at == parts.clock.now()
        assert shown.form.questions == ()
        for kept in (still_open, later):
            now = await service.get(kept.id)
            assert now is not None
            assert now.erased_at is None
            assert now.form == kept.form


@pytest.mark.rule("DATA-19")
async def test_several_batches_are_erased_and_an_unreadable_ask_delays_none(
    parts: Parts, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = parts.service()
    asks = [await submit(service, boolean("a")) for _ in range(120)]
    for ask in asks:
        await service.withdraw(ask.id)
    with closing(sqlite3.connect(tmp_path / "asks.db")) as db, db:
        db.execute("UPDATE asks SET state = '{}' WHERE id = ?", (asks[3].id,))
    await parts.clock.advance(2 * DAY)
    retention = RetentionPolicy(service, 1.0, None)
    await retention.enforce(parts.clock.now())
    await retention.enforce(parts.clock.now())
    assert await parts.store.erasure.list_erasable(parts.clock.now(), 200) == [asks[3].id]
    errors = [line for line in caplog.messages if "cannot be erased" in line]
    assert len(errors) == 1
    assert asks[3].id in errors[0]


@pytest.mark.rule("DATA-16")
async def test_webhooks_are_deleted_after_the_retention(parts: Parts) -> None:
    service, now = parts.service(), parts.clock.now()
    ask = await submit(service, boolean("a"))
    webhooks = [new_delivery(n, ask=f"ask_{n}", at=now) for n in (1, 2)]
    await parts.store.asks.change(ask.id, lambda _: Decision(Write(ask, (), (*webhooks,)), None))
    for each, days in zip(webhooks, (1, 2), strict=True):
        sent = replace(delivery_result(each, DeliveryState.DELIVERED), updated_at=now + days * DAY)
        await parts.store.outbox.save_results([sent], [])
    kept_for: tuple[tuple[float | None, int], ...] = ((None, 2), (1.0, 1))
    for kept, left in kept_for:
        await RetentionPolicy(service, kept, None).enforce(now + 2 * DAY + 1)
        page = await parts.store.outbox.page(state=None, agent=None, after=None, limit=9)
        assert len(page.rows) == left


@pytest.mark.rule("DATA-19")
async def test_only_old_audit_lines_are_deleted(parts: Parts) -> None:
    service, now = parts.service(), parts.clock.now()
    ask = await submit(service, boolean("a"))
    await service.withdraw(ask.id)
    await parts.store.record.add(
        None, RecordEntry(at=now, kind="note", body={"refused": "ask_user"})
    )
    await parts.clock.advance(10 * DAY)
    for audit_days in (None, 11.0):
        await RetentionPolicy(service, None, audit_days).enforce(parts.clock.now())
        latest = await parts.store.record.last_time()
        assert latest == now
    await parts.store.record.add(None, RecordEntry(at=now + 5 * DAY, kind="note", body={}))
    await RetentionPolicy(service, None, 9.0).enforce(parts.clock.now())
    assert await parts.store.maintenance.prune_audit(now + 6 * DAY) == 1, (
        "the line that is not so old"
    )
    assert await parts.store.erasure.list_erasable(parts.clock.now(), 9) == [ask.id]


@pytest.mark.rule("DATA-22")
async def test_traces_that_another_program_keeps_are_removed_once_it_has_ended(
    impatient: Parts, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await submit_old(impatient, 1)
    retention = RetentionPolicy(impatient.service(), 1.0, None)
    with closing(sqlite3.connect(tmp_path / "asks.db", isolation_level=None)) as backup:
        backup.execute("BEGIN")
        backup.execute("SELECT count(*) FROM asks").fetchone()
        await retention.enforce(impatient.clock.now())
        backup.execute("COMMIT")
    assert await impatient.store.erasure.list_erasable(impatient.clock.now(), 1) == []
    assert files_with_secret(tmp_path) == ["asks.db-wal"]
    [line] = [each for each in caplog.records if each.levelname == "WARNING"]
    assert line.__dict__["action"] == "scrub_failed"
    assert "Traces of erased asks are left" in line.message
    await retention.enforce(impatient.clock.now())
    assert files_with_secret(tmp_path) == []


@pytest.mark.rule("DATA-22")
async def test_traces_that_a_killed_process_has_left_are_removed_at_the_next_start(
    parts: Parts, tmp_path: Path
) -> None:
    [ask] = await submit_old(parts, 1)
    await parts.service().erase(ask.id)
    assert files_with_secret(tmp_path) == ["asks.db-wal"]
    await RetentionPolicy(parts.service(), 1.0, None).enforce(parts.clock.now())
    assert files_with_secret(tmp_path) == []


@pytest.mark.rule("DATA-22")
async def test_traces_are_removed_though_other_asks_cannot_be_erased(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = await submit_old(parts, 3)
    erase, erased = parts.store.erasure.erase, list[str]()

    async def erase_two(ask_id: str, *args: Any) -> Ask | None:
        if len(erased) == 2:
            raise StoreError("away")
        erased.append(ask_id)
        return await erase(ask_id, *args)

    monkeypatch.setattr(parts.store.erasure, "erase", erase_two)
    await RetentionPolicy(parts.service(), 1.0, None).enforce(parts.clock.now())
    assert erased == [ask.id for ask in asks[:2]]
    with closing(sqlite3.connect(tmp_path / "asks.db")) as db:
        [(requests,)] = db.execute(
            "SELECT count(*) FROM requests WHERE instr(request, ?)", (SECRET,)
        )
    assert requests == 1
    assert files_with_secret(tmp_path) == ["asks.db"], "nothing is left in the log"


@pytest.mark.rule("DATA-22")
async def test_traces_are_looked_for_only_at_the_start_and_after_erasures(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    scrubs: list[float] = []

    async def scrub() -> None:
        scrubs.append(parts.clock.now())

    monkeypatch.setattr(parts.store.erasure, "scrub", scrub)
    retention = RetentionPolicy(parts.service(), 1.0, None)
    for count in (1, 1):
        await retention.enforce(parts.clock.now())
        assert len(scrubs) == count
    await submit_old(parts, 1)
    for count in (2, 2):
        await retention.enforce(parts.clock.now())
        assert len(scrubs) == count
