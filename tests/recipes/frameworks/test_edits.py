"""Edit, then allow, in the recipes of frameworks that take it: the real frameworks and scripted models."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic_ai.models.function import FunctionModel

from answerback_client import AsyncClient, RefusedError
from tests.recipes.conftest import Person, Served, serving
from tests.recipes.frameworks import test_langchain_approval as langchain
from tests.recipes.frameworks import test_pydantic_ai_approval as pydantic_ai
from tests.recipes.frameworks.messages_api import START, calls, says, scripted

EDITING = """
[routes.web]
to = "web"
responders = ["U7"]
edit = true
"""
pytestmark = pytest.mark.rule("EDIT-10")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service at which people may change a call."""
    with serving(tmp_path_factory.mktemp("editing"), before=EDITING) as made:
        yield made


@pytest.fixture
async def person(served: Served) -> AsyncIterator[Person]:
    async with AsyncClient(served.url, served.people_token) as front:
        yield Person(front)


@pytest.mark.parametrize("name", ["langchain_approval", "langchain_batched"])
async def test_langchain_runs_the_changed_call(
    recipe: Callable[[str], ModuleType], served: Served, person: Person, tmp_path: Path, name: str
) -> None:
    host = langchain.Host(recipe(name), served, tmp_path / "runs.db")
    async with host.process(langchain.calling("7"), langchain.DONE) as run:
        running = asyncio.create_task(run())
        asked: Any = (await person.sees()).prompt
        assert [each["value"] for each in asked["options"]] == ["approve", "reject"]
        await person.act("answer", value="approve", edited={"version": "8"})
        assert await running == "Done."
        [result] = await host.results()
    assert str(result.content).endswith("Version 8 is out.")


async def test_what_does_not_fit_langchains_tool_is_refused(
    recipe: Callable[[str], ModuleType], served: Served, person: Person, tmp_path: Path
) -> None:
    host = langchain.Host(recipe("langchain_approval"), served, tmp_path / "runs.db")
    async with host.process(langchain.calling("7"), langchain.DONE) as run:
        running = asyncio.create_task(run())
        for wrong in ({"notes": "A version is missing."}, {"version": 8}):
            with pytest.raises(RefusedError) as refused:
                await person.act("answer", value="approve", edited=wrong)  # type: ignore[arg-type]  # plain JSON
            assert "version" in str(refused.value.problem["errors"])
        await person.answers("approve")
        assert await running == "Done."
        [result] = await host.results()
    assert result.content == "Version 7 is out."


async def test_pydantic_ai_runs_the_changed_call(
    recipe: Callable[[str], ModuleType], served: Served, person: Person, tmp_path: Path
) -> None:
    script = pydantic_ai.Script(pydantic_ai.calling("7", "8"), pydantic_ai.DONE)
    module = recipe("pydantic_ai_approval")
    async with AsyncClient(served.url, served.token) as answerback:
        run = module.Run(module.agent_of(FunctionModel(script)), answerback, tmp_path / "run.json")
        assert await run.start("Release them.") is None
        going = asyncio.create_task(run.go_on())
        await person.act("answer", value="approve", edited={"version": "9"})
        await person.answers("approve")
        assert await going == "Done."
    assert [text for _, text in script.results()] == ["Version 9 is out.", "Version 8 is out."]


async def test_claude_code_makes_the_changed_call_through_its_sdk(
    recipe: Callable[[str], ModuleType],
    person: Person,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE"))]:
        monkeypatch.delenv(name)
    module = recipe("claude_permissions")
    asked = calls("Bash", {"command": "touch asked.txt", "description": "Makes a file"})
    async with scripted(tmp_path, asked, says("Done.")) as claude, asyncio.timeout(START):
        settings = {"cwd": claude.folder, "env": claude.environment, "setting_sources": []}
        running = asyncio.create_task(module.run("Make a file.", **settings))
        change: Any = {"command": "touch edited.txt", "description": "Makes a file"}
        await person.act("answer", value="allow", edited=change)
        assert await running == "Done."
    made = {each.name for each in claude.folder.iterdir()}
    assert "edited.txt" in made
    assert "asked.txt" not in made
