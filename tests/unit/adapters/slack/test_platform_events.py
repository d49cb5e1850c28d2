"""Slack's events are handled at once: deleted messages, closed channels, user groups, the token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.service.service import Service
from answerback_slack.manifest import EVENTS
from tests.fakes.slack import admin
from tests.fakes.slack.workspace import BOT_USER
from tests.service_support import WAIT
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, MODES, Rig, rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
GROUP = "S0DBA"


@pytest.fixture(params=MODES)
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, request.param) as made:
        made.slack.event_types = {name.partition(".")[0] for name in EVENTS}
        made.slack.workspace.add_group(GROUP, made.ada.id)
        yield made


async def _ended(up: Rig, ask: Ask) -> Ask:
    ended = await up.app.service.wait(ask.id, 5)
    assert ended is not None
    return await up.shown(ended)


async def _all_delivered(up: Rig) -> None:
    await up.slack.queue.settle()
    assert up.slack.queue.unacked == []


def _failure_message(ask: Ask) -> str:
    assert ask.outcome is not None
    return ask.outcome.message or ""


@pytest.mark.rule("PLACE-1")
async def test_a_live_message_that_is_deleted_is_posted_again_in_its_thread(up: Rig) -> None:
    parent = await up.bob.post(CHANNEL, "Deploying now")
    to = f"slack:{CHANNEL}/{parent.ts}"
    ask, other = await up.submit(APPLY, to=to), await up.submit(APPLY, to=to)
    gone = up.live(ask)
    await up.ada.delete(gone)
    await up.slack.until(lambda: up.slack.count("chat.postMessage") == 3)
    ask = await up.shown(ask)
    assert up.live(ask).ts != gone.ts
    assert up.live(ask).thread_ts == parent.ts
    assert up.live(other).ts > gone.ts
    await up.ada.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("PLACE-1")
@pytest.mark.parametrize("in_thread", [False, True], ids=["channel", "thread"])
@pytest.mark.parametrize("redelivered", [False, True], ids=["once", "redelivered"])
async def test_a_message_that_is_deleted_before_its_post_is_recorded_is_posted_again(
    up: Rig, in_thread: bool, redelivered: bool, impatient: None
) -> None:
    """The post is recorded within moments, or only after Slack has repeated the event."""
    fields: dict[str, Any] = {}
    if in_thread:
        parent = await up.ada.post(CHANNEL, "What about the migration?")
        fields["to"] = f"slack:{CHANNEL}/{parent.ts}"
    before = {each.ts for each in up.slack.messages(CHANNEL)}
    hanging = up.slack.faults.add("chat.postMessage", hang=True, when="after")
    submitting = asyncio.create_task(up.submit(APPLY, **fields))
    await up.slack.until(lambda: len(up.slack.messages(CHANNEL)) > len(before))
    [gone] = [each for each in up.slack.messages(CHANNEL) if each.ts not in before]
    up.slack.queue.delays = (0.05,) * 40
    await up.ada.delete(gone)
    event = up.slack.queue.events[-1]
    await up.slack.until(lambda: event.started > (1 if redelivered else 0))
    hanging.release()
    ask = await submitting
    await up.slack.until(lambda: up.slack.count("chat.postMessage") == 2)
    assert up.live(await up.shown(ask)).ts != gone.ts


async def test_an_event_whose_handling_crashes_is_logged_and_handled_when_slack_sends_it_again(
    up: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crashed = asyncio.Event()

    async def odd(*_: object, **__: object) -> None:
        crashed.set()
        raise KeyError("unforeseen")

    up.slack.queue.delays = ()
    ask = await up.submit(APPLY)
    with monkeypatch.context() as odd_for_now:
        odd_for_now.setattr(Service, "show_again", odd)
        await up.ada.delete(up.live(ask))
        async with asyncio.timeout(WAIT):
            await crashed.wait()
    await up.slack.queue.redeliver(up.slack.way)
    await up.slack.until(lambda: up.slack.count("chat.postMessage") == 2)
    failed = [each for each in caplog.records if each.message == "A payload could not be handled"]
    assert [each.exc_info is not None for each in failed] == [True]


async def test_a_deleted_message_with_replies_is_posted_again_too(up: Rig) -> None:
    ask = await up.submit(APPLY)
    gone = up.live(ask)
    gone.deleted = True
    before = gone.payload()
    up.slack.emit({
        "type": "message", "subtype": "message_changed", "hidden": True, "channel": CHANNEL,
        "message": {"type": "message", "subtype": "tombstone", "ts": gone.ts, "thread_ts": gone.ts},
        "previous_message": before, "ts": up.slack.workspace.next_ts(),
    })  # fmt: skip
    await up.slack.until(lambda: up.slack.count("chat.postMessage") == 2)
    assert up.live(await up.shown(ask)).ts != gone.ts


@pytest.mark.rule("PLACE-1")
async def test_deleting_a_record_or_somebody_elses_message_changes_nothing(up: Rig) -> None:
    ask = await up.submit(APPLY)
    reply = await up.bob.type_in_thread(up.live(ask), "hm")
    await up.bob.delete(reply)
    await up.bob.edit(await up.bob.post(CHANNEL, "a"), "b")
    await up.ada.click(up.live(ask), LABELS.yes)
    await up.shown(ask)
    await up.ada.delete(up.live(ask))
    await _all_delivered(up)
    await up.app.shower.wait_until_idle()
    assert up.slack.count("chat.postMessage") == 1


@pytest.mark.rule("PLACE-2")
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("channel_archive", "was archived: unarchive it"),
        ("group_archive", "was archived: unarchive it"),
        ("channel_deleted", "was deleted"),
        ("channel_left", "no longer has the app as a member: "),
        ("member_left_channel", "no longer has the app as a member: "),
    ],
)
async def test_closing_a_channel_fails_all_of_its_asks(up: Rig, how: str, said: str) -> None:
    up.slack.workspace.add_channel("C0OTHER", up.ada.id)
    asks = [await up.submit(APPLY) for _ in range(3)]
    other = await up.submit(APPLY, to="slack:C0OTHER")
    match how:
        case "channel_deleted":
            admin.delete_channel(up.slack, CHANNEL)
        case "channel_left":
            admin.remove_app(up.slack, CHANNEL, up.bob.id)
        case "member_left_channel":
            admin.leave(up.slack, CHANNEL, BOT_USER)
        case _:
            admin.archive(up.slack, CHANNEL, up.bob.id, private=how == "group_archive")
    for ask in asks:
        ended = await _ended(up, ask)
        assert ended.status is Status.FAILED
        assert f"the channel {said}" in _failure_message(ended)
        assert ". Do not retry" in _failure_message(ended)
    assert (await up.shown(other)).open
    await _all_delivered(up)


@pytest.mark.rule("PLACE-7")
async def test_the_messages_in_a_channel_that_is_unarchived_say_how_their_asks_ended(
    up: Rig,
) -> None:
    ask = await up.submit(APPLY)
    admin.archive(up.slack, CHANNEL, up.bob.id)
    await _ended(up, ask)
    assert LABELS.yes in up.ada.sees(up.live(ask)).buttons
    admin.join(up.slack, CHANNEL, up.bob.id)
    admin.unarchive(up.slack, CHANNEL, up.bob.id)
    await up.slack.until(lambda: LABELS.yes not in up.ada.sees(up.live(ask)).buttons)
    assert (await up.submit(APPLY)).open


async def test_an_ask_made_after_a_channel_was_reopened_survives_a_late_archive_event(
    up: Rig,
) -> None:
    ask = await up.submit(APPLY)
    late = {"type": "channel_archive", "channel": CHANNEL, "user": up.bob.id}
    up.slack.emit(late | {"event_ts": f"{ask.created_at - 3_600:.6f}"})
    await _all_delivered(up)
    assert (await up.shown(ask)).open
    up.slack.emit(late | {"event_ts": None})
    assert (await _ended(up, ask)).status is Status.FAILED


async def test_a_person_leaving_a_channel_ends_nothing_there(up: Rig) -> None:
    ask = await up.submit(APPLY)
    admin.leave(up.slack, CHANNEL, up.bob.id)
    await _all_delivered(up)
    assert (await up.shown(ask)).open


async def test_a_channel_that_gets_another_id_stays_the_same_channel(up: Rig) -> None:
    up.slack.workspace.add_channel("G0PRIVATE", up.ada.id, kind="group")
    ask = await up.submit(APPLY, NOTE, to="slack:G0PRIVATE")
    limited = up.slack.faults.add("chat.postMessage", status=429, retry_after=3)
    submitting = asyncio.create_task(up.submit(APPLY, to="slack:G0PRIVATE"))
    await up.slack.until(lambda: limited.hits)
    # Until it is stored that nothing was posted, the event would change the pending post instead.
    async with asyncio.timeout(WAIT):
        while await _messages_besides(up, ask, "G0PRIVATE"):  # noqa: ASYNC110 nothing signals it
            await asyncio.sleep(0.01)
    admin.renumber(up.slack, "G0PRIVATE", "C0PRIVATE")
    await _all_delivered(up)
    moved = await up.app.store.asks.get(ask.id)
    assert moved is not None
    assert moved.placement.thread is not None
    assert moved.placement.thread.channel == "C0PRIVATE"
    await up.ada.click(up.live(moved), LABELS.yes)
    ask = await up.shown(ask)
    later = await submitting
    assert up.live(later).channel == "C0PRIVATE", "a post that had to wait goes there too"
    assert ask.placement.shown_revision == ask.revision == 2
    assert "A note?" in up.ada.sees(up.live(ask)).text


async def _messages_besides(up: Rig, ask: Ask, channel: str) -> list[object]:
    """The stored messages of the other open asks in a channel, including those that are being posted."""
    others = [
        each async for each in up.app.service.each_open("slack", channel) if each.id != ask.id
    ]
    return [each.placement.message for each in others if each.placement.message]


@pytest.mark.rule("SLACK-8")
async def test_a_change_of_a_user_group_counts_at_once(up: Rig) -> None:
    ask = await up.submit(APPLY, responders=[f"@{GROUP}"])
    await up.bob.click(up.live(ask), LABELS.yes)
    assert len(await up.wait_for_notes(up.bob)) == 1
    admin.set_members(up.slack, GROUP, up.bob.id)
    admin.rename_group(up.slack, GROUP, "owners")
    await _all_delivered(up)
    await up.ada.click(up.live(ask), LABELS.yes)
    assert len(await up.wait_for_notes(up.ada)) == 1
    await up.bob.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("PLACE-6")
@pytest.mark.parametrize("disabled", [True, False])
async def test_an_ask_whose_only_responders_are_gone_fails_with_an_explanation(
    up: Rig, disabled: bool
) -> None:
    alone = await up.submit(APPLY, responders=[f"@{GROUP}"])
    with_bob = await up.submit(APPLY, responders=[f"@{GROUP}", up.bob.id])
    others = await up.submit(APPLY, responders=[up.bob.id])
    if disabled:
        admin.disable_group(up.slack, GROUP)
    else:
        admin.set_members(up.slack, GROUP)
    ended = await _ended(up, alone)
    assert ended.status is Status.FAILED
    assert f"nobody could answer: the user group {GROUP}" in _failure_message(ended)
    await _all_delivered(up)
    assert (await up.shown(with_bob)).open
    assert (await up.shown(others)).open


async def test_a_user_group_that_no_ask_names_is_not_looked_up(up: Rig) -> None:
    await up.submit(APPLY)
    admin.set_members(up.slack, GROUP, up.bob.id)
    await _all_delivered(up)
    assert up.slack.count("usergroups.users.list") == 0


async def test_a_temporary_lookup_failure_of_a_group_fails_no_ask(up: Rig) -> None:
    ask = await up.submit(APPLY, responders=[f"@{GROUP}"])
    up.slack.faults.add("usergroups.users.list", times=None, status=503)
    admin.set_members(up.slack, GROUP)
    await _all_delivered(up)
    assert (await up.shown(ask)).open
    assert (await up.submit(APPLY, responders=[f"@{GROUP}"])).open


@pytest.mark.rule("PLACE-6")
@pytest.mark.parametrize("scope", [True, False])
async def test_an_ask_that_nobody_could_answer_is_not_posted(up: Rig, scope: bool) -> None:
    if not scope:
        up.slack.scopes.discard("usergroups:read")
    ask = await up.submit(APPLY, responders=["@S0NONE"])
    assert ask.status is Status.FAILED
    assert "nobody could answer: the user group S0NONE: Slack refused" in _failure_message(ask)
    assert up.slack.messages(CHANNEL) == []
    assert (await up.submit(APPLY, responders=["@S0NONE", up.ada.id])).open


@pytest.mark.rule("PLACE-3")
@pytest.mark.parametrize("how", ["uninstalled", "revoked", "told by a call"])
async def test_a_revoked_token_is_reported_at_once_until_it_works_again(
    up: Rig, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await up.submit(APPLY, NOTE)
    copy = up.live(ask).snapshot()
    assert up.app.surface.unready_reason() is None
    if how == "uninstalled":
        admin.uninstall(up.slack)
    elif how == "revoked":
        admin.revoke(up.slack, bot=True)
    else:
        up.slack.revoked = True
        await up.ada.click_on(copy, LABELS.yes)
    await up.slack.until(lambda: up.slack.calls[-1].method == "auth.test")
    assert "Slack" in (up.app.surface.unready_reason() or "")
    up.slack.revoked = False
    async with asyncio.timeout(WAIT):
        while up.app.surface.unready_reason() is not None:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)


async def test_a_persons_revoked_token_is_ignored(up: Rig) -> None:
    before = up.slack.count("auth.test")
    admin.revoke(up.slack, bot=False)
    await _all_delivered(up)
    assert up.slack.count("auth.test") == before
    assert up.app.surface.unready_reason() is None


async def test_events_of_an_unknown_shape_are_acknowledged(up: Rig) -> None:
    for event in (
        {"type": "subteam_updated", "subteam": "x"},
        {"type": "channel_archive", "channel": None},
        {"type": "message", "subtype": "message_deleted", "channel": CHANNEL, "deleted_ts": "1.0"},
        {"type": "subteam_updated", "subteam": {"id": GROUP}},
    ):
        up.slack.emit(event)
    await _all_delivered(up)
