"""A move to where nobody can be reached is undone: the ask stays where it was, and whoever moved it is told."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Destination, Status, Thread
from answerback.core.errors import (
    DestinationGoneError,
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback.core.escalation import follow_group, move, undo_move
from answerback.core.handing_over import HandOver, reminder_recipients
from answerback.core.intents import Intent
from answerback.core.labels import Labels
from answerback.ports.message_state import record_shown
from answerback.ports.surface import Acted, Rejected, RejectReason, Shown
from answerback.presentation import wording
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes
from answerback.workers.message_sync import MessageSync
from answerback_testing.example_asks import new_ask, with_values
from tests.service_support import actor, boolean
from tests.unit.bot.background_support import (
    reopen_store,
    running,
    shows,
    submit,
    wait_for_escalation,
)
from tests.unit.bot.conftest import Parts

UNREACHABLE = [
    DestinationGoneError("they have not started the bot"),
    PayloadRejectedError("user_not_found"),
    UnauthorizedError("the token was revoked"),
]


def routes(first: str, **escalate: object) -> Routes:
    table: dict[str, object] = {"to": first, "responders": ["U1", "U2", "U3"]}
    if escalate:
        table["escalate"] = {"after": 60, **escalate}
    return Routes("ops", {"ops": Route.model_validate(table)})


async def asked(service: Service, sync: MessageSync) -> Ask:
    ask = await submit(service, to=None, responders=None)
    await sync.wait_until_idle()
    return ask


async def hand_over(service: Service, ask: Ask, to: str = "U2") -> None:
    done = await service.act(ask.id, HandOver(to=to), actor("U1"))
    assert isinstance(done, Acted), done


async def stored(service: Service, ask: Ask) -> Ask:
    now = await service.get(ask.id)
    assert now is not None
    return now


def error_lines(caplog: pytest.LogCaptureFixture, action: str) -> list[str]:
    lines = [line for line in caplog.records if line.levelno >= logging.ERROR]
    return [line.getMessage() for line in lines if getattr(line, "action", "") == action]


@pytest.mark.rule("MOVE-1", "MOVE-2", "HANDOVER-6")
@pytest.mark.parametrize("error", UNREACHABLE, ids=lambda error: type(error).__name__)
async def test_who_handed_over_to_somebody_unreachable_has_it_back(
    parts: Parts, error: PlatformError, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(parts, routes=routes("chat:@U1")) as (service, sync):
        ask = await asked(service, sync)
        before = await stored(service, ask)
        parts.chat.failures.append(error)
        await hand_over(service, ask)
        await parts.chat.until(shows(parts, ask, 3))
        await parts.chat.until(lambda: bool(parts.chat.reminders))
        await sync.wait_until_idle()
        now = await stored(service, ask)
        assert (now.open, now.placement.destination, now.placement.message) == (
            True,
            ask.placement.destination,
            before.placement.message,
        )
        assert (
            now.placement.responders,
            now.placement.place_before,
            now.placement.old_message,
        ) == (
            before.placement.responders,
            None,
            None,
        )
        assert (parts.chat.notes, parts.chat.posts) == ([], 1), "the old message was never retired"
        [(_, number)] = parts.chat.reminders
        recipients, text = wording.reminder(now, number, Labels())
        assert (recipients, text.partition(":")[0]) == (
            ("U1",),
            Labels().handed_back.partition(":")[0],
        )
        bodies = [line.entry.body for line in await service.record(ask.id)]
        [returned] = [body for body in bodies if "returned_from" in body]
        assert returned == {
            "returned_from": {"surface": "chat", "user": "U2"},
            "reason": str(error),
        }
        assert len(error_lines(caplog, "move_undone")) == 1
        assert isinstance(await service.act(ask.id, Answer(value=True), actor("U1")), Acted)


@pytest.mark.rule("MOVE-1")
async def test_after_a_move_that_was_undone_the_next_person_can_be_given_it(parts: Parts) -> None:
    async with running(parts, routes=routes("chat:@U1")) as (service, sync):
        ask = await asked(service, sync)
        parts.chat.failures.append(UNREACHABLE[0])
        await hand_over(service, ask)
        await parts.chat.until(lambda: bool(parts.chat.reminders))
        await hand_over(service, ask, "U3")
        await parts.chat.until(lambda: bool(parts.chat.notes))
        await sync.wait_until_idle()
        now = await stored(service, ask)
        assert (
            now.placement.destination.user,
            now.placement.responders,
            now.schedule.hand_over_failed,
        ) == (
            "U3",
            ("U1", "U3"),
            False,
        )
        assert reminder_recipients(now, now.schedule.reminders_done_before) == ("U1", "U3")


@pytest.mark.rule("MOVE-1")
@pytest.mark.parametrize(
    "error", [PlatformUnavailableError("503"), RateLimitedError("429", retry_after=0.01)]
)
async def test_the_old_message_becomes_a_note_once_the_new_one_is_there(
    parts: Parts, error: PlatformError
) -> None:
    async with running(parts, routes=routes("chat:@U1")) as (service, sync):
        ask = await asked(service, sync)
        parts.chat.failures += [error] * 3
        await hand_over(service, ask)
        await parts.chat.until(lambda: len(parts.chat.failures) < 2)
        assert parts.chat.notes == []
        assert (await stored(service, ask)).placement.place_before is not None
        await parts.chat.until(lambda: bool(parts.chat.notes))
        await sync.wait_until_idle()
        assert parts.chat.messages[ask.id].placement.destination.user == "U2"
        assert (await stored(service, ask)).placement.place_before is None


@pytest.mark.rule("MOVE-1", "MOVE-3", "ROUTE-6")
@pytest.mark.parametrize("first", ["chat:C1", "chat:@U1", "web"])
async def test_an_escalation_to_somebody_unreachable_leaves_the_ask_where_it_is(
    parts: Parts, first: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = routes(first, to="chat:@BOSS", responders=["BOSS"])
    async with running(parts, routes=table) as (service, sync):
        ask = await asked(service, sync)
        parts.chat.failures.append(UNREACHABLE[0])
        await wait_for_escalation(parts, service, ask)
        with service.follow(ask.id) as follower:
            while (await stored(service, ask)).revision < 3:
                await asyncio.wait_for(follower.next_commit(), 10)
        await sync.wait_until_idle()
        now = await stored(service, ask)
        assert (now.open, now.placement.destination, now.placement.responders) == (
            True,
            ask.placement.destination,
            ask.placement.responders,
        )
        assert (now.schedule.escalated, now.escalates_at, parts.chat.notes) == (True, None, [])
        assert len(error_lines(caplog, "move_undone")) == 1
        who = actor("U1", surface=ask.placement.destination.surface)
        done = await service.act(ask.id, Answer(value=True), who)
        assert isinstance(done, Acted)
        assert done.ask.status is Status.ANSWERED


@pytest.mark.rule("MOVE-3", "ROUTE-6")
async def test_an_escalation_to_a_surface_that_is_not_configured_is_logged(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    table = routes("chat:C1", to="pager:@BOSS")
    async with running(parts, routes=table) as (service, sync):
        ask = await asked(service, sync)
        await wait_for_escalation(parts, service, ask)
        now = await stored(service, ask)
        assert (now.open, now.placement.destination, now.escalates_at) == (
            True,
            ask.placement.destination,
            None,
        )
        [line] = error_lines(caplog, "not_escalated")
        assert "pager is not configured" in line
        assert (await service.record(ask.id))[-1].entry.body == {
            "not_escalated": "pager is not configured"
        }


@pytest.mark.rule("MOVE-1")
async def test_a_place_that_closes_before_a_moved_ask_is_shown_there_returns_it(
    parts: Parts,
) -> None:
    async with running(parts, routes=routes("chat:C1", to="chat:C2")) as (service, sync):
        ask = await asked(service, sync)
        parts.chat.hold = asyncio.Event()
        await wait_for_escalation(parts, service, ask)
        moved = await stored(service, ask)
        await service.fail_unreachable(moved, "the channel was archived")
        parts.chat.hold.set()
        await parts.chat.until(shows(parts, ask, 3))
        await sync.wait_until_idle()
        now = await stored(service, ask)
        assert (now.open, now.placement.destination.channel) == (True, "C1")
        await service.fail_unreachable(now, "the channel was archived")
        assert (await stored(service, ask)).status is Status.FAILED, "it has nowhere to return to"


@pytest.mark.rule("MOVE-1")
async def test_an_ask_that_ends_before_it_is_shown_at_its_new_place_ends_where_it_was(
    parts: Parts,
) -> None:
    async with running(parts, routes=routes("chat:@U1"), first_pause=60.0) as (service, sync):
        ask = await asked(service, sync)
        parts.chat.failures.append(PlatformUnavailableError("503"))
        await hand_over(service, ask)
        await parts.chat.until(lambda: not parts.chat.failures)
        done = await service.act(ask.id, Answer(value=True), actor("U1"))
        assert isinstance(done, Acted)
        await parts.chat.until(lambda: parts.chat.messages[ask.id].status is Status.ANSWERED)
        await sync.wait_until_idle()
        shown = parts.chat.messages[ask.id]
        assert (shown.placement.destination, parts.chat.posts, parts.chat.notes) == (
            ask.placement.destination,
            1,
            [],
        )
        outcome = (await stored(service, ask)).outcome
        assert outcome == done.ask.outcome


@pytest.mark.rule("MOVE-1")
def test_a_message_that_was_being_posted_while_its_ask_moved_is_the_one_it_returns_to() -> None:
    posting = new_ask(to=Destination(surface="chat", channel="C1"), revision=1)
    moved = replace(move(posting, Destination(surface="chat", channel="C2")), revision=2)
    late = record_shown(Shown(1, {"ts": "1.1"}, Thread(channel="C1")), posting, moved).result
    assert late is not None
    back = undo_move(late, 2.0, "the channel is gone").ask
    assert (back.placement.destination, back.placement.message, back.placement.was_visible) == (
        posting.placement.destination,
        {"ts": "1.1"},
        True,
    )
    assert (back.placement.thread, back.placement.old_message) == (Thread(channel="C1"), None)


@pytest.mark.rule("MOVE-1", "DATA-2")
async def test_a_move_that_a_crash_interrupted_is_undone_by_the_next_process(
    parts: Parts, tmp_path: Path
) -> None:
    table = routes("chat:@U1")
    async with running(parts, routes=table) as (service, sync):
        ask = await asked(service, sync)
        await sync.stop()
        await hand_over(service, ask)
    await reopen_store(parts, tmp_path)
    parts.chat.failures.append(UNREACHABLE[0])
    async with running(parts, routes=table) as (service, sync):
        await parts.chat.until(shows(parts, ask, 3))
        await sync.wait_until_idle()
        now = await stored(service, ask)
        assert (now.open, now.placement.destination.user, now.placement.place_before) == (
            True,
            "U1",
            None,
        )


@pytest.mark.rule("MOVE-4")
async def test_who_handed_it_over_can_still_answer_until_the_other_person_has_it(
    parts: Parts,
) -> None:
    async with running(parts, routes=routes("chat:@U1"), first_pause=60.0) as (service, sync):
        ask = await asked(service, sync)
        before = await stored(service, ask)
        parts.chat.failures.append(PlatformUnavailableError("503"))
        await hand_over(service, ask)
        await parts.chat.until(lambda: not parts.chat.failures)
        looked = await service.apply(Intent(ask.id, None, ask.revision), actor("U1"))
        assert isinstance(looked, Acted)
        assert (looked.ask.revision, looked.ask.placement.message) == (
            ask.revision,
            before.placement.message,
        )
        assert (await stored(service, ask)).placement.place_before is not None, (
            "looking stores nothing"
        )
        stranger = await service.act(ask.id, Answer(value=True), actor("U9"), revision=ask.revision)
        assert isinstance(stranger, Rejected)
        assert stranger.why is RejectReason.NOT_ALLOWED
        done = await service.act(ask.id, Answer(value=True), actor("U1"), revision=ask.revision)
        assert isinstance(done, Acted)
        await parts.chat.until(lambda: parts.chat.messages[ask.id].status is Status.ANSWERED)
        await sync.wait_until_idle()
        now = await stored(service, ask)
        assert (now.placement.destination, now.placement.message, now.placement.place_before) == (
            ask.placement.destination,
            before.placement.message,
            None,
        )
        assert (parts.chat.posts, parts.chat.notes) == (1, [])


@pytest.mark.rule("MOVE-4")
@pytest.mark.parametrize("revision", [1, 2, None])
async def test_where_an_ask_was_it_counts_until_somebody_acts_elsewhere(
    parts: Parts, revision: int | None
) -> None:
    table = routes("web", to="chat:@BOSS", responders=["BOSS"])
    async with running(parts, routes=table, first_pause=60.0) as (service, sync):
        question = {"id": "b", "text": "B?", "answer_type": "boolean"}
        ask = await submit(service, boolean(), question, to=None, responders=None)
        await sync.wait_until_idle()
        parts.chat.failures.append(PlatformUnavailableError("503"))
        await wait_for_escalation(parts, service, ask)
        if revision == 1:  # the person at the new place has an inbox
            assert isinstance(await service.act(ask.id, Answer(value=True), actor("BOSS")), Acted)
        here = actor("U1", surface="web")
        done = await service.act(ask.id, Answer(value=True), here, revision=revision)
        if revision == 1:
            assert isinstance(done, Rejected)
            return
        assert isinstance(done, Acted)
        assert (done.ask.placement.destination, done.ask.placement.responders) == (
            ask.placement.destination,
            ask.placement.responders,
        )
        assert (done.ask.revision, done.ask.question and done.ask.question.id) == (3, "b")


@pytest.mark.rule("MOVE-4")
async def test_a_message_that_was_being_posted_meanwhile_becomes_a_note(parts: Parts) -> None:
    table = routes("chat:C1", to="chat:C2", responders=["BOSS"])
    async with running(parts, routes=table) as (service, sync):
        ask = await asked(service, sync)
        parts.chat.hold = asyncio.Event()
        await wait_for_escalation(parts, service, ask)
        await parts.chat.until(lambda: parts.chat.shows == 2)
        done = await service.act(ask.id, Answer(value=True), actor("U1"), revision=ask.revision)
        assert isinstance(done, Acted)
        parts.chat.hold.set()
        await parts.chat.until(lambda: bool(parts.chat.notes))
        await sync.wait_until_idle()
        now = await stored(service, ask)
        assert (now.status, now.placement.destination.channel, now.to_retire) == (
            Status.ANSWERED,
            "C1",
            None,
        )


CHAT = Destination(surface="chat", channel="C1")
POSTED = new_ask(to=CHAT, message={"channel": "C1", "id": "m1"}, was_visible=True)


@pytest.mark.parametrize(
    ("ask", "is_moved"),
    [
        (POSTED, True),
        (new_ask(to=CHAT), False),
        (new_ask(to=CHAT, message={"channel": "C1"}), False),  # perhaps not posted yet
        (new_ask(to=CHAT, message={"channel": "C2", "id": "m1"}), False),
        (with_values(move(POSTED, CHAT), message={"channel": "C1", "id": "m2"}), False),
    ],
)
def test_an_ask_follows_its_group_to_another_id_only_if_it_is_posted_and_settled_there(
    ask: Ask, *, is_moved: bool
) -> None:
    change = follow_group(ask, "C1", "C9", 2_000.0)
    assert (change is not None) is is_moved
    if change is not None:
        place = change.ask.placement
        assert place.destination.channel == "C9"
        assert (place.message, change.ask.revision) == (None, ask.revision + 1)
        assert undo_move(change.ask, 3_000.0, "it ended").ask.placement == ask.placement
