"""A plan that a person changed before they approved it arrives at the real Claude Code as theirs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import ClientSession

from answerback_client import Ask
from tests.agents.conftest import Home
from tests.agents.model import Calls, Scripted
from tests.agents.test_claude_plans import write_plan
from tests.hosts.acp_programs import Session
from tests.hosts.programs import ClaudeCode
from tests.hosts.test_hosts import converse, option
from tests.recipes.conftest import Person, Served


@pytest.mark.rule("EDIT-8")
async def test_claude_code_goes_on_with_the_plan_as_it_was_edited(
    editing_home: Home, editor: Person
) -> None:
    decided: list[Ask] = []

    async def decide(_session: Session) -> None:
        ask = await editor.sees()
        prompt: Any = ask.prompt
        assert prompt["editable"] is True
        arguments = json.loads(prompt["arguments"])
        plan = arguments["plan"].replace("Drop the old one", "Keep the old one for a week")
        assert plan != arguments["plan"]
        edited = {**arguments, "plan": plan}
        decided.append(await editor.act("answer", value=option(ask, "allow_once"), edited=edited))

    steps: list[Scripted] = [write_plan, Calls("ExitPlanMode", {})]
    model = await converse(ClaudeCode().planning(), editing_home, steps, decide)
    read = model.sent()
    assert "Approved Plan (edited by user)" in read
    assert "Keep the old one for a week" in read
    [ask] = decided
    assert ask.edited is not None
    assert "- 2. Drop the old one\n+ 2. Keep the old one for a week" in ask.edited.difference
    assert [each["edited"]["difference"] for each in await answers(editing_home.service, ask)] == [
        ask.edited.difference
    ]


async def answers(service: Served, ask: Ask) -> list[Any]:
    """Return the answers in the record."""
    url, token = f"{service.url}/v1/asks/{ask.id}/record", service.people_token
    headers = {"Authorization": f"Bearer {token}"}
    async with ClientSession() as http, http.get(url, headers=headers) as response:
        assert response.status == 200
        lines = (await response.json())["entries"]
    return [
        line["response"]["answered"] for line in lines if "answered" in line.get("response", {})
    ]
