"""An agent may wait at any process: people see that it has moved on only if it waits at none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from answerback.core.ask import Ask
from answerback.core.giving_up import GaveUp
from answerback.ports.claims import Claim
from answerback.runtime.app import run_service
from answerback.runtime.config import ServerSettings, StorageSettings, settings_type
from answerback.runtime.replica_lifecycle import listen_for_changes
from answerback.service import agent_presence
from answerback.service.agent_presence import AGENT, CALLER, GRACE, HANDOVER
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync
from answerback.workers.scheduler import Scheduler
from tests.service_support import WAIT, FakePage, ManualClock, ask_user
from tests.stores.shared_file import SharedFile, SharedStore
from tests.unit.bot.service.test_agent_presence import StoredPresence, waiting
from tests.unit.bot.service.test_approval_leases import database_away, gave_up, now, submit


class Pair:
    """Two processes that share a store and a clock."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self._file = SharedFile(folder / "a.db")
        self.stores: list[SharedStore] = []
        self.schedulers: list[Scheduler] = []

    @asynccontextmanager
    async def process(self, name: str) -> AsyncIterator[Service]:
        """One process, which listens to the other."""
        store = SharedStore(self._file)
        await store.open()
        self.stores.append(store)
        page = FakePage("web", responders=("anyone",))
        service = Service(
            store, self.clock, {"web": page}, known_surfaces=frozenset(), claim=Claim(name, 60.0)
        )
        sync = MessageSync(service)
        scheduler = Scheduler(service, sync)
        self.schedulers.append(scheduler)
        hearing = listen_for_changes(service, sync)
        loop = asyncio.create_task(hearing.dispatch_changes())
        yield service
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
        await store.close()

    async def passes(self, seconds: float, *services: Service) -> None:
        """Let time pass, and let every scheduler do what is due."""
        await self.clock.advance(seconds)
        for service in services:
            await service.presence.run_once()
        for _ in range(4):  # what one hears makes it read, and perhaps write, which the other hears
            for service in services:
                await asyncio.sleep(0)
                await service.store.changes.revisions(["any"])
                await service.store.drafts.save("any", None, 0.0)
        for scheduler in self.schedulers:
            await scheduler.run_once()


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[Pair, Service, Service]]:
    made = Pair(tmp_path)
    async with AsyncExitStack() as stack:
        ann, ben = [await stack.enter_async_context(made.process(name)) for name in ("ann", "ben")]
        yield made, ann, ben


async def submitted(service: Service) -> Ask:
    return (await service.submit(ask_user(to="web", responders=None))).ask


async def agent_left(service: Service, ask: Ask) -> bool:
    found = await service.get(ask.id)
    assert found is not None
    return found.attendance.agent_left


@pytest.mark.rule("WAITING-4")
async def test_an_agent_that_keeps_waiting_at_another_process_never_counts_as_gone(
    pair: tuple[Pair, Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, ann, ben = pair
    ask = await submitted(ann)
    changes = [StoredPresence(monkeypatch, service) for service in (ann, ben)]
    for here, there in ((ann, ben), (ben, ann), (ann, ben)):
        async with waiting(here, ask):
            await made.passes(GRACE + 1, ann, ben)
            await made.passes(HANDOVER + 1, ann, ben)
        await made.passes(GRACE - 5, here, there)
    assert not await agent_left(ann, ask)
    # The process it left says that the presence is about to expire; the one where it waits, that it is not.
    assert [each.made for each in changes] == [[None, True], [True, None]]


@pytest.mark.rule("WAITING-4")
async def test_people_see_after_a_while_that_an_agent_waits_nowhere(
    pair: tuple[Pair, Service, Service],
) -> None:
    made, ann, ben = pair
    ask = await submitted(ann)
    async with waiting(ben, ask):
        await made.passes(GRACE + 1, ann, ben)
    await made.passes(GRACE, ann, ben)
    assert not await agent_left(ann, ask), "the other process might know better"
    await made.passes(HANDOVER, ann, ben)
    assert await agent_left(ann, ask)
    async with waiting(ann, ask):
        await made.passes(0, ann, ben)
        assert not await agent_left(ben, ask)


@pytest.mark.rule("WAITING-4")
async def test_polling_two_processes_in_turn_counts_as_waiting(
    pair: tuple[Pair, Service, Service],
) -> None:
    made, ann, ben = pair
    ask = await submitted(ann)
    for service in (ben, ann, ben, ann, ben):
        await made.passes(GRACE * 2 / 3, ann, ben)
        found = await service.get(ask.id)
        assert found is not None
        assert not found.attendance.agent_left
        await service.presence.record_poll(found)


@pytest.mark.rule("WAITING-4")
async def test_a_waiting_agent_is_shown_again_after_people_were_told_otherwise(
    pair: tuple[Pair, Service, Service],
) -> None:
    made, ann, ben = pair
    ask = await submitted(ann)
    async with waiting(ben, ask):
        await ann.set_attended(ask.id, attended=False)
        await made.passes(0, ann, ben)
        assert not await agent_left(ann, ask)
    await ann.set_attended(ask.id, attended=False)
    await made.passes(0, ann, ben)
    assert await agent_left(ann, ask), "an agent that has just left does not object"
    await made.passes(GRACE, ann, ben)
    assert await agent_left(ann, ask), "nor does it after being away for long enough"


@pytest.mark.rule("WAITING-2", "WAITING-4")
async def test_a_process_whose_agent_stays_stores_no_more_than_it_would_alone(
    pair: tuple[Pair, Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, ann, ben = pair
    ask = await submitted(ann)
    changes = [StoredPresence(monkeypatch, service) for service in (ann, ben)]
    for _ in range(4):
        async with waiting(ann, ask), waiting(ann, ask):
            await made.passes(GRACE - 5, ann, ben)
        await made.passes(5, ann, ben)
    assert [each.made for each in changes] == [[], []]
    async with waiting(ann, ask):
        await made.passes(AGENT.seconds / 2, ann, ben)
    assert [each.made for each in changes] == [[True], []]


@pytest.mark.rule("LATE-8")
async def test_an_approval_whose_caller_waits_at_another_process_outlives_an_outage_of_the_database(
    pair: tuple[Pair, Service, Service],
) -> None:
    made, ann, ben = pair
    await made.clock.advance(10 * CALLER.seconds)
    ask = await submit(ann, to="web", responders=None)
    scheduling = asyncio.create_task(made.schedulers[1].run())

    async def pass_time(seconds: float) -> None:
        await made.clock.wait_for_sleepers(1)
        await made.clock.advance(seconds)
        await ann.presence.run_once()

    with ben.follow(ask.id) as follower:

        async def handled() -> Ask:
            """Return the ask once Ben has handled that its lease has run out."""
            async with asyncio.timeout(WAIT):
                while (found := await now(ben, ask)).open and (
                    found.presence_lapses_at is None or found.presence_lapses_at <= made.clock.now()
                ):
                    await follower.next_commit()
            return found

        async with waiting(ann, ask):
            with database_away(*made.stores):
                for _ in range(5):
                    await pass_time(CALLER.renewal)
            await pass_time(1)
            assert (await handled()).open
            for _ in range(5):
                await pass_time(CALLER.renewal)
            assert (await now(ben, ask)).open
        await pass_time(CALLER.seconds + 1)
        assert gave_up(await handled()) is GaveUp.GONE
    scheduling.cancel()
    await asyncio.gather(scheduling, return_exceptions=True)


@pytest.mark.rule("WAITING-4")
async def test_two_services_on_one_database_agree_on_who_waits(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(agent_presence, "GRACE", 0.2)
    monkeypatch.setattr(agent_presence, "HANDOVER", 1.0)
    settings = settings_type().model_construct(
        server=ServerSettings(port=0), storage=StorageSettings(url=database)
    )
    async with run_service(settings) as one, run_service(settings) as other:
        ask = await submitted(one.service)
        seen = asyncio.create_task(_follow(one.service, ask))
        async with waiting(other.service, ask):
            left = await submitted(one.service)
            async with waiting(one.service, left):
                pass
            async with asyncio.timeout(WAIT):
                await _follow(one.service, left)
            assert not seen.done(), "it has been waiting all the time"
        async with asyncio.timeout(WAIT):
            await seen


async def _follow(service: Service, ask: Ask) -> None:
    """Return once it is stored that nobody waits."""
    while not await agent_left(service, ask):  # noqa: ASYNC110 nothing signals this
        await asyncio.sleep(0.05)
