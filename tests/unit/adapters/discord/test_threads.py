"""A prompt's own thread is created once, whatever Discord's rate limits, and without any unnecessary request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from tests.unit.adapters.discord.rig import Rig, rig

TWO: list[dict[str, Any]] = [
    {"id": "go", "text": "Go on?", "answer_type": "boolean"},
    {"id": "why", "text": "Why so?", "answer_type": "text"},
]
POST, EDIT = "POST /channels/*/messages", "PATCH /channels/*/messages/*"
THREAD = "POST /channels/*/messages/*/threads"


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, "http", gateway=False) as made:
        yield made


async def test_a_rate_limited_thread_does_not_cause_an_edit(up: Rig) -> None:
    limited = up.discord.faults.rate_limit(THREAD, retry_after=0.02, times=3)
    ask = await up.until_current(await up.submit(TWO))
    assert limited.hits == 3
    assert (up.discord.faults.count(POST), up.discord.faults.count(EDIT)) == (1, 0)
    assert ask.placement.thread is not None
    assert ask.placement.thread.id == (ask.placement.message or {})["id"]


async def test_changes_while_a_thread_is_rate_limited_are_shown_by_one_edit(up: Rig) -> None:
    limited = up.discord.faults.rate_limit(THREAD, retry_after=0.1, times=3)
    ask = await up.submit(TWO)
    await up.discord.faults.called(THREAD)
    ann = Actor(Person(surface="discord", user_id=str(up.ann.id), name="Ann"))
    await up.service.act(ask.id, Answer(value=True), ann)
    await up.until_current(ask)
    assert limited.hits == 3
    assert up.discord.faults.count(EDIT) == 1
    assert "Why so?" in up.ann.latest(up.channel).text


async def test_a_message_that_is_deleted_before_it_has_a_thread_is_posted_again(up: Rig) -> None:
    up.discord.faults.rate_limit(THREAD, retry_after=2.0)
    ask = await up.submit(TWO)
    await up.discord.faults.called(THREAD)
    up.discord.delete(up.ann.latest(up.channel).message)
    stored = await up.until_current(ask)
    standing = [m for m in up.channel.messages.values() if not m.deleted]
    assert len(standing) == 1
    assert up.ann.latest(up.channel).message.id == int(str((stored.placement.message or {})["id"]))
