"""Webhooks to receivers that redirect, hang or are gone, and from processes that are killed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from answerback.api.deliveries import send_again
from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.outbox.address_policy import AddressRules, guarded_session
from answerback.outbox.dispatcher import RETRY_DELAYS, DispatchLimits, OutboxDispatcher
from answerback.ports.claims import Claim
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import DeliveryState
from answerback_webhooks.sender import CallbackPolicy, WebhookSender
from tests.fakes.receiver import Receiver, endless, hanging_up, never, receiving, status
from tests.ports import free_port
from tests.service_support import WAIT, actor, ask_user, boolean
from tests.unit.bot.outbox_support import SECRET, Outbox, outbox

HOUR = 3_600.0
LIMITS = DispatchLimits()


@pytest.mark.rule("WEBHOOK-11")
@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_a_redirect_is_a_failure_and_never_followed(
    box: Outbox, receiver: Receiver, code: int
) -> None:
    async with receiving() as elsewhere:
        receiver.always = status(code, Location=elsewhere.url)
        async with box.draining():
            ask = await box.answered(receiver.url)
            stored = await box.wait_for_tries(ask, 1)
    assert elsewhere.received == []
    assert (stored.state, stored.last_status) == (DeliveryState.PENDING, code)
    assert stored.last_error == f"status {code}"


@pytest.mark.rule("WEBHOOK-6")
async def test_a_receiver_that_hangs_delays_nobody_else(box: Outbox, receiver: Receiver) -> None:
    async with receiving() as dead:
        dead.always = never
        async with box.draining():
            asks = [await box.answered(dead.url) for _ in range(12)]
            await dead.until(LIMITS.in_flight)
            await box.answered(receiver.url)
            await receiver.until(1)
            assert len(dead.received) == LIMITS.in_flight
            assert [(await box.delivery(ask)).tries for ask in asks] == [0] * 12


@pytest.mark.rule("WEBHOOK-6")
async def test_a_dead_receivers_backlog_that_exceeds_memory_delays_nobody_else(
    box: Outbox, receiver: Receiver
) -> None:
    limits = LIMITS._replace(queued=20, batch=10)
    async with receiving() as dead:
        dead.always = never
        asks = [await box.answered(dead.url) for _ in range(60)]
        last = await box.answered(receiver.url)
        async with box.draining(limits=limits):
            await dead.until(LIMITS.in_flight)
            await receiver.until(1)
            await box.wait_for_tries(last, 1)
            dead.always = None
        await box.clock.advance(120)  # as after a kill, when postponed deliveries are due
        async with box.draining(limits=limits):
            for ask in asks:
                while (await box.delivery(ask)).tries < 1:
                    await box.clock.advance(5)
                    await asyncio.sleep(0)
    delivered = {r.event["data"]["id"] for r in dead.received}
    assert delivered == {ask.id for ask in asks}


async def test_a_receiver_that_times_out_is_retried(box: Outbox, receiver: Receiver) -> None:
    receiver.always = never
    async with box.draining(timeout=0.2):
        ask = await box.answered(receiver.url)
        stored = await box.wait_for_tries(ask, 1)
        assert stored.last_error == "timeout"
    receiver.always = None
    await box.clock.advance(RETRY_DELAYS[0])
    async with box.draining():
        stored = await box.wait_for_tries(ask, 2)
    assert stored.state is DeliveryState.DELIVERED


async def test_an_unreachable_receiver_is_retried(box: Outbox) -> None:
    port = free_port()
    async with receiving(port=port) as gone:
        url = gone.url
    async with box.draining():
        ask = await box.answered(url)
        stored = await box.wait_for_tries(ask, 1)
        async with receiving(port=port) as back:
            await box.clock.advance(RETRY_DELAYS[0])
            await back.until(1)
            await box.wait_for_tries(ask, 2)
    assert stored.last_error == "refused"


async def test_a_response_body_is_never_read_to_its_end(box: Outbox, receiver: Receiver) -> None:
    receiver.always = endless
    async with box.draining():
        ask = await box.answered(receiver.url)
        stored = await box.wait_for_tries(ask, 1)
    assert stored.state is DeliveryState.DELIVERED


async def test_webhooks_left_by_a_killed_process_are_sent_by_the_next(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.answers = [never]
    never_tried = await box.answered(receiver.url)
    async with box.draining():
        await receiver.until(1)
    async with box.draining():
        await receiver.until(2)
        await box.wait_for_tries(never_tried, 1)
    assert receiver.received[0].id == receiver.received[1].id


async def test_a_webhook_is_not_sent_repeatedly_if_its_result_cannot_be_stored(
    box: Outbox, receiver: Receiver
) -> None:
    box.store.outbox.failures = 3
    async with box.draining(limits=LIMITS._replace(database_pause=0.01)):
        ask = await box.answered(receiver.url)
        await box.wait_for_tries(ask, 1)
    assert box.store.outbox.failures == 0
    assert len(receiver.received) == 1


@pytest.mark.rule("WEBHOOK-4")
async def test_several_events_of_one_ask_keep_their_order(box: Outbox, receiver: Receiver) -> None:
    receiver.answers = [status(500)]
    async with box.draining():
        ask = await box.answered(receiver.url)
        first = await box.wait_for_tries(ask, 1)
    later = first.delivery.__class__(
        id="msg_later",
        ask_id=ask.id,
        type="ask.answered",
        url=receiver.url,
        agent=None,
        body=json.dumps({"later": True}),
        created_at=box.clock.now(),
    )
    await _add(box, ask, later)
    async with box.draining():
        await box.clock.advance(RETRY_DELAYS[0])
        await receiver.until(3)
    assert [r.id for r in receiver.received] == [first.delivery.id] * 2 + ["msg_later"]


async def _add(box: Outbox, ask: Ask, later: Any) -> None:
    def decide(latest: Ask | None) -> Decision[None]:
        assert latest is not None
        return Decision(Write(latest, deliveries=(later,)), None)

    await box.store.asks.change(ask.id, decide)


async def test_without_a_callback_nothing_is_sent(box: Outbox, receiver: Receiver) -> None:
    async with box.draining():
        ask = (await box.service.submit(ask_user(boolean()))).ask
        await box.service.act(ask.id, Answer(value=True), actor())
        await box.answered(receiver.url)
        await receiver.until(1)
    assert len(receiver.received) == 1


async def test_after_its_secret_was_removed_the_log_names_the_missing_key(
    box: Outbox, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    ask = await box.answered(receiver.url)
    box.callbacks.secrets = {}
    async with box.draining():
        stored = await box.wait_for_tries(ask, 1)
    assert stored.last_error == "no signing secret"
    [detail] = [vars(each)["detail"] for each in caplog.records if "detail" in vars(each)]
    assert "callbacks.secret" in detail
    assert receiver.received == []


async def test_an_unreadable_database_only_delays_webhooks(
    box: Outbox, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = True
    real = box.store.outbox.claim
    failed = asyncio.Event()

    async def due(claim: Claim, now: float, limit: int) -> Any:
        if broken:
            failed.set()
            raise StoreError("the disk is gone")
        return await real(claim, now, limit)

    monkeypatch.setattr(box.store.outbox, "claim", due)
    async with box.draining():
        await box.answered(receiver.url)
        await asyncio.wait_for(failed.wait(), WAIT)
        broken = False
        await box.clock.advance(LIMITS.database_pause)
        await receiver.until(1)


async def test_deliveries_in_memory_also_wait_when_a_receiver_asks_for_a_pause(
    box: Outbox, receiver: Receiver
) -> None:
    held = asyncio.Event()

    async def busy(_: Any) -> web.StreamResponse:
        await held.wait()
        return web.Response(status=429, headers={"Retry-After": "60"})

    receiver.always = busy
    asks = [await box.answered(receiver.url) for _ in range(20)]
    async with box.draining():
        await receiver.until(LIMITS.in_flight)
        held.set()
        async with asyncio.timeout(WAIT), box.store.outbox.changed:
            while any([(await box.delivery(ask)).next_at == ask.created_at for ask in asks]):
                await box.store.outbox.changed.wait()
        assert len(receiver.received) == LIMITS.in_flight
        receiver.always = None
        await box.clock.advance(70)
        await receiver.until(LIMITS.in_flight + len(asks))


@pytest.mark.rule("WEBHOOK-5")
@pytest.mark.parametrize(("code", "state"), [(204, "delivered"), (500, "pending"), (410, "dead")])
async def test_a_webhook_that_is_redelivered_during_an_attempt_is_sent_again_after_it(
    box: Outbox, receiver: Receiver, code: int, state: str
) -> None:
    ending = asyncio.Event()

    async def slow(_: Any) -> web.StreamResponse:
        await ending.wait()
        return web.Response(status=code)

    receiver.answers = [slow]
    changed, claimed = box.store.outbox.changed, box.store.outbox.claimed
    async with box.draining():
        ask = await box.answered(receiver.url)
        await receiver.until(1)
        await box.clock.advance(1)
        await send_again(box.service, await box.delivery(ask))
        async with asyncio.timeout(WAIT), changed:
            await changed.wait_for(lambda: len(claimed) == 2)
        ending.set()
        await receiver.until(2)
        stored = await box.wait_for_tries(ask, 1)
    assert stored.state is DeliveryState.DELIVERED
    assert [line["state"] for line in await box.lines(ask)] == [state, "delivered"]


async def test_stopping_lets_a_running_attempt_end(box: Outbox, receiver: Receiver) -> None:
    release = asyncio.Event()

    async def slow(_: Any) -> web.StreamResponse:
        await release.wait()
        return web.Response(status=204)

    receiver.always = slow
    ask = await box.answered(receiver.url)
    async with guarded_session(box.callbacks.rules) as http:
        sender = WebhookSender(http, box.callbacks.rules, box.callbacks.secrets_of)
        save_seen = box.service.late_answer_tracker.save_seen
        parts = (box.store.outbox, box.clock, sender, box.service.hooks, save_seen)
        deliverer = OutboxDispatcher(*parts)
        running = asyncio.create_task(deliverer.run())
        await receiver.until(1)
        running.cancel()
        stopping = asyncio.create_task(deliverer.stop())
        await asyncio.sleep(0)
        release.set()
        await stopping
    assert (await box.delivery(ask)).state is DeliveryState.DELIVERED


async def test_an_address_that_is_no_longer_allowed_is_not_called(tmp_path: Path) -> None:
    async with outbox(tmp_path, allow=["10.0.0.0/8"]) as box:
        ask = await box.answered("http://10.0.0.1/hook")
        box.callbacks = CallbackPolicy(AddressRules(), {None: [SECRET]})
        async with box.draining():
            stored = await box.wait_for_tries(ask, 1)
    assert stored.state is DeliveryState.PENDING
    assert stored.last_error == "refused"


async def test_a_receiver_that_hangs_up_without_a_response_is_retried(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.answers = [hanging_up]
    async with box.draining():
        ask = await box.answered(receiver.url)
        stored = await box.wait_for_tries(ask, 1)
        assert (stored.state, stored.last_status) == (DeliveryState.PENDING, None)
        assert stored.last_error == "refused"
        await box.clock.advance(RETRY_DELAYS[0] + 1)
        await box.wait_for_tries(ask, 2)
    assert (await box.delivery(ask)).state is DeliveryState.DELIVERED
