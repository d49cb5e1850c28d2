"""Plans of the real Claude Code: what a person chooses takes effect, and what was shown is what was approved."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Coroutine
from typing import Any

from answerback_client import Ask
from tests.agents.conftest import Home
from tests.agents.model import Calls, Json, Model, Says, Scripted, scripted
from tests.agents.test_claude_code import drive, final_result, write_call
from tests.recipes.conftest import Person

PLAN = "# Plan\n\n1. Move the table\n2. Drop the old one\n"
EXIT = Calls("ExitPlanMode", {})
APPROVED = "User has approved"


def write_plan(request: Json) -> Calls:
    """Write the plan to the file that Claude Code's reminder names."""
    named = re.search(r"(/[^\s\"'`\\]+/\.claude/plans/[\w-]+\.md)", json.dumps(request))
    assert named, "the reminder of plan mode names a file"
    return Calls("Write", {"file_path": named[1], "content": PLAN})


async def plan(
    home: Home, *steps: Scripted, deciding: Coroutine[Any, Any, Ask]
) -> tuple[Model, Ask]:
    """Let Claude Code plan, and go on with what was decided."""
    async with (
        scripted(*steps) as model,
        drive(home, model, "--permission-mode", "plan") as claude,
    ):
        _, ask = await asyncio.gather(final_result(claude), deciding)
    return model, ask


async def test_with_accepted_edits_it_goes_on_without_asking(home: Home, person: Person) -> None:
    note = home.project / "note.txt"
    await home.connect("claude")
    steps = (write_plan, EXIT, write_call(note), Says("Done."))
    model, _ = await plan(home, *steps, deciding=person.answers("accept_edits"))
    assert note.read_text() == "a note"
    assert APPROVED in str(model.requests[2])


async def test_it_asks_about_each_edit(home: Home, person: Person) -> None:
    note = home.project / "note.txt"
    await home.connect("claude")
    steps = (write_plan, EXIT, write_call(note), Says("Done."))
    await plan(home, *steps, deciding=person.answers("allow", "allow"))
    assert note.read_text() == "a note"


async def test_it_keeps_planning_with_words(home: Home, person: Person) -> None:
    await home.connect("claude")
    replying = person.replies("Keep the old table.")
    model, _ = await plan(home, write_plan, EXIT, Says("I will."), deciding=replying)
    assert "Keep the old table." in model.sent()


async def test_a_plan_that_it_did_not_send_is_approved_unseen(home: Home, person: Person) -> None:
    await home.connect("claude")

    async def decides() -> Ask:
        ask = await person.sees()
        assert ask.prompt is not None
        assert ask.prompt["nothing_known"] is True
        return await person.act("answer", value="allow", unseen=True)

    model, _ = await plan(home, EXIT, Says("Done."), deciding=decides())
    assert APPROVED in model.sent()


async def test_the_command_hook_shows_the_last_message_where_there_is_no_plan(
    home: Home, person: Person
) -> None:
    await home.connect("claude")
    [settings] = home.folder.rglob(".claude/settings.json")
    config = json.loads(settings.read_text())
    command = f"answerback hook claude --url {home.service.url}"
    handler = {"type": "command", "command": command, "timeout": 1_000}
    config["hooks"]["PermissionRequest"] = [{"hooks": [handler]}]
    settings.write_text(json.dumps(config))

    async def decides() -> Ask:
        ask = await person.sees()
        assert ask.prompt is not None
        assert ask.prompt["context"] == (
            "**Last message of the session; it may not be the plan**\n\nI would move the table."
        )
        return await person.answers("allow")

    says = Calls("ExitPlanMode", {}, before="I would move the table.")
    model, _ = await plan(home, says, Says("Done."), deciding=decides())
    assert APPROVED in model.sent()
    assert model.sent().count("I would move the table.") > 1, "what was shown was sent back"
