"""The recipes for AG-UI and A2A: real agents, served with the protocols' own packages, and a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.agents.model import Calls, Model, Says, scripted
from tests.meta.project import RECIPES, ROOT
from tests.recipes.children import Child, child
from tests.recipes.conftest import Person, Served

_ENVIRONMENTS = Path(__file__).with_name("environments")
_PYTHON = ROOT / ".venv" / "approvals" / "bin" / "python"
_START = 120.0
"""Seconds within which the packages, which are large, have to be imported."""
CALL = Calls("release", {"version": "7"})


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    """A model that calls the gated tool, and is done."""
    async with scripted(CALL, Says("Done.")) as made:
        yield made


@pytest.fixture
async def agents(frameworks: None, model: Model, tmp_path: Path) -> AsyncIterator[str]:
    """The address at which the agents are served."""
    folder = tmp_path / "agents"
    folder.mkdir()
    server = child(
        _PYTHON,
        _ENVIRONMENTS / "serve_protocols.py",
        model.url,
        folder=folder,
        environment={"OTEL_SDK_DISABLED": "true"},
        seconds=_START,
    )
    async with server as serving:
        yield await serving.read_json()


def process(
    recipe: str, agent: str, folder: Path, served: Served
) -> AbstractAsyncContextManager[Child]:
    """Start a process of the recipe's user."""
    return child(
        _PYTHON,
        _ENVIRONMENTS / "drive_protocols.py",
        RECIPES,
        recipe,
        agent,
        folder / "run",
        folder=folder,
        environment={
            "ANSWERBACK_URL": served.url,
            "ANSWERBACK_TOKEN": served.token,
            "OTEL_SDK_DISABLED": "true",
            "PYTHONPATH": str(ROOT / "bot"),
        },
        seconds=_START,
    )


@pytest.mark.parametrize("approved", [True, False])
async def test_ag_ui_people_decide_about_a_call_even_after_the_process_died(
    agents: str, model: Model, served: Served, person: Person, tmp_path: Path, approved: bool
) -> None:
    person = Person(person.front, _START)
    agent = f"{agents}/approval"
    async with process("ag_ui_interrupts", agent, tmp_path, served) as first:
        running = asyncio.create_task(first.call("Release it."))
        asked = await person.sees()
        assert asked.prompt is not None
        assert "release" in str(asked.prompt["text"])
        assert 'version: "7"' in str(asked.prompt["context"])
        running.cancel()
    await person.answers("approve" if approved else "reject")
    async with process("ag_ui_interrupts", agent, tmp_path, served) as second:
        assert await second.call(None) == "Done."
    [result] = [one for one in model.requests[-1]["messages"] if one["role"] == "tool"]
    assert ("Version 7 is out." in str(result["content"])) == approved


async def test_ag_ui_end_turn_leaves_the_thread_interrupted(
    agents: str, model: Model, served: Served, person: Person, tmp_path: Path
) -> None:
    person = Person(person.front, _START)
    async with process("ag_ui_interrupts", f"{agents}/approval", tmp_path, served) as run:
        text, _ = await asyncio.gather(run.call("Release it."), person.ends_the_turn())
    assert text is None
    assert len(model.requests) == 1


async def test_ag_ui_answers_have_the_type_that_the_agent_asks_for(
    agents: str, served: Served, person: Person, tmp_path: Path
) -> None:
    person = Person(person.front, _START)
    async with process("ag_ui_interrupts", f"{agents}/form", tmp_path, served) as run:
        running = asyncio.create_task(run.call("Release it."))
        asked = await person.sees()
        assert asked.prompt is not None
        assert "How many hosts?" in str(asked.prompt["text"])
        await person.answers({"answer": 3})
        await person.replies("Somebody else.")
        assert json.loads(await running) == [["resolved", 3], ["cancelled", None]]


async def test_ag_ui_a_later_interrupt_is_answered_anew_although_it_has_the_same_id(
    agents: str, served: Served, person: Person, tmp_path: Path
) -> None:
    person = Person(person.front, _START)
    async with process("ag_ui_interrupts", f"{agents}/form?rounds=2", tmp_path, served) as run:
        running = asyncio.create_task(run.call("Release it."))
        for hosts, name in ((3, "Kim"), (4, "Ada")):
            await person.answers({"answer": hosts}, {"answer": name})
        assert json.loads(await running) == [["resolved", 4], ["resolved", "Ada"]]


async def test_a2a_people_give_a_task_its_input_even_after_the_process_died(
    agents: str, served: Served, person: Person, tmp_path: Path
) -> None:
    person = Person(person.front, _START)
    async with process("a2a_input_required", agents, tmp_path, served) as first:
        running = asyncio.create_task(first.call("Release it."))
        asked = await person.sees()
        assert asked.prompt is not None
        assert asked.prompt["text"] == "Which version?"
        running.cancel()
    await person.answers("7")
    async with process("a2a_input_required", agents, tmp_path, served) as second:
        running = asyncio.create_task(second.call(None))
        await person.replies("On Monday.")
        assert await running == ["TASK_STATE_COMPLETED", "7 On Monday."]


async def test_a2a_end_turn_leaves_the_task_as_it_is(
    agents: str, served: Served, person: Person, tmp_path: Path
) -> None:
    person = Person(person.front, _START)
    async with process("a2a_input_required", agents, tmp_path, served) as run:
        result, _ = await asyncio.gather(run.call("Release it."), person.ends_the_turn())
    assert result == ["TASK_STATE_INPUT_REQUIRED", "Which version?"]
