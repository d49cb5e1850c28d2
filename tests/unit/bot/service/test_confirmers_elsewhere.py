"""Who may confirm and has no account where an ask is asked is told, and confirms, where they have one."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from answerback.core.actions import Answer, Confirm
from answerback.core.ask import Ask, Destination, Status
from answerback.core.errors import DestinationGoneError, InvalidCallError
from answerback.core.people import AccountLink, People
from answerback.core.person import Person
from answerback.core.walker import Phase
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes
from answerback_push.push_rows import push_rows
from tests.service_support import FakeSurface, actor, ask_user
from tests.unit.bot.background_support import running
from tests.unit.bot.conftest import Parts

PLACES = ["chat:@ann", "chat:C1"]


def routes(to: str, lea: str, ann: str = "ann", **route: Any) -> Routes:
    table = {
        "to": to,
        "responders": ["ann", "bob"],
        "confirmations": {"count": 1, "from": ["person:lea"]},
        **route,
    }
    people = People({"lea": (lea,), ann: (f"chat:{ann}",)})
    return Routes("ops", {"ops": Route.model_validate(table)}, people=people)


async def submitted(service: Service) -> Ask:
    return (await service.submit(ask_user(to=None, responders=None))).ask


@pytest.mark.rule("CONFIRM-15", "CONFIRM-6")
@pytest.mark.parametrize("to", PLACES)
async def test_somebody_with_an_account_on_another_surface_confirms_there(
    parts: Parts, to: str
) -> None:
    service = parts.service(routes=routes(to, "web:lea"))
    ask = await submitted(service)
    assert (ask.placement.confirmers, ask.placement.confirmers_elsewhere) == ((), ("web:lea",))
    lea, stranger = actor("lea", surface="web"), actor("eve", surface="web")
    early = await service.act(ask.id, Answer(value=True), lea)
    assert isinstance(early, Rejected)
    assert early.why is RejectReason.NOT_ALLOWED
    assert (await service.list_waiting_for(lea, None, 10)).rows == ()
    with service.follow("web") as follower:
        answered = await service.act(ask.id, Answer(value=True), actor("ann"))
        assert await asyncio.wait_for(follower.next_commit(), 5) is not None, (
            "her inbox hears of it"
        )
    assert isinstance(answered, Acted)
    assert answered.ask.walk.phase is Phase.CONFIRMATION
    assert [each.id for each in (await service.list_waiting_for(lea, None, 10)).rows] == [ask.id]
    assert (await service.list_waiting_for(stranger, None, 10)).rows == ()
    for who in (stranger, actor("eve"), actor("ann"), actor("bob")):
        refused = await service.act(ask.id, Confirm(), who)
        assert isinstance(refused, Rejected)
    stale = await service.act(ask.id, Confirm(), lea, revision=1)
    assert isinstance(stale, Rejected)
    assert stale.why is RejectReason.STALE
    done = await service.act(ask.id, Confirm(), lea)
    assert isinstance(done, Acted)
    assert (done.ask.status, [vote.by.user_id for vote in done.ask.walk.votes]) == (
        Status.ANSWERED,
        ["lea"],
    )


@pytest.mark.rule("CONFIRM-15", "CONFIRM-13", "CONFIRM-7")
@pytest.mark.parametrize("to", PLACES)
async def test_they_have_the_answers_in_their_own_chat_there(parts: Parts, to: str) -> None:
    mail = FakeSurface("mail")
    async with running(parts, routes=routes(to, "mail:lea", remind_after=[60])) as (service, sync):
        assert isinstance(service.surfaces, dict)
        service.surfaces["mail"] = mail
        ask = await submitted(service)
        await sync.wait_until_idle()
        assert mail.copies == {}
        await service.act(ask.id, Answer(value=True), actor("ann"))
        await mail.until(lambda: "lea" in mail.copies)
        await sync.wait_until_idle()
        assert mail.copies["lea"].placement.destination == Destination(surface="mail", user="lea")
        [listed] = (await service.list_waiting_for(actor("lea", surface="mail"), None, 10)).rows
        assert listed.placement.destination == Destination(surface="mail", user="lea")
        await parts.clock.advance(61)
        await mail.until(lambda: mail.reminded == ["lea"])
        await service.act(ask.id, Confirm(), actor("lea", surface="mail"))
        await mail.until(lambda: mail.copies["lea"].status is Status.ANSWERED)


@pytest.mark.rule("CONFIRM-15", "CONFIRM-14")
async def test_who_cannot_be_told_there_is_logged_and_the_ask_stays_open(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    mail = FakeSurface("mail")
    mail.unreachable["lea"] = [DestinationGoneError("no such mailbox")]
    async with running(parts, routes=routes("chat:C1", "mail:lea")) as (service, sync):
        assert isinstance(service.surfaces, dict)
        service.surfaces["mail"] = mail
        ask = await submitted(service)
        with caplog.at_level(logging.ERROR):
            await service.act(ask.id, Answer(value=True), actor("ann"))
            await mail.until(lambda: mail.unreachable["lea"] == [])
            await sync.wait_until_idle()
        now = await service.get(ask.id)
        assert now is not None
        assert (now.open, [each.unreachable for each in now.copies]) == (True, [True])
        bodies = [line.entry.body for line in await service.record(ask.id)]
        assert {"not_reached": "mail:lea", "reason": "no such mailbox"} in bodies


@pytest.mark.rule("CONFIRM-15", "CONFIRM-9")
@pytest.mark.parametrize("to", PLACES)
@pytest.mark.parametrize(
    ("lea", "ann"),
    [("pager:lea", "ann"), ("mail:lea", "ann"), ("web:lea", "somebody")],
    ids=["not configured", "down", "not told apart from who answers"],
)
async def test_a_call_is_refused_if_nobody_could_confirm_it(
    parts: Parts, to: str, lea: str, ann: str
) -> None:
    service = parts.service(routes=routes(to, lea, ann))
    assert isinstance(service.surfaces, dict)
    service.surfaces["mail"] = mail = FakeSurface("mail")
    mail.not_ready = "It is away."
    with pytest.raises(InvalidCallError) as refused:
        await submitted(service)
    assert [each.code for each in refused.value.problems] == ["too_many_confirmations"]


@pytest.mark.rule("CONFIRM-15", "CONFIRM-9")
@pytest.mark.parametrize("to", PLACES)
async def test_an_account_on_another_surface_counts_once_and_stands_for_its_person(
    parts: Parts, to: str
) -> None:
    named = {"count": 1, "from": ["web:lea"]}
    service = parts.service(routes=routes(to, "web:lea", confirmations=named))
    ask = await submitted(service)
    assert (ask.placement.confirmers, ask.placement.confirmers_elsewhere) == ((), ("web:lea",))
    service = parts.service(routes=routes(to, "web:lea", confirmations={**named, "count": 2}))
    with pytest.raises(InvalidCallError) as refused:
        await submitted(service)
    assert [each.code for each in refused.value.problems] == ["too_many_confirmations"]
    both = routes(to, "web:lea", confirmations=named)
    both.people.update_from(People({"lea": ("web:lea", "chat:lea"), "ann": ("chat:ann",)}))
    ask = await submitted(parts.service(routes=both))
    assert (ask.placement.confirmers, ask.placement.confirmers_elsewhere) == (("lea",), ())


@pytest.mark.rule("CONFIRM-15", "CONFIRM-3")
@pytest.mark.parametrize("answered_on", ["chat", "mail"])
async def test_an_account_that_was_linked_just_now_confirms_nothing(
    parts: Parts, answered_on: str
) -> None:
    service = parts.service(routes=routes("chat:C1", "web:lea"))
    service.people.update_from(People({"lea": ("web:lea",), "ann": ("chat:ann", "mail:ann")}))
    ask = await submitted(service)
    done = await service.act(ask.id, Answer(value=True), actor("ann", surface=answered_on))
    assert isinstance(done, Acted)
    link = AccountLink(
        account=Person(surface="mail", user_id="lea2"),
        page=Person(surface="web", user_id="lea"),
        credential="",
        at=parts.clock.now(),
    )
    service.people.update_links([link])
    refused = await service.act(ask.id, Confirm(), actor("lea2", surface="mail"))
    assert isinstance(refused, Rejected)
    assert [each.code for each in refused.problems] == ["linked_recently"]
    assert isinstance(await service.act(ask.id, Confirm(), actor("lea", surface="web")), Acted)


@pytest.mark.rule("CONFIRM-15", "CONFIRM-7")
async def test_they_are_notified_by_a_push_where_they_can_be(parts: Parts) -> None:
    service = parts.service(routes=routes("chat:C1", "web:lea"))
    ask = await submitted(service)
    answered = await service.act(ask.id, Answer(value=True), actor("ann"))
    assert isinstance(answered, Acted)
    people = service.people
    [row] = [
        each
        for each in push_rows("web", people, ask, answered.ask, 1.0)
        if each.type == "push.waits"
    ]
    assert "web:lea" in row.body
