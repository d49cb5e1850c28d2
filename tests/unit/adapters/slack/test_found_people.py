"""To whom an ask can be handed over where anyone may answer: people who can be asked there, and no programs."""

from __future__ import annotations

import pytest

from answerback.core.errors import PlatformError
from tests.fakes.slack.workspace import BOT_USER
from tests.unit.adapters.slack.rig import Rig


@pytest.mark.rule("HANDOVER-2")
async def test_members_of_the_workspace_are_found(up: Rig) -> None:
    ask = await up.submit({"id": "go", "text": "Go?", "answer_type": "boolean"})
    find = up.app.surface.find_person
    assert await find(up.ada.id, ask)
    left = up.slack.person("U0LEFT", "Left")
    left.user.deleted = True
    for nobody in (left.id, BOT_USER, "USLACKBOT", "U0NOBODY"):
        assert await find(nobody, ask) is None
    up.slack.faults.add("users.info", times=1_000, status=500)
    with pytest.raises(PlatformError):
        await find(up.ada.id, ask)
