"""A control's id comes from a client, which may send any: what fits no question is answered, and changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.labels import Labels
from tests import matrix
from tests.fakes.discord.interactions import COMMAND, COMPONENT, MODAL_SUBMIT, Interaction
from tests.fakes.discord.rules import STRING_SELECT
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig
from tests.unit.adapters.discord.sight import remove_escapes

LABELS = Labels()
GO: dict[str, Any] = {"id": "go", "text": "Go on?", "answer_type": "boolean"}


pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        yield made


async def send(up: Rig, kind: int, data: dict[str, Any]) -> Interaction:
    """Send an interaction of Ann on the newest message."""
    message = up.ann.latest(up.channel).message
    made = up.discord.interactions.start(kind, up.ann.user, up.channel, data, message)
    return await up.ann.ended(made)


@pytest.mark.rule("DATA-13", "SURFACE-16")
async def test_controls_that_fit_no_question_are_not_found(up: Rig) -> None:
    ask = await up.shown(await up.submit([GO]))
    about = f"ab1:{ask.id}:{ask.revision}"
    menu = {"component_type": STRING_SELECT, "values": ["0"]}
    forged: list[tuple[int, dict[str, Any]]] = [
        (COMPONENT, {"custom_id": f"{about}:write"}),
        (COMPONENT, {"custom_id": f"{about}:choose:0", **menu}),
        (COMPONENT, {"custom_id": f"{about}:take"}),
        (COMPONENT, {"custom_id": f"{about}:full:write.0"}),
        (COMPONENT, {"custom_id": "ab1:ask_1:1:full:0"}),
        (MODAL_SUBMIT, {"custom_id": f"{about}:write", "components": []}),
    ]
    for kind, data in forged:
        assert (await send(up, kind, {"component_type": 2, "id": 1, **data})).answered
        assert LABELS.not_found in remove_escapes(up.ann.notes()[0].text), data
        up.ann.notes()[0].message.deleted = True
    assert (await up.shown(ask)).revision == ask.revision


async def test_a_command_without_its_subcommand_says_what_there_is(up: Rig) -> None:
    await up.shown(await up.submit([GO]))
    for options in ({}, {"options": [{"name": 3}]}):
        data = {"id": "1", "name": "answerback", "type": 1, **options}
        assert (await send(up, COMMAND, data)).answered
        assert "/answerback say" in remove_escapes(up.ann.notes()[0].text)


@pytest.mark.rule("SURFACE-24")
async def test_a_press_counts_only_in_the_channel_of_the_ask(up: Rig) -> None:
    ask = await up.shown(await up.submit([GO], responders="anyone"))
    elsewhere = up.discord.add_channel(up.guild)
    message = up.ann.latest(up.channel).message
    for kind, data in (
        (COMPONENT, {"custom_id": f"ab1:{ask.id}:{ask.revision}:answer:true"}),
        (COMPONENT, {"custom_id": f"ab1:{ask.id}:{ask.revision}:end_turn:yes"}),
    ):
        about = {"component_type": 2, "id": 1, **data}
        made = up.discord.interactions.start(kind, up.ann.user, elsewhere, about, message)
        await up.ann.ended(made)
        assert LABELS.not_found in remove_escapes(up.ann.notes()[0].text)
        up.ann.notes()[0].message.deleted = True
    assert (await up.shown(ask)).revision == ask.revision
