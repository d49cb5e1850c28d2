"""Reminders: replies to them count, and once the ask has ended none of them asks for an answer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Change, Status
from answerback.core.errors import DestinationGoneError, PlatformUnavailableError
from answerback.core.labels import Labels
from tests.fakes.telegram.world import Message
from tests.unit.adapters.telegram.rig import Rig, rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

LABELS = Labels()


def reminded(number: int, latest: Ask, _at: float) -> Change:
    """Record that so many reminders were posted, as the scheduler does."""
    return Change(replace(latest, schedule=replace(latest.schedule, reminders_done=number)), ())


async def remind(at: Rig, ask: Ask, number: int) -> Message:
    await at.surface.remind(ask, number)
    return max(at.group.messages.values(), key=lambda message: message.id)


async def test_a_reply_to_a_reminder_counts_and_afterwards_each_reminder_says_how_it_ended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO, {**GO, "id": "again"}])
        await at.submit([GO])
        first = await remind(at, ask, 0)
        at.telegram.lose_next_answer = "sendMessage"
        with pytest.raises(PlatformUnavailableError):
            await at.surface.remind(ask, 1)
        deleted, last = [await remind(at, ask, number) for number in (2, 3)]
        assert await remind(at, ask, 3) is last, "it is posted once"
        await at.service.update(ask.id, partial(reminded, 4))
        at.telegram.pass_time(60)
        said = await at.telegram.person_sends(at.ann, at.group, "yes", first.id)
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).revision == 2
        del at.group.messages[deleted.id]
        await press(at, at.ann, live(at.group, await at.shown(ask)), "Yes")
        assert (await at.shown(ask)).status is Status.ANSWERED
        assert first.text == last.text
        assert "Ann" in last.text
        at.telegram.pass_time(60)
        late = await at.telegram.person_sends(at.ann, at.group, "@answerback_bot no", first.id)
        await at.telegram.until(lambda: late.reactions)
        assert late.reactions == ["👎"]
    assert "cannot be edited" not in caplog.text


@pytest.mark.rule("SURFACE-13", "DATA-16")
async def test_a_reminder_is_known_for_as_long_as_its_ask_is_open(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO, {**GO, "id": "again"}])
        await at.submit([GO])
        reminder = await remind(at, ask, 0)
        await at.service.update(ask.id, partial(reminded, 1))
        await at.prune()
        assert await remind(at, ask, 0) is reminder, "it is posted once"
        at.telegram.pass_time(8 * 86_400)
        said = await at.telegram.person_sends(at.ann, at.group, "yes", reminder.id)
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).revision == 2
        await press(at, at.ann, live(at.group, await at.shown(ask)), "Yes")
        assert (await at.shown(ask)).status is Status.ANSWERED
        assert "Ann" in reminder.text


async def test_reminders_that_cannot_be_edited_do_not_keep_an_ask_from_ending(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        at.telegram.refused_edits.add((await remind(at, ask, 0)).id)
        await at.service.update(ask.id, partial(reminded, 1))
        await press(at, at.ann, live(at.group, ask), "Yes")
        assert (await at.shown(ask)).status is Status.ANSWERED
        assert "Reminders of an ask that has ended cannot be edited" in caplog.text


@pytest.mark.rule("SURFACE-13")
async def test_the_reminders_of_a_deleted_message_say_how_the_ask_ended(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        reminder = await remind(at, ask, 0)
        await at.service.update(ask.id, partial(reminded, 1))
        del at.group.messages[live(at.group, ask).id]
        await at.service.withdraw(ask.id)
        assert (await at.shown(ask)).status is Status.WITHDRAWN
        assert "Withdrawn" in reminder.text


async def test_a_reminder_that_was_certainly_not_posted_is_posted_later(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        at.group.members[at.telegram.bot.id] = "kicked"
        with pytest.raises(DestinationGoneError):
            await at.surface.remind(ask, 0)
        at.group.members[at.telegram.bot.id] = "member"
        assert (await remind(at, ask, 0)).reply_to == live(at.group, ask).id
