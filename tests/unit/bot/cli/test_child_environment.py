"""The programs that proxies and bridges start do not get the token with which these ask people."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.acceptance.forked_process import forked
from tests.acceptance.process import PATIENCE
from tests.unit.bot.agent_support import served

_WRITE = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[1], 'w'))"
SECRETS = {"ANSWERBACK_TOKEN": "ab_usual", "KEY": "secret"}
PROXY = ("mcp-proxy", "--header-env", "Authorization=KEY")


async def environment_of_child(folder: Path, *command: str) -> tuple[dict[str, str], str]:
    """Run a command whose program writes down its environment; returns that, and the command's token."""
    async with served(folder, {"codex": "agent"}) as service:
        token = service.tokens["codex"]
        return await _run(folder, service.url, token, *command), token


async def _run(folder: Path, url: str, token: str, *command: str) -> dict[str, str]:
    file = folder / "environment.json"
    named = "--service" if command[0] == "mcp-proxy" else "--url"
    state = ("--state", str(folder)) if command[0] == "mcp-proxy" else ()
    process = await forked(
        *(*command, named, url, "--token-env", "MINE", *state),
        *("--", sys.executable, "-c", _WRITE, str(file)),
        environment={**SECRETS, "MINE": token, "OTHER": "1"},
        stdin=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        _, err = await process.communicate()
    assert process.returncode == 0, err
    found: dict[str, str] = json.loads(file.read_text())
    assert found["OTHER"] == "1"
    return found


@pytest.mark.rule("AUTH-19")
@pytest.mark.parametrize("command", [PROXY, ("acp",), ("bridge", "codex")], ids=str)
async def test_a_program_behind_a_proxy_or_a_bridge_gets_no_token(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    found, token = await environment_of_child(tmp_path, *command)
    hidden = {"MINE", *SECRETS} if command is PROXY else {"MINE", "ANSWERBACK_TOKEN"}
    assert token not in found.values()
    assert found.keys().isdisjoint(hidden)


@pytest.mark.rule("AUTH-19")
@pytest.mark.parametrize("command", [("acp",), ("bridge", "codex")], ids=str)
async def test_an_agent_that_calls_the_service_itself_gets_the_token_when_that_is_said(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    found, token = await environment_of_child(tmp_path, *command, "--pass-token")
    assert found.items() >= {**SECRETS, "MINE": token}.items()
