"""The real pi in its RPC mode, behind `answerback bridge pi`, with an extension that asks before a command runs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.agents.conftest import BINARIES, PATIENCE, Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.agents.rpc import Connection
from tests.hosts.acp_programs import NODE
from tests.recipes.conftest import Person

GATE = BINARIES.parent / "@earendil-works/pi-coding-agent/examples/extensions/permission-gate.ts"


@asynccontextmanager
async def bridged(home: Home, model: Model) -> AsyncIterator[Connection]:
    """Start the bridge, which starts pi."""
    provider = {
        "baseUrl": f"{model.url}/v1",
        "api": "openai-completions",
        "apiKey": "scripted",
        "models": [{"id": "scripted"}],
    }
    file = home.folder / ".pi" / "agent" / "models.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"providers": {"fake": provider}}))
    environment = {
        "ANSWERBACK_URL": home.service.url,
        "PI_OFFLINE": "1",
        "PATH": f"{NODE}:{BINARIES}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    pi = ("pi", "--mode", "rpc", "--no-session", "--provider", "fake", "--model", "scripted")
    command = ("answerback", "bridge", "pi", "--", *pi, "--extension", str(GATE))
    async with home.started(*command, environment=environment) as process:
        yield Connection(process)


async def prompt(program: Connection) -> None:
    """Run one prompt until pi will not go on by itself."""
    program.say({"id": "c1", "type": "prompt", "message": "Set it up"})
    async with asyncio.timeout(PATIENCE):
        await program.until(lambda record: record.get("type") == "agent_settled")


async def test_people_decide_what_pis_extension_asks(home: Home, person: Person) -> None:
    for name in ("one", "two"):
        (home.project / name).mkdir()
    removals = [Calls("bash", {"command": f"rm -rf {name}"}) for name in ("one", "two")]

    async def decide() -> None:
        ask = await person.sees()
        assert "rm -rf one" in str(ask.json["headline"])
        await person.replies("Keep the first one.")
        assert "rm -rf two" in str((await person.sees()).json["headline"])
        await person.answers("Yes")

    async with scripted(*removals, Says("Done.")) as model, bridged(home, model) as program:
        await asyncio.gather(prompt(program), decide())
    assert (home.project / "one").exists()
    assert not (home.project / "two").exists()
    assert "Keep the first one." in str(model.requests)
