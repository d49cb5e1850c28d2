"""Two processes share the work of one store: nothing is done twice, and one takes over from the other if it dies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from answerback.core.actions import Answer, Back
from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.outbox.dispatcher import DispatchLimits
from answerback.ports.claims import Claim
from answerback.ports.store import Store
from answerback.ports.store_values import DeliveryState
from answerback.service import claim_renewal
from answerback.workers.scheduler import Scheduler
from tests.fakes.receiver import Received, Receiver, never, receiving, status
from tests.service_support import WAIT, actor, ask_user, boolean
from tests.unit.bot.background_support import HangingInquiry, ScriptedInquiry, inquiry_rules
from tests.unit.bot.outbox_support import Outbox, outbox
from tests.unit.bot.replica_support import ANN, BEN, LASTING, SHORT_LEASE, Processes


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Outbox]:
    async with outbox(tmp_path, allow=["127.0.0.0/8"]) as made:
        yield made


@pytest.mark.rule("CLAIM-1", "CLAIM-2")
async def test_only_the_holder_shows_an_ask_whichever_process_changes_it(
    store: Store,
) -> None:
    processes = Processes(store)
    (ann, anns), (ben, bens) = processes.start(ANN), processes.start(BEN)
    chat = processes.chat
    chat.hold = asyncio.Event()
    ask = (await ann.submit(ask_user(boolean("a"), boolean("b")))).ask
    bens.request_sync(ask)
    await bens.wait_until_idle()
    await ben.act(ask.id, Answer(value=True), actor())
    await bens.wait_until_idle()
    assert chat.shows <= 1
    chat.hold.set()
    await anns.wait_until_idle()
    assert (chat.posts, chat.messages[ask.id].revision) == (1, 2)
    await ben.act(ask.id, Back(), actor())
    await bens.wait_until_idle()
    assert (chat.posts, chat.messages[ask.id].revision) == (1, 3)


@pytest.mark.rule("CLAIM-3")
async def test_after_the_lease_another_process_shows_what_a_dead_one_was_showing(
    store: Store,
) -> None:
    processes = Processes(store)
    ann, anns = processes.start(Claim("ann", SHORT_LEASE))
    _, bens = processes.start(BEN)
    processes.chat.hold = asyncio.Event()
    since = time.monotonic()
    ask = (await ann.submit(ask_user())).ask
    async with asyncio.timeout(WAIT), processes.chat.changed:
        await processes.chat.changed.wait_for(lambda: processes.chat.shows == 1)
    await anns.stop()
    processes.chat.hold = None
    async with asyncio.timeout(WAIT):
        while ask.id not in processes.chat.messages:
            await bens.sweep(10)
            await bens.wait_until_idle()
    assert time.monotonic() - since >= SHORT_LEASE
    assert await store.messages.list_outdated(1) == []


@pytest.mark.rule("CLAIM-1")
async def test_two_processes_remind_inquire_and_expire_once(store: Store) -> None:
    processes, backend = Processes(store), ScriptedInquiry(answer=True)
    rules, call = inquiry_rules()
    made = [processes.start(one, rules=rules, has_inquiry=True) for one in (ANN, BEN)]
    schedulers = [Scheduler(service, sync, backend.answer) for service, sync in made]
    (ann, anns), _ = made
    reminded = (await ann.submit(ask_user(remind_after=[10]))).ask
    await ann.submit(ask_user().model_copy(update=call))
    ended = (await ann.submit(ask_user(expires_in=10))).ask
    await anns.wait_until_idle()
    await processes.clock.advance(11)
    await asyncio.gather(*(scheduler.run_once() for scheduler in schedulers))
    for scheduler in schedulers:
        await scheduler.wait_until_idle()
    assert backend.asked == ["force"]
    assert processes.chat.reminders == [(reminded.id, 0)]
    record = [line.entry.kind for line in await store.record.read(ended.id)]
    assert record.count("ended") == 1


@pytest.mark.rule("CLAIM-3")
async def test_a_running_inquiry_stays_claimed_until_its_process_dies(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, hanging, backend = Processes(store), HangingInquiry(), ScriptedInquiry(answer=True)
    rules, call = inquiry_rules()
    ann, anns = processes.start(Claim("ann", LASTING), rules=rules, has_inquiry=True)
    ben, bens = processes.start(BEN, rules=rules, has_inquiry=True)
    dying, living = Scheduler(ann, anns, hanging.answer), Scheduler(ben, bens, backend.answer)
    ask = (await ann.submit(ask_user().model_copy(update=call))).ask
    renewals, real = asyncio.Semaphore(0), store.claims.claim_due

    async def claim_due(claim: Claim, now: float, limit: int) -> Sequence[str]:
        found = await real(claim, now, limit)
        if claim.holder == "ann" and found:
            renewals.release()
        return found

    monkeypatch.setattr(store.claims, "claim_due", claim_due)
    running = asyncio.create_task(dying.run())
    async with asyncio.timeout(WAIT):
        await hanging.asked.wait()
        since = time.monotonic()
        while time.monotonic() - since < 1.5 * LASTING:
            await renewals.acquire()
            assert not await living.run_once(), "it stays claimed for as long as it takes"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await dying.stop()
    async with asyncio.timeout(WAIT):
        while not await living.run_once():  # noqa: ASYNC110 nothing signals that a lease expired
            await asyncio.sleep(0.01)
        await living.wait_until_idle()
    done = await ben.get(ask.id)
    assert done is not None
    assert (done.open, backend.asked) == (False, ["force"])


@pytest.mark.rule("CLAIM-1")
async def test_two_processes_send_each_webhook_once(box: Outbox, receiver: Receiver) -> None:
    async with box.draining(claim=ANN), box.draining(claim=BEN):
        asks = [await box.answered(receiver.url) for _ in range(40)]
        for ask in asks:
            await box.wait_for_tries(ask, 1)
    ids = [one.event["data"]["id"] for one in receiver.received]
    assert sorted(ids) == sorted(ask.id for ask in asks)


@pytest.mark.rule("CLAIM-3")
async def test_after_the_lease_another_process_sends_a_dead_ones_webhook(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.answers = [never]
    since = time.monotonic()
    async with box.draining(claim=Claim("ann", SHORT_LEASE)):
        ask = await box.answered(receiver.url)
        await receiver.until(1)
    async with box.draining(claim=Claim("ben", SHORT_LEASE)):
        stored = await box.wait_for_tries(ask, 1)
    assert stored.state is DeliveryState.DELIVERED
    assert time.monotonic() - since >= SHORT_LEASE


@pytest.mark.rule("CLAIM-3")
async def test_an_attempt_longer_than_its_lease_stays_claimed_and_is_not_repeated(
    box: Outbox,
) -> None:
    async with receiving() as dead:
        dead.always = never
        async with box.draining(claim=Claim("ann", LASTING)):
            since = time.monotonic()
            ask = await box.answered(dead.url)
            result = (await box.delivery(ask)).delivery.id
            async with asyncio.timeout(WAIT), box.store.outbox.changed:
                while time.monotonic() - since < 1.5 * LASTING:
                    await box.store.outbox.changed.wait()
            assert box.store.outbox.claimed == [result]
            assert len(dead.received) == 1


@pytest.mark.rule("CLAIM-4")
async def test_an_attempt_whose_claim_was_taken_is_abandoned_and_its_result_not_stored(
    box: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        claim_renewal, "_RENEWAL_ATTEMPTS", 500
    )  # the loss is detected soon, while the claim still lasts
    async with receiving() as dead:
        dead.always = never
        async with box.draining(claim=Claim("ann", 36.0)) as deliverer:
            ask = await box.answered(dead.url)
            await dead.until(1)
            await box.store.outbox.take_over(ANN, BEN, box.clock.now())
            async with asyncio.timeout(WAIT):
                while deliverer.pending_count:  # noqa: ASYNC110 nothing signals an abandoned attempt
                    await asyncio.sleep(0.01)
            stored = await box.delivery(ask)
    assert (stored.tries, stored.state) == (0, DeliveryState.PENDING)


@pytest.mark.rule("CLAIM-3")
async def test_a_show_longer_than_its_lease_stays_claimed(store: Store) -> None:
    processes = Processes(store)
    ann, anns = processes.start(Claim("ann", LASTING))
    _, bens = processes.start(BEN)
    processes.chat.hold = asyncio.Event()
    await ann.submit(ask_user())
    await processes.chat.until(lambda: processes.chat.shows == 1)
    since = time.monotonic()
    while time.monotonic() - since < 1.5 * LASTING:
        await bens.sweep(10)
        await bens.wait_until_idle()
        await asyncio.sleep(0.01)
    assert processes.chat.shows == 1
    processes.chat.hold.set()
    await anns.wait_until_idle()
    assert (processes.chat.posts, processes.chat.shows) == (1, 1)


@pytest.mark.rule("CLAIM-3")
async def test_a_reminder_longer_than_its_lease_stays_claimed_and_is_sent_once(
    store: Store,
) -> None:
    processes = Processes(store)
    ann, ben = processes.start(Claim("ann", LASTING)), processes.start(BEN)
    slow, other = Scheduler(*ann), Scheduler(*ben)
    ask = await processes.due(*ann)
    since = time.monotonic()
    while time.monotonic() - since < 1.5 * LASTING:
        await slow.run_once()
        assert not await other.run_once()
        await asyncio.sleep(0.01)
    assert processes.chat.hold is not None
    processes.chat.hold.set()
    await slow.wait_until_idle()
    assert processes.chat.reminders == [(ask.id, 0)]


@pytest.mark.rule("CLAIM-4")
async def test_a_queued_webhook_that_another_process_claimed_is_not_sent(
    box: Outbox, receiver: Receiver
) -> None:
    async with queued_behind_another(box, receiver) as (asks, go_on):
        await box.store.outbox.take_over(ANN, BEN, box.clock.now())
        await box.clock.advance(50)
        go_on.set()
    assert len(receiver.received) == 1
    assert [(await box.delivery(ask)).tries for ask in asks] == [0, 0]


@pytest.mark.rule("CLAIM-4")
async def test_a_queued_webhook_is_sent_once_its_claim_can_be_renewed(
    box: Outbox,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    real, failures = box.store.outbox.renew, [StoreError("the disk is gone")]

    async def renew_delivery(delivery_id: str, claim: Claim) -> bool:
        if failures:
            raise failures.pop()
        return await real(delivery_id, claim)

    monkeypatch.setattr(box.store.outbox, "renew", renew_delivery)
    async with queued_behind_another(box, receiver, Claim("ann", LASTING)) as (asks, go_on):
        await box.clock.advance(50)
        go_on.set()
        for ask in asks:
            assert (await box.wait_for_tries(ask, 1)).state is DeliveryState.DELIVERED
    assert "the disk is gone" in caplog.text
    assert len(receiver.received) == 2


@pytest.mark.rule("CLAIM-4")
async def test_a_webhook_whose_claim_expired_before_it_was_sent_was_not_attempted(
    box: Outbox, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, pauses = box.store.outbox.renew, [1.5 * LASTING]

    async def renew_delivery(delivery_id: str, claim: Claim) -> bool:
        renewed = await real(delivery_id, claim)
        if pauses and delivery_id == box.store.outbox.claimed[1]:
            # The store takes longer to respond than the claim lasts.
            await asyncio.sleep(pauses.pop())
        return renewed

    monkeypatch.setattr(box.store.outbox, "renew", renew_delivery)
    async with queued_behind_another(box, receiver, Claim("ann", LASTING)) as (asks, go_on):
        await box.clock.advance(50)
        go_on.set()
        results = [await box.wait_for_tries(ask, 1) for ask in asks]
    assert [(one.state, one.tries) for one in results] == [(DeliveryState.DELIVERED, 1)] * 2
    assert not pauses
    assert len(receiver.received) == 2


@pytest.mark.rule("CLAIM-3")
async def test_a_webhook_queued_for_longer_than_its_claim_is_reclaimed_and_sent_once(
    box: Outbox, receiver: Receiver
) -> None:
    async with queued_behind_another(box, receiver, Claim("ann", LASTING)) as (asks, go_on):
        second = box.store.outbox.claimed[1]
        async with asyncio.timeout(WAIT), box.store.outbox.changed:
            await box.store.outbox.changed.wait_for(
                lambda: box.store.outbox.claimed.count(second) >= 2
            )
        go_on.set()
        for ask in asks:
            assert (await box.wait_for_tries(ask, 1)).state is DeliveryState.DELIVERED
    assert len(receiver.received) == 2


@asynccontextmanager
async def queued_behind_another(
    box: Outbox, receiver: Receiver, claim: Claim = ANN
) -> AsyncIterator[tuple[list[Ask], asyncio.Event]]:
    """Two asks whose webhooks are claimed: the first is being sent until the event is set, and the second waits."""
    go_on = asyncio.Event()

    async def slow(received: Received) -> web.StreamResponse:
        await go_on.wait()
        return await status(204)(received)

    receiver.answers = [slow]
    async with box.draining(claim=claim, limits=DispatchLimits(in_flight=1)):
        asks = [await box.answered(receiver.url) for _ in range(2)]
        await receiver.until(1)
        async with asyncio.timeout(WAIT), box.store.outbox.changed:
            await box.store.outbox.changed.wait_for(lambda: len(set(box.store.outbox.claimed)) == 2)
        yield asks, go_on
