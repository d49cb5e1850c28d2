"""A person at Slack answers, in both modes: clicks, menus, modals, words; and what the message becomes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.ask import Status
from tests.unit.adapters.slack.rig import LABELS, MODES, Rig, rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
ENV = {
    "id": "env",
    "text": "Which environment?",
    "answer_type": "select",
    "options": ["staging", "production"],
}
NOTE = {"id": "note", "text": "A note for the log?", "answer_type": "text"}


@pytest.fixture(params=MODES)
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, request.param) as made:
        yield made


async def test_three_questions_are_answered_by_buttons_and_a_modal(up: Rig) -> None:
    ask = await up.submit(APPLY, ENV, NOTE)
    await up.ada.click(up.live(ask), LABELS.yes)
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), "production")
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), LABELS.answer)
    await up.ada.sees_modal()
    assert (await up.ada.submit({LABELS.other_label: "After the backup"})).ok
    ask = await up.shown(ask)
    assert ask.status is Status.ANSWERED
    assert {g.question_id: g.value for g in ask.walk.answers} == {
        "apply": True,
        "env": "production",
        "note": "After the backup",
    }
    sight = up.ada.sees(up.live(ask))
    assert sight.controls == ()
    assert "After the backup" in sight.text
    assert "Answered by ada" in sight.text
    assert ask.thread is not None
    assert ask.thread.url is not None
    assert len(up.slack.messages("C0OPS")) == 1
