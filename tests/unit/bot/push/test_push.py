"""People are notified in their browsers: whom, of what, once, and what a push service may say to it."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from yarl import URL

from answerback.core.walker import Person
from answerback.outbox.attempts import DeliverySender
from answerback.ports.sender import SendResult
from answerback_push import push_messages, push_rows, pushes
from answerback_push.settings import PushRules
from tests.browser.site import KEY
from tests.fakes.receiver import Receiver, endless, hanging_up, never, receiving, status
from tests.unit.bot.push.push_support import APPROVAL, LOOPBACK, Rig, push_rig


def signed(authorization: str) -> tuple[dict[str, object], str]:
    """Verify the signature of a VAPID header; return what it claims, and the key."""
    scheme, _, rest = authorization.partition(" ")
    assert scheme == "vapid"
    fields = dict(part.split("=", 1) for part in rest.replace(" ", "").split(","))
    head, claims, signature = fields["t"].split(".")

    def decode(text: str) -> bytes:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    raw = decode(signature)
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(fields["k"]))
    encoded = utils.encode_dss_signature(
        int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    )
    point.verify(encoded, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    return json.loads(decode(claims)), fields["k"]


@pytest.mark.rule("PUSH-1", "PUSH-3", "PUSH-5")
async def test_a_person_is_told_once_which_agent_asks_and_nothing_else(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    async with rig.sending():
        ask = await rig.ask("ann", expires_in=3_600)
        await rig.clock.advance(9.0)
        assert receiver.received == []
        await rig.clock.advance(1.0)
        (got,) = await receiver.until(1)
        assert browser.read(got) == {
            "ask": ask.id,
            "revision": ask.revision,
            "text": "A question from Assistant is waiting.",
            "deny": None,
        }
        assert "production" not in str(browser.read(got))
        await rig.idle()
    assert len(receiver.received) == 1
    headers = got.headers
    assert (headers["ttl"], headers["urgency"]) == ("3590", "high")
    assert len(headers["topic"]) == 32
    assert ask.id not in headers["topic"]
    claims, key = signed(headers["authorization"])
    assert claims == {
        "aud": str(URL(receiver.url).origin()),
        "exp": int(rig.clock.now()) + push_messages.TOKEN_SECONDS,
        "sub": str(URL(rig.url).with_scheme("https")),
    }
    assert key == await rig.devices.server_key()


@pytest.mark.rule("PUSH-3")
async def test_all_messages_have_the_same_length_and_each_ask_its_own_topic(
    tmp_path: Path, receiver: Receiver
) -> None:
    async with push_rig(tmp_path, PushRules(headline=True, allow=LOOPBACK)) as rig:
        browser = await rig.subscribe(receiver)
        async with rig.sending():
            for text in ("Short?", '“\\"' * 200):
                question = {"question": text, "answer_type": "boolean"}
                await rig.ask("ann", arguments=question)
            await rig.clock.advance(10.0)
            first, second = await receiver.until(2)
    texts = [browser.read(got)["text"] for got in (first, second)]
    assert "\nShort?" in "".join(texts)
    assert len(first.body) == len(second.body)
    assert first.headers["topic"] != second.headers["topic"]
    assert first.headers["ttl"] == str(pushes.MAX_TTL)


@pytest.mark.rule("PUSH-4")
async def test_nobody_is_told_of_what_was_answered_in_time_or_shown_in_an_open_page(
    rig: Rig, receiver: Receiver
) -> None:
    await rig.subscribe(receiver)
    async with rig.sending():
        await rig.answer(await rig.ask("ann"))
        seen, listed = await rig.ask("ann"), await rig.ask("ann")
        async with rig.http.get(rig.page(seen)) as page:
            assert page.status == 200
        await rig.answer(seen)
        async with rig.http.get(rig.inbox()) as page:
            assert page.status == 200
        await rig.clock.advance(10.0)
        await rig.idle()
        assert receiver.received == []
        hidden = await rig.ask("ann")
        for url in (rig.inbox(), rig.page(hidden)):
            async with rig.http.get(url, headers={"Answerback-Hidden": "1"}) as page:
                assert page.status == 200
        await rig.clock.advance(10.0)
        await receiver.until(1)
        async with rig.http.get(rig.page(listed)) as page:  # noted before
            assert page.status == 200


@pytest.mark.rule("PUSH-4")
async def test_a_route_says_how_long_to_wait(tmp_path: Path, receiver: Receiver) -> None:
    async with push_rig(tmp_path, push_after=60.0) as rig:
        await rig.subscribe(receiver)
        async with rig.sending():
            await rig.ask("ann", to="slow")
            await rig.clock.advance(59.0)
            assert receiver.received == []
            await rig.clock.advance(1.0)
            await receiver.until(1)


@pytest.mark.rule("AWAY-6")
async def test_a_notification_waits_for_its_persons_hours_and_is_dropped_if_that_is_too_late(
    rig: Rig, receiver: Receiver
) -> None:
    await rig.subscribe(receiver)
    opens = rig.clock.now() + 3_600.0
    rig.pushes.held_until = lambda who, at: opens if who.user_id == "ann" and at < opens else None
    async with rig.sending():
        in_time, too_late = await rig.ask("ann"), await rig.ask("ann")
        await rig.clock.advance(10.0)
        await rig.idle(2)
        assert receiver.received == []
        await rig.answer(too_late)
        await rig.clock.advance(3_590.0)
        await receiver.until(1)
        await rig.answer(in_time)
        await receiver.until(2)
    assert len(receiver.received) == 2, "that one waits, and that it is over"


@pytest.mark.rule("PUSH-6", "LATE-11")
async def test_a_notification_is_replaced_by_how_the_ask_ended_if_there_was_one(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    async with rig.sending():
        ask, _ = await rig.ask_and_notify(receiver, "ann", "kim")
        await rig.idle()
        await rig.answer(ask, by=Person(surface="web", user_id="kim", name="Kim"))
        first, second = await receiver.until(2)
        assert browser.read(second) == {"ask": ask.id, "over": "Answered by Kim"}
        assert second.headers["topic"] == first.headers["topic"]
        assert second.headers["urgency"] == "normal"
        await rig.idle()
    (late,) = await rig.service.late_answer_tracker.list_unseen(None, None, None, 10)
    assert late.ask.id == ask.id, "a person was told, and the agent was not"


@pytest.mark.rule("PUSH-6", "DATA-16")
async def test_a_notification_is_replaced_however_long_the_ask_was_open(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    async with rig.sending():
        ask, _ = await rig.ask_and_notify(receiver, "ann")
        await rig.idle()
        await rig.clock.advance(8 * 86_400)
        await rig.store.maintenance.prune(rig.clock.now() - 7 * 86_400)
        await rig.answer(ask)
        _, over = await receiver.until(2)
        assert "Answered by Ann" in browser.read(over)["over"]
        await rig.idle()


@pytest.mark.rule("PUSH-6")
async def test_nothing_is_sent_of_an_ask_that_is_erased_in_that_moment(
    rig: Rig, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.subscribe(receiver)
    change, erase = rig.store.asks.change, rig.store.erasure.erase
    kinds: list[set[str]] = []
    both = asyncio.Event()
    async with rig.sending():
        ask, _ = await rig.ask_and_notify(receiver, "ann")
        await rig.idle()

        async def change_after_erasure(ask_id: str, *args: Any, **more: Any) -> Any:
            await erase(ask_id, rig.clock.now(), ())  # which an open ask survives
            done = await change(ask_id, *args, **more)
            kinds.append({row.delivery.type for row in await rig.rows()})
            if len(kinds) == 2:
                both.set()
            return done

        monkeypatch.setattr(rig.store.asks, "change", change_after_erasure)
        await rig.answer(ask)
        async with asyncio.timeout(60):
            await both.wait()  # the answer, then that its end need not be sent
        await rig.idle()
    assert kinds == [{push_rows.OVER}, set()]
    stored = await rig.store.asks.get(ask.id)
    assert stored is not None
    assert stored.erased_at is not None
    assert len(receiver.received) == 1


async def test_an_end_is_retried_until_it_arrives(rig: Rig, receiver: Receiver) -> None:
    await rig.subscribe(receiver)
    async with rig.sending():
        ask, _ = await rig.ask_and_notify(receiver, "ann")
        await rig.idle()
        receiver.answers = [status(500)]
        await rig.answer(ask)
        await receiver.until(2)
        await rig.clock.wait_for_sleepers(1)
        await rig.clock.advance(5.0)
        await receiver.until(3)
        await rig.idle()


@pytest.mark.rule("PUSH-7")
@pytest.mark.parametrize("anyone", [False, True])
async def test_what_anyone_may_answer_is_told_to_the_operator_and_others_only_if_they_want(
    tmp_path: Path, receiver: Receiver, *, anyone: bool
) -> None:
    async with push_rig(tmp_path, PushRules(anyone=anyone, allow=LOOPBACK)) as rig:
        await rig.subscribe(receiver, "/ann")
        await rig.subscribe(receiver, "/operator", key=KEY)
        async with rig.sending():
            await rig.ask()
            await rig.clock.advance(10.0)
            await receiver.until(1 + anyone)
            await rig.idle()
            await rig.ask("kim")
            await rig.clock.advance(10.0)
            await rig.idle()
        assert len(receiver.received) == 1 + anyone


@pytest.mark.rule("PUSH-8")
@pytest.mark.parametrize("gone", [404, 410])
async def test_a_push_service_ends_a_subscription_which_is_no_error(
    rig: Rig, receiver: Receiver, gone: int, caplog: pytest.LogCaptureFixture
) -> None:
    await rig.subscribe(receiver)
    receiver.answers = [status(gone)]
    async with rig.sending():
        await rig.ask_and_notify(receiver, "ann")
        await rig.idle()
    assert await rig.devices.list_for("ann") == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.rule("PUSH-8")
async def test_a_push_service_is_left_alone_for_as_long_as_it_says_and_others_are_not_held_up(
    rig: Rig, receiver: Receiver
) -> None:
    slow = await rig.subscribe(receiver)
    async with receiving() as other:
        quick = await rig.subscribe(other)
        receiver.answers = [status(429, Retry_After="120")]
        async with rig.sending():
            ask, _ = await rig.ask_and_notify(receiver, "ann")
            (got,) = await other.until(1)
            assert quick.read(got)["ask"] == ask.id
            await rig.clock.wait_for_sleepers(1)
            await rig.clock.advance(119.0)
            assert len(receiver.received) == 1
            await rig.clock.advance(5.0)
            _, again = await receiver.until(2)
            assert slow.read(again)["ask"] == ask.id
            await rig.idle()


@pytest.mark.rule("PUSH-2", "PUSH-8")
@pytest.mark.parametrize("hostile", ["redirect", "endless", "hanging up"])
async def test_a_hostile_push_service_leads_nowhere_and_holds_up_no_other(
    rig: Rig, receiver: Receiver, hostile: str
) -> None:
    browser = await rig.subscribe(receiver)
    async with receiving() as other, receiving() as inside:
        quick = await rig.subscribe(other)
        to_inside = status(307, Location=inside.url)
        answers = {"redirect": to_inside, "endless": endless, "hanging up": hanging_up}
        receiver.answers = [answers[hostile]]
        async with rig.sending():
            ask = await rig.ask("ann")
            await rig.clock.advance(10.0)
            (got,) = await other.until(1)
            assert quick.read(got)["ask"] == ask.id
            if hostile == "endless":  # it has taken the message, and what it says is not read
                await rig.idle()
            else:
                await rig.failed("push.send")
                await rig.clock.wait_for_sleepers(1)
                await rig.clock.advance(10.0)
                _, again = await receiver.until(2)
                assert browser.read(again)["ask"] == ask.id
                await rig.idle()
        assert inside.received == []


@pytest.mark.rule("PUSH-8")
async def test_what_is_retried_is_dropped_once_the_ask_no_longer_waits(
    rig: Rig, receiver: Receiver
) -> None:
    await rig.subscribe(receiver)
    receiver.answers = [status(503, Retry_After="60")]
    async with rig.sending():
        ask, _ = await rig.ask_and_notify(receiver, "ann")
        await rig.answer(ask)
        await rig.clock.wait_for_sleepers(1)
        await rig.clock.advance(70.0)
        _, over = await receiver.until(2)
        await rig.idle()
    assert over.headers["urgency"] == "normal"


@pytest.mark.rule("PUSH-5")
async def test_a_process_that_is_killed_while_it_sends_loses_nothing_and_repeats_one_message(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    receiver.answers = [never]
    await rig.ask("ann")
    (row,) = await rig.rows()
    await rig.clock.advance(10.0)
    async with rig.sending():
        await receiver.until(1)
    async with rig.sending():
        first, second = await receiver.until(2)
        await rig.idle()
    assert browser.read(first) == browser.read(second)
    assert first.headers["topic"] == second.headers["topic"]
    again = DeliverySender([rig.pushes])
    assert await again.send(row.delivery, rig.clock.now()) == SendResult(None, None)
    assert await rig.rows() == (), "its message is not stored again"


@pytest.mark.rule("PUSH-10")
async def test_a_permission_can_be_denied_from_the_notification_where_that_is_allowed(
    tmp_path: Path, receiver: Receiver
) -> None:
    async with push_rig(tmp_path, PushRules(deny=True, allow=LOOPBACK)) as rig, rig.sending():
        browser = await rig.subscribe(receiver)
        ask, got = await rig.ask_and_notify(receiver, "ann", **APPROVAL)
        assert browser.read(got)["deny"] == "Deny"
        page = f"{rig.inbox()}/asks/{ask.id}"
        assert await rig.post(page, {"revision": str(ask.revision - 1)}) == 409
        assert await rig.post(page, {}) == 409
        assert await rig.post(page, {"revision": str(ask.revision)}) == 204
        assert await rig.post(page, {"revision": str(ask.revision)}) == 409
        ended = await rig.service.get(ask.id)
        assert ended is not None
        assert ended.outcome is not None
        assert "deny" in str(ended.walk.answers).lower()
        question = await rig.ask("ann")
        assert await rig.post(f"{rig.inbox()}/asks/{question.id}", {"revision": "0"}) == 409
        assert await rig.post(f"{rig.inbox()}/asks/ask_0", {"revision": "0"}) == 409


@pytest.mark.rule("PUSH-10")
async def test_nothing_is_denied_from_a_notification_by_default(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    async with rig.sending():
        ask, got = await rig.ask_and_notify(receiver, "ann", **APPROVAL)
    assert browser.read(got)["deny"] is None
    assert await rig.post(f"{rig.inbox()}/asks/{ask.id}", {"revision": str(ask.revision)}) == 409
