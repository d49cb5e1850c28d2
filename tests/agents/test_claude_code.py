"""The real Claude Code from npm: settings written by `answerback connect`, a scripted model."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.agents.conftest import LATE, PATIENCE, Home
from tests.agents.model import Calls, Json, Model, Says, scripted
from tests.meta.project import ROOT
from tests.recipes.conftest import Person
from tests.unit.picture_samples import png

QUESTION = {
    "question": "Which port?",
    "header": "Port",
    "multiSelect": False,
    "options": [
        {"label": "8443", "description": "TLS"},
        {"label": "8080", "description": "Plain"},
    ],
}
ASKS = Calls("AskUserQuestion", {"questions": [QUESTION]})
STREAM = (
    *("--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--permission-prompt-tool", "stdio"),
)
"""Options of a program that drives it: if nothing can decide about permissions, there is no AskUserQuestion."""
PNG = png(64, 64)
TRAVEL = {
    "type": "stdio",
    "command": sys.executable,
    "args": [str(ROOT / "tests" / "recipes" / "frameworks" / "eliciting_server.py")],
}


def environment(model: Model) -> dict[str, str]:
    """Return the variables that make it use the scripted model."""
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
    }


async def run_claude(home: Home, model: Model, *arguments: str) -> None:
    """Run `claude -p` once."""
    await home.run("claude", "-p", *arguments, **environment(model))


@asynccontextmanager
async def drive(home: Home, model: Model, *more: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start one to which a program gave a prompt."""
    message = {"role": "user", "content": "Set it up"}
    command = ("claude", "-p", *STREAM, *more)
    async with home.started(*command, environment=environment(model)) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"type": "user", "message": message}).encode() + b"\n")
        yield process


async def wait_until_saved(home: Home, text: str) -> None:
    """Return once a person's words are in the file from which `--continue` resumes the conversation."""
    async with asyncio.timeout(PATIENCE):
        while not any(  # noqa: ASYNC110 - another program writes it
            text in file.read_text() for file in home.folder.rglob("projects/*/*.jsonl")
        ):
            await asyncio.sleep(0.05)


async def final_result(process: asyncio.subprocess.Process) -> str:
    """Return its final output."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        while line := await process.stdout.readline():
            message = json.loads(line)
            if message["type"] == "result":
                return str(message["result"])
    raise AssertionError("it ended without a result")


def write_call(file: Path) -> Calls:
    """Return a call for which Claude Code needs permission."""
    return Calls("Write", {"file_path": str(file), "content": "a note"})


async def test_a_person_answers_claude_codes_question(home: Home, person: Person) -> None:
    await home.connect("claude")
    async with scripted(ASKS, Says("Done.")) as model, drive(home, model) as claude:
        said, _ = await asyncio.gather(final_result(claude), person.answers("8080"))
    assert said == "Done."
    assert '\\"Which port?\\"=\\"8080\\"' in model.sent()


def read_what_was_saved(request: Json) -> Calls:
    """Return a call that reads the photo at the path that the model was told."""
    found = re.search(r"it is saved at (\S+?/file_\w{32}\.png)", json.dumps(request))
    assert found is not None, request
    return Calls("Read", {"file_path": found[1]})


async def test_claude_code_reads_a_photo_that_a_person_sent(home: Home, person: Person) -> None:
    await home.connect("claude")
    script = scripted(ASKS, read_what_was_saved, Says("Done."))
    async with script as model, drive(home, model, "--allowedTools", "Read") as claude:
        said, _ = await asyncio.gather(
            final_result(claude), person.sends(PNG, "other", text="As in the photo")
        )
    assert said == "Done."
    assert base64.b64encode(PNG).decode() in model.sent()


async def test_a_person_allows_a_tool_that_claude_code_asks_about(
    home: Home, person: Person
) -> None:
    note = home.project / "note.txt"
    await home.connect("claude")
    async with scripted(write_call(note), Says("Done.")) as model:
        await asyncio.gather(run_claude(home, model, "Set it up"), person.answers("allow"))
    assert note.read_text() == "a note"


async def test_a_person_denies_it_in_words(home: Home, person: Person) -> None:
    note = home.project / "note.txt"
    await home.connect("claude")
    async with scripted(write_call(note), Says("Done.")) as model:
        await asyncio.gather(
            run_claude(home, model, "Set it up"), person.replies("Write to notes/ instead.")
        )
    assert not note.exists()
    assert "Write to notes/ instead." in model.sent()


async def test_a_person_answers_an_elicitation_by_claude_codes_mcp_server(
    home: Home, person: Person
) -> None:
    await home.connect("claude")
    servers = json.dumps({"mcpServers": {"travel": TRAVEL}})
    arguments = ("--mcp-config", servers, "--allowedTools", "mcp__travel", "--", "Book a seat")
    async with scripted(Calls("mcp__travel__book", {}), Says("Done.")) as model:
        await asyncio.gather(
            run_claude(home, model, *arguments), person.answers({"seat": "12A", "meal": True})
        )
    assert "Booked 12A, with a meal." in model.sent()


async def test_a_killed_claude_code_gets_the_answer_once_with_the_next_prompt(
    home: Home, person: Person
) -> None:
    await home.connect("claude")
    async with scripted(ASKS, Says("Understood."), Says("Nothing new.")) as model:
        async with drive(home, model):
            await person.sees()
            await wait_until_saved(home, "Set it up")
        await person.answers("8443")
        await run_claude(home, model, "--continue", "Go on")
        assert model.sent().count(LATE) == 1
        await run_claude(home, model, "--continue", "And now?")
        assert model.sent().count(LATE) == 1  # the earlier one is part of the conversation


async def test_claude_code_tries_again_what_nobody_allowed_in_time(
    home: Home, person: Person
) -> None:
    note = home.project / "note.txt"
    await home.connect("claude")
    for settings in home.folder.rglob("settings*.json"):
        text = settings.read_text()
        settings.write_text(text.replace(" hook claude", " hook claude --wait 1"))
    again = write_call(note)
    said = (Says("It was denied."), again, Says("Done."))
    async with scripted(write_call(note), *said) as model:
        await run_claude(home, model, "Set it up")
        assert not note.exists()
        assert "Nobody answered within 1 second, so this is not allowed." in model.sent()
        page = await person.front.call("GET", "/v1/asks?limit=1")
        [denied] = page["asks"] if isinstance(page["asks"], list) else []
        assert isinstance(denied, dict)
        assert (denied["status"], denied["gave_up"]) == ("expired", "denied")
        actor = {"user_id": "U7", "name": "Kim"}
        await person.front.retry(str(denied["id"]), "It is a note only.", actor=actor)
        for settings in home.folder.rglob("settings*.json"):
            text = settings.read_text()
            settings.write_text(text.replace("--wait 1", "--wait 100"))
        await asyncio.gather(
            run_claude(home, model, "--continue", "Go on"), person.answers("allow")
        )
        assert model.sent().count("the user wants you to try again.") == 1
        assert "It is a note only." in model.sent()
    assert note.read_text() == "a note"
