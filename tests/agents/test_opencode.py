"""The real opencode and its fork Kilo from npm: configuration written by `answerback connect`, a scripted model."""

from __future__ import annotations

import asyncio
import base64
import json
from asyncio.subprocess import STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.agents.conftest import LATE, PATIENCE, Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.ports import free_port
from tests.recipes.conftest import Person
from tests.unit.picture_samples import png

PNG = png(64, 64)
SEES = {"input": ["text", "image"], "output": ["text"]}
QUESTION = {
    "question": "Which port?",
    "header": "Port",
    "options": [
        {"label": "8443", "description": "TLS"},
        {"label": "8080", "description": "Plain"},
    ],
}


@dataclass(frozen=True)
class Program:
    """opencode or a fork of it."""

    name: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables that keep it from looking for models and newer versions."""
        prefix = f"{self.name.upper()}_DISABLE"
        return {f"{prefix}_MODELS_FETCH": "true", f"{prefix}_AUTOUPDATE": "true"}

    async def connect(self, home: Home, model: Model, **more: Any) -> None:
        """Write its configuration: the scripted model, and Answerback."""
        folders = home.folder / ".config"
        opencode = folders / "opencode" / "opencode.json"
        opencode.parent.mkdir(parents=True)
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "scripted"},
            "models": {"scripted": {"name": "Scripted", "attachment": True, "modalities": SEES}},
        }
        config = {"model": "scripted/scripted", "provider": {"scripted": provider}, **more}
        opencode.write_text(json.dumps(config))
        await home.connect("opencode")
        own = folders / self.name / f"{self.name}.json"
        own.parent.mkdir(exist_ok=True)
        opencode.rename(own)


@pytest.fixture(params=["opencode", "kilo"])
def program(request: pytest.FixtureRequest) -> Program:
    """Each program that the bridge to opencode is for."""
    return Program(request.param)


@asynccontextmanager
async def serving(program: Program, home: Home) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """Run the program as a server with the bridge; yield the server's address and a client for it."""
    command = (program.name, "serve", "--port", str(free_port()))
    async with home.started(*command, environment=program.environment) as server:
        url = await last_word_of_line(server, "http://")
        bridge = ("answerback", "bridge", "opencode", url, "--url", home.service.url)
        async with home.started(*bridge, stderr=STDOUT) as process:
            await last_word_of_line(process, "Connected")
            async with aiohttp.ClientSession(url) as http:
                yield url, http


async def last_word_of_line(process: asyncio.subprocess.Process, text: str) -> str:
    """Return the last word of the first line that contains these words."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        async for line in process.stdout:
            if text in line.decode():
                return line.decode().split()[-1]
    raise AssertionError(f"it ended without printing {text}")


async def send_prompt(http: aiohttp.ClientSession, how: str = "message") -> None:
    """Send a prompt in a new session and wait for the end of the turn, or return at once with `prompt_async`."""
    async with http.post("/session", json={}) as response:
        session = (await response.json())["id"]
    body = {"parts": [{"type": "text", "text": "Set it up"}]}
    async with asyncio.timeout(PATIENCE):
        async with http.post(f"/session/{session}/{how}", json=body) as response:
            assert response.ok, await response.text()
            await response.read()


async def test_it_asks_with_the_mcp_tool(program: Program, home: Home, person: Person) -> None:
    question = {"question": "Which port?", "answer_type": "text"}
    async with scripted(Calls("answerback_ask_user", question), Says("Done.")) as model:
        await program.connect(home, model)
        run = home.run(program.name, "run", "Set it up", **program.environment)
        await asyncio.gather(run, person.answers("8443"))
    assert "8443" in model.sent()


async def test_it_gets_a_photo_that_a_person_sent(
    program: Program, home: Home, person: Person
) -> None:
    question = {"question": "Which port?", "answer_type": "text"}
    async with scripted(Calls("answerback_ask_user", question), Says("Done.")) as model:
        await program.connect(home, model)
        run = home.run(program.name, "run", "Set it up", **program.environment)
        await asyncio.gather(run, person.sends(PNG, "answer", value="As in the photo"))
    assert "As in the photo" in model.sent()
    assert base64.b64encode(PNG).decode() in model.sent()


async def test_a_person_answers_its_question(program: Program, home: Home, person: Person) -> None:
    async with scripted(Calls("question", {"questions": [QUESTION]}), Says("Done.")) as model:
        await program.connect(home, model)
        async with serving(program, home) as (_, http):
            await asyncio.gather(send_prompt(http), person.answers("8080"))
    assert len(model.requests) == 2
    assert 'User has answered your questions: \\"Which port?\\"=\\"8080\\"' in model.sent()


def touch_call(file: Path) -> Calls:
    """Return a call for which it needs permission here."""
    return Calls("bash", {"command": f"touch {file}", "description": "Makes a file"})


async def test_a_person_allows_a_tool_that_it_asks_about(
    program: Program, home: Home, person: Person
) -> None:
    note = home.project / "note.txt"
    async with scripted(touch_call(note), Says("Done.")) as model:
        await program.connect(home, model, permission={"bash": "ask"})
        async with serving(program, home) as (_, http):
            await asyncio.gather(send_prompt(http), person.answers("once"))
    assert note.exists()


async def test_a_person_denies_it_in_words(program: Program, home: Home, person: Person) -> None:
    note = home.project / "note.txt"
    async with scripted(touch_call(note), Says("Done.")) as model:
        await program.connect(home, model, permission={"bash": "ask"})
        async with serving(program, home) as (_, http):
            await asyncio.gather(send_prompt(http), person.replies("Not there."))
    assert not note.exists()
    assert "Not there." in model.sent()


async def test_after_a_kill_it_continues_with_the_answer_once(
    program: Program, home: Home, person: Person
) -> None:
    asks = Calls("question", {"questions": [QUESTION]})
    async with scripted(asks, Says("Understood."), Says("Done.")) as model:
        await program.connect(home, model)
        async with serving(program, home) as (_, http):
            await send_prompt(http, "prompt_async")
            await person.sees()
        await person.answers("8080")
        async with serving(program, home):
            async with asyncio.timeout(PATIENCE):
                while len(model.requests) < 2:  # noqa: ASYNC110 - nothing signals it
                    await asyncio.sleep(0.1)
            assert model.sent().count(LATE) == 1
        async with serving(program, home):
            pass
    assert len(model.requests) == 2
