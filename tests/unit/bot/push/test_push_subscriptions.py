"""Subscriptions: whose they are, which endpoints may be reached, and what ends them."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.errors import ConfigError
from answerback.outbox.attempts import DeliverySender
from answerback.ports.sender import SendResult
from answerback.ports.store_values import Delivery, DeliveryState
from answerback_push import devices, push_messages
from answerback_push.settings import PushRules
from answerback_push.stored_subscriptions import StoredSubscriptions
from answerback_push.subscriptions import MAX_PER_PERSON, NewSubscription
from tests.browser.site import KEY
from tests.fakes.push_service import PushBrowser
from tests.fakes.receiver import Receiver
from tests.unit.bot.push.push_support import ANN, ANNS_KEY, Rig, push_rig


@pytest.mark.rule("PUSH-2")
@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        ("http://push.example/1", "no https"),
        ("https://127.0.0.1/1", "loopback"),
        ("https://[::1]/1", "loopback"),
        ("https://10.0.0.1/1", "private"),
        ("https://169.254.169.254/1", "link-local"),
        ("https://user:secret@push.example/1", "a password"),
        ("ftp://push.example/1", "another protocol"),
        ("", "nothing"),
    ],
)
async def test_an_endpoint_inside_the_network_is_refused(
    tmp_path: Path, endpoint: str, why: str
) -> None:
    async with push_rig(tmp_path, PushRules()) as rig:
        form = PushBrowser(endpoint).form
        assert await rig.post(f"{rig.inbox()}/devices", form) == 422, why
        assert await rig.devices.list_for("ann") == []


@pytest.mark.rule("PUSH-2")
async def test_an_endpoint_that_may_no_longer_be_reached_is_not_called(
    tmp_path: Path, receiver: Receiver
) -> None:
    async with push_rig(tmp_path) as rig:
        await rig.subscribe(receiver)
    async with push_rig(tmp_path, PushRules()) as rig, rig.sending():
        await rig.ask("ann")
        await rig.clock.advance(10.0)
        await rig.clock.wait_for_sleepers(1)
        page = await rig.store.outbox.page(
            state=DeliveryState.PENDING, agent=None, after=None, limit=9
        )
        while not page.rows or page.rows[0].last_error is None:
            async with rig.store.outbox.changed:
                await rig.store.outbox.changed.wait()
            page = await rig.store.outbox.page(
                state=DeliveryState.PENDING, agent=None, after=None, limit=9
            )
        assert page.rows[0].last_error == "refused"
    assert receiver.received == []


@pytest.mark.rule("PUSH-2")
@pytest.mark.parametrize("name", ["key", "auth"])
@pytest.mark.parametrize("wrong", ["", "AAAA", "not base64!", "é"])
async def test_keys_that_are_none_are_refused(rig: Rig, name: str, wrong: str) -> None:
    form = PushBrowser("https://push.example/1").form
    assert await rig.post(f"{rig.inbox()}/devices", {**form, name: wrong}) == 422


@pytest.mark.parametrize(
    ("length", "taken"), [(devices.MAX_ENDPOINT, True), (devices.MAX_ENDPOINT + 1, False)]
)
async def test_the_longest_endpoint(rig: Rig, length: int, *, taken: bool) -> None:
    start = "https://push.example/"
    form = PushBrowser(start + "x" * (length - len(start))).form
    new = NewSubscription(form["endpoint"], form["key"], form["auth"], "x" * 1_000)
    assert await rig.devices.subscribe("ann", "", new) is taken
    for each in await rig.devices.list_for("ann"):
        assert len(each.device) == devices.MAX_DEVICE


@pytest.mark.rule("PUSH-2")
async def test_the_oldest_of_ten_subscriptions_makes_room(rig: Rig) -> None:
    for number in range(MAX_PER_PERSON + 1):
        form = PushBrowser(f"https://push.example/{number}").form
        for _again in range(2):
            assert await rig.post(f"{rig.inbox()}/devices", form) == 204
        await rig.clock.advance(1.0)
    found = [each.endpoint for each in await rig.devices.list_for("ann")]
    assert found == [f"https://push.example/{n}" for n in range(1, MAX_PER_PERSON + 1)]


@pytest.mark.rule("PUSH-9")
@pytest.mark.parametrize("revoked", ["ann", "operator"])
async def test_a_replaced_key_ends_its_subscriptions_and_the_services_own_all(
    rig: Rig, receiver: Receiver, revoked: str
) -> None:
    await rig.subscribe(receiver, "/ann")
    await rig.subscribe(receiver, "/operator", key=KEY)
    before = await rig.devices.server_key()
    operators = rig.keys.pop(KEY)
    if revoked == "ann":
        rig.keys.clear()
        rig.keys[KEY] = operators
    else:
        rig.keys.clear()
        assert await rig.devices.list_for("ann") == []
        rig.keys.update({"abk_another": operators, ANNS_KEY: ANN})
    left = {
        each.person
        for each in [*await rig.devices.list_for("ann"), *await rig.devices.list_for("operator")]
    }
    assert left == ({"operator"} if revoked == "ann" else set())
    assert {each.person for each in await StoredSubscriptions(rig.store.rows).list()} == left
    assert (await rig.devices.server_key() == before) is (revoked == "ann")


async def test_a_message_for_nobody_is_dropped(rig: Rig, receiver: Receiver) -> None:
    browser = await rig.subscribe(receiver)
    sender = DeliverySender([])
    row = Delivery("1", "1", "push.waits", "", None, '{"ask": "ask_0", "names": ["ann"]}', 1.0)
    assert await sender.send(row, 1.0) == SendResult(None, None)
    assert await rig.pushes.send(row, 1.0) == SendResult(None, None)
    assert browser.endpoint


async def test_what_was_noted_is_forgotten_when_there_is_too_much(
    rig: Rig, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "MAX_NOTED", 1)
    await rig.subscribe(receiver)
    a, b, c = [await rig.ask("ann") for _ in range(3)]
    for asks in ([a, b], [c], [a]):
        await rig.devices.note_seen("ann", asks)
    assert await rig.store.drafts.get(f"push:seen:{c.id}:0.0:ann") is True


async def test_addresses_that_are_none_are_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"web\.push_allow"):
        async with push_rig(tmp_path, PushRules(allow=("a b",))):
            pass


async def test_a_message_that_is_too_long_is_not_sent() -> None:
    form = PushBrowser("https://push.example").form
    filled = push_messages.PAYLOAD_BYTES - len('{"a": ""}')
    assert push_messages.encrypt({"a": "x" * filled}, form["key"], form["auth"])
    with pytest.raises(ValueError, match="too long"):
        push_messages.encrypt({"a": "x" * (filled + 1)}, form["key"], form["auth"])
