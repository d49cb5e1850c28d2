"""Edit, then allow, on a real host: what a person has changed happens, and what the model had asked for does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.conftest import Home
from tests.agents.model import Calls
from tests.hosts import programs
from tests.hosts.acp_programs import Session
from tests.hosts.test_hosts import converse, option
from tests.recipes.conftest import Person


@pytest.mark.rule("EDIT-8")
async def test_claude_code_runs_the_changed_command_in_place_of_its_own(
    editing_home: Home, editor: Person
) -> None:
    asked = Calls("Bash", {"command": "touch asked.txt", "description": "Makes a file"})

    async def decide(_session: Session) -> None:
        ask = await editor.sees()
        assert ask.prompt is not None
        assert ask.prompt["editable"] is True
        edited: Any = str(ask.prompt["arguments"]).replace("asked.txt", "edited.txt")
        await editor.act("answer", value=option(ask, "allow_once"), edited=edited)

    await converse(programs.ClaudeCode(), editing_home, [asked], decide)
    made = {each.name for each in editing_home.project.iterdir()}
    assert "edited.txt" in made
    assert "asked.txt" not in made
