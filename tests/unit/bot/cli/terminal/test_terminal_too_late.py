"""In the terminal: an approval that its host gave up offers to tell the agent to try again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.cli.terminal.line_input import PipedInput
from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.cli.terminal.walk import Walk
from answerback.core.labels import Labels
from answerback_agents.cli.ask_output import describe_status
from answerback_client import Ask
from tests.unit.bot.terminal_support import Terminal, open_terminal


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with open_terminal(tmp_path) as made:
        yield made


async def denied(terminal: Terminal) -> Ask:
    body = {
        "name": "PermissionRequest",
        "dialect": "approval",
        "arguments": {"tool_name": "Bash", "tool_input": {"command": "touch a"}},
    }
    service = terminal.service.running.service
    async with terminal.service.http.post(f"{terminal.service.url}/v1/asks", json=body) as made:
        ask_id = str((await made.json())["id"])
    await service.approval_leases.report_no_answer(ask_id)
    return await terminal.client.get(ask_id)


@pytest.mark.rule("LATE-9")
@pytest.mark.parametrize("text", ["", "On staging."])
async def test_a_person_tells_the_agent_to_try_again(terminal: Terminal, text: str) -> None:
    ask = await denied(terminal)
    assert describe_status(ask.json) == "denied, because it was not decided in time"
    result = await terminal.walked(ask, f"1\r{text}\r")
    assert isinstance(result.json["tried_again"], dict)
    assert result.json["tried_again"]["text"] == (text or None)
    assert "the agent will be told to try again" in terminal.screen.text
    await terminal.walk().walk(result)  # offers nothing, and reads nothing


@pytest.mark.rule("LATE-9")
@pytest.mark.parametrize("keys", ["q\r", "1\rOn\x03"])
async def test_a_person_may_leave_it_at_that(terminal: Terminal, keys: str) -> None:
    assert (await terminal.walked(await denied(terminal), keys)).json["tried_again"] is None


@pytest.mark.rule("LATE-9")
async def test_somebody_else_may_have_told_the_agent_already(terminal: Terminal) -> None:
    ask = await denied(terminal)
    await terminal.client.retry(ask.id)
    await terminal.walked(ask, "1\r\r")
    assert "already been told" in terminal.screen.text


@pytest.mark.rule("LATE-9")
async def test_a_pipe_without_lines_tells_the_agent_nothing(terminal: Terminal) -> None:
    ask = await denied(terminal)
    with open("/dev/null", "rb") as nothing:  # noqa: ASYNC230 - it has no contents
        prompter = TerminalPrompter(Labels(), PipedInput(nothing, lambda _line: None))
        await Walk(terminal.client, prompter, None).walk(ask)
    assert (await terminal.client.get(ask.id)).json["tried_again"] is None
