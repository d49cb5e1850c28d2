"""The real Claude Code of npm: its settings written by `answerback connect`, its model scripted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.agents.conftest import BINARIES, Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.recipes.conftest import Person


async def claude(home: Home, model: Model) -> None:
    """One run, of a Claude Code that is connected."""
    await home.connect("claude")
    await home.run(
        *(str(BINARIES / "claude"), "-p", "Set it up"),
        ANTHROPIC_BASE_URL=model.url,
        ANTHROPIC_API_KEY="scripted",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_TELEMETRY="1",
    )


def writes(file: Path) -> Calls:
    """A call for which Claude Code needs permission."""
    return Calls("Write", {"file_path": str(file), "content": "a note"})


async def test_a_person_allows_what_claude_code_asks_permission_for(
    home: Home, person: Person
) -> None:
    note = home.project / "note.txt"
    async with scripted(writes(note), Says("Done.")) as model:
        await asyncio.gather(claude(home, model), person.answers("allow"))
    assert note.read_text() == "a note"


async def test_a_person_denies_it_in_words(home: Home, person: Person) -> None:
    note = home.project / "note.txt"
    async with scripted(writes(note), Says("Done.")) as model:
        await asyncio.gather(claude(home, model), person.replies("Write to notes/ instead."))
    assert not note.exists()
    assert "Write to notes/ instead." in model.sent()
