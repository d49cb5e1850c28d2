"""The recipes whose frameworks share an environment of their own: the real frameworks, and a scripted model."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.agents.model import Calls, Model, Says, scripted
from tests.meta.project import RECIPES, ROOT
from tests.recipes.conftest import Person, Served

FRAMEWORKS = (
    "agno_confirmation",
    "strands_interrupt",
    "agent_framework_approval",
    "langchain_batched",
)
PATIENCE = 120.0
"""Seconds within which a framework, which is large, is imported and runs."""


async def run_recipe(framework: str, model: Model, served: Served, folder: Path) -> str | None:
    """Run a recipe to its end, and return its last text."""
    process = await asyncio.create_subprocess_exec(
        ROOT / ".venv" / "approvals" / "bin" / "python",
        Path(__file__).with_name("environments") / "drive_approvals.py",
        RECIPES,
        framework,
        model.url,
        cwd=folder,
        stdout=PIPE,
        env={
            "ANSWERBACK_URL": served.url,
            "ANSWERBACK_TOKEN": served.token,
            "HOME": str(folder),
            "OTEL_SDK_DISABLED": "true",
            "PYTHONPATH": str(ROOT / "bot"),
        },
    )
    try:
        async with asyncio.timeout(PATIENCE):
            printed, _ = await process.communicate()
    except BaseException:
        process.kill()
        raise
    assert process.returncode == 0
    text: str | None = json.loads(printed.splitlines()[-1])
    return text


def releasing() -> Calls:
    """Return a call of the gated tool."""
    return Calls("release", {"version": "7"})


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_people_approve_and_reject(
    frameworks: None, served: Served, person: Person, tmp_path: Path, framework: str
) -> None:
    person = Person(person.front, PATIENCE)
    async with scripted(releasing(), releasing(), Says("Done.")) as model:
        running = asyncio.create_task(run_recipe(framework, model, served, tmp_path))
        asked = await person.sees()
        assert asked.prompt is not None
        assert "release" in str(asked.prompt["text"])
        assert 'version: "7"' in str(asked.prompt["context"])
        await person.answers("approve")
        await person.answers("reject")
        assert await running == "Done."
    results = [one for one in model.requests[-1]["messages"] if one["role"] == "tool"]
    assert "Version 7 is out." in str(results[0]["content"])
    assert "Version 7 is out." not in str(results[1]["content"])


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_later_run_is_decided_anew_although_its_call_has_the_same_id(
    frameworks: None, served: Served, person: Person, tmp_path: Path, framework: str
) -> None:
    """Some models call a tool by its name, and others number their calls anew in each run."""
    person = Person(person.front, PATIENCE)
    numbered = Calls("release", {"version": "7"}, id=f"{framework}:0")
    steps = (numbered, Says("Done."))
    async with scripted(*steps, *steps) as model:
        for decision, is_out in (("approve", True), ("reject", False)):
            running = asyncio.create_task(run_recipe(framework, model, served, tmp_path))
            await person.answers(decision)
            assert await running == "Done."
            [result] = [one for one in model.requests[-1]["messages"] if one["role"] == "tool"]
            assert ("Version 7 is out." in str(result["content"])) == is_out


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_end_turn_stops_before_the_model(
    frameworks: None, served: Served, person: Person, tmp_path: Path, framework: str
) -> None:
    person = Person(person.front, PATIENCE)
    async with scripted(releasing(), Says("Never said.")) as model:
        text, _ = await asyncio.gather(
            run_recipe(framework, model, served, tmp_path), person.ends_the_turn()
        )
    assert text is None
    assert len(model.requests) == 1
