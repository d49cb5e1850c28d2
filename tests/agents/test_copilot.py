"""The real Copilot CLI from npm with its own-key mode: connected by `answerback connect`, a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.agents.conftest import Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.recipes.conftest import Person


async def run_copilot(home: Home, model: Model) -> None:
    """Run a connected Copilot CLI once."""
    await home.connect("copilot")
    await home.run(
        *("copilot", "-p", "Set it up"),
        COPILOT_PROVIDER_BASE_URL=f"{model.url}/v1",
        COPILOT_MODEL="scripted",
        COPILOT_OFFLINE="true",
        COPILOT_AUTO_UPDATE="false",
    )


def touch_call(file: Path) -> Calls:
    """Return a call for which Copilot needs permission."""
    return Calls("bash", {"command": f"touch {file}", "description": "Makes a file"})


async def test_copilot_asks_with_the_mcp_tool(home: Home, person: Person) -> None:
    question = {"question": "Which port?", "answer_type": "text"}
    async with scripted(Calls("answerback-ask_user", question), Says("Done.")) as model:
        await asyncio.gather(run_copilot(home, model), person.answers("8443"))
    assert len(model.requests) == 2
    assert "8443" in model.sent()


async def test_a_person_allows_a_tool_that_copilot_asks_about(home: Home, person: Person) -> None:
    note = home.project / "note.txt"
    async with scripted(touch_call(note), Says("Done.")) as model:
        await asyncio.gather(run_copilot(home, model), person.answers("allow"))
    assert note.exists()


async def test_a_person_denies_it_in_words(home: Home, person: Person) -> None:
    note = home.project / "note.txt"
    async with scripted(touch_call(note), Says("Done.")) as model:
        await asyncio.gather(run_copilot(home, model), person.replies("Not there."))
    assert not note.exists()
    assert "Not there." in model.sent()
