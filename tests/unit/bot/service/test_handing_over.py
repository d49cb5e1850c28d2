"""The effects of handing an ask over: on who is told, where it is shown, and its deadlines."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from answerback.core.actions import Answer, Back
from answerback.core.ask import Ask, Destination, Status
from answerback.core.erasure import erase_ask
from answerback.core.errors import (
    DestinationGoneError,
    PlatformUnavailableError,
    UnauthorizedError,
)
from answerback.core.handing_over import HandOver, people_to_choose, reminder_recipients
from answerback.core.labels import Labels
from answerback.core.people import NOBODY_KNOWN, People
from answerback.core.person import Person
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason
from answerback.presentation import wording
from answerback.service.handing_over import NeedsPerson, Recipient, decide_hand_over
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes
from answerback_push.push_rows import push_rows
from answerback_testing.example_asks import new_ask
from tests.service_support import FakeSurface, actor
from tests.unit.bot.background_support import reopen_store, running, shows, submit
from tests.unit.bot.conftest import Parts


def routes(**table: object) -> Routes:
    route = {"to": "chat:C1", "responders": ["U1", "U2", "U3"], **table}
    return Routes("ops", {"ops": Route.model_validate(route)})


async def asked(service: Service, *named: str) -> Ask:
    return await submit(service, to=None, responders=[*named] if named else None)


async def hand_over(service: Service, ask: Ask, to: str, by: str = "U1") -> Acted | Rejected:
    return await service.act(ask.id, HandOver(to=to), actor(by))


async def handed(service: Service, ask: Ask, to: str, by: str = "U1") -> Ask:
    done = await hand_over(service, ask, to, by)
    assert isinstance(done, Acted), done
    return done.ask


def reminded(parts: Parts, times: int) -> bool:
    return len(parts.chat.reminders) == times


@pytest.mark.rule("HANDOVER-4")
async def test_the_other_person_alone_is_told_at_once_and_all_later(parts: Parts) -> None:
    async with running(parts, routes=routes(remind_after=[60])) as (service, sync):
        ask = await asked(service, "U1", "U2")
        await sync.wait_until_idle()
        await handed(service, ask, "U3")
        await parts.chat.until(lambda: len(parts.chat.reminders) == 1)
        [(_, number)] = parts.chat.reminders
        now = await service.get(ask.id)
        assert now is not None
        assert reminder_recipients(now, number) == ("U3",)
        assert wording.reminder(now, number, Labels()) == (
            ("U3",),
            "This was handed over to you: the assistant is waiting here.",
        )
        await parts.clock.advance(61)
        await parts.chat.until(lambda: len(parts.chat.reminders) == 2)
        number = parts.chat.reminders[-1][1]
        assert wording.reminder(now, number, Labels())[0] == ("U1", "U2", "U3")


@pytest.mark.rule("HANDOVER-4")
async def test_somebody_who_might_have_answered_anyway_is_told_too_each_time(parts: Parts) -> None:
    async with running(parts, routes=routes()) as (service, sync):
        ask = await asked(service)
        await sync.wait_until_idle()
        for count, (by, to) in enumerate((("U1", "U2"), ("U2", "U3"), ("U1", "U3")), 1):
            now = await handed(service, ask, to, by)
            assert now.placement.responders == ("U1", "U2", "U3")
            await parts.chat.until(partial(reminded, parts, count))
            assert reminder_recipients(now, parts.chat.reminders[-1][1]) == (to,)


@pytest.mark.rule("HANDOVER-4", "CONFIRM-7")
async def test_who_may_confirm_is_told_once_the_answer_is_there(parts: Parts) -> None:
    async with running(parts, routes=routes(confirmations=1)) as (service, sync):
        ask = await asked(service, "U1", "U2")
        await handed(service, ask, "U3")
        await sync.wait_until_idle()
        done = await service.act(ask.id, Answer(value=True), actor("U3"))
        assert isinstance(done, Acted)
        assert reminder_recipients(done.ask, done.ask.schedule.reminders_done_before) == (
            "U1",
            "U2",
        )
        assert wording.reminder(done.ask, done.ask.schedule.reminders_done_before, Labels())[
            1
        ].endswith("has an answer here that needs your confirmation.")
        given = await handed(service, ask, "U2")
        assert reminder_recipients(given, given.schedule.reminders_done_before) == ("U2",)
        back = await service.act(ask.id, Back(), actor("U3"))
        assert isinstance(back, Acted)
        assert (back.ask.schedule.recipient_ids, back.ask.placement.responders) == (
            (),
            ("U1", "U2", "U3"),
        )


@pytest.mark.rule("HANDOVER-6")
async def test_a_direct_message_moves_to_the_other_person(parts: Parts, tmp_path: Path) -> None:
    table = routes(to="chat:@U1")
    async with running(parts, routes=table) as (service, sync):
        ask = await asked(service, "U1")
        await sync.wait_until_idle()
        parts.chat.hold = asyncio.Event()
        now = await handed(service, ask, "U2")
        assert (now.placement.destination.user, now.placement.responders) == ("U2", ("U1", "U2"))
        again = await hand_over(service, ask, "U3", by="U2")
        assert isinstance(again, Rejected)
        assert [problem.code for problem in again.problems] == ["still_moving"]
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 2))
        await sync.wait_until_idle()
        assert [(to.user) for _, to in parts.chat.notes] == ["U2"]
        assert parts.chat.reminders == []  # the message itself tells them
    await reopen_store(parts, tmp_path)
    async with running(parts, routes=table) as (service, sync):
        back = await handed(service, ask, "U1", by="U2")
        assert (back.placement.destination.user, back.placement.responders) == ("U1", ("U1", "U2"))
        await parts.chat.until(shows(parts, ask, 3))
        await sync.wait_until_idle()
        refused = await hand_over(service, ask, "U1", by="U2")
        assert isinstance(refused, Rejected)  # it is there already
        done = await service.act(ask.id, Answer(value=True), actor("U2"))
        assert isinstance(done, Acted)
        assert done.ask.status is Status.ANSWERED


@pytest.mark.rule("HANDOVER-6", "ROUTE-6")
async def test_an_escalation_waits_for_the_message_that_was_left_behind(parts: Parts) -> None:
    escalate = {"after": 60, "to": "chat:C2", "responders": ["BOSS", "VICE"]}
    async with running(parts, routes=routes(to="chat:@U1", escalate=escalate)) as (service, sync):
        ask = await asked(service, "U1")
        await sync.wait_until_idle()
        parts.chat.hold = asyncio.Event()
        now = await handed(service, ask, "U2")
        assert now.escalates_at is None
        await parts.clock.advance(61)
        now = await service.get(ask.id) or now
        assert not now.schedule.escalated
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 3))
        await sync.wait_until_idle()
        now = await service.get(ask.id) or now
        assert (now.placement.destination.channel, now.placement.responders) == (
            "C2",
            ("BOSS", "VICE"),
        )
        assert [to.user or to.channel for _, to in parts.chat.notes] == ["U2", "C2"]
        assert (await handed(service, ask, "VICE", by="BOSS")).placement.responders == (
            "BOSS",
            "VICE",
        )
        assert (await handed(service, ask, "U3", by="VICE")).placement.responders == (
            "BOSS",
            "VICE",
            "U3",
        )


@pytest.mark.rule("HANDOVER-2")
async def test_members_of_a_group_of_the_route_get_it(parts: Parts) -> None:
    service = parts.service(routes=routes(responders=["@ops", "@leads"]))
    parts.chat.groups = {"U1": frozenset({"ops"}), "U5": frozenset({"leads"})}
    ask = await asked(service, "@ops")
    refused = await hand_over(service, ask, "U5", by="U5")
    assert isinstance(refused, Rejected)
    assert refused.why is RejectReason.NOT_ALLOWED
    assert (await handed(service, ask, "U5")).placement.responders == ("@ops", "U5")
    beyond = await hand_over(service, ask, "U6", by="U5")
    assert isinstance(beyond, Rejected)
    assert [problem.code for problem in beyond.problems] == ["responders_forbidden"]
    parts.chat.failures = [PlatformUnavailableError("away")]
    unchecked = await hand_over(service, ask, "U7", by="U5")
    assert isinstance(unchecked, Rejected)
    assert unchecked.why is RejectReason.UNCHECKED


@pytest.mark.rule("HANDOVER-2")
async def test_a_direct_message_goes_only_to_somebody_who_is_known(parts: Parts) -> None:
    service = parts.service(routes=routes(to="chat:@U1", responders="anyone"))
    ask = await asked(service, "U1")
    refused = await hand_over(service, ask, "a typing error")
    assert isinstance(refused, Rejected)
    assert [problem.code for problem in refused.problems] == ["responders_forbidden"]


@pytest.mark.rule("HANDOVER-2")
@pytest.mark.parametrize(
    ("place", "to", "is_given"),
    [
        ("chat:C1", "U9", True),
        ("chat:C1", "nobody", False),
        ("chat:C1", "person:eve", True),
        ("chat:@U1", "U9", False),
        ("chat:@U1", "person:eve", True),
        ("web", "nobody", False),
        ("web", "person:eve", True),
    ],
)
async def test_where_anyone_may_answer_only_somebody_who_is_known_gets_it(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, place: str, to: str, is_given: bool
) -> None:
    def problem(destination: Destination) -> str | None:
        user = destination.user
        return None if user is None or user[0] == "U" else "an id begins with U"

    monkeypatch.setattr(parts.chat, "destination_problem", problem)
    people = People({"eve": ("chat:X5", "web:eve")})
    route = Route.model_validate({"to": place, "responders": "anyone"})
    service = parts.service(routes=Routes("ops", {"ops": route}, people=people))
    ask = await asked(service)
    by = actor("U1", surface=ask.placement.destination.surface)
    done = await service.act(ask.id, HandOver(to=to), by)
    assert isinstance(done, Acted) is is_given


@pytest.mark.rule("HANDOVER-2", "CONFIRM-6")
async def test_who_may_only_confirm_by_a_group_hands_nothing_over(parts: Parts) -> None:
    confirmations = {"count": 1, "from": ["@leads"]}
    table = routes(responders=["@ops", "U2"], confirmations=confirmations)
    service = parts.service(routes=table)
    parts.chat.groups = {"U1": frozenset({"ops"}), "U5": frozenset({"leads"})}
    ask = await asked(service)
    assert isinstance(await service.act(ask.id, Answer(value=True), actor("U1")), Acted)
    refused = await hand_over(service, ask, "U2", by="U5")
    assert isinstance(refused, Rejected)
    assert refused.why is RejectReason.NOT_ALLOWED
    assert (await handed(service, ask, "U2", by="U1")).confirming


@pytest.mark.rule("HANDOVER-5")
async def test_an_erased_ask_names_nobody_to_whom_it_was_handed_over(parts: Parts) -> None:
    service = parts.service(routes=routes())
    ask = await asked(service, "U1")
    await handed(service, ask, "U2")
    done = await service.act(ask.id, Answer(value=True), actor("U2"))
    assert isinstance(done, Acted)
    erased = erase_ask(
        replace(done.ask, schedule=replace(done.ask.schedule, recipient_ids=("U2",))), 5.0, []
    )
    assert (
        erased.schedule.recipient_ids,
        erased.placement.responders,
        erased.request.allowed_recipients,
    ) == (
        (),
        (),
        None,
    )


@pytest.mark.rule("HANDOVER-4")
async def test_the_other_person_alone_is_notified_by_a_push(parts: Parts) -> None:
    service = parts.service(routes=routes())
    ask = await asked(service)
    for to in ("U2", "U2"):  # each time
        after = await handed(service, ask, to)
        [row] = push_rows("chat", NOBODY_KNOWN, ask, after, 5.0)
        body = {"ask": ask.id, "names": [to], "confirming": False}
        assert (row.type, json.loads(row.body)) == ("push.waits", body)
        ask = after


class KnowingSurface(FakeSurface):
    """A chat whose platform tells who somebody is, or raises an error."""

    said: str | Exception | None = None

    async def find_person(self, user_id: str, ask: Ask) -> str | None:
        """Return what the platform says."""
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


@pytest.mark.rule("HANDOVER-2", "HANDOVER-5")
@pytest.mark.parametrize(
    ("said", "to", "expected"),
    [
        ("Bob", "U9", "Bob"),
        (None, "U9", "not_a_person"),
        (None, "U2", "not_a_person"),
        ("Bob", "U2", "Bob"),
        ("Bob", "person:bo", "Bo Lee"),
        (UnauthorizedError("missing_scope"), "U9", None),
        (UnauthorizedError("missing_scope"), "U2", None),
        (PlatformUnavailableError("503"), "U2", "unchecked"),
    ],
    ids=[
        "known",
        "unknown",
        "listed, unknown",
        "listed",
        "directory",
        "mute",
        "mute, listed",
        "down",
    ],
)
async def test_the_platform_says_who_can_be_given_an_ask(
    parts: Parts, said: str | Exception | None, to: str, expected: str | None
) -> None:
    parts.chat = chat = KnowingSurface()
    chat.said = said
    people = People({"bo": ("chat:U7",)}, {"bo": "Bo Lee"})
    route = {"to": "chat:C1", "responders": "anyone"}
    listed = Routes("ops", {"ops": Route.model_validate(route)}, people=people)
    if to == "U2":
        listed = replace(listed, by_name=routes().by_name)
    async with running(parts, routes=listed) as (service, _):
        ask = await asked(service)
        done = await hand_over(service, ask, to)
        if expected in {"not_a_person", "unchecked"}:
            assert isinstance(done, Rejected)
            assert expected in {done.why.value, *(each.code for each in done.problems)}
            assert (await service.record(ask.id))[-1].entry.kind == "request"
            return
        assert isinstance(done, Acted), done
        handed_over = done.ask.placement.handed_over
        assert handed_over is not None
        assert (handed_over.by.user_id, handed_over.to.name) == ("U1", expected)
        [line] = [
            each.entry for each in await service.record(ask.id) if each.entry.kind == "handed_over"
        ]
        assert line.body.get("name") == expected


@pytest.mark.rule("HANDOVER-5", "MOVE-2")
async def test_nothing_says_that_an_ask_was_handed_over_that_has_returned(parts: Parts) -> None:
    async with running(parts, routes=routes(to="chat:@U1")) as (service, sync):
        ask = await asked(service)
        await sync.wait_until_idle()
        parts.chat.failures.append(DestinationGoneError("they have not started the bot"))
        assert (await handed(service, ask, "U2")).placement.handed_over is not None
        await parts.chat.until(lambda: not parts.chat.failures)
        await parts.chat.until(shows(parts, ask, 3))
        await sync.wait_until_idle()
        now = await service.get(ask.id)
        assert now is not None
        assert (now.placement.destination.user, now.placement.handed_over) == ("U1", None)


@pytest.mark.rule("HANDOVER-5", "MOVE-2")
async def test_the_hand_over_before_one_that_returned_is_said_again(parts: Parts) -> None:
    async with running(parts, routes=routes(to="chat:@U1")) as (service, sync):
        ask = await asked(service)
        await sync.wait_until_idle()
        first = (await handed(service, ask, "U2")).placement.handed_over
        await sync.wait_until_idle()
        parts.chat.failures.append(DestinationGoneError("they have not started the bot"))
        await handed(service, ask, "U3", by="U2")
        await parts.chat.until(lambda: not parts.chat.failures)
        await sync.wait_until_idle()
        now = await service.get(ask.id)
        assert now is not None
        assert (now.placement.destination.user, now.placement.handed_over) == ("U2", first)


@pytest.mark.rule("HANDOVER-2")
@pytest.mark.parametrize(
    "found", [("mail", "U9"), ("chat", "U8")], ids=["another surface", "another person"]
)
async def test_who_was_looked_up_where_the_ask_was_before_is_looked_up_again(
    parts: Parts, found: tuple[str, str]
) -> None:
    service = parts.service(routes=routes(to="chat:C1", responders="anyone"))
    ask = await asked(service)
    surface, user_id = found
    recipient = Recipient(
        Actor(Person(surface=surface, user_id=user_id, name="Bob")), is_person=True
    )
    decided = decide_hand_over(
        ask, HandOver(to="U9"), actor("U1"), recipient, 1.0, NOBODY_KNOWN, parts.chat
    )
    assert decided == NeedsPerson(ask, "U9")


@pytest.mark.rule("HANDOVER-7")
def test_a_list_to_choose_from_has_the_listed_and_if_anyone_may_the_directory() -> None:
    people = People({"bo": ("chat:U7", "web:bo"), "cy": ("chat:U8",)})
    place = Destination(surface="chat", channel="C1")
    for listed, choices in (
        (("U1", "@S1"), ("U1",)),
        (("U1", "anyone"), ("U1", "U7", "U8")),
        (None, None),
    ):
        ask = new_ask(to=place, request={"allowed_recipients": listed})
        assert people_to_choose(ask, people) == choices
