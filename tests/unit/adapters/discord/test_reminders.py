"""Reminders in Discord after the ask has ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.ask import Ask, Change, Status
from tests.unit.adapters.discord.rig import Rig

YES_NO = [{"id": "go", "text": "Apply it?", "answer_type": "boolean"}]


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
