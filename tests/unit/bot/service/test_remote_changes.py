"""Another process's commits wake those who wait in this one, whatever became of the notification."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Status
from answerback.core.errors import RateLimitedError, StoreError
from answerback.ports.claims import Claim
from answerback.service.remote_changes import RemoteChangeListener
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync, SyncPace
from tests.service_support import WAIT, FakePage, FakeSurface, ManualClock, actor, ask_user, boolean
from tests.stores.shared_file import SharedChanges, SharedFile, SharedStore

AT_ONCE = 0.01
SELDOM = 1_000.0


class LossyChanges(SharedChanges):
    """Changes whose notifications are lost while a test says so."""

    deaf = False
    said: Callable[[str | None], None]

    def listen(self, received: Callable[[str | None], None]) -> None:
        """Listen, unless notifications are being lost."""
        self.said = received
        super().listen(lambda ask_id: None if self.deaf else received(ask_id))


class LossyStore(SharedStore):
    """A store that loses its notifications while a test says so."""

    changes: LossyChanges

    def __init__(self, file: SharedFile) -> None:
        super().__init__(file)
        self.changes = LossyChanges(self)


class Process:
    """A service with its own store, on a file that it shares with others."""

    def __init__(self, file: SharedFile, name: str, chat: FakeSurface) -> None:
        self.store = LossyStore(file)
        surfaces = {"chat": chat, "web": FakePage("web", responders=("anyone",))}
        self.service = Service(
            self.store,
            ManualClock(),
            surfaces,
            known_surfaces=frozenset(),
            claim=Claim(name, 60.0),
        )
        self.sync = MessageSync(self.service, pace=SyncPace(first_pause=0.01))

    @asynccontextmanager
    async def listening(self, every: float = SELDOM) -> AsyncIterator[RemoteChangeListener]:
        """Listen to the other processes while the context lasts."""
        service = self.service
        hearing = RemoteChangeListener(
            self.store,
            service.signals,
            service.presence,
            service.surfaces.keys(),
            on_remote_change=self.sync.on_remote_change,
            every=every,
        )
        self.store.changes.listen(hearing.handle_notification)
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
        """Start to wait for an ask."""
        waiting = asyncio.create_task(self.service.wait(ask.id, WAIT))
        async with asyncio.timeout(WAIT):
            while all(  # noqa: ASYNC110 nothing signals this
                one.known is None for one in self.service.signals.behind(ask.id, 9)
            ):
                await asyncio.sleep(0)
        return waiting


@pytest.fixture
def chat() -> FakeSurface:
    return FakeSurface()


@pytest.fixture
async def pair(chat: FakeSurface, tmp_path: Path) -> AsyncIterator[tuple[Process, Process]]:
    file = SharedFile(tmp_path / "a.db")
    both = Process(file, "ann", chat), Process(file, "ben", chat)
    for one in both:
        await one.store.open()
    yield both
    for one in both:
        await one.sync.stop()
        await one.store.close()


def is_at(found: Ask | None, ask: Ask) -> bool:
    """Return True if it is this ask at its revision; by now it may have been shown."""
    return found is not None and (found.id, found.revision) == (ask.id, ask.revision)


async def answered(process: Process, ask: Ask) -> None:
    await process.service.act(ask.id, Answer(value=True), actor())


@pytest.mark.rule("CLAIM-9")
async def test_a_waiter_is_woken_by_another_processs_commit(
    pair: tuple[Process, Process],
) -> None:
    ann, ben = pair
    async with ben.listening() as hearing:
        ask = (await ann.service.submit(ask_user())).ask
        waiting = await ben.waits(ask)
        await answered(ann, ask)
        result = await waiting
    assert result is not None
    assert result.status is Status.ANSWERED
    assert hearing.missed_count == 0
    assert hearing.seconds_since_notification < WAIT


@pytest.mark.rule("CLAIM-9")
async def test_a_change_without_a_notification_is_found_by_polling_and_counted(
    pair: tuple[Process, Process],
) -> None:
    ann, ben = pair
    ben.store.changes.deaf = True
    async with ben.listening(AT_ONCE) as hearing:
        ask = (await ann.service.submit(ask_user())).ask
        waiting = await ben.waits(ask)
        await answered(ann, ask)
        result = await waiting
    assert result is not None
    assert not result.open
    assert hearing.missed_count == 1


@pytest.mark.rule("CLAIM-9")
async def test_changes_missed_while_disconnected_are_read_after_reconnecting(
    pair: tuple[Process, Process],
) -> None:
    ann, ben = pair
    ben.store.changes.deaf = True
    async with ben.listening() as hearing:
        ask = (await ann.service.submit(ask_user())).ask
        waiting = await ben.waits(ask)
        await answered(ann, ask)
        ben.store.changes.said(None)
        result = await waiting
    assert result is not None
    assert not result.open
    assert hearing.missed_count == 0, "reconnecting accounts for it"


async def test_a_follower_of_a_surface_is_woken_by_every_change_and_after_a_loss(
    pair: tuple[Process, Process],
) -> None:
    ann, ben = pair
    async with ben.listening():
        with ben.service.follow("chat") as follower:
            ask = (await ann.service.submit(ask_user())).ask
            async with asyncio.timeout(WAIT):
                assert is_at(await follower.next_commit(), ask)
            ben.store.changes.deaf = True
            await answered(ann, ask)
            ben.store.changes.said(None)
            async with asyncio.timeout(WAIT):
                result = await follower.next_commit()
    assert result is not None
    assert result.id == ask.id


async def test_a_delayed_message_is_shown_at_once_when_another_process_acts(
    pair: tuple[Process, Process], chat: FakeSurface
) -> None:
    ann, ben = pair
    async with ben.listening():
        questions = [boolean(name) for name in ("a", "b", "c")]
        ask = (await ben.service.submit(ask_user(*questions))).ask
        await ben.sync.wait_until_idle()
        chat.failures = [RateLimitedError("slow down", retry_after=600, alone=True)]
        await answered(ben, ask)
        await chat.until(lambda: not chat.failures)
        await answered(ann, ask)
        await chat.until(lambda: chat.messages[ask.id].revision == 3)


@pytest.mark.rule("CLAIM-9")
async def test_an_unreadable_store_is_read_again_later(
    pair: tuple[Process, Process],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ann, ben = pair
    failing = ["revisions", "get"]
    for name, part in (("revisions", ben.store.changes), ("get", ben.store.asks)):
        real = getattr(part, name)

        async def once(given: Any, name: str = name, real: Any = real) -> Any:
            if name in failing and ben.store.changes.deaf:
                failing.remove(name)
                raise StoreError("the server is starting")
            return await real(given)

        monkeypatch.setattr(part, name, once)
    async with ben.listening(AT_ONCE):
        ask = (await ann.service.submit(ask_user())).ask
        waiting = await ben.waits(ask)
        ben.store.changes.deaf = True
        await answered(ann, ask)
        result = await waiting
    assert result is not None
    assert not result.open
    assert caplog.text.count("the server is starting") == 2


@pytest.mark.rule("CLAIM-9")
@pytest.mark.parametrize("failing", ["page", "get"])
async def test_a_follower_of_a_surface_is_woken_although_the_store_fails_at_first(
    pair: tuple[Process, Process], monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    ann, ben = pair
    real, failures = getattr(ben.store.asks, failing), [StoreError("the server is starting")]

    async def later(*args: Any, **kwargs: Any) -> Any:
        if failures:
            raise failures.pop()
        return await real(*args, **kwargs)

    monkeypatch.setattr(ben.store.asks, failing, later)
    async with ben.listening(AT_ONCE):
        with ben.service.follow("web") as follower:
            ben.store.changes.deaf = failing == "page"
            ask = (await ann.service.submit(ask_user(to="web"))).ask
            if ben.store.changes.deaf:
                ben.store.changes.said(None)
            async with asyncio.timeout(WAIT):
                result = await follower.next_commit()
    assert is_at(result, ask)
    assert not failures


async def test_a_change_of_an_unknown_ask_wakes_nobody(pair: tuple[Process, Process]) -> None:
    ann, ben = pair
    async with ben.listening() as hearing:
        with ben.service.follow("chat") as follower:
            hearing.handle_notification("ask_none")
            ask = (await ann.service.submit(ask_user())).ask
            async with asyncio.timeout(WAIT):
                assert is_at(await follower.next_commit(), ask)
