"""One process at a time holds a lease; a process that loses it, for whatever reason, stops acting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from answerback.core.actions import Answer
from answerback.core.errors import LeaseLostError, StoreError
from answerback.core.intents import Intent
from answerback.ports.claims import Claim, Fence, SharedLeases
from answerback_chat.leader_lease import LeaderLease
from answerback_storage.sqlite.claims import SqliteLeases
from answerback_storage.sqlite.database import SqliteDatabase
from tests.service_support import WAIT, actor, ask_user, boolean
from tests.unit.bot.conftest import Parts, parts
from tests.unit.bot.replica_support import LASTING

__all__ = ["parts"]
LEASE = "socket"
SHORT_LEASE = 0.4


class FaultyLeases(SqliteLeases):
    """Leases that fail or hang on demand."""

    failing = False
    hanging = False

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self.gate = asyncio.Event()
        """While it is not set, no lease is taken or renewed."""
        self.gate.set()
        self.takes = asyncio.Queue[str]()
        """Who has tried to take or renew a lease."""

    async def take(self, name: str, claim: Claim) -> int | None:
        """Take or renew the lease, or fail."""
        self.takes.put_nowait(claim.holder)
        if self.hanging:
            await asyncio.Event().wait()
        if self.failing:
            raise StoreError("the server is starting")
        # As in PostgreSQL, a statement that has begun is run to its end.
        return await asyncio.shield(asyncio.create_task(self._take(name, claim)))

    async def _take(self, name: str, claim: Claim) -> int | None:
        await self.gate.wait()
        return await super().take(name, claim)

    async def release(self, name: str, holder: str) -> None:
        """Release the lease, or fail."""
        if self.failing:
            raise StoreError("the server is starting")
        await super().release(name, holder)


class Holder:
    """A process that wants the lease, and the callbacks that it received."""

    def __init__(self, leases: FaultyLeases, name: str, seconds: float = SHORT_LEASE) -> None:
        self.calls: list[str] = []
        self.changed = asyncio.Event()
        self.leading = LeaderLease(
            SharedLeases(leases, name), LEASE, self._begin, self._end, seconds=seconds
        )

    async def _begin(self) -> None:
        self._record("began")

    async def _end(self) -> None:
        self._record("ended")

    def _record(self, call: str) -> None:
        self.calls.append(call)
        self.changed.set()

    async def until(self, *calls: str) -> None:
        """Return once it has received exactly these callbacks."""
        async with asyncio.timeout(WAIT):
            while tuple(self.calls) != calls:
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
def leases(parts: Parts) -> FaultyLeases:
    return FaultyLeases(parts.store.database)


@pytest.fixture
async def ann(leases: FaultyLeases) -> AsyncIterator[Holder]:
    made = Holder(leases, "ann")
    yield made
    await made.leading.stop()


@pytest.fixture
async def ben(leases: FaultyLeases) -> AsyncIterator[Holder]:
    made = Holder(leases, "ben")
    yield made
    await made.leading.stop()


@pytest.mark.rule("CLAIM-10")
async def test_one_process_holds_the_lease_and_another_takes_over_when_it_is_released(
    leases: FaultyLeases, caplog: pytest.LogCaptureFixture
) -> None:
    ann, ben = (Holder(leases, name, LASTING) for name in ("ann", "ben"))
    await ann.leading.start()
    await ben.leading.start()
    assert (ann.calls, ben.calls) == (["began"], [])
    since, tries = time.monotonic(), list[str]()
    async with asyncio.timeout(WAIT):
        while min(tries.count("ann"), tries.count("ben")) < 2 or time.monotonic() < since + LASTING:
            tries.append(await leases.takes.get())
    assert (ann.leading.is_held, ben.leading.is_held) == (True, False)
    await ann.leading.stop()
    assert ann.calls == ["began", "ended"]
    await ben.until("began")
    assert ben.leading.fence() == Fence(LEASE, 2)
    await ben.leading.stop()
    assert caplog.text == "", "stopping is no trouble"


@pytest.mark.rule("CLAIM-10")
async def test_a_process_paused_for_longer_than_the_lease_stops_when_it_resumes(
    ann: Holder, ben: Holder
) -> None:
    await ann.leading.start()
    end = time.monotonic() + WAIT
    while ann.leading.is_held and time.monotonic() < end:
        time.sleep(0.01)  # noqa: ASYNC251 the whole process is blocked
    assert not ann.leading.is_held
    await ben.leading.start()
    await ben.until("began")
    await ann.until("began", "ended")
    assert not ann.leading.is_held


@pytest.mark.rule("CLAIM-10")
@pytest.mark.parametrize("how", ["failing", "hanging"])
async def test_a_process_that_cannot_renew_the_lease_in_time_stops_and_begins_again_later(
    leases: FaultyLeases, ann: Holder, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    await ann.leading.start()
    setattr(leases, how, True)
    await ann.until("began", "ended")
    setattr(leases, how, False)
    await ann.until("began", "ended", "began")
    assert ann.leading.fence() == Fence(LEASE, 2)
    assert "no longer holds the lease" in caplog.text


async def test_a_failure_to_take_or_release_the_lease_is_only_logged(
    leases: FaultyLeases, ann: Holder, caplog: pytest.LogCaptureFixture
) -> None:
    leases.failing = True
    await ann.leading.start()
    assert ann.calls == []
    leases.failing = False
    await ann.until("began")
    leases.failing = True
    await ann.leading.stop()
    assert "cannot be taken now: the server is starting" in caplog.text
    assert "cannot be released now: the server is starting" in caplog.text


@pytest.mark.rule("CLAIM-10")
async def test_a_process_that_stops_before_it_started_leaves_the_lease_to_its_holder(
    ann: Holder, ben: Holder
) -> None:
    await ann.leading.start()
    await ben.leading.stop()
    assert (ann.leading.is_held, ann.calls, ben.calls) == (True, ["began"], [])


@pytest.mark.rule("CLAIM-10")
async def test_a_process_that_stops_during_a_renewal_leaves_the_lease_to_others(
    leases: FaultyLeases,
) -> None:
    ann = Holder(leases, "ann", LASTING)
    await ann.leading.start()
    leases.gate.clear()
    async with asyncio.timeout(WAIT):
        for _ in range(2):
            await leases.takes.get()
    stopping = asyncio.create_task(ann.leading.stop())
    for _ in range(20):
        await asyncio.sleep(0)
    leases.gate.set()
    await stopping
    assert await leases.take(LEASE, Claim("ben", 1.0)) == 2


async def test_stopping_does_not_wait_for_a_callback_that_hangs(
    leases: FaultyLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerback_chat.leader_lease._END_TIMEOUT", 0.05)

    async def begin() -> None:
        await asyncio.Event().wait()

    leading = LeaderLease(SharedLeases(leases, "ann"), LEASE, begin, begin, seconds=SHORT_LEASE)
    starting = asyncio.create_task(leading.start())
    async with asyncio.timeout(WAIT):
        while not leading.is_held:  # noqa: ASYNC110 there is no notification
            await asyncio.sleep(0.01)
        await leading.stop()
        await starting
    assert await leases.take(LEASE, Claim("ben", 1.0)) == 2


@pytest.mark.rule("CLAIM-10")
async def test_actions_under_a_lease_count_only_while_it_is_held(parts: Parts) -> None:
    service = parts.service()
    leading = LeaderLease(
        SharedLeases(parts.store.leases, "ann"), LEASE, _nothing, _nothing, seconds=60.0
    )
    await leading.start()
    ask = (await service.submit(ask_user(boolean("a"), boolean("b"), boolean("c")))).ask
    intent = Intent(ask.id, Answer(value=True))
    await service.apply(intent, actor(), fence=leading.fence())
    await parts.store.leases.release(LEASE, "ann")
    assert await parts.store.leases.take(LEASE, Claim("ben", 60.0)) == 2
    with pytest.raises(LeaseLostError):
        await service.apply(intent, actor(), fence=leading.fence())
    stored = await service.get(ask.id)
    assert stored is not None
    assert len(stored.walk.answers) == 1
    await leading.stop()


async def test_a_process_that_has_its_store_to_itself_leads_without_a_lease() -> None:
    calls: list[str] = []

    async def begin() -> None:
        calls.append("began")

    async def end() -> None:
        calls.append("ended")

    leading = LeaderLease(None, LEASE, begin, end)
    assert leading.is_held
    assert not leading.is_shared
    assert leading.fence() is None
    await leading.start()
    assert calls == ["began"]
    await leading.stop()
    assert calls == ["began", "ended"]


async def _nothing() -> None:
    pass
