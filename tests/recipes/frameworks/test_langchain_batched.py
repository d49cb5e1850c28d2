"""The recipe for batched interrupts of LangChain and Deep Agents: the real framework and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from langchain_core.messages import AIMessage

from tests.recipes.conftest import Person, Served
from tests.recipes.frameworks.test_langchain_approval import DONE, Host, calling


@pytest.fixture
def host(recipe: Callable[[str], ModuleType], served: Served, tmp_path: Path) -> Host:
    """The recipe's user."""
    return Host(recipe("langchain_batched"), served, tmp_path / "runs.db")


async def test_all_calls_of_a_message_are_one_form(host: Host, person: Person) -> None:
    async with host.process(calling("7", "8"), DONE) as run:
        running = asyncio.create_task(run())
        asked = await person.sees()
        await person.answers("approve")
        assert (await person.sees()).id == asked.id
        await person.answers("reject")
        assert await running == "Done."
        results = {str(one.tool_call_id): one for one in await host.results()}
    assert results["call-7"].status == "success"
    assert results["call-8"].status == "error"


async def test_a_later_run_in_the_thread_is_decided_anew_although_its_call_has_the_same_id(
    host: Host, person: Person
) -> None:
    async with host.process(calling("7"), DONE, calling("7"), AIMessage("Done.")) as run:
        for decision in ("approve", "reject"):
            text, _ = await asyncio.gather(run(), person.answers(decision))
            assert text == "Done."
        assert [one.status for one in await host.results()] == ["success", "error"]


async def test_end_turn_rejects_all_and_the_model_is_not_called(host: Host, person: Person) -> None:
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
    assert (text, last.id) == ("Done.", first.id)
