"""Webhooks from the outbox to a real receiver over real sockets: once each, in order, whatever the receiver does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from bot import delivery as delivery_module
from bot.ask import Ask, Reason
from bot.client import WebhookError, verify_webhook
from bot.delivery import PAUSES
from bot.ports import Decision, DeliveryState, Write
from bot.presenting import ask_json
from bot.routing import Rules
from bot.walker import Answer, EndTurn, Reply
from tests.fakes.receiver import Receiver, endless, never, receiving, status
from tests.service_parts import WAIT, actor, ask_user, boolean
from tests.unit.bot.outbox_parts import OTHER_SECRET, SECRET, Outbox, outbox

HOUR = 3_600.0


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Outbox]:
    async with outbox(tmp_path) as made:
        yield made


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


async def end_cancelled(box: Outbox, ask: Ask) -> None:
    await box.service.act(ask.id, Reply(text="Ask later."), actor())


async def end_turn(box: Outbox, ask: Ask) -> None:
    await box.service.act(ask.id, EndTurn(), actor())


async def end_expired(box: Outbox, ask: Ask) -> None:
    await box.service.expire(ask.id)


async def end_withdrawn(box: Outbox, ask: Ask) -> None:
    await box.service.withdraw(ask.id)


async def end_failed(box: Outbox, ask: Ask) -> None:
    await box.service.fail(ask.id, Reason.BACKEND_ERROR, "Broken. Do not retry.")


async def end_answered(box: Outbox, ask: Ask) -> None:
    await box.service.act(ask.id, Answer(value=True), actor())


@pytest.mark.parametrize(
    ("end", "event"),
    [
        (end_answered, "ask.answered"),
        (end_cancelled, "ask.cancelled"),
        (end_turn, "ask.turn_ended"),
        (end_expired, "ask.expired"),
        (end_withdrawn, "ask.withdrawn"),
        (end_failed, "ask.failed"),
    ],
)
async def test_however_an_ask_ends_one_signed_webhook_tells_it(
    box: Outbox, receiver: Receiver, end: Any, event: str
) -> None:
    async with box.draining():
        ask = await box.ask(receiver.url)
        await end(box, ask)
        (received,) = await receiver.until(1)
        stored = await box.tried(ask, 1)
    verified = verify_webhook(received.body, received.headers, SECRET)
    ended = await box.service.get(ask.id)
    assert ended is not None
    assert (verified.type, verified.id) == (event, stored.delivery.id)
    assert verified.ask.json == ask_json(ended)
    assert received.headers["content-type"] == "application/json"
    assert stored.state is DeliveryState.DELIVERED
    assert len(receiver.received) == 1


async def test_a_fixed_answer_is_told_like_any_other(tmp_path: Path, receiver: Receiver) -> None:
    rules = Rules.model_validate({"tools": {"ask_user": {"questions": {"go": {"answer": True}}}}})
    async with outbox(tmp_path, rules=rules) as box, box.draining():
        await box.ask(receiver.url)
        (received,) = await receiver.until(1)
    assert received.event["type"] == "ask.answered"
    assert received.event["data"]["source"] == "config"


async def test_a_signature_of_another_secret_or_another_body_is_not_trusted(
    box: Outbox, receiver: Receiver
) -> None:
    async with box.draining():
        await box.answered(receiver.url)
        (received,) = await receiver.until(1)
    with pytest.raises(WebhookError):
        verify_webhook(received.body, received.headers, OTHER_SECRET)
    with pytest.raises(WebhookError):
        verify_webhook(received.body + b" ", received.headers, SECRET)
    with pytest.raises(WebhookError):
        verify_webhook(received.body, {**received.headers, "webhook-signature": "v1,☃"}, SECRET)


async def test_while_a_secret_is_replaced_the_old_and_the_new_one_both_sign(
    tmp_path: Path, receiver: Receiver
) -> None:
    async with outbox(tmp_path, secrets=(SECRET, OTHER_SECRET)) as box, box.draining():
        await box.answered(receiver.url)
        (received,) = await receiver.until(1)
    for secret in (SECRET, OTHER_SECRET):
        Webhook(secret).verify(received.body, dict(received.headers))
    assert len(received.headers["webhook-signature"].split()) == 2


async def test_a_receiver_that_is_back_after_an_hour_gets_the_event_once_and_the_record_has_each_try(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.always = status(500)
    async with box.draining():
        ask = await box.answered(receiver.url)
        for number, pause in enumerate(PAUSES[:5], 1):
            await box.tried(ask, number)
            await box.clock.advance(pause)
        await box.tried(ask, 6)
        receiver.always = None
        await box.clock.advance(PAUSES[5])
        stored = await box.tried(ask, 7)
        await box.clock.advance(30 * HOUR)
    assert stored.state is DeliveryState.DELIVERED
    assert len({received.id for received in receiver.received}) == 1
    assert len({received.body for received in receiver.received}) == 1
    stamps = [int(received.headers["webhook-timestamp"]) for received in receiver.received]
    assert stamps == sorted(set(stamps))
    lines = await box.lines(ask)
    assert [line["try"] for line in lines] == [1, 2, 3, 4, 5, 6, 7]
    assert [line["status"] for line in lines] == [500] * 6 + [204]
    assert lines[0]["next_try_in"] == PAUSES[0]
    assert sum(PAUSES[:5]) < HOUR < sum(PAUSES[:6])


async def test_after_three_days_a_delivery_is_dead_and_can_be_sent_again(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.always = status(503)
    async with box.draining():
        ask = await box.answered(receiver.url)
        for number, pause in enumerate(PAUSES, 1):
            await box.tried(ask, number)
            await box.clock.advance(pause)
        dead = await box.tried(ask, len(PAUSES) + 1)
        assert dead.state is DeliveryState.DEAD
        assert dead.next_at is None
        assert 2.9 < (box.clock.now() - ask.created_at) / 86_400 < 3.1
        receiver.always = None
        again = await box.service.redeliver(dead.delivery.id)
        assert again is not None
        await receiver.until(len(PAUSES) + 2)
        await box.tried(ask, 1)
    assert len({received.id for received in receiver.received}) == 1
    assert (await box.delivery(ask)).state is DeliveryState.DELIVERED


async def test_a_receiver_that_says_gone_is_not_called_again(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.always = status(410)
    async with box.draining():
        ask = await box.answered(receiver.url)
        stored = await box.tried(ask, 1)
        await box.clock.advance(100 * HOUR)
    assert stored.state is DeliveryState.DEAD
    assert len(receiver.received) == 1
    assert "410" in (stored.last_error or "")


@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_a_redirect_is_a_failure_and_never_followed(
    box: Outbox, receiver: Receiver, code: int
) -> None:
    async with receiving() as elsewhere:
        receiver.always = status(code, Location=elsewhere.url)
        async with box.draining():
            ask = await box.answered(receiver.url)
            stored = await box.tried(ask, 1)
    assert elsewhere.received == []
    assert (stored.state, stored.last_status) == (DeliveryState.PENDING, code)
    assert "Redirects are not followed" in (stored.last_error or "")


@pytest.mark.parametrize("as_date", [False, True])
async def test_retry_after_is_obeyed_for_all_that_goes_to_that_receiver(
    box: Outbox, receiver: Receiver, as_date: bool
) -> None:
    value = formatdate(box.clock.now() + 900, usegmt=True) if as_date else "900"
    receiver.answers = [status(429, Retry_After=value)]
    async with box.draining():
        first = await box.answered(receiver.url)
        stored = await box.tried(first, 1)
        assert stored.next_at == box.clock.now() + 900
        second = await box.answered(receiver.url)
        async with asyncio.timeout(WAIT), box.store.noted:
            while (await box.delivery(second)).next_at == second.created_at:
                await box.store.noted.wait()
        assert len(receiver.received) == 1
        await box.clock.advance(910)
        await receiver.until(3)
        await box.tried(first, 2)
        await box.tried(second, 1)


async def test_a_receiver_that_hangs_delays_nobody_else(box: Outbox, receiver: Receiver) -> None:
    async with receiving() as dead:
        dead.always = never
        async with box.draining():
            asks = [await box.answered(dead.url) for _ in range(12)]
            await dead.until(delivery_module._IN_FLIGHT)
            await box.answered(receiver.url)
            await receiver.until(1)
            assert len(dead.received) == delivery_module._IN_FLIGHT
            assert [(await box.delivery(ask)).tries for ask in asks] == [0] * 12


async def test_a_backlog_of_a_dead_receiver_past_what_memory_holds_delays_nobody_else(
    box: Outbox, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_module, "_QUEUED", 20)
    monkeypatch.setattr(delivery_module, "_UNLEASED", 5)
    monkeypatch.setattr(delivery_module, "_BATCH", 10)
    async with receiving() as dead:
        dead.always = never
        asks = [await box.answered(dead.url) for _ in range(60)]
        last = await box.answered(receiver.url)
        async with box.draining():
            await dead.until(delivery_module._IN_FLIGHT)
            await receiver.until(1)
            await box.tried(last, 1)
            dead.always = None
        # As after a kill: what was leased to the dead process comes back when its lease is over.
        await box.clock.advance(120)
        async with box.draining():
            for ask in asks:
                while (await box.delivery(ask)).tries < 1:
                    await box.clock.advance(5)
                    await asyncio.sleep(0)
    delivered = {r.event["data"]["id"] for r in dead.received}
    assert delivered == {ask.id for ask in asks}


async def test_a_receiver_that_does_not_answer_in_time_is_tried_again(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.answers = [never]
    async with box.draining(timeout=0.2):
        ask = await box.answered(receiver.url)
        stored = await box.tried(ask, 1)
        assert stored.last_error == "No answer within 0.2 seconds."
        await box.clock.advance(PAUSES[0])
        stored = await box.tried(ask, 2)
    assert stored.state is DeliveryState.DELIVERED


async def test_a_receiver_that_is_not_there_is_tried_again(box: Outbox) -> None:
    async with receiving() as gone:
        url = gone.url
    async with box.draining():
        ask = await box.answered(url)
        stored = await box.tried(ask, 1)
        port = int(url.split(":")[2].split("/")[0])
        async with receiving(port=port) as back:
            await box.clock.advance(PAUSES[0])
            await back.until(1)
            await box.tried(ask, 2)
    assert "Not reached" in (stored.last_error or "")


async def test_the_body_of_an_answer_is_never_read_to_its_end(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.always = endless
    async with box.draining():
        ask = await box.answered(receiver.url)
        stored = await box.tried(ask, 1)
    assert stored.state is DeliveryState.DELIVERED


async def test_what_a_killed_process_left_is_delivered_by_the_next(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.answers = [never]
    never_tried = await box.answered(receiver.url)
    async with box.draining():
        await receiver.until(1)
    async with box.draining():
        await receiver.until(2)
        await box.tried(never_tried, 1)
    assert receiver.received[0].id == receiver.received[1].id


async def test_a_result_that_cannot_be_stored_is_not_sent_over_and_over(
    box: Outbox, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_module, "_DATABASE_PAUSE", 0.01)
    box.store.failures = 3
    async with box.draining():
        ask = await box.answered(receiver.url)
        await box.tried(ask, 1)
    assert box.store.failures == 0
    assert len(receiver.received) == 1


async def test_several_events_of_one_ask_keep_their_order(box: Outbox, receiver: Receiver) -> None:
    receiver.answers = [status(500)]
    async with box.draining():
        ask = await box.answered(receiver.url)
        first = await box.tried(ask, 1)
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
        await box.clock.advance(PAUSES[0])
        await receiver.until(3)
    assert [r.id for r in receiver.received] == [first.delivery.id] * 2 + ["msg_later"]


async def _add(box: Outbox, ask: Ask, later: Any) -> None:
    def decide(latest: Ask | None) -> Decision[None]:
        assert latest is not None
        return Decision(Write(latest, deliveries=(later,)), None)

    await box.store.change(ask.id, decide)


async def test_without_a_callback_nothing_is_sent(box: Outbox, receiver: Receiver) -> None:
    async with box.draining():
        ask = (await box.service.submit(ask_user(boolean()))).ask
        await box.service.act(ask.id, Answer(value=True), actor())
        await box.answered(receiver.url)
        await receiver.until(1)
    assert len(receiver.received) == 1


async def test_without_a_secret_any_more_the_record_says_which_key_is_missing(
    box: Outbox, receiver: Receiver
) -> None:
    ask = await box.answered(receiver.url)
    box.callbacks._secrets = {}
    async with box.draining():
        stored = await box.tried(ask, 1)
    assert "callbacks.secret" in (stored.last_error or "")
    assert receiver.received == []
