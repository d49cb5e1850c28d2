"""The recipe for Pydantic AI: the real framework, a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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

FORM = {"questions": [{"id": "go", "text": "Release?", "answer_type": "boolean"}]}
WRONG = {"questions": [{"id": "go", "text": "Release?", "answer_type": "select"}]}
DONE = ModelResponse([TextPart("Released.")])


def calling(*ids: str, arguments: dict[str, Any] = FORM) -> ModelResponse:
    """Return a model's response that calls the tool, once or several times."""
    return ModelResponse([ToolCallPart("ask_user", arguments, one) for one in ids])


class Script:
    """The model's script, and the messages that it received."""

    def __init__(self, *says: ModelResponse) -> None:
        self._says = list(says)
        self.received: list[ModelMessage] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert [tool.name for tool in info.function_tools] == ["ask_user"]
        self.received = messages
        return self._says.pop(0)

    def results(self) -> list[ToolReturnPart]:
        """Return the tool results that it received last."""
        last = self.received[-1]
        assert isinstance(last, ModelRequest)
        return [part for part in last.parts if isinstance(part, ToolReturnPart)]


@pytest.fixture
def module(recipe: Callable[[str], ModuleType]) -> ModuleType:
    """The recipe."""
    return recipe("pydantic_ai_deferred")


@pytest.fixture
def started(module: ModuleType, served: Served, tmp_path: Path) -> Any:
    """Start the user's process on the same file, with a scripted model."""

    @asynccontextmanager
    async def process(script: Script) -> AsyncIterator[Any]:
        async with AsyncClient(served.url, served.token) as answerback:
            agent = await module.agent_of(FunctionModel(script), answerback)
            yield module.Run(agent, answerback, tmp_path / "run.json")

    return process


async def test_a_parked_run_is_resumed_by_another_process(started: Any, person: Person) -> None:
    async with started(Script(calling("pa-1"))) as run:
        assert await run.start("Release version 7.") is None
    script = Script(DONE)
    async with started(script) as run:
        text, _ = await asyncio.gather(run.go_on(), person.answers(True))
    assert text == "Released."
    assert [part.content for part in script.results()] == [{"go": True}]


async def test_a_process_that_died_while_waiting_waits_again_for_the_same_ask(
    started: Any, person: Person
) -> None:
    async with started(Script(calling("pa-2"))) as run:
        await run.start("Release version 7.")
        waiting = asyncio.create_task(run.go_on())
        first = await person.sees()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with started(Script(DONE)) as run:
        text, last = await asyncio.gather(run.go_on(), person.answers(True))
    assert text == "Released."
    assert last.id == first.id


async def test_a_later_call_is_asked_anew_although_it_has_the_same_id(
    started: Any, person: Person
) -> None:
    script = Script(calling("ask_user"), calling("ask_user"), DONE)
    for _ in range(2):  # two calls of one run, and another run
        async with started(script) as run:
            text = await run.start("Release version 7.")
            while text is None:
                answer = len(script.received) == 1
                text, _ = await asyncio.gather(run.go_on(), person.answers(answer))
                assert [part.content for part in script.results()] == [{"go": answer}]
        script = Script(calling("ask_user"), DONE)


async def test_an_invalid_call_is_corrected_by_the_model(started: Any, person: Person) -> None:
    script = Script(calling("pa-3", arguments=WRONG), calling("pa-4"), DONE)
    async with started(script) as run:
        assert await run.start("Release version 7.") is None
        assert await run.go_on() is None
        assert "options" in str(script.received)
        text, _ = await asyncio.gather(run.go_on(), person.replies("Not today."))
    assert text == "Released."
    [result] = script.results()
    assert result.content == {"cancelled": True, "answered": {}, "reply": "Not today."}


async def test_end_turn_resumes_nothing(started: Any, module: ModuleType, person: Person) -> None:
    async with started(Script(calling("pa-5"))) as run:
        await run.start("Release version 7.")
        ending = asyncio.create_task(person.ends_the_turn())
        with pytest.raises(module.TurnEndedError):
            await run.go_on()
        await ending
