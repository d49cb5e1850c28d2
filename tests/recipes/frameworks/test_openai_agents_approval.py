"""The recipe for approvals in the OpenAI Agents SDK: the real framework, its own scripted model."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from agents import Agent, ShellTool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseFunctionShellToolCall

from answerback_client import AsyncClient
from tests.recipes.conftest import Person, Served

DONE = [assistant_message("Done.")]
set_tracing_disabled(True)


def calling(*versions: str, call_id: str | None = None) -> list[Any]:
    """Return a model's output that releases versions."""
    return [
        function_call("release", {"version": one}, call_id=call_id or secrets.token_hex(8))
        for one in versions
    ]


def outputs(model: ScriptedModel) -> list[str]:
    """Return the tool results that the model received last."""
    assert model.last_call is not None
    items = model.last_call.input
    return [item["output"] for item in items if item.get("type") == "function_call_output"]


@pytest.fixture
def module(recipe: Callable[[str], ModuleType]) -> ModuleType:
    """The recipe."""
    return recipe("openai_agents_approval")


@pytest.fixture
async def started(module: ModuleType, served: Served, tmp_path: Path) -> Any:
    """Start the user's process on the same file, with a scripted model."""
    async with AsyncClient(served.url, served.token) as answerback:

        @contextmanager
        def process(model: ScriptedModel) -> Iterator[Any]:
            yield module.Run(module.agent_of(model), answerback, tmp_path / "run.json")

        yield process


async def test_an_approved_call_runs(started: Any, person: Person) -> None:
    model = ScriptedModel([calling("7"), DONE])
    with started(model) as run:
        running = asyncio.create_task(run.start("Release it."))
        asked = await person.sees()
        assert asked.prompt is not None
        assert "release" in str(asked.prompt["text"])
        assert 'version: "7"' in str(asked.prompt["context"])
        await person.answers("approve")
        assert await running == "Done."
    assert outputs(model) == ["Version 7 is out."]


async def test_a_later_run_is_decided_anew_although_its_call_has_the_same_id(
    started: Any, person: Person
) -> None:
    for decision, is_out in (("approve", True), ("reject", False)):
        model = ScriptedModel([calling("7", call_id="functions.release:0"), DONE])
        with started(model) as run:
            await asyncio.gather(run.start("Release it."), person.answers(decision))
        assert (outputs(model) == ["Version 7 is out."]) == is_out


async def test_a_shell_tool_says_which_commands_it_would_run(
    module: ModuleType, served: Served, person: Person, tmp_path: Path
) -> None:
    ran: list[str] = []
    action = {"commands": ["ls /srv", "rm -rf /srv"]}
    sent = {
        "type": "shell_call",
        "id": "i1",
        "call_id": "c1",
        "status": "completed",
        "action": action,
    }
    model = ScriptedModel([[ResponseFunctionShellToolCall.model_validate(sent)], DONE])

    def execute(request: Any) -> str:
        ran.extend(request.data.action.commands)
        return "Done."

    shell = ShellTool(executor=execute, needs_approval=True)
    async with AsyncClient(served.url, served.token) as answerback:
        agent = Agent(name="Cleaner", model=model, tools=[shell])
        run = module.Run(agent, answerback, tmp_path / "run.json")
        running = asyncio.create_task(run.start("Clean up."))
        asked = await person.sees()
        assert asked.prompt is not None
        assert asked.prompt["text"] == "Run ls /srv and 1 more line"
        assert "rm -rf /srv" in str(asked.prompt["context"])
        await person.answers("approve")
        assert await running == "Done."
    assert ran == action["commands"]


async def test_a_call_that_a_person_always_approves_is_not_asked_again(
    started: Any, person: Person
) -> None:
    model = ScriptedModel([calling("7"), calling("8"), DONE])
    with started(model) as run:
        text, _ = await asyncio.gather(run.start("Release both."), person.answers("approve_always"))
    assert text == "Done."
    assert outputs(model) == ["Version 7 is out.", "Version 8 is out."]


async def test_a_denial_carries_the_persons_words(started: Any, person: Person) -> None:
    model = ScriptedModel([calling("7", "8"), DONE])

    async def decides() -> None:
        await person.replies("After lunch.")
        await person.answers("reject")

    with started(model) as run:
        await asyncio.gather(run.start("Release both."), decides())
    first, second = outputs(model)
    assert first == "After lunch."
    assert "not approved" in second


async def test_end_turn_runs_nothing_and_does_not_call_the_model(
    started: Any, module: ModuleType, person: Person, tmp_path: Path
) -> None:
    model = ScriptedModel([calling("7")])
    with started(model) as run:
        ending = asyncio.create_task(person.ends_the_turn())
        with pytest.raises(module.TurnEndedError):
            await run.start("Release it.")
        await ending
    assert len(model.calls) == 1
    assert not (tmp_path / "run.json").exists()


async def test_a_process_that_died_resumes_with_the_same_ask(
    started: Any, person: Person, tmp_path: Path
) -> None:
    with started(ScriptedModel([calling("7")])) as run:
        waiting = asyncio.create_task(run.start("Release it."))
        first = await person.sees()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    model = ScriptedModel([DONE])
    with started(model) as run:
        text, last = await asyncio.gather(run.go_on(), person.answers("approve"))
    assert (text, last.id) == ("Done.", first.id)
    assert outputs(model) == ["Version 7 is out."]
    assert not (tmp_path / "run.json").exists()
