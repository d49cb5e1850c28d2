"""Edit, then allow: Claude Code's hook hands a call to Claude Code as a person has changed it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.service.submission_request import Route
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import answered
from tests.unit.bot.hooks.test_claude_hooks_permission import permission
from tests.unit.bot.hooks.test_claude_plans import planning

INPUT = '{ "command": "rm -rf build", "why": "caf\\u00e9", "timeout": 1.50, "id": 12345678901234567890 }'


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    route = Route(to="web", responders=("operator",), edit=True)
    async with served(tmp_path, routes={"ops": route}, default_route="ops") as made:
        yield made


def event_with(tool_input: str) -> bytes:
    """A permission prompt with this input of the tool."""
    event = {**permission("Bash"), "tool_input": "INPUT"}
    return json.dumps(event).replace('"INPUT"', tool_input).encode()


def decision_in(answer: str) -> Any:
    return json.loads(answer)["hookSpecificOutput"]["decision"]


@pytest.mark.rule("EDIT-8")
@pytest.mark.parametrize("way", ["http", "command"])
async def test_claude_code_gets_the_changed_command_and_the_bytes_of_the_rest(
    service: Served, way: str
) -> None:
    waiting = asyncio.create_task(answered(service, event_with(INPUT), way))
    ask = await service.newest()
    edited = {**json.loads(INPUT), "command": "rm -rf build/tmp"}
    await service.act(ask, action="answer", value="allow", edited=edited)
    answer = await waiting
    assert decision_in(answer) == {"behavior": "allow", "updatedInput": edited}
    assert '"why": "caf\\u00e9", "timeout": 1.50, "id": 12345678901234567890' in answer


@pytest.mark.rule("EDIT-8")
@pytest.mark.parametrize("edited", [None, {"command": "rm -rf build"}])
async def test_an_unchanged_command_is_allowed_as_before(
    service: Served, edited: Json | None
) -> None:
    waiting = asyncio.create_task(
        answered(service, event_with('{"command": "rm -rf build"}'), "http")
    )
    ask = await service.newest()
    more = {} if edited is None else {"edited": edited}
    await service.act(ask, action="answer", value="allow", **more)
    assert decision_in(await waiting) == {"behavior": "allow"}


@pytest.mark.rule("EDIT-8", "HOOK-10")
async def test_a_plan_is_approved_as_a_person_has_changed_it(service: Served) -> None:
    sent = {"plan": "# Plan\n\n1. Drop the table\n", "planFilePath": "/srv/plans/a.md"}
    event = json.dumps(planning(**sent)).encode()
    waiting = asyncio.create_task(answered(service, event, "http"))
    ask = await service.newest()
    edited = {**sent, "plan": "# Plan\n\n1. Back the table up\n1. Drop the table\n"}
    await service.act(ask, action="answer", value="allow", edited=edited)
    decision = decision_in(await waiting)
    assert decision["updatedInput"] == edited
    assert decision["updatedPermissions"][0]["mode"] == "default"
    done = await service.newest()
    [given] = done.walk.answers
    assert given.edited is not None
    assert given.edited.difference == "plan:\n+ 1. Back the table up"


@pytest.mark.rule("EDIT-1", "EDIT-8")
async def test_codex_takes_no_other_input_so_none_is_offered(service: Served) -> None:
    event = {**permission("Bash"), "turn_id": "t1"}
    url = f"{service.url}/hooks/codex"
    waiting = asyncio.create_task(service.http.post(url, json=event))
    ask = await service.newest()
    assert ask.request.editable == ()
    await service.act(ask, action="answer", value="deny")
    assert (await waiting).status == 200
