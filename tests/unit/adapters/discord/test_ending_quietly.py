"""End Turn does not invite a click: it looks like any other control, and its confirmation has a way back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.labels import Labels
from answerback_discord.components import ButtonStyle
from tests import matrix
from tests.fakes.discord.visible_message import Sight
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig
from tests.unit.adapters.discord.sight import remove_escapes

LABELS = Labels()
QUESTIONS = [{"id": "go", "text": "Go on?", "answer_type": "boolean"}]


pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        yield made


def style_of(sight: Sight, label: str) -> object:
    control = sight.button(label)
    return control.component["style"] if control else None


@pytest.mark.rule("CARE-4", "DISCORD-12")
async def test_keep_going_ends_nothing_and_links_to_the_question(up: Rig) -> None:
    ask = await up.shown(await up.submit(QUESTIONS))
    live = up.ann.latest(up.channel)
    assert style_of(live, LABELS.end_turn) == ButtonStyle.SECONDARY
    await up.ann.click(LABELS.end_turn)
    step = up.ann.notes()[0]
    assert style_of(step, LABELS.end_turn) == ButtonStyle.DANGER
    assert (await up.ann.click(LABELS.keep_going)).answered
    [note] = up.ann.notes()
    assert note.controls == []
    assert LABELS.kept_going in remove_escapes(note.text)
    assert str(live.message.id) in note.text
    assert (await up.shown(ask)).open
    assert (await up.ann.click("Yes")).answered
    assert (await up.shown(ask)).status == "answered"


@pytest.mark.rule("DISCORD-12")
async def test_keep_going_after_the_questions_have_ended_says_so(up: Rig) -> None:
    ask = await up.shown(await up.submit(QUESTIONS))
    await up.ann.click(LABELS.end_turn)
    await up.service.withdraw(ask.id)
    assert (await up.ann.click(LABELS.keep_going)).answered
    assert "have ended" in up.ann.notes()[0].text
