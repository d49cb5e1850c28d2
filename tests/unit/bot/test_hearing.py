"""What another process with the same store commits wakes who waits for it here, whatever became of the notification."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.errors import RateLimitedError, StoreError
from answerback.core.walker import Answer
from answerback.ports.claims import Claim
from answerback.service.remote_changes import RemoteChangeListener
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync
from answerback_storage.memory.claims import Tables
from answerback_storage.memory.store import MemoryStore
from tests.service_parts import WAIT, FakePage, FakeSurface, ManualClock, actor, ask_user, boolean

AT_ONCE = 0.01
SELDOM = 1_000.0


class Deaf(MemoryStore):
    """A store whose notifications are lost while it is told so."""

    deaf = False
    said: Callable[[str | None], None]

    def listen(self, heard: Callable[[str | None], None]) -> None:
        """Listens, unless it is deaf."""
        self.said = heard
        super().listen(lambda ask_id: None if self.deaf else heard(ask_id))


class Process:
    """A service on a store of its own, on tables that others share."""

    def __init__(self, tables: Tables, name: str, chat: FakeSurface) -> None:
        self.store = Deaf(tables)
        surfaces = {"chat": chat, "web": FakePage("web", responders=("anyone",))}
        self.service = Service(
            self.store,
            ManualClock(),
            surfaces,
            known_surfaces=frozenset(),
            claim=Claim(name, 60.0),
        )
        self.shower = MessageSync(self.service, first_pause=0.01)
        self.service.hooks.show = self.shower.request_sync

    @asynccontextmanager
    async def hearing(self, every: float = SELDOM) -> AsyncIterator[RemoteChangeListener]:
        """Hears of the others for as long as the context lasts."""
        service = self.service
        hearing = RemoteChangeListener(
            self.store,
            service.signals,
            service.presence,
            service.surfaces.keys(),
            on_remote_change=self.shower.on_remote_change,
            every=every,
        )
        self.store.listen(hearing.handle_notification)
        loops = [
            asyncio.create_task(loop())
            for loop in (hearing.dispatch_changes, hearing.poll_missed_changes)
        ]
        try:
            yield hearing
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)

    async def waits(self, ask: Ask) -> asyncio.Task[Ask | None]:
        """Begins to wait for an ask."""
        waiting = asyncio.create_task(self.service.wait(ask.id, WAIT))
        async with asyncio.timeout(WAIT):
            while all(  # noqa: ASYNC110 who waits tells nobody
                one.known is None for one in self.service.signals.behind(ask.id, 9)
            ):
                await asyncio.sleep(0)
        return waiting


@pytest.fixture
def chat() -> FakeSurface:
    return FakeSurface()


@pytest.fixture
async def pair(chat: FakeSurface) -> AsyncIterator[tuple[Process, Process]]:
    tables = Tables()
    both = Process(tables, "ann", chat), Process(tables, "ben", chat)
    for one in both:
        await one.store.open()
    yield both
    for one in both:
        await one.shower.stop()
        await one.store.close()


async def answered(process: Process, ask: Ask) -> None:
    await process.service.act(ask.id, Answer(value=True), actor())


@pytest.mark.rule("CLAIM-9")
async def test_who_waits_is_woken_by_what_another_process_commits(
    pair: tuple[Process, Process],
) -> None:
    ann, ben = pair
    async with ben.hearing() as hearing:
        ask = (await ann.service.submit(ask_user())).ask
        waiting = await ben.waits(ask)
        await answered(ann, ask)
        told = await waiting
    assert told is not None
    assert told.status is Status.ANSWERED
    assert hearing.missed_count == 0
    assert hearing.seconds_since_notification < WAIT


@pytest.mark.rule("CLAIM-9")
async def test_what_no_notification_told_is_found_by_a_look_and_counted(
    pair: tuple[Process, Process],
) -> None:
    ann, ben = pair
    ben.store.deaf = True
    async with ben.hearing(AT_ONCE) as hearing:
        ask = (await ann.service.submit(ask_user())).ask
        waiting = await ben.waits(ask)
        await answered(ann, ask)
        told = await waiting
    assert told is not None
    assert not told.open
    assert hearing.missed_count == 1


@pytest.mark.rule("CLAIM-9")
async def test_what_was_missed_while_nothing_was_heard_is_read_once_all_is_heard_again(
    pair: tuple[Process, Process],
) -> None:
    ann, ben = pair
    ben.store.deaf = True
    async with ben.hearing() as hearing:
        ask = (await ann.service.submit(ask_user())).ask
        waiting = await ben.waits(ask)
        await answered(ann, ask)
        ben.store.said(None)
        told = await waiting
    assert told is not None
    assert not told.open
    assert hearing.missed_count == 0, "that is what a new connection is for"


async def test_who_follows_a_surface_looks_again_at_every_change_and_after_a_loss(
    pair: tuple[Process, Process],
) -> None:
    ann, ben = pair
    async with ben.hearing():
        with ben.service.follow("chat") as follower:
            ask = (await ann.service.submit(ask_user())).ask
            async with asyncio.timeout(WAIT):
                assert await follower.next_commit() == ask
            ben.store.deaf = True
            await answered(ann, ask)
            ben.store.said(None)
            async with asyncio.timeout(WAIT):
                told = await follower.next_commit()
    assert told is not None
    assert told.id == ask.id


async def test_a_message_that_waits_to_be_shown_waits_no_longer_once_another_process_acts(
    pair: tuple[Process, Process], chat: FakeSurface
) -> None:
    ann, ben = pair
    async with ben.hearing():
        questions = [boolean(name) for name in ("a", "b", "c")]
        ask = (await ben.service.submit(ask_user(*questions))).ask
        await ben.shower.wait_until_idle()
        chat.failures = [RateLimitedError("slow down", retry_after=600, alone=True)]
        await answered(ben, ask)
        await chat.until(lambda: not chat.failures)
        await answered(ann, ask)
        await chat.until(lambda: chat.messages[ask.id].revision == 3)


@pytest.mark.rule("CLAIM-9")
async def test_a_store_that_cannot_be_read_for_a_while_is_read_again(
    pair: tuple[Process, Process],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ann, ben = pair
    failing = ["revisions", "get"]
    for name in list(failing):
        real = getattr(ben.store, name)

        async def once(given: Any, name: str = name, real: Any = real) -> Any:
            if name in failing and ben.store.deaf:
                failing.remove(name)
                raise StoreError("the server is starting")
            return await real(given)

        monkeypatch.setattr(ben.store, name, once)
    async with ben.hearing(AT_ONCE):
        ask = (await ann.service.submit(ask_user())).ask
        waiting = await ben.waits(ask)
        ben.store.deaf = True
        await answered(ann, ask)
        told = await waiting
    assert told is not None
    assert not told.open
    assert caplog.text.count("the server is starting") == 2


async def test_a_change_of_what_does_not_exist_wakes_nobody(pair: tuple[Process, Process]) -> None:
    ann, ben = pair
    async with ben.hearing() as hearing:
        with ben.service.follow("chat") as follower:
            hearing.handle_notification("ask_none")
            ask = (await ann.service.submit(ask_user())).ask
            async with asyncio.timeout(WAIT):
                assert await follower.next_commit() == ask
