"""One unreadable row affects only itself: the scheduler, showing, the API and the pages continue without it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.errors import StoreError
from answerback.core.labels import ENGLISH
from answerback.ports.extension_rows import AskRow
from answerback.ports.store import Write
from answerback.service.service import Service
from answerback_numbers.facts import PENDING, Facts, Result
from answerback_numbers.numbers import count_uncounted, read_calls
from answerback_numbers.stats import TABLE, StatsReader
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import end_decision
from tests.service_support import WAIT
from tests.unit.bot.background_support import ended, reopen_store, running, submit
from tests.unit.bot.conftest import Parts


def spoil(folder: Path, ask_id: object) -> None:
    """Make the stored state of an ask unreadable."""
    with closing(sqlite3.connect(folder / "asks.db", isolation_level=None)) as db:
        changed = db.execute("UPDATE asks SET state = 'secret' WHERE id = ?", (ask_id,))
        assert changed.rowcount == 1


async def test_an_unreadable_row_delays_no_other_asks_deadline_or_message(
    parts: Parts, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = parts.service()
    odd = await submit(service, remind_after=[5], expires_in=10)
    other = await submit(service, expires_in=20)
    spoil(tmp_path, odd.id)
    await reopen_store(parts, tmp_path)
    await parts.clock.advance(15)
    async with running(parts) as (service, sync):
        await parts.chat.until(lambda: other.id in parts.chat.messages)
        await parts.clock.advance(6)
        assert (await ended(service, other)).status is Status.EXPIRED
        await sync.wait_until_idle()
    result = [r.__dict__.get("ask_id") for r in caplog.records if "cannot read" in r.getMessage()]
    assert set(result) == {odd.id}
    assert len(result) <= 4, "it is set aside, and not tried over and over"
    assert "secret" not in caplog.text


@pytest.mark.rule("DATA-12")
async def test_an_ask_whose_scheduled_work_crashes_delays_no_other(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Service.expire

    async def expire(self: Service, ask_id: str) -> object:
        if ask_id == odd.id:
            raise ZeroDivisionError
        return await real(self, ask_id)

    async with running(parts) as (service, _):
        odd = await submit(service, expires_in=10)
        other = await submit(service, expires_in=10)
        with monkeypatch.context() as broken:
            broken.setattr(Service, "expire", expire)
            await parts.clock.advance(11)
            assert (await ended(service, other)).status is Status.EXPIRED
        assert [r.__dict__["ask_id"] for r in caplog.records if r.exc_info] == [odd.id]
        await parts.clock.advance(31)
        assert (await ended(service, odd)).status is Status.EXPIRED


async def test_a_briefly_unreadable_database_only_delays_the_scheduler(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = asyncio.Event()

    async def broken(_ask_id: str) -> Ask | None:
        failed.set()
        raise StoreError("the disk failed")

    async with running(parts) as (service, sync):
        ask = await submit(service, expires_in=10)
        await sync.wait_until_idle()
        with monkeypatch.context() as failing:
            failing.setattr(parts.store.asks, "get", broken)
            await parts.clock.advance(11)
            async with asyncio.timeout(WAIT):
                await failed.wait()
        await parts.clock.advance(2)
        assert (await ended(service, ask)).status is Status.EXPIRED


async def test_an_unreadable_row_spoils_no_numbers(parts: Parts, tmp_path: Path) -> None:
    def decided(call: str) -> AskRow:
        values = Facts("1970-01-05", "ci", "", Result.ALLOWED.value, "1", call)
        return AskRow(TABLE, Facts._fields, values)

    counted = {1: PENDING, 2: "always", 3: "always", 4: "always"}
    for number in range(1, 6):
        rows = (decided(counted[number]),) if number in counted else ()
        await parts.store.asks.create(Write(new_ask(number), ask_rows=rows), None)
    await parts.store.asks.change("ask_5", end_decision())
    for number in range(1, 6):
        spoil(tmp_path, f"ask_{number}")
    await reopen_store(parts, tmp_path)
    await read_calls(parts.store)
    assert await count_uncounted(parts.store) == 0
    assert (await StatsReader(parts.store).read(0.0, 1, ENGLISH)).total.count == len(counted)
