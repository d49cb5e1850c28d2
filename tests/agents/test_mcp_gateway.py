"""Real hosts without elicitation, and a server behind `answerback mcp-proxy` that asks in each way: people answer."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from pydantic import JsonValue

from tests.agents.conftest import Home
from tests.agents.model import Calls, Says, scripted
from tests.agents.test_gemini import environment as gemini_environment
from tests.agents.test_opencode import Program
from tests.meta.project import PYTHONPATH
from tests.recipes.conftest import Person
from tests.unit.bot.mcp_proxy_support import OFFICE

POLICY = '[servers.office]\nrules = [{ tool = "*", do = "pass" }]\n'
TOOLS: tuple[tuple[str, dict[str, JsonValue]], ...] = (
    ("move", {"thing": "Lamp"}),
    ("pay", {}),
    ("open_files", {"name": "a"}),
)
"""Tools that need a form, a link, and a link before they are called again (error -32042)."""
ANSWERS: tuple[JsonValue, ...] = ({"floor": 3}, True, True)
RESULTS = ("Lamp is on floor 3.", "accept", "The files a.")


def gateway(home: Home) -> tuple[list[str], dict[str, str]]:
    """Return the command of the server behind the proxy, and its environment."""
    policy = home.folder / "policy.toml"
    policy.write_text(POLICY)
    options = ("--service", home.service.url, "--policy", str(policy), "--state", str(home.folder))
    command = [
        sys.executable,
        "-m",
        "answerback_agents.cli.main",
        "mcp-proxy",
        *options,
        "--",
        *OFFICE,
    ]
    return command, {"ANSWERBACK_TOKEN": home.service.token, "PYTHONPATH": PYTHONPATH}


async def test_people_answer_what_a_server_asks_geminis_user(home: Home, person: Person) -> None:
    calls = [Calls(f"mcp_office_{name}", arguments) for name, arguments in TOOLS]
    async with scripted(*calls, Says("Done.")) as model:
        (program, *arguments), environment = gateway(home)
        office = {"command": program, "args": arguments, "env": environment, "trust": True}
        settings: dict[str, Any] = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "mcpServers": {"office": office},
        }
        (home.folder / ".gemini").mkdir()
        (home.folder / ".gemini" / "settings.json").write_text(json.dumps(settings))
        command = ("gemini", "-m", "gemini-2.5-pro", "-p", "Set it up")
        run = home.run(*command, **gemini_environment(model))
        await asyncio.gather(run, person.answers(*ANSWERS))
    assert [result for result in RESULTS if result not in model.sent()] == []


async def test_people_answer_what_a_server_asks_opencodes_user(home: Home, person: Person) -> None:
    calls = [Calls(f"office_{name}", arguments) for name, arguments in TOOLS]
    opencode = Program("opencode")
    async with scripted(*calls, Says("Done.")) as model:
        command, environment = gateway(home)
        office = {"type": "local", "command": command, "environment": environment}
        await opencode.connect(home, model, mcp={"office": office})
        run = home.run("opencode", "run", "Set it up", **opencode.environment)
        await asyncio.gather(run, person.answers(*ANSWERS))
    assert [result for result in RESULTS if result not in model.sent()] == []
