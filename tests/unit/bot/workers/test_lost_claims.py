"""Work whose claim expired or was released at a stop: its old holder does nothing more, and another does it once."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.ports.claims import Claim
from answerback.ports.store import Store
from answerback.workers.scheduler import Scheduler
from tests.service_support import WAIT, actor, ask_user, boolean
from tests.unit.bot.replica_support import BEN, SHORT_LEASE, Processes


@pytest.mark.rule("CLAIM-4")
async def test_a_process_suspended_for_longer_than_its_lease_posts_nothing_when_it_wakes(
    store: Store,
) -> None:
    processes = Processes(store)
    ann, anns = processes.start(Claim("ann", SHORT_LEASE))
    _, bens = processes.start(BEN)
    chat = processes.chat
    chat.hold = asyncio.Event()
    ask = (await ann.submit(ask_user())).ask
    await chat.until(lambda: chat.shows > 0)
    held, chat.hold = chat.hold, None
    reads, writes = socket.socketpair()
    with reads, writes:
        asyncio.get_running_loop().add_reader(reads, held.set)
        writes.send(b"1")  # the platform's response comes while the process is suspended
        time.sleep(2 * SHORT_LEASE)  # noqa: ASYNC251 the whole process is suspended
        await bens.sweep(10)
        await bens.wait_until_idle()
        await anns.wait_until_idle()
        asyncio.get_running_loop().remove_reader(reads)
    assert anns.show_counts["chat", "unavailable"], "its show was not abandoned"
    assert ask.id in chat.messages
    assert chat.posts == 1


@pytest.mark.rule("CLAIM-4")
async def test_a_process_suspended_while_claiming_a_message_posts_nothing_when_it_wakes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = Processes(store)
    ann, anns = processes.start(Claim("ann", SHORT_LEASE))
    _, bens = processes.start(BEN)
    real, claimed, wakes = store.claims.claim_message, asyncio.Event(), asyncio.Event()

    async def claim_message(ask_id: str, claim: Claim) -> Ask | None:
        found = await real(ask_id, claim)
        if claim.holder == "ann" and not claimed.is_set():
            claimed.set()
            # The store's response is in the socket of a suspended process.
            await wakes.wait()
        return found

    monkeypatch.setattr(store.claims, "claim_message", claim_message)
    ask = (await ann.submit(ask_user())).ask
    await claimed.wait()
    async with asyncio.timeout(WAIT):
        while ask.id not in processes.chat.messages:
            await bens.sweep(10)
            await bens.wait_until_idle()
    wakes.set()
    await anns.wait_until_idle()
    assert (processes.chat.posts, processes.chat.shows) == (1, 1)


@pytest.mark.rule("CLAIM-4")
async def test_a_message_taken_over_is_shown_once_more_when_its_last_edit_can_no_longer_arrive(
    store: Store,
) -> None:
    processes = Processes(store)
    ann, anns = processes.start(Claim("ann", SHORT_LEASE))
    _, bens = processes.start(BEN)
    chat = processes.chat
    ask = (await ann.submit(ask_user(boolean("a"), boolean("b"), boolean("c")))).ask
    await anns.wait_until_idle()
    old, chat.hold = chat.messages[ask.id], asyncio.Event()
    await ann.act(ask.id, Answer(value=True), actor())
    await chat.until(lambda: chat.shows == 2)
    await anns.stop(0)  # the process is frozen: its edit is with the platform
    chat.hold = None
    async with asyncio.timeout(WAIT):
        while chat.messages[ask.id].revision != 2:
            await bens.sweep(10)
            await bens.wait_until_idle()
    chat.messages[ask.id] = old  # now the platform carries it out
    processes.timers.run_all()
    await chat.until(lambda: chat.messages[ask.id].revision == 2)
    await bens.wait_until_idle()
    assert chat.shows == 4
    await bens.stop()


@pytest.mark.rule("CLAIM-4")
async def test_a_click_on_a_message_that_a_dead_process_was_editing_is_not_undone_by_that_edit(
    store: Store,
) -> None:
    processes = Processes(store)
    ann, anns = processes.start(Claim("ann", SHORT_LEASE))
    ben, bens = processes.start(BEN)
    chat = processes.chat
    ask = (await ann.submit(ask_user(boolean("a"), boolean("b"), boolean("c")))).ask
    await anns.wait_until_idle()
    chat.hold = asyncio.Event()
    await ann.act(ask.id, Answer(value=True), actor())
    await chat.until(lambda: chat.shows == 2)
    await anns.stop(0)  # the process is frozen: its edit is with the platform
    chat.hold = None
    async with asyncio.timeout(WAIT):
        while await store.claims.claim_message(ask.id, BEN) is None:  # noqa: ASYNC110 nothing signals that a lease expired
            await asyncio.sleep(0.01)
    await ben.act(ask.id, Answer(value=True), actor())
    await chat.until(lambda: chat.messages[ask.id].revision == 3)
    await bens.wait_until_idle()
    shows = chat.shows
    processes.timers.run_all()  # the platform may have carried it out in the meantime
    await bens.wait_until_idle()
    assert (chat.shows, chat.messages[ask.id].revision) == (shows + 1, 3)
    await bens.stop()


@pytest.mark.rule("CLAIM-4")
async def test_a_reminder_whose_claim_expired_is_abandoned_and_sent_by_another_process(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    processes = Processes(store)
    ann, ben = processes.start(Claim("ann", SHORT_LEASE)), processes.start(BEN)
    losing, other = Scheduler(*ann), Scheduler(*ben)
    ask = await processes.due(*ann)
    assert await losing.run_once()
    await losing.wait_until_idle()  # nobody renews the claim: the scheduler is suspended
    assert "A reminder was abandoned: its claim has expired" in caplog.text
    processes.chat.hold = None
    async with asyncio.timeout(WAIT):
        while not await other.run_once():  # noqa: ASYNC110 nothing signals that a lease expired
            await asyncio.sleep(0.01)
        await other.wait_until_idle()
    assert processes.chat.reminders == [(ask.id, 0)]


@pytest.mark.rule("CLAIM-4")
async def test_a_claim_renewed_while_its_reminder_is_abandoned_delays_no_deadline(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = Processes(store)
    service, shower = processes.start(Claim("ann", SHORT_LEASE))
    upkeep = Scheduler(service, shower)
    ask = await processes.due(service, shower, expires_in=20)
    given_up, ends = asyncio.Event(), asyncio.Event()

    async def remind(_ask: Ask, _number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()
            await ends.wait()

    monkeypatch.setattr(processes.chat, "remind", remind)
    assert await upkeep.run_once()
    await given_up.wait()
    await processes.clock.advance(10)
    assert await upkeep.run_once()
    ended = await service.get(ask.id)
    assert ended is not None
    assert not ended.open
    ends.set()
    await upkeep.wait_until_idle()


@pytest.mark.rule("CLAIM-5")
async def test_a_stop_lets_running_shows_and_webhooks_end_and_starts_no_more(
    store: Store,
) -> None:
    processes = Processes(store)
    chat = processes.chat
    service, shower = processes.start(BEN, concurrent=2)
    upkeep = Scheduler(service, shower)
    reminded = await processes.due(service, shower)
    assert await upkeep.run_once()
    for place in range(4):
        await service.submit(ask_user(to=f"chat:C{place}"))
    await chat.until(lambda: chat.shows == 3)
    stopping = [asyncio.create_task(one.stop(WAIT)) for one in (shower, upkeep)]
    await asyncio.sleep(0)
    assert chat.hold is not None
    chat.hold.set()
    assert all(await asyncio.gather(*stopping))
    assert chat.reminders == [(reminded.id, 0)]
    assert chat.shows == len(chat.messages) == 3


@pytest.mark.rule("CLAIM-5")
async def test_a_stop_shows_answers_given_while_it_waited(store: Store) -> None:
    processes = Processes(store)
    chat = processes.chat
    service, shower = processes.start(BEN)
    chat.hold = asyncio.Event()
    ask = (await service.submit(ask_user(boolean("a"), boolean("b")))).ask
    await chat.until(lambda: chat.shows == 1)
    stopping = asyncio.create_task(shower.stop(WAIT))
    await service.act(ask.id, Answer(value=True), actor())
    chat.hold.set()
    assert await stopping
    assert chat.messages[ask.id].revision == 2


@pytest.mark.rule("CLAIM-5")
async def test_a_stop_cancels_what_does_not_end_in_time_and_reports_it(store: Store) -> None:
    processes = Processes(store)
    service, shower = processes.start(BEN)
    upkeep = Scheduler(service, shower)
    await processes.due(service, shower)
    assert await upkeep.run_once()
    await service.submit(ask_user())
    await processes.chat.until(lambda: processes.chat.shows == 2)
    assert not any(await asyncio.gather(shower.stop(0.01), upkeep.stop(0.01)))
    assert processes.chat.hold is not None
    processes.chat.hold.set()
    await asyncio.sleep(0)
    assert (len(processes.chat.messages), processes.chat.reminders) == (1, [])
