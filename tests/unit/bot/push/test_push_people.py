"""Notifications follow a person over the surfaces, and tell nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Confirm
from answerback.core.errors import PlatformUnavailableError
from answerback.core.people import People
from answerback.core.walker import Person
from answerback.ports.surface import Acted, Actor
from answerback_push.settings import PushRules
from tests.browser.site import KEY
from tests.fakes.receiver import Receiver
from tests.unit.bot.push.push_support import ANN, ANNS_KEY, APPROVAL, LOOPBACK, Rig, push_rig

PEOPLE = People({"ann": ("chat:U1", "web:ann"), "kim": ("chat:U2",)})
KIM = Person(surface="web", user_id="kim", name="Kim")
ANN_IN_CHAT = Person(surface="chat", user_id="U1", name="Ann")
KIM_IN_CHAT = Person(surface="chat", user_id="U2", name="Kim")


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    rules = PushRules(deny=True, allow=LOOPBACK)
    async with push_rig(tmp_path, rules, people=PEOPLE) as running:
        yield running


async def opened(rig: Rig, ask_id: str, key: str = ANNS_KEY) -> int:
    """Tap a notification; return the status of what it opens."""
    async with rig.http.get(f"{rig.inbox(key)}/asks/{ask_id}") as response:
        return response.status


@pytest.mark.rule("PUSH-7", "PUSH-6", "PUSH-1")
async def test_a_person_is_told_of_what_waits_for_them_in_a_chat(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    async with rig.sending():
        ask = await rig.ask("U1", "U2", to="chat:C1")
        await rig.ask("U2", to="chat:C1")
        _, got = await rig.ask_and_notify(receiver, to="chat:C1")
        assert browser.read(got)["ask"] == ask.id
        assert await opened(rig, ask.id) == 200
        await rig.answer(ask, by=KIM_IN_CHAT)
        _, over = await receiver.until(2)
        assert browser.read(over) == {"ask": ask.id, "over": "Answered by Kim"}
        await rig.idle()
    assert len(receiver.received) == 2


@pytest.mark.rule("PUSH-10")
async def test_what_waits_in_a_chat_can_be_denied_from_the_notification(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    async with rig.sending():
        ask, got = await rig.ask_and_notify(receiver, "U1", to="chat:C1", **APPROVAL)
    assert browser.read(got)["deny"] == "Deny"
    page = f"{rig.inbox()}/asks/{ask.id}"
    assert await rig.post(page, {"revision": str(ask.revision)}) == 204
    other = await rig.ask("U2", to="chat:C1", **APPROVAL)
    assert await rig.post(f"{rig.inbox()}/asks/{other.id}", {"revision": "1"}) == 409


@pytest.mark.rule("PUSH-7")
@pytest.mark.parametrize("member", ["U1", "U2"])
async def test_members_of_a_group_are_told(rig: Rig, receiver: Receiver, member: str) -> None:
    await rig.subscribe(receiver)
    rig.chat.groups = {member: frozenset({"S1"})}
    async with rig.sending():
        ask = await rig.ask("@S1", to="chat:C1")
        await rig.clock.advance(10.0)
        if member == "U1":
            await receiver.until(1)
        await rig.idle()
        await rig.answer(ask, by=Person(surface="chat", user_id=member))
        await rig.idle()
    assert len(receiver.received) == (2 if member == "U1" else 0)


@pytest.mark.rule("PUSH-7")
async def test_a_group_that_a_platform_cannot_tell_yet_is_asked_for_again(
    rig: Rig, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.subscribe(receiver)
    rig.chat.groups = {"U1": frozenset({"S1"})}
    knows, calls = rig.chat.groups_of, 0

    async def fail(person: Person, groups: frozenset[str]) -> frozenset[str]:
        nonlocal calls
        calls += 1
        if calls in {1, 4}:  # whom it waits for, and whether it still does
            raise PlatformUnavailableError("It is down.")
        return await knows(person, groups)

    monkeypatch.setattr(rig.chat, "groups_of", fail)
    async with rig.sending():
        await rig.ask("@S1", to="chat:C1")
        await rig.clock.advance(10.0)
        for kind in ("push.waits", "push.send"):
            await rig.failed(kind)
            await rig.clock.wait_for_sleepers(1)
            await rig.clock.advance(10.0)
        await receiver.until(1)
        await rig.idle()


@pytest.mark.rule("PUSH-7")
async def test_who_has_done_their_part_is_not_told_whichever_account_they_used(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    async with rig.sending():
        ask = await rig.ask("U1", "U2", to="chat:C1", confirmations=1)
        await rig.answer(ask, by=ANN_IN_CHAT)
        await rig.clock.advance(10.0)
        await rig.idle()
        assert receiver.received == []
        ask = await rig.ask("U1", "U2", to="chat:C1", confirmations=1)
        ask = await rig.answer(ask, by=KIM_IN_CHAT)
        await rig.clock.advance(10.0)
        (got,) = await receiver.until(1)
        assert browser.read(got)["ask"] == ask.id
        done = await rig.service.act(ask.id, Confirm(), Actor(ANN_IN_CHAT))
        assert isinstance(done, Acted), done
        await receiver.until(2)
        await rig.idle()


@pytest.mark.rule("PUSH-4", "CONFIRM-7")
async def test_who_has_seen_the_question_is_told_when_they_have_to_confirm(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    async with rig.sending():
        ask = await rig.ask("U1", "U2", to="chat:C1", confirmations=1)
        for page in (rig.inbox(), f"{rig.inbox()}/asks/{ask.id}"):
            async with rig.http.get(page) as response:
                assert response.status == 200
        await rig.clock.advance(10.0)
        await rig.idle()
        assert receiver.received == []
        await rig.answer(ask, by=KIM_IN_CHAT)
        await rig.clock.advance(10.0)
        (got,) = await receiver.until(1)
        assert browser.read(got)["ask"] == ask.id


@pytest.mark.rule("PUSH-2", "CONFIRM-7")
async def test_one_confirmation_is_told_once_though_the_question_was_answered_at_once(
    rig: Rig, receiver: Receiver
) -> None:
    browser = await rig.subscribe(receiver)
    async with rig.sending():
        ask = await rig.ask("U1", "U2", to="chat:C1", confirmations=1)
        await rig.clock.advance(4.0)
        await rig.answer(ask, by=KIM_IN_CHAT)
        await rig.clock.advance(6.0)
        await rig.idle(left=1)
        assert receiver.received == [], "nobody has to answer any more"
        await rig.clock.advance(4.0)
        (got,) = await receiver.until(1)
        assert browser.read(got)["ask"] == ask.id
        await rig.idle()
        assert len(receiver.received) == 1


@pytest.mark.rule("PUSH-6")
async def test_an_end_is_told_only_to_those_for_whom_the_ask_waited(
    rig: Rig, receiver: Receiver
) -> None:
    await rig.subscribe(receiver, "/ann")
    await rig.subscribe(receiver, "/operator", key=KEY)
    for responders, expected in ((("ann",), 1), (("kim",), 0), ((), 1)):
        ask = await rig.ask(*responders)
        await rig.answer(ask, by=ANN if responders != ("kim",) else KIM)
        rows = [row for row in await rig.rows() if row.delivery.type == "push.over"]
        before = len(await rig.rows())
        await rig.pushes.send(rows[0].delivery, rig.clock.now())
        assert len(await rig.rows()) - before == expected, responders
        await forget(rig)


async def forget(rig: Rig) -> None:
    """Empty the outbox."""
    async with rig.sending():
        await rig.clock.advance(10.0)
        await rig.idle()


@pytest.mark.rule("PUSH-13")
async def test_the_id_of_an_ask_opens_nothing_for_people_whom_it_is_not_about(rig: Rig) -> None:
    mine: list[Any] = [
        await rig.ask("ann"),
        await rig.ask(),
        await rig.ask("U1", to="chat:C1"),
        await rig.ask("ann", "kim"),
        await rig.ask("ann"),
    ]
    await rig.answer(mine[3], by=KIM)
    await rig.answer(mine[4])
    others: list[Any] = [
        await rig.ask("kim"),
        await rig.ask("U2", to="chat:C1"),
        await rig.ask("@S1", to="chat:C1"),
    ]
    for ask in mine:
        assert await opened(rig, ask.id) == 200
    for ask in others:
        assert await opened(rig, ask.id) == 404
        assert await opened(rig, ask.id, KEY) == 200
    assert await opened(rig, "ask_0") == 404
    rig.chat.groups = {"U1": frozenset({"S1"})}
    assert await opened(rig, others[2].id) == 200
