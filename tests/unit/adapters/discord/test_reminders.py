"""Reminders in Discord, once the ask is over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Change, Status
from answerback.core.labels import Labels
from tests.unit.adapters.discord.rig import Rig, rig

YES_NO = [{"id": "go", "text": "Apply it?", "answer_type": "boolean"}]


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, "gateway") as made:
        yield made


def was_reminded(latest: Ask, _at: float) -> Change:
    return Change(replace(latest, reminded=1), ())


@pytest.mark.rule("SURFACE-13")
async def test_a_reminder_of_an_ask_that_is_over_says_how_it_ended(up: Rig) -> None:
    ask = await up.shown(await up.submit(YES_NO))
    await up.surface.remind(ask, 0)
    reminder = (await up.ann.finds("still waiting")).message
    pings = len(up.discord.pings)
    await up.service.update(ask.id, was_reminded)
    await up.ann.click(Labels().yes, channel=up.channel)
    stored = await up.shown(ask)
    assert stored.status is Status.ANSWERED
    shown = up.ann.sees(reminder)
    assert "waiting" not in shown.text
    assert f"{Labels().answered} by Ann" in shown.text
    assert str(ask.thread and ask.thread.url) in shown.text
    assert len(up.discord.pings) == pings


async def test_an_ask_ends_although_its_thread_is_gone(up: Rig) -> None:
    ask = await up.shown(await up.submit(YES_NO))
    await up.surface.remind(ask, 0)
    await up.service.update(ask.id, was_reminded)
    thread = up.discord.world.channel(int(str((ask.message or {})["thread"])))
    up.discord.remove_channel(thread)
    await up.service.withdraw(ask.id)
    assert (await up.shown(ask)).status is Status.WITHDRAWN


@pytest.mark.rule("DISCORD-5")
async def test_a_tool_with_a_very_long_name_is_reminded_of_once_and_withdrawn(up: Rig) -> None:
    arguments = {"tool": "*" * 1_000, "question": YES_NO[0]}
    ask = await up.shown(await up.submit([], name="tool_question", arguments=arguments))
    for _ in range(2):
        await up.surface.remind(ask, 0)
    thread = up.discord.world.channel(int(str((ask.message or {})["thread"])))
    [reminder] = thread.messages.values()
    await up.service.update(ask.id, was_reminded)
    await up.service.withdraw(ask.id)
    assert (await up.shown(ask)).status is Status.WITHDRAWN
    assert "Withdrawn" in reminder.content
    assert reminder.content.endswith(f" {ask.thread and ask.thread.url}")
