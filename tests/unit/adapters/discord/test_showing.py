"""Posting and editing despite all kinds of failures: the message converges, and nothing is duplicated or lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Destination
from answerback.core.errors import DestinationGoneError, PlatformUnavailableError
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback_discord import api_client
from tests.fakes.discord.world import Can, Channel
from tests.unit.adapters.discord.rig import Rig, rig

ONE: list[dict[str, Any]] = [{"id": "go", "text": "Go on?", "answer_type": "boolean"}]
TWO = [*ONE, {"id": "why", "text": "Why so?", "answer_type": "text"}]
POST, EDIT = "POST /channels/*/messages", "PATCH /channels/*/messages/*"
THREAD = "POST /channels/*/messages/*/threads"


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, "http", gateway=False) as made:
        yield made


def posts(up: Rig, channel: Channel | None = None) -> int:
    """The number of our messages in a channel."""
    place = channel or up.channel
    return sum(m.author_id == up.discord.bot.id and not m.deleted for m in place.messages.values())


@pytest.mark.rule("PLACE-5")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kind", ["drop", "server_error"])
@pytest.mark.parametrize("place", [POST, THREAD])
async def test_a_post_of_unknown_outcome_is_never_duplicated(
    up: Rig, place: str, kind: str, after: bool
) -> None:
    getattr(up.discord.faults, kind)(place, after=after)
    ask = await up.until_current(await up.submit(ONE))
    assert posts(up) == 1
    assert ask.placement.thread is not None
    assert ask.placement.thread.id == (ask.placement.message or {})["id"]


async def test_an_ask_that_ended_before_its_place_was_found_is_not_posted(up: Rig) -> None:
    up.discord.faults.server_error("GET /channels/*", times=1_000)
    ask = await up.submit(ONE)
    await up.discord.faults.called("GET /channels/*")
    await up.service.withdraw(ask.id)
    stored = await up.until_current(ask)
    assert (stored.status, stored.placement.message, up.discord.faults.count(POST)) == (
        "withdrawn",
        None,
        0,
    )


@pytest.mark.parametrize("place", ["channel", "forum"])
async def test_an_ask_that_ended_before_it_was_posted_is_not_posted(up: Rig, place: str) -> None:
    there = up.discord.add_forum(up.guild) if place == "forum" else up.channel
    post = "POST /channels/*/threads" if place == "forum" else POST
    up.discord.faults.rate_limit(post, retry_after=2.0)
    ask = await up.submit(ONE, to=f"discord:{there.id}")
    await up.discord.faults.called(post)
    await up.service.withdraw(ask.id)
    stored = await up.until_current(ask)
    assert (stored.status, up.discord.faults.count(post)) == ("withdrawn", 1)


@pytest.mark.parametrize("after", [False, True])
async def test_an_ask_that_ended_before_its_post_was_confirmed_is_updated_where_it_was_posted(
    up: Rig, after: bool
) -> None:
    up.discord.faults.drop(POST, after=after)
    up.discord.faults.server_error("GET /channels/*/messages", times=1_000)
    ask = await up.submit(ONE)
    await up.discord.faults.called("GET /channels/*/messages")
    await up.service.withdraw(ask.id)
    up.discord.faults.clear()  # only now: it must not be posted again before it is withdrawn
    await up.until_current(ask)
    assert posts(up) == after
    if after:
        assert "Withdrawn by the assistant" in up.ann.latest(up.channel).text


async def test_clicks_answered_by_updating_the_message_are_confirmed_by_one_edit(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, "http", gateway=False, confirm_after=3.0) as up:
        ask = await up.shown(await up.submit([{**ONE[0], "id": f"go{n}"} for n in range(4)]))
        for _ in range(3):
            await up.ann.click("Yes")
        assert up.discord.faults.count(EDIT) == 0
        assert (await up.until_current(ask)).placement.shown_revision == 4
        assert up.discord.faults.count(EDIT) == 1


async def test_changes_during_an_unconfirmed_response_are_shown_after_it(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, "http", gateway=False, confirm_after=2.0) as up:
        ask = await up.shown(await up.submit(TWO))
        loop = asyncio.get_running_loop()
        clicked = loop.time()
        await up.ann.click("Yes")
        await up.service.withdraw(ask.id)
        await up.until_current(ask)
        assert loop.time() - clicked >= 2.0
        assert up.discord.faults.count(EDIT) == 1


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kind", ["drop", "server_error"])
async def test_a_failed_edit_is_retried_until_the_message_shows_the_ask(
    up: Rig, kind: str, after: bool
) -> None:
    ask = await up.shown(await up.submit(TWO))
    getattr(up.discord.faults, kind)(EDIT, after=after)
    await up.ann.click("Yes")
    await up.until_current(ask)
    assert "Why so?" in up.ann.latest(up.channel).text


@pytest.mark.rule("DATA-7")
async def test_a_429_is_respected_and_the_newest_state_is_shown_afterwards(up: Rig) -> None:
    ask = await up.shown(await up.submit(TWO))
    fault = up.discord.faults.rate_limit(EDIT, retry_after=0.2)
    await up.ann.click("Yes")
    await up.until_current(ask)
    assert fault.hits == 1
    calls = up.discord.faults.calls(EDIT)
    limited = next(i for i, call in enumerate(calls) if call.status == 429)
    assert calls[limited + 1].at - calls[limited].at >= 0.19
    assert "Why so?" in up.ann.latest(up.channel).text


@pytest.mark.rule("DATA-7")
async def test_no_request_is_sent_while_discord_allows_none(up: Rig) -> None:
    ask = await up.shown(await up.submit(TWO))
    up.discord.rate_limits.limit, up.discord.rate_limits.window = 2, 0.3
    for label in ("Yes", "Back", "No", "Back", "Yes"):
        await up.ann.click(label)
    await up.until_current(ask)
    assert "Why so?" in up.ann.latest(up.channel).text
    refused = [call for call in up.discord.faults.calls(EDIT) if call.status == 429]
    assert len(refused) <= 1


async def test_a_hanging_edit_is_abandoned_and_retried(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await up.shown(await up.submit(TWO))
    monkeypatch.setattr(api_client, "TIMEOUT", 0.2)
    up.discord.faults.hang(EDIT)
    await up.ann.click("Yes")
    await up.until_current(ask)
    assert "Why so?" in up.ann.latest(up.channel).text


async def test_a_deleted_message_is_posted_again(up: Rig) -> None:
    ask = await up.shown(await up.submit(TWO))
    up.discord.delete(up.ann.latest(up.channel).message)
    await up.service.act(ask.id, _yes(), _actor(up))
    await up.until_current(ask)
    assert posts(up) == 1
    assert "Why so?" in up.ann.latest(up.channel).text


async def test_an_archived_thread_is_reopened_for_the_last_edit(up: Rig) -> None:
    thread = up.discord.add_thread(up.channel)
    ask = await up.submit(TWO, to=f"discord:{up.channel.id}/{thread.id}")
    await up.shown(ask)
    up.discord.set_thread(thread, archived=True)
    await up.service.withdraw(ask.id)
    await up.until_current(ask)
    assert "Withdrawn by the assistant" in up.ann.latest(thread).text


async def test_a_deleted_channel_fails_the_ask_with_an_explanation(up: Rig) -> None:
    up.discord.remove_channel(up.channel)
    stored = await up.until_current(await up.submit(ONE))
    assert stored.status == "failed"
    assert stored.outcome is not None
    assert "does not exist" in (stored.outcome.message or "")


async def test_a_missing_permission_ends_the_ask_and_tells_the_operator(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    up.discord.deny(up.channel, Can.SEND_MESSAGES)
    stored = await up.until_current(await up.submit(ONE))
    assert stored.status == "failed"
    assert "permission" in caplog.text


async def test_a_missing_permission_after_a_first_attempt_of_unknown_outcome_ends_the_ask(
    up: Rig,
) -> None:
    up.discord.faults.server_error(POST)
    up.discord.faults.code(POST, 50013, times=1_000)
    stored = await up.until_current(await up.submit(ONE))
    assert stored.status == "failed"
    assert posts(up) == 0


async def test_a_channel_closed_to_the_app_is_not_retried_constantly(up: Rig) -> None:
    asks = [await up.shown(await up.submit(TWO)) for _ in range(2)]
    up.discord.faults.code(EDIT, 50001, times=1_000)
    await up.service.withdraw(asks[0].id)
    await up.service.act(asks[1].id, _yes(), _actor(up))
    await up.message_sync.wait_until_idle()
    assert up.discord.faults.count(EDIT) == 2
    assert await up.store.messages.list_outdated(10) == [asks[1].id], (
        "a record is given up, a question is not"
    )
    up.discord.faults.clear()
    up.message_sync.request_sync(asks[1])
    await up.message_sync.wait_until_idle()
    assert await up.store.messages.list_outdated(10) == []


@pytest.mark.parametrize("why", ["no permission", "too many"])
async def test_an_ask_stays_in_the_channel_if_no_thread_can_be_created(up: Rig, why: str) -> None:
    if why == "too many":
        up.discord.world.max_active_threads = 0
    else:
        up.discord.deny(up.channel, Can.CREATE_PUBLIC_THREADS)
    ask = await up.until_current(await up.submit(ONE))
    assert ask.placement.thread is not None
    assert ask.placement.thread.id is None
    assert (await up.ann.click("Yes")).answered
    assert (await up.shown(ask)).status == "answered"


async def test_a_person_is_asked_in_direct_messages(up: Rig) -> None:
    ask = await up.submit(ONE, to=f"discord:@{up.ann.id}", responders=None)
    await up.shown(ask)
    dm = up.discord.direct(up.ann.user)
    assert (await up.ann.click("Yes", channel=dm)).answered
    stored = await up.until_current(ask)
    assert stored.status == "answered"
    assert stored.placement.thread is not None
    assert "@me" in (stored.placement.thread.url or "")


async def test_an_ask_to_a_person_who_accepts_no_direct_messages_ends(up: Rig) -> None:
    shy = up.discord.person("shy", up.guild, dms_open=False)
    ask = await up.submit(ONE, to=f"discord:@{shy.id}", responders=None)
    stored = await up.until_current(ask)
    assert stored.status == "failed"
    assert stored.outcome is not None
    assert "direct messages" in (stored.outcome.message or "")


async def test_a_message_that_discord_rejects_as_malformed_is_replaced_by_a_minimal_one(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    up.discord.faults.code(POST, 50035)
    ask = await up.until_current(await up.submit(ONE))
    assert "Go on?" in up.ann.latest(up.channel).text
    assert "Reply" in up.ann.latest(up.channel).labels
    assert "this is a bug" in caplog.text
    assert ask.open


@pytest.mark.rule("SURFACE-13")
async def test_a_reminder_pings_the_responders_once(up: Rig) -> None:
    ask = await up.shown(await up.submit(ONE))
    up.discord.faults.drop(POST, after=True)
    with pytest.raises(PlatformUnavailableError):
        await up.surface.remind(ask, 0)
    up.discord.clock.advance(600)
    await up.surface.remind(ask, 0)
    thread = up.discord.world.channel(int(str((ask.placement.message or {})["thread"])))
    assert posts(up, thread) == 1
    assert [ping.whom for ping in up.discord.pings] == [(f"user:{up.ann.id}",)]
    await up.surface.remind(ask, 1)
    assert posts(up, thread) == 2


async def test_a_reminder_pings_fifteen_responders(up: Rig) -> None:
    people = [up.discord.person(f"p{n}", up.guild) for n in range(15)]
    ask = await up.shown(await up.submit(ONE, responders=[str(each.id) for each in people]))
    await up.surface.remind(ask, 0)
    assert [set(ping.whom) for ping in up.discord.pings] == [{f"user:{p.id}" for p in people}]


@pytest.mark.rule("SURFACE-14")
async def test_a_moved_message_becomes_a_note_and_its_old_copy_links_to_the_new_place(
    up: Rig,
) -> None:
    ask = await up.shown(await up.submit(ONE))
    other = up.discord.add_channel(up.guild, "other")
    old = up.ann.latest(up.channel).message
    await up.surface.retire_message(ask, ask.placement.message or {}, _to(other))
    assert up.ann.sees(old).controls == []
    assert f"<#{other.id}>" in up.ann.sees(old).text


async def test_a_reminder_in_a_deleted_place_says_that_it_is_gone(up: Rig) -> None:
    thread = up.discord.add_thread(up.channel)
    ask = await up.shown(await up.submit(ONE, to=f"discord:{up.channel.id}/{thread.id}"))
    up.discord.remove_channel(thread)
    with pytest.raises(DestinationGoneError):
        await up.surface.remind(ask, 0)


async def test_somebody_whose_name_is_unknown_is_mentioned(up: Rig) -> None:
    ask = await up.shown(await up.submit(ONE))
    await up.service.act(ask.id, _yes(), Actor(Person(surface="discord", user_id=str(up.ann.id))))
    await up.until_current(ask)
    assert f"<@{up.ann.id}>" in up.ann.latest(up.channel).text


async def test_an_unknown_channel_counts_as_deleted(up: Rig) -> None:
    ask = await up.shown(await up.submit(ONE))
    nowhere = replace(
        ask,
        placement=replace(ask.placement, message=None, destination=_to(None)),
    )
    with pytest.raises(DestinationGoneError):
        await up.surface.show(nowhere, _save)


def _yes() -> Answer:
    return Answer(value=True)


def _actor(up: Rig) -> Actor:
    return Actor(Person(surface="discord", user_id=str(up.ann.id), name="Ann"))


def _to(channel: Channel | None) -> Destination:
    return Destination(surface="discord", channel=str(channel.id) if channel else "1")


async def _save(_shown: object) -> None:
    return None
