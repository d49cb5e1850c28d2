"""Telegram has no form for a call: the button says where it can be changed, and nothing typed changes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.labels import Labels
from answerback.service.submission_request import Route, Routes, Submission
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import live, press

LABELS = Labels()


@pytest.mark.rule("EDIT-9")
async def test_the_button_says_where_a_call_can_be_changed(tmp_path: Path) -> None:
    routes = Routes()
    async with rig(tmp_path, routes=routes) as at:
        responders = (str(at.ann.id),)
        route = Route(to=f"telegram:{at.group.id}", responders=responders, edit=True)
        routes.by_name = {"ops": route}
        body = {
            "name": "PermissionRequest",
            "arguments": {"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}},
            "to": "ops",
            "takes_edited": True,
        }
        submitted = await at.service.submit(Submission.model_validate(body))
        ask = await at.shown(submitted.ask)
        assert (
            await press(at, at.ann, live(at.group, ask), LABELS.edit_call) == LABELS.edit_elsewhere
        )
        assert not [m for m in at.group.messages.values() if m.reply_to]
        assert (await at.shown(ask)).revision == 1
