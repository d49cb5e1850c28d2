"""Webhooks from the outbox to a real receiver over real sockets: once each, in order, whatever the receiver does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from answerback.api.deliveries import send_again
from answerback.core.actions import Answer, EndTurn, Reply
from answerback.core.ask import Ask, Reason
from answerback.core.clarification import AskBack
from answerback.outbox.dispatcher import RETRY_DELAYS
from answerback.ports.store_values import DeliveryState
from answerback.service.ask_wire import ask_json
from answerback.service.question_routing import Rules
from answerback_client import WebhookError, verify_webhook
from tests.fakes.receiver import Receiver, status
from tests.service_support import WAIT, actor
from tests.unit.bot.outbox_support import OTHER_SECRET, SECRET, Outbox, outbox

HOUR = 3_600.0


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


@pytest.mark.rule("WEBHOOK-1")
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
async def test_every_kind_of_ending_sends_one_signed_webhook(
    box: Outbox, receiver: Receiver, end: Any, event: str
) -> None:
    async with box.draining():
        ask = await box.ask(receiver.url)
        await end(box, ask)
        (received,) = await receiver.until(1)
        stored = await box.wait_for_tries(ask, 1)
    verified = verify_webhook(received.body, received.headers, SECRET)
    ended = await box.service.get(ask.id)
    assert ended is not None
    assert (verified.type, verified.id) == (event, stored.delivery.id)
    assert verified.ask.json == ask_json(ended) | {"collected_at": None}, (
        "as it was when it was sent"
    )
    assert ended.collection.read_by_agent_at == (
        None if event == "ask.withdrawn" else box.clock.now()
    )
    assert received.headers["content-type"] == "application/json"
    assert stored.state is DeliveryState.DELIVERED
    assert len(receiver.received) == 1


@pytest.mark.rule("LATE-1", "LATE-11")
async def test_the_webhook_of_an_earlier_event_does_not_bring_the_outcome(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.answers = [status(503), status(204), status(410)]
    async with box.draining():
        ask = await box.ask(receiver.url, accepts=["clarify"])
        await box.service.act(ask.id, AskBack(text="Which one?"), actor())
        await box.wait_for_tries(ask, 1)
        await box.service.act(ask.id, Answer(value=True), actor())
        await box.clock.advance(RETRY_DELAYS[0] + 1)
        async with asyncio.timeout(WAIT), box.store.outbox.changed:
            while len(await box.lines(ask)) < 3:
                await box.store.outbox.changed.wait()
    states = [line["state"] for line in await box.lines(ask)]
    assert states == ["pending", "delivered", "dead"], "asked back, twice, and then answered"
    late = await box.service.late_answer_tracker.list_unseen(None, None, None, 10)
    assert [each.ask.id for each in late] == [ask.id]
    assert late[0].ask.collection.read_by_agent_at is None


@pytest.mark.rule("WEBHOOK-2")
async def test_a_fixed_answer_sends_a_webhook_like_any_other(
    tmp_path: Path, receiver: Receiver
) -> None:
    rules = Rules.model_validate({"tools": {"ask_user": {"questions": {"go": {"answer": True}}}}})
    async with outbox(tmp_path, rules=rules) as box, box.draining():
        await box.ask(receiver.url)
        (received,) = await receiver.until(1)
    assert received.event["type"] == "ask.answered"
    assert received.event["data"]["source"] == "config"


@pytest.mark.rule("CLIENT-2")
async def test_a_signature_for_another_secret_or_body_is_not_trusted(
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


@pytest.mark.rule("WEBHOOK-3")
async def test_while_a_secret_is_replaced_the_old_and_the_new_one_both_sign(
    tmp_path: Path, receiver: Receiver
) -> None:
    async with outbox(tmp_path, secrets=(SECRET, OTHER_SECRET)) as box, box.draining():
        await box.answered(receiver.url)
        (received,) = await receiver.until(1)
    for secret in (SECRET, OTHER_SECRET):
        Webhook(secret).verify(received.body, dict(received.headers))
    assert len(received.headers["webhook-signature"].split()) == 2


@pytest.mark.rule("WEBHOOK-4", "WEBHOOK-5")
async def test_a_receiver_that_returns_after_an_hour_gets_the_event_once_with_each_attempt_recorded(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.always = status(500)
    async with box.draining():
        ask = await box.answered(receiver.url)
        for number, pause in enumerate(RETRY_DELAYS[:5], 1):
            await box.wait_for_tries(ask, number)
            await box.clock.advance(pause)
        await box.wait_for_tries(ask, 6)
        receiver.always = None
        await box.clock.advance(RETRY_DELAYS[5])
        stored = await box.wait_for_tries(ask, 7)
        await box.clock.advance(30 * HOUR)
    assert stored.state is DeliveryState.DELIVERED
    assert len({received.id for received in receiver.received}) == 1
    assert len({received.body for received in receiver.received}) == 1
    stamps = [int(received.headers["webhook-timestamp"]) for received in receiver.received]
    assert stamps == sorted(set(stamps))
    lines = await box.lines(ask)
    assert [line["try"] for line in lines] == [1, 2, 3, 4, 5, 6, 7]
    assert [line["status"] for line in lines] == [500] * 6 + [204]
    assert lines[0]["next_try_in"] == RETRY_DELAYS[0]
    assert sum(RETRY_DELAYS[:5]) < HOUR < sum(RETRY_DELAYS[:6])


@pytest.mark.rule("WEBHOOK-5")
async def test_what_is_due_again_before_its_attempt_is_known_to_be_stored_is_sent_again(
    box: Outbox, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, claim = box.store.outbox.save_results, box.store.outbox.claim
    saved, claimed = asyncio.Event(), asyncio.Event()

    async def save_and_wait(*given: Any) -> None:
        await save(*given)
        saved.set()
        await claimed.wait()

    async def claim_and_tell(*given: Any) -> Any:
        found = await claim(*given)
        if saved.is_set() and found:
            claimed.set()
        return found

    monkeypatch.setattr(box.store.outbox, "save_results", save_and_wait)
    monkeypatch.setattr(box.store.outbox, "claim", claim_and_tell)
    receiver.answers = [status(503)]
    async with box.draining():
        ask = await box.answered(receiver.url)
        async with asyncio.timeout(WAIT):
            await saved.wait()
        await box.clock.advance(RETRY_DELAYS[0])
        assert (await box.wait_for_tries(ask, 2)).state is DeliveryState.DELIVERED


@pytest.mark.rule("WEBHOOK-5")
async def test_after_three_days_a_delivery_is_dead_and_can_be_sent_again(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.always = status(503)
    async with box.draining():
        ask = await box.answered(receiver.url)
        for number, pause in enumerate(RETRY_DELAYS, 1):
            await box.wait_for_tries(ask, number)
            await box.clock.advance(pause)
        dead = await box.wait_for_tries(ask, len(RETRY_DELAYS) + 1)
        assert dead.state is DeliveryState.DEAD
        assert dead.next_at is None
        assert 2.9 < (box.clock.now() - ask.created_at) / 86_400 < 3.1
        receiver.always = None
        again = await send_again(box.service, dead)
        assert again is not None
        await receiver.until(len(RETRY_DELAYS) + 2)
        await box.wait_for_tries(ask, 1)
    assert len({received.id for received in receiver.received}) == 1
    assert (await box.delivery(ask)).state is DeliveryState.DELIVERED


async def test_a_receiver_that_responds_gone_is_not_called_again(
    box: Outbox, receiver: Receiver
) -> None:
    receiver.always = status(410)
    async with box.draining():
        ask = await box.answered(receiver.url)
        stored = await box.wait_for_tries(ask, 1)
        await box.clock.advance(100 * HOUR)
    assert stored.state is DeliveryState.DEAD
    assert len(receiver.received) == 1
    assert stored.last_error == "status 410"
