"""Groups that become supergroups: their asks are posted there, because nothing can be posted in the old groups."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Destination, Status
from answerback.core.errors import PlatformError
from answerback.core.labels import Labels
from tests.fakes.long_timeouts import HASTY
from tests.fakes.telegram.faults import Planned
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Chat, Message
from tests.service_support import escalate_to
from tests.unit.adapters.telegram.rig import Rig, rig
from tests.unit.adapters.telegram.test_pictures import file
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press
from tests.unit.adapters.telegram.test_reminders import remind, reminded

LABELS = Labels()
AGAIN = {**GO, "id": "again"}
MOVED = "This question has moved to ops."


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Rig]:
    async with (
        FakeTelegram() as telegram,
        rig(tmp_path, telegram=telegram, group=telegram.add_group(kind="group")) as made,
    ):
        yield made


async def learn_of_migration(at: Rig, how: str, ask: Ask) -> None:
    match how:
        case "old chat":
            await at.telegram.tell_of_migration(at.group)
        case "new chat":
            await at.telegram.tell_of_migration(at.group, in_new=True)
        case "both":
            await at.telegram.tell_of_migration(at.group, in_new=True)
            await at.telegram.tell_of_migration(at.group)
        case "error":
            with pytest.raises(PlatformError):
                await at.surface.remind(ask, 0)
        case _:
            await press(at, at.ann, live(at.group, ask), LABELS.reply)


@pytest.mark.rule("TELEGRAM-11")
@pytest.mark.parametrize("how", ["old chat", "new chat", "both", "error", "error after a click"])
async def test_the_asks_of_a_group_that_becomes_a_supergroup_are_posted_there(
    at: Rig, how: str
) -> None:
    asks = [await at.submit([GO]), await at.submit([GO])]
    old = [live(at.group, ask) for ask in asks]
    new = at.telegram.migrate(at.group)
    await learn_of_migration(at, how, asks[0])
    await at.telegram.until(lambda: [each.text for each in old] == [MOVED, MOVED])
    assert not any(each.buttons for each in old)
    for ask in [await at.shown(each) for each in asks]:
        shown = live(new, ask)
        assert ask.placement.thread is not None
        assert ask.placement.thread.url == f"https://t.me/c/{str(new.id)[4:]}/{shown.id}"
        assert await press(at, at.ann, shown, "Yes") == ""
        assert (await at.shown(ask)).status is Status.ANSWERED
    again = await at.submit([GO])  # to the group that it was
    assert live(new, again).buttons
    assert len(new.messages) == 3


async def ask_before_migration(
    at: Rig, *questions: dict[str, Any]
) -> tuple[Ask, Message, Chat, Planned]:
    """Return an ask, its message, and the supergroup of its group, which takes no messages until the release."""
    ask = await at.submit([*questions])
    old = live(at.group, ask)
    new = at.telegram.migrate(at.group)
    planned = Planned("sendMessage", 10**6, 502, "Bad Gateway", about=str(new.id))
    at.telegram.plan(planned)
    await at.telegram.tell_of_migration(at.group)
    await at.telegram.until(lambda: planned.hits)
    return ask, old, new, planned


@pytest.mark.rule("TELEGRAM-11", "MOVE-4")
async def test_a_click_on_the_old_message_counts_until_the_ask_is_posted_in_the_supergroup(
    at: Rig,
) -> None:
    ask, old, new, planned = await ask_before_migration(at, GO, AGAIN)
    before = old.buttons
    eve = at.telegram.add_user("Eve")
    assert await press(at, eve, old, "Yes") == LABELS.not_allowed.format(who="Ann")
    elsewhere = await at.telegram.person_sends(at.ann, at.telegram.add_group(), "what?")
    elsewhere.markup = old.markup
    assert await press(at, at.ann, elsewhere, "Yes") == LABELS.not_found
    assert await press(at, at.ann, old, "Yes") == ""
    assert await press(at, at.ann, old, "Yes") == LABELS.too_late_own
    assert old.buttons == before
    planned.release()
    await at.telegram.until(lambda: old.text == MOVED)
    ask = await at.shown(ask)
    assert [answer.value for answer in ask.walk.answers] == [True]
    assert len(new.messages) == 1
    old.markup = {"inline_keyboard": [before]}  # as an app may show it that is offline
    assert await press(at, at.ann, old, "No") == LABELS.too_late_own
    assert await press(at, at.ann, live(new, ask), "No") == ""
    assert (await at.shown(ask)).status is Status.ANSWERED
    assert old.text == MOVED


@pytest.mark.rule("TELEGRAM-11", "MOVE-1")
@pytest.mark.parametrize("how", ["by a click", "by its agent"])
async def test_an_ask_that_ends_before_it_is_posted_in_the_supergroup_ends_where_it_was(
    at: Rig, how: str
) -> None:
    ask, old, new, planned = await ask_before_migration(at, GO)
    if how == "by a click":
        assert await press(at, at.ann, old, "Yes") == ""
    else:
        await at.service.withdraw(ask.id)
    await at.telegram.until(lambda: not old.buttons)
    assert ("Ann" if how == "by a click" else "Withdrawn") in old.text
    planned.release()
    assert (await at.shown(ask)).placement.destination.channel == str(at.group.id)
    assert not new.messages


@pytest.mark.rule("TELEGRAM-11")
async def test_an_ask_whose_supergroup_does_not_have_the_bot_fails(at: Rig) -> None:
    ask = await at.submit([GO])
    old = live(at.group, ask)
    new = at.telegram.migrate(at.group)
    new.members[at.telegram.bot.id] = "left"
    await at.telegram.tell_of_migration(at.group)
    await at.telegram.until(lambda: "Could not be delivered" in old.text)
    ask = await at.shown(ask)
    assert (ask.status, new.messages) == (Status.FAILED, {})
    assert ask.outcome is not None
    assert "add it again" in str(ask.outcome.message)


@pytest.mark.rule("TELEGRAM-11")
async def test_the_bot_may_be_in_the_supergroup_a_moment_later(at: Rig) -> None:
    """https://github.com/tdlib/td/blob/master/td/telegram/ChatManager.cpp (temporarily create the channel)"""
    ask = await at.submit([GO])
    new = at.telegram.migrate(at.group)
    refused = "Forbidden: bot is not a member of the supergroup chat"
    at.telegram.plan(Planned("sendMessage", 1, 403, refused, about=str(new.id)))
    await at.telegram.tell_of_migration(at.group)
    await at.telegram.until(lambda: new.messages)
    assert live(new, await at.shown(ask)).buttons


@pytest.mark.rule("TELEGRAM-11")
async def test_while_the_bot_may_not_write_in_the_supergroup_the_old_message_counts(
    at: Rig,
) -> None:
    ask = await at.submit([GO, AGAIN])
    old = live(at.group, ask)
    new = at.telegram.migrate(at.group)
    refused = "Bad Request: not enough rights to send text messages to the chat"
    planned = at.telegram.plan(Planned("sendMessage", 1, 400, refused, about=str(new.id)))
    await at.telegram.tell_of_migration(at.group)
    await at.telegram.until(lambda: planned.hits)
    assert (await at.shown(ask)).open
    assert await press(at, at.ann, old, "Yes") == ""
    await at.telegram.until(lambda: old.text == MOVED)
    assert (await at.shown(ask)).revision == 3


@pytest.mark.rule("TELEGRAM-9")
async def test_what_anyone_may_answer_is_not_posted_in_a_public_supergroup(at: Rig) -> None:
    new = at.telegram.migrate(at.group, username="everybody")
    ask = await at.submit([GO], responders="anyone")
    assert (ask.status, new.messages) == (Status.FAILED, {})
    assert ask.outcome is not None
    assert "public group" in str(ask.outcome.message)


@pytest.mark.rule("TELEGRAM-11", "SURFACE-13")
async def test_reminders_of_before_say_how_the_ask_ended_and_later_ones_come_to_the_supergroup(
    at: Rig,
) -> None:
    ask = await at.submit([GO])
    before = await remind(at, ask, 0)
    new = at.telegram.migrate(at.group)
    await at.telegram.tell_of_migration(at.group)
    await at.telegram.until(lambda: new.messages)
    ask = await at.shown(ask)
    await at.surface.remind(ask, 1)
    after = max(new.messages.values(), key=lambda message: message.id)
    assert after.reply_to == live(new, ask).id
    await at.service.update(ask.id, partial(reminded, 2))
    await press(at, at.ann, live(new, ask), "Yes")
    assert (await at.shown(ask)).status is Status.ANSWERED
    assert before.text == after.text
    assert "Ann" in after.text


@pytest.mark.rule("TELEGRAM-11", "TELEGRAM-18")
@pytest.mark.parametrize("is_posted", [True, False])
async def test_pictures_come_along(at: Rig, *, is_posted: bool) -> None:
    sent = [file("plot.png")]
    if is_posted:
        ask = await at.submit([GO], files=sent)
        new = at.telegram.migrate(at.group)
        await at.telegram.tell_of_migration(at.group)
        await at.telegram.until(lambda: len(new.messages) == 2)
    else:
        new = at.telegram.migrate(at.group)
        ask = await at.submit([GO], files=sent)
    ask = await at.shown(ask)
    [picture, shown] = new.messages.values()
    assert picture.file
    assert shown is live(new, ask)


@pytest.mark.rule("TELEGRAM-11")
async def test_an_ask_that_ended_before_is_still_edited_where_it_was(at: Rig) -> None:
    ask = await at.submit([GO])
    old = live(at.group, ask)
    new = at.telegram.migrate(at.group)
    await press(at, at.ann, old, "Yes")
    await at.shown(ask)
    await at.telegram.tell_of_migration(at.group)
    ended = old.text
    await at.service.erase(ask.id)
    await at.shown(ask)
    assert old.text != ended
    assert not new.messages


@pytest.mark.rule("TELEGRAM-11")
async def test_a_message_that_is_a_note_already_stays_one(at: Rig) -> None:
    ask = await at.submit([GO])
    old = live(at.group, ask)
    before = old.buttons
    leads = at.telegram.add_group("leads")
    await escalate_to(at.service, ask, Destination(surface="telegram", channel=str(leads.id)))
    await at.telegram.until(lambda: old.text == "This question has moved to leads.")
    new = at.telegram.migrate(at.group)
    await at.telegram.tell_of_migration(at.group)
    old.markup = {"inline_keyboard": [before]}
    assert await press(at, at.ann, old, "Yes") == LABELS.too_late_unknown
    ask = await at.shown(ask)
    assert (ask.placement.destination.channel, new.messages) == (str(leads.id), {})
    assert old.text == "This question has moved to leads."


@pytest.mark.rule("TELEGRAM-11")
async def test_a_post_of_unknown_outcome_is_repeated_in_the_supergroup(at: Rig) -> None:
    lost = at.telegram.plan(Planned("sendMessage", 1, cut="before", hangs=True))
    submitted = asyncio.create_task(at.submit([GO]))
    await at.telegram.until(lambda: lost.hits)
    new = at.telegram.migrate(at.group)
    await at.telegram.tell_of_migration(at.group)
    ask = await submitted
    await at.telegram.until(lambda: new.messages)
    ask = await at.shown(ask)
    assert [*new.messages.values()] == [live(new, ask)]
    assert ask.revision == 1


async def test_a_request_to_type_in_the_old_group_loses_its_buttons(at: Rig) -> None:
    ask = await at.submit([GO])
    await press(at, at.ann, live(at.group, ask), LABELS.reply)
    await at.telegram.until(lambda: len(at.group.messages) == 2)
    request = max(at.group.messages.values(), key=lambda message: message.id)
    new = at.telegram.migrate(at.group)
    await at.telegram.tell_of_migration(at.group)
    await at.telegram.until(lambda: new.messages)
    await press(at, at.ann, request, LABELS.cancel)
    await at.telegram.until(lambda: not request.buttons)


@pytest.mark.rule("TELEGRAM-11")
async def test_a_migration_while_the_service_was_down_is_found_at_the_start(
    tmp_path: Path,
) -> None:
    async with FakeTelegram() as telegram:
        group, ann = telegram.add_group(kind="group"), telegram.add_user("Ann")
        async with rig(tmp_path, telegram=telegram, group=group, ann=ann) as at:
            ask = await at.submit([GO], responders="anyone")
        new = telegram.migrate(group)
        async with rig(tmp_path, telegram=telegram, group=group, ann=ann, delays=HASTY) as at:
            await telegram.until(lambda: live(group, ask).text == MOVED)
            assert live(new, await at.shown(ask)).buttons
