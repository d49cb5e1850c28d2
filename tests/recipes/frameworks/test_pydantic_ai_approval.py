"""The recipe for approvals in Pydantic AI: the real framework, a scripted model."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from answerback_client import AsyncClient
from tests.recipes.conftest import Person, Served

DONE = ModelResponse([TextPart("Done.")])


def calling(*versions: str, call_id: str | None = None) -> ModelResponse:
    """Return a model's response that releases versions."""
    return ModelResponse(
        [
            ToolCallPart("release", {"version": one}, call_id or secrets.token_hex(8))
            for one in versions
        ]
    )


class Script:
    """The model's script, and the messages that it received."""

    def __init__(self, *says: ModelResponse) -> None:
        self._says = list(says)
        self.received: list[ModelMessage] = []

    def __call__(self, messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        self.received = messages
        return self._says.pop(0)

    def results(self) -> list[tuple[str, str]]:
        """Return how the tools that it called last ended, and with what content."""
        last = self.received[-1]
        assert isinstance(last, ModelRequest)
        parts = [part for part in last.parts if isinstance(part, ToolReturnPart)]
        return [(part.outcome, str(part.content)) for part in parts]


@pytest.fixture
def module(recipe: Callable[[str], ModuleType]) -> ModuleType:
    """The recipe."""
    return recipe("pydantic_ai_approval")


@pytest.fixture
async def started(
    module: ModuleType, served: Served, tmp_path: Path
) -> AsyncIterator[Callable[[Script], Any]]:
    """Start the user's process on the same file, with a scripted model."""
    async with AsyncClient(served.url, served.token) as answerback:

        def process(script: Script) -> Any:
            agent = module.agent_of(FunctionModel(script))
            return module.Run(agent, answerback, tmp_path / "run.json")

        yield process


async def test_calls_are_decided_in_one_form_by_another_process(
    started: Callable[[Script], Any], person: Person
) -> None:
    assert await started(Script(calling("7", "8"))).start("Release both.") is None
    script = Script(DONE)
    running = asyncio.create_task(started(script).go_on())
    asked = await person.sees()
    assert asked.prompt is not None
    assert asked.prompt["progress"] == "[1/2]"
    assert "release" in str(asked.prompt["text"])
    assert 'version: "7"' in str(asked.prompt["context"])
    await person.answers("approve", "deny")
    assert await running == "Done."
    assert script.results() == [
        ("success", "Version 7 is out."),
        ("denied", "The tool call was denied."),
    ]


async def test_a_later_call_is_decided_anew_although_it_has_the_same_id(
    started: Callable[[Script], Any], person: Person
) -> None:
    first, second, third = (calling("7", call_id="release") for _ in range(3))
    script = Script(first, second, DONE, third, DONE)
    run = started(script)
    results = []
    for decisions in (["approve", "deny"], ["deny"]):  # two calls of one run, and another run
        text = await run.start("Release it.")
        for decision in decisions:
            assert text is None
            text, _ = await asyncio.gather(run.go_on(), person.answers(decision))
            results += [outcome for outcome, _ in script.results()]
        assert text == "Done."
    assert results == ["success", "denied", "denied"]


async def test_a_reply_denies_the_open_call_with_the_persons_words_and_the_rest_too(
    started: Callable[[Script], Any], person: Person
) -> None:
    script = Script(calling("7", "8", "9"), DONE)
    run = started(script)
    await run.start("Release all.")

    async def decides() -> None:
        await person.answers("approve")
        await person.replies("After lunch.")

    text, _ = await asyncio.gather(run.go_on(), decides())
    assert text == "Done."
    assert script.results() == [
        ("success", "Version 7 is out."),
        ("denied", "After lunch."),
        ("denied", "The tool call was denied."),
    ]


async def test_a_process_that_died_while_waiting_resumes_with_the_same_ask(
    started: Callable[[Script], Any], person: Person
) -> None:
    run = started(Script(calling("7")))
    await run.start("Release it.")
    waiting = asyncio.create_task(run.go_on())
    first = await person.sees()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    text, last = await asyncio.gather(started(Script(DONE)).go_on(), person.answers("approve"))
    assert (text, last.id) == ("Done.", first.id)


async def test_end_turn_runs_nothing_and_does_not_call_the_model(
    started: Callable[[Script], Any], module: ModuleType, person: Person, tmp_path: Path
) -> None:
    run = started(Script(calling("7")))
    await run.start("Release it.")
    ending = asyncio.create_task(person.ends_the_turn())
    with pytest.raises(module.TurnEndedError):
        await run.go_on()
    await ending
    assert not (tmp_path / "run.json").exists()
