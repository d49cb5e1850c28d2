"""The real Grok: configuration written by `answerback connect`, a scripted model."""

from __future__ import annotations

import asyncio
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.conftest import LATE, Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.meta.project import ROOT
from tests.recipes.conftest import Person

QUESTION = {
    "question": "Which port?",
    "options": [
        {"label": "8443", "description": "TLS"},
        {"label": "8080", "description": "Plain"},
    ],
}
ASKS = Calls("ask_user_question", {"questions": [QUESTION]})
CONFIG = """
[model.scripted]
model = "scripted"
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
api_backend = "chat_completions"
"""
ENVIRONMENT = {"SCRIPTED_KEY": "scripted"}
_UNPACK = """
const fs = require("fs"), zlib = require("zlib");
const [from, to] = process.argv.slice(1);
fs.createReadStream(from).pipe(zlib.createBrotliDecompress()).pipe(fs.createWriteStream(to));
"""


@pytest.fixture(scope="session")
def grok(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The program, unpacked: its package does that in a script, which would also change the home."""
    packages = ROOT / ".venv" / "agents" / "node_modules" / "@xai-official"
    [packed] = packages.glob("grok-*/bin/grok.br")
    program = tmp_path_factory.mktemp("grok") / "grok"
    subprocess.run(["node", "-e", _UNPACK, packed, program], check=True, timeout=120)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    yield program
    program.unlink()


async def command(grok: Path, home: Home, model: Model, *more: str) -> list[str]:
    """Connect a Grok with the scripted model; return the command that runs it once."""
    file = home.folder / ".grok" / "config.toml"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(CONFIG.format(url=model.url))
        await home.connect("grok")
    return [str(grok), "-p", "Set it up", "-m", "scripted", "--always-approve", *more]


async def test_a_person_answers_groks_own_question(grok: Path, home: Home, person: Person) -> None:
    async with scripted(ASKS, Says("Done.")) as model:
        running = asyncio.create_task(home.run(*await command(grok, home, model), **ENVIRONMENT))
        asked = await person.sees()
        assert asked.prompt is not None
        assert asked.prompt["text"] == "Which port?"
        await person.answers("8080")
        assert "Done." in await running
    [result] = [
        str(one["content"]) for one in model.requests[1]["messages"] if one["role"] == "tool"
    ]
    assert "The user answered: Which port?\n8080" in result


async def test_a_late_answer_comes_with_the_next_tool_result_of_the_session(
    grok: Path, home: Home, person: Person
) -> None:
    looks = Calls("list_dir", {"target_directory": "."})
    async with scripted(ASKS, looks, Says("Done.")) as model:
        once = await command(grok, home, model)
        async with home.started(*once, environment=ENVIRONMENT):
            asked = await person.sees()
        await person.answers("8080")
        printed = await home.run(*once, "--continue", **ENVIRONMENT)
        received = [str(each["content"]) for each in model.requests[2]["messages"]]
    assert "Done." in printed
    assert [each for each in received if LATE in each and asked.id in each]


async def test_grok_reads_the_address_of_our_mcp_server(grok: Path, home: Home) -> None:
    async with scripted() as model:
        await command(grok, home, model)
        listed = await home.run(str(grok), "mcp", "list", **ENVIRONMENT)
    assert "answerback" in listed
