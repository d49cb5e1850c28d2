"""A person walks forms on Discord: every answer type, Back, Reply, End Turn, review, in both modes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig

MIGRATION: list[dict[str, Any]] = [
    {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"},
    {
        "id": "env",
        "text": "Which environment?",
        "answer_type": "select",
        "options": ["staging", "prod"],
        "when": {"question_id": "apply", "equals": True},
    },
    {"id": "why", "text": "Why?", "answer_type": "text"},
]


@pytest.fixture(params=MODES)
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        yield made


@pytest.mark.rule("SURFACE-1", "SURFACE-4", "DISCORD-11")
async def test_the_migration_form_is_walked_to_its_end(up: Rig) -> None:
    ask = await up.submit(MIGRATION)
    await up.ann.finds("Apply the migration?")
    assert (await up.ann.click("Yes")).answered
    assert (await up.ann.click("staging")).answered
    assert (await up.ann.click("Back")).answered
    assert (await up.ann.click("prod")).answered
    assert (await up.ann.click("Answer")).answered
    up.ann.fill("Your answer", "because\nof *reasons*")
    assert (await up.ann.submit()).answered
    stored = await up.shown(ask)
    assert stored.status == "answered"
    assert [given.value for given in stored.walk.answers] == [True, "prod", "because\nof *reasons*"]
    sight = up.ann.latest(up.channel)
    assert sight.controls == []
    assert "Answered by Ann" in sight.text
    assert stored.shown_revision == stored.revision
    assert stored.thread is not None
    assert stored.thread.id == str(sight.message.id)
