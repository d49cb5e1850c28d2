"""Reminders in Discord after the ask has ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.ask import Ask, Change, Status
from tests.fakes.discord.world import Channel, Message
from tests.unit.adapters.discord.rig import Rig

YES_NO = [{"id": "go", "text": "Apply it?", "answer_type": "boolean"}]
TEXT = [{"id": "why", "text": "Why so?", "answer_type": "text"}]


def was_reminded(latest: Ask, _at: float) -> Change:
    return Change(replace(latest, schedule=replace(latest.schedule, reminders_done=1)), ())


async def test_an_ask_ends_although_its_thread_is_gone(up: Rig) -> None:
    ask = await up.shown(await up.submit(YES_NO))
    await up.surface.remind(ask, 0)
    await up.service.update(ask.id, was_reminded)
    thread = up.discord.world.channel(int(str((ask.placement.message or {})["thread"])))
    up.discord.remove_channel(thread)
    await up.service.withdraw(ask.id)
    assert (await up.shown(ask)).status is Status.WITHDRAWN


@pytest.mark.rule("SURFACE-13")
async def test_an_archived_thread_is_reopened_to_say_how_the_ask_ended(up: Rig) -> None:
    ask = await up.shown(await up.submit(YES_NO))
    await up.surface.remind(ask, 0)
    await up.service.update(ask.id, was_reminded)
    thread = up.discord.world.channel(int(str((ask.placement.message or {})["thread"])))
    up.discord.set_thread(thread, archived=True)
    await up.service.withdraw(ask.id)
    assert (await up.shown(ask)).status is Status.WITHDRAWN
    [reminder] = thread.messages.values()
    assert "Withdrawn" in reminder.content


@pytest.mark.rule("SUBMIT-13")
async def test_reminders_are_found_although_the_new_message_was_refused_at_first(up: Rig) -> None:
    ask = await up.shown(await up.submit(YES_NO))
    await up.surface.remind(ask, 0)
    up.discord.faults.rate_limit("POST /channels/*/messages", retry_after=0.01)
    up.discord.delete(live_message(up, ask))
    await up.ann.until(lambda: up.discord.faults.count("POST /channels/*/messages") == 4)
    ask = await up.until_current(ask)
    await up.surface.remind(ask, 0)
    assert up.discord.faults.count("POST /channels/*/messages") == 4


@pytest.mark.rule("PLACE-1")
async def test_a_thread_that_is_gone_with_its_message_has_no_reminder(up: Rig) -> None:
    forum = up.discord.add_forum(up.guild)
    ask = await up.until_current(await up.submit(YES_NO, to=f"discord:{forum.id}"))
    gone = live_message(up, ask)
    up.discord.delete(gone)
    await up.ann.until(lambda: len(posts_of(up, forum)) == 2)
    ask = await up.until_current(ask)
    up.discord.remove_channel(up.discord.world.channel(gone.channel_id))
    await up.surface.remind(ask, 0)
    assert "still waiting" in up.ann.latest(posts_of(up, forum)[-1]).text


def live_message(up: Rig, ask: Ask) -> Message:
    ref = ask.placement.message or {}
    return up.discord.world.message(int(str(ref["channel"])), int(str(ref["id"])))


def posts_of(up: Rig, forum: Channel) -> list[Channel]:
    return [each for each in up.discord.world.channels.values() if each.parent_id == forum.id]


@pytest.mark.rule("SUBMIT-13")
async def test_each_reminder_in_the_thread_of_a_deleted_message_counts_once(up: Rig) -> None:
    thread = up.discord.add_thread(up.channel)
    to = f"discord:{up.channel.id}/{thread.id}"
    ask = await up.until_current(await up.submit(YES_NO, to=to))
    await up.surface.remind(ask, 0)
    up.discord.delete(live_message(up, ask))
    await up.ann.until(lambda: up.discord.faults.count("POST /channels/*/messages") == 3)
    ask = await up.until_current(ask)
    for number in (1, 2):
        await up.surface.remind(ask, number)
    waiting = [m for m in thread.messages.values() if "still waiting" in m.content]
    assert len(waiting) == 3


@pytest.mark.rule("TYPED-1")
@pytest.mark.parametrize("where", ["channel", "thread"])
async def test_a_reply_to_a_reminder_counts_although_the_message_it_links_to_was_deleted(
    up: Rig, where: str
) -> None:
    place = up.discord.add_thread(up.channel) if where == "thread" else up.channel
    to = f"discord:{up.channel.id}" + (f"/{place.id}" if where == "thread" else "")
    ask = await up.until_current(await up.submit(TEXT, to=to))
    await up.surface.remind(ask, 0)
    [reminder] = [each for each in live_messages(up) if "still waiting" in each.content]
    up.discord.delete(live_message(up, ask))
    await up.ann.until(lambda: up.discord.faults.count("POST /channels/*/messages") == 3)
    ask = await up.until_current(ask)
    said = up.ann.replies(reminder, "because")
    await up.ann.until(lambda: said.reactions)
    assert [each.value for each in (await up.shown(ask)).walk.answers] == ["because"]


def live_messages(up: Rig) -> list[Message]:
    posted = [m for each in up.discord.world.channels.values() for m in each.messages.values()]
    return [m for m in posted if m.author_id == up.discord.bot.id and not m.deleted]
