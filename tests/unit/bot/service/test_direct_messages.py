"""Asks in a direct message are answered by its person alone, whoever else is listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer, Confirm
from answerback.core.ask import Ask, Status
from answerback.core.confirmer_copies import (
    outdated_copies,
    places_to_remind,
    unreachable_count,
)
from answerback.core.errors import (
    DestinationGoneError,
    InvalidCallError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
)
from answerback.core.handing_over import HandOver
from answerback.core.labels import Labels
from answerback.core.people import People
from answerback.core.view import view_of
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.presentation import wording
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes
from tests.service_support import actor, ask_user
from tests.unit.bot.background_support import reopen_store, running
from tests.unit.bot.conftest import Parts

NOT_REACHED: Final = "confirmer_unreachable"


def confirmed_by(*names: str, **route: Any) -> Routes:
    """A route to Ann's direct messages, whose answers these people may confirm."""
    table = {"to": "chat:@ann", "confirmations": {"count": 1, "from": [*names]}, **route}
    people = People({"lea": ("chat:lea", "web:lea")})
    return Routes("ops", {"ops": Route.model_validate(table)}, people=people)


async def submitted(service: Service, **envelope: Any) -> Ask:
    return (await service.submit(ask_user(**envelope))).ask


@pytest.mark.rule("SUBMIT-10")
async def test_only_its_recipient_may_answer_a_direct_message(service: Service) -> None:
    ask = await submitted(service, to="chat:@U7", responders=None)
    stranger = await service.act(ask.id, Answer(value=True), actor("U8"))
    assert isinstance(stranger, Rejected)
    assert isinstance(await service.act(ask.id, Answer(value=True), actor("U7")), Acted)


@pytest.mark.rule("SUBMIT-10", "HANDOVER-2")
@pytest.mark.parametrize("listed_by", ["call", "route"])
async def test_whoever_is_listed_beside_a_direct_message_can_only_be_given_it(
    parts: Parts, listed_by: str
) -> None:
    listed, route = ["U7", "U8"], {"to": "chat:@U7"}
    table = Route.model_validate(route | ({"responders": listed} if listed_by == "route" else {}))
    service = parts.service(routes=Routes("ops", {"ops": table}))
    named = listed if listed_by == "call" else None
    ask = await submitted(service, to="ops", responders=named)
    assert (ask.placement.responders, view_of(ask).recipients) == (("U7",), ("U7", "U8"))
    other = await service.act(ask.id, Answer(value=True), actor("U8"))
    assert isinstance(other, Rejected)
    assert other.why is RejectReason.NOT_ALLOWED
    given = await service.act(ask.id, HandOver(to="U8"), actor("U7"))
    assert isinstance(given, Acted)
    assert isinstance(await service.act(ask.id, Answer(value=True), actor("U8")), Acted)


@pytest.mark.rule("SUBMIT-10", "ROUTE-6")
@pytest.mark.parametrize("named", [None, ["U7", "U8"]])
async def test_whoever_is_listed_may_act_where_a_direct_message_is_escalated_to_a_shared_place(
    parts: Parts, named: list[JsonValue] | None
) -> None:
    escalate = {"after": 60, "to": "web"}
    listed = ["U7", "U8", "person:eve"]
    route = Route.model_validate({"to": "chat:@U7", "responders": listed, "escalate": escalate})
    people = People({"eve": ("web:eve", "chat:U9")})
    service = parts.service(routes=Routes("ops", {"ops": route}, people=people))
    ask = await submitted(service, to="ops", responders=named)
    assert ask.request.escalation is not None
    at_the_new_place = ("U7", "U8") if named else ("U7", "U8", "eve")
    assert (ask.placement.responders, ask.request.escalation.responders) == (
        ("U7",),
        at_the_new_place,
    )


@pytest.mark.rule("CONFIRM-13", "CONFIRM-9")
@pytest.mark.parametrize("names", [["@leads"], ["ann"], ["ann", "@leads"], ["person:nobody"]])
async def test_a_direct_message_that_nobody_could_be_asked_to_confirm_is_refused(
    parts: Parts, names: list[str]
) -> None:
    service = parts.service(routes=confirmed_by(*names))
    with pytest.raises(InvalidCallError) as refused:
        await submitted(service, to="ops", responders=None)
    assert [each.code for each in refused.value.problems] == ["too_many_confirmations"]


@pytest.mark.rule("CONFIRM-13", "CONFIRM-7")
async def test_reminders_go_to_those_who_may_confirm_and_not_to_who_answered(parts: Parts) -> None:
    table = confirmed_by("person:lea", "bob", remind_after=[60])
    async with running(parts, routes=table) as (service, sync):
        ask = await submitted(service, to="ops", responders=None)
        await sync.wait_until_idle()
        await service.act(ask.id, Answer(value=True), actor("ann"))
        await parts.chat.until(lambda: parts.chat.copies.keys() == {"lea", "bob"})
        await sync.wait_until_idle()
        now = await service.get(ask.id)
        assert now is not None
        assert places_to_remind(now, now.schedule.reminders_done_before) == (), (
            "the copies tell them first"
        )
        await parts.clock.advance(61)
        await parts.chat.until(lambda: len(parts.chat.reminded) == 2)
        assert parts.chat.reminded == ["lea", "bob"]
        await service.act(ask.id, Confirm(), actor("bob"))
        await parts.chat.until(lambda: parts.chat.copies["lea"].status is Status.ANSWERED)


@pytest.mark.rule("CONFIRM-13")
async def test_the_inbox_of_who_may_confirm_leads_to_their_own_chat(parts: Parts) -> None:
    async with running(parts, routes=confirmed_by("person:lea")) as (service, sync):
        ask = await submitted(service, to="ops", responders=None)
        await service.act(ask.id, Answer(value=True), actor("ann"))
        await parts.chat.until(lambda: bool(parts.chat.copies))
        await sync.wait_until_idle()
        for who in (actor("lea"), actor("lea", surface="web")):
            [listed] = (await service.list_waiting_for(who, None, 10)).rows
            assert listed.placement.thread is not None
            assert (listed.placement.destination.user, listed.placement.thread.channel) == (
                "lea",
                "Dlea",
            )
            assert listed.id == ask.id


@pytest.mark.rule("CONFIRM-14")
async def test_who_cannot_be_told_is_logged_and_the_ask_stays_open(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    parts.chat.unreachable["bob"] = [DestinationGoneError("they have not started the bot")]
    async with running(parts, routes=confirmed_by("person:lea", "bob")) as (service, sync):
        ask = await submitted(service, to="ops", responders=None)
        await sync.wait_until_idle()
        await service.act(ask.id, Answer(value=True), actor("ann"))
        await parts.chat.until(lambda: bool(parts.chat.copies))
        await parts.chat.until(lambda: unreachable_count(parts.chat.messages[ask.id]) == 1)
        await sync.wait_until_idle()
        said = wording.summary_text(view_of(parts.chat.messages[ask.id]), Labels())
        assert said.endswith("1 cannot be reached.")
        bodies = [line.entry.body for line in await service.record(ask.id)]
        assert {"not_reached": "bob", "reason": "they have not started the bot"} in bodies
        lines = [each for each in caplog.records if getattr(each, "action", "") == NOT_REACHED]
        assert [each.levelname for each in lines] == ["ERROR"]
        assert isinstance(await service.act(ask.id, Confirm(), actor("lea")), Acted)


@pytest.mark.rule("CONFIRM-13")
@pytest.mark.parametrize(
    "error", [PlatformUnavailableError("503"), RateLimitedError("429", retry_after=0.01)]
)
async def test_a_copy_that_fails_for_a_while_is_retried_and_delays_no_other_message(
    parts: Parts, error: PlatformError
) -> None:
    parts.chat.unreachable["bob"] = [error] * 3
    async with running(parts, routes=confirmed_by("person:lea", "bob")) as (service, sync):
        ask = await submitted(service, to="ops", responders=None)
        await sync.wait_until_idle()
        await service.act(ask.id, Answer(value=True), actor("ann"))
        await parts.chat.until(lambda: parts.chat.copies.keys() == {"lea", "bob"})
        await sync.wait_until_idle()
        assert parts.chat.messages[ask.id].confirming
        assert parts.chat.posts == 3
        now = await service.get(ask.id)
        assert now is not None
        assert (outdated_copies(now), now.placement.shown_revision) == ((), now.revision)


@pytest.mark.rule("CONFIRM-13", "DATA-2")
async def test_copies_that_a_stop_prevented_are_posted_after_the_start(
    parts: Parts, tmp_path: Path
) -> None:
    table = confirmed_by("bob")
    async with running(parts, routes=table) as (service, sync):
        ask = await submitted(service, to="ops", responders=None)
        await sync.wait_until_idle()
        await sync.stop()
        await service.act(ask.id, Answer(value=True), actor("ann"))
    await reopen_store(parts, tmp_path)
    async with running(parts, routes=table) as (service, sync):
        await parts.chat.until(lambda: bool(parts.chat.copies))
        await sync.wait_until_idle()
    assert (parts.chat.copies["bob"].confirming, parts.chat.posts) == (True, 2)


@pytest.mark.rule("CONFIRM-13")
async def test_a_copy_that_the_platform_updates_by_other_means_is_looked_at_again(
    parts: Parts,
) -> None:
    async with running(parts, routes=confirmed_by("bob")) as (service, sync):
        ask = await submitted(service, to="ops", responders=None)
        await sync.wait_until_idle()
        parts.chat.later = 0.01
        await service.act(ask.id, Answer(value=True), actor("ann"))
        await parts.chat.until(lambda: parts.chat.shows > 4)
        parts.chat.later = 0.0
        await parts.chat.until(lambda: bool(parts.chat.copies))
        await sync.wait_until_idle()
    assert parts.chat.messages[ask.id].confirming
