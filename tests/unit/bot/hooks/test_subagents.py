"""Whose question it is: the hook of a host names its subagent, and nothing that an agent submits does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.view import asker_label
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.hooks.test_claude_hooks import asking, hook


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.mark.rule("HOOK-9")
@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("Explore", "Claude Code (Explore) in project"),
        ("x" * 200, f"Claude Code ({'x' * 100}) in project"),
        (" ", "Claude Code in project"),
        (None, "Claude Code in project"),
        (3, "Claude Code in project"),
    ],
)
async def test_people_see_which_subagent_asks(service: Served, named: Any, shown: str) -> None:
    event = {**asking(), "agent_id": "a1", "agent_type": named}
    await hook(service, event, "?wait=0")
    assert asker_label(await service.newest()) == shown


@pytest.mark.rule("HOOK-9")
async def test_an_agent_does_not_name_itself_in_metadata(service: Served) -> None:
    body = {"name": "ask_user", "arguments": {"question": "Go?"}, "metadata": {"subagent": "Admin"}}
    async with service.http.post(f"{service.url}/v1/asks", json={**body, "to": "web"}) as response:
        assert response.status == 201
    assert asker_label(await service.newest()) == "Assistant"
