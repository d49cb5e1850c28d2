"""The recipe for LangChain's human-in-the-loop middleware: the real framework and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from answerback_client import AsyncClient
from tests.recipes.conftest import Person, Served

DONE = AIMessage("Done.")
PROMPT = {"messages": [("user", "Release it.")]}


class Scripted(GenericFakeChatModel):
    """A scripted model; it ignores the tools that it is given."""

    def bind_tools(self, *_tools: Any, **_more: Any) -> Any:
        return self


def calling(*versions: str) -> AIMessage:
    """Return a model's message that releases versions."""
    calls = [{"name": "release", "args": {"version": one}, "id": f"call-{one}"} for one in versions]
    return AIMessage("", tool_calls=calls)


class Host:
    """The user's process, which may end and be restarted."""

    def __init__(self, module: ModuleType, served: Served, file: Path) -> None:
        self._module, self._served, self._file = module, served, file

    @asynccontextmanager
    async def process(self, *says: AIMessage) -> AsyncIterator[Any]:
        """Run the recipe's agent on the same checkpoint file; yield a coroutine function that runs it."""
        async with (
            AsyncSqliteSaver.from_conn_string(str(self._file)) as checkpointer,
            AsyncClient(self._served.url, self._served.token) as answerback,
        ):
            self._agent = self._module.agent_of(Scripted(messages=iter(says)), checkpointer)

            async def run(inputs: Any = PROMPT) -> str | None:
                got: str | None = await self._module.run(
                    self._agent, answerback, str(self._file), inputs
                )
                return got

            yield run

    async def results(self) -> list[ToolMessage]:
        """Return the results of tools in the thread."""
        state = await self._agent.aget_state({"configurable": {"thread_id": str(self._file)}})
        return [one for one in state.values["messages"] if isinstance(one, ToolMessage)]


@pytest.fixture
def host(recipe: Callable[[str], ModuleType], served: Served, tmp_path: Path) -> Host:
    """The recipe's user."""
    return Host(recipe("langchain_approval"), served, tmp_path / "runs.db")


async def test_an_approved_call_runs(host: Host, person: Person) -> None:
    async with host.process(calling("7"), DONE) as run:
        running = asyncio.create_task(run())
        asked = await person.sees()
        assert asked.prompt is not None
        assert "release" in str(asked.prompt["text"])
        assert 'version: "7"' in str(asked.prompt["context"])
        await person.answers("approve")
        assert await running == "Done."
        [result] = await host.results()
    assert (result.content, result.status) == ("Version 7 is out.", "success")


async def test_a_later_run_in_the_thread_is_decided_anew_although_its_call_has_the_same_id(
    host: Host, person: Person
) -> None:
    async with host.process(calling("7"), DONE, calling("7"), AIMessage("Done.")) as run:
        for decision in ("approve", "reject"):
            text, _ = await asyncio.gather(run(), person.answers(decision))
            assert text == "Done."
        assert [one.status for one in await host.results()] == ["success", "error"]


async def test_each_call_is_decided_separately_and_a_denial_carries_the_persons_words(
    host: Host, person: Person
) -> None:
    async with host.process(calling("7", "8"), DONE) as run:
        running = asyncio.create_task(run())
        versions = []
        for decide in (person.answers("approve"), person.replies("Not that one.")):
            versions.append(str((await person.sees()).prompt["context"]))  # type: ignore[index]
            await decide
        assert await running == "Done."
        results = {str(one.tool_call_id): one for one in await host.results()}
    approved, denied = ("call-7", "call-8") if '"7"' in versions[0] else ("call-8", "call-7")
    assert results[approved].status == "success"
    assert str(results[denied].content).endswith("with reason: Not that one.")


async def test_end_turn_denies_the_rest_and_the_model_is_not_called(
    host: Host, person: Person
) -> None:
    async with host.process(calling("7", "8")) as run:
        text, _ = await asyncio.gather(run(), person.ends_the_turn())
        results = await host.results()
    assert text is None
    assert [one.status for one in results] == ["error", "error"]


async def test_a_process_that_died_resumes_with_the_same_ask(host: Host, person: Person) -> None:
    async with host.process(calling("7")) as run:
        waiting = asyncio.create_task(run())
        first = await person.sees()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with host.process(DONE) as run:
        text, last = await asyncio.gather(run(None), person.answers("approve"))
        [result] = await host.results()
    assert (text, last.id) == ("Done.", first.id)
    assert result.status == "success"
