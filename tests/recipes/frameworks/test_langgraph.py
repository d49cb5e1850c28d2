"""The recipe for LangGraph: the real framework, its SQLite checkpoints, a scripted model."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from answerback_client import AsyncClient, UnreachableError
from tests.recipes.conftest import PATIENCE, Person, Served
from tests.recipes.receiving import listening, send_again

FORM = {
    "questions": [
        {"id": "go", "text": "Release?", "answer_type": "boolean"},
        {
            "id": "why",
            "text": "Why not?",
            "answer_type": "text",
            "when": {"question_id": "go", "equals": False},
        },
    ]
}
DONE = AIMessage("Done.")


def calling(*ids: str) -> AIMessage:
    """Return a model's message that calls the tool, once or several times."""
    return AIMessage("", tool_calls=[{"name": "ask_user", "args": FORM, "id": one} for one in ids])


class Host:
    """The user's process, which may end and be restarted; its webhooks come to the same address."""

    def __init__(self, module: ModuleType, served: Served, file: Path) -> None:
        self._module = module
        self._served = served
        self._file = file
        self._runs: Any = None
        self._graph: Any = None
        self._thread_id = f"run-{uuid.uuid4()}"
        self._statuses: list[int] = []
        self._received = asyncio.Condition()
        self.url = ""

    @asynccontextmanager
    async def process(self, *says: AIMessage, url: str | None = None) -> AsyncIterator[None]:
        """Run the process, with a model that says these, in turn."""
        model = GenericFakeChatModel(messages=iter(says))
        async with (
            AsyncSqliteSaver.from_conn_string(str(self._file)) as checkpointer,
            AsyncClient(url or self._served.url, self._served.token, patience=0) as answerback,
        ):
            self._graph = self._module.graph_of(model, checkpointer)
            self._runs = self._module.Runs(self._graph, answerback, f"{self.url}/answers")
            yield
            self._runs = None

    async def receive(self, request: web.Request) -> web.Response:
        """Pass a webhook to the current process."""
        response: web.Response = await self._runs.resume(request)
        async with self._received:
            self._statuses.append(response.status)
            self._received.notify_all()
        return response

    async def start(self) -> None:
        """Start the run."""
        await self._runs.go_on(self._thread_id, {"messages": [("user", "Release it.")]})

    async def resume(self) -> None:
        """Continue the run after a crash."""
        await self._runs.go_on(self._thread_id, None)

    async def messages(self, *, webhooks: int) -> list[Any]:
        """Return the run's messages once the given number of webhooks has been received and handled."""
        async with asyncio.timeout(PATIENCE), self._received:
            await self._received.wait_for(lambda: len(self._statuses) >= webhooks)
        state = await self._graph.aget_state({"configurable": {"thread_id": self._thread_id}})
        return list(state.values["messages"])


@pytest.fixture
async def host(
    recipe: Callable[[str], ModuleType], served: Served, tmp_path: Path
) -> AsyncIterator[Host]:
    """The recipe's user."""
    host = Host(recipe("langgraph_interrupt"), served, tmp_path / "runs.db")
    app = web.Application()
    app.router.add_post("/answers", host.receive)
    async with listening(app) as host.url:
        yield host


async def test_the_webhook_resumes_a_run_that_another_process_parked(
    host: Host, person: Person
) -> None:
    async with host.process(calling("call-1")):
        await host.start()
    async with host.process(DONE):
        await person.answers(False, "The audit is not over.")
        *_, result, last = await host.messages(webhooks=1)
    assert result.tool_call_id == "call-1"
    assert result.content == '{"go": false, "why": "The audit is not over."}'
    assert last.content == "Done."


async def test_a_run_that_asks_twice_is_parked_twice(host: Host, person: Person) -> None:
    async with host.process(calling("call-1"), calling("call-2"), DONE):
        await host.start()
        await person.answers(True)
        await host.messages(webhooks=1)
        await person.replies("Ask me tomorrow.")
        *_, second, last = await host.messages(webhooks=2)
    assert second.content == '{"cancelled": true, "answered": {}, "reply": "Ask me tomorrow."}'
    assert last.content == "Done."


async def test_two_calls_in_one_message_are_asked_one_after_the_other(
    host: Host, person: Person
) -> None:
    async with host.process(calling("call-1", "call-2"), DONE):
        await host.start()
        await person.answers(True)
        await host.messages(webhooks=1)
        await person.answers(True)
        *_, first, second, last = await host.messages(webhooks=2)
    assert (first.tool_call_id, second.tool_call_id) == ("call-1", "call-2")
    assert last.content == "Done."


async def test_a_process_that_died_before_asking_asks_when_it_resumes(
    host: Host, person: Person
) -> None:
    async with host.process(calling("call-1"), url="http://127.0.0.1:9"):
        with pytest.raises(UnreachableError):
            await host.start()
    async with host.process(DONE):
        await host.resume()
        await host.resume()
        await person.answers(True)
        assert (await host.messages(webhooks=1))[-1].content == "Done."


async def test_end_turn_ends_the_run_without_calling_the_model(host: Host, person: Person) -> None:
    async with host.process(calling("call-1"), DONE):
        await host.start()
        await person.ends_the_turn()
        last = (await host.messages(webhooks=1))[-1]
    assert (last.type, last.content) == ("tool", "The user ended the turn.")


async def test_a_redelivered_webhook_changes_nothing(
    host: Host, person: Person, served: Served
) -> None:
    async with host.process(calling("call-1"), DONE):
        await host.start()
        await person.answers(True)
        before = await host.messages(webhooks=1)
        async with AsyncClient(served.url, served.token) as agent:
            await send_again(agent)
        assert await host.messages(webhooks=2) == before


@pytest.mark.parametrize("second", ["call-2", "call-1"], ids=["another id", "the same id"])
async def test_a_redelivered_webhook_does_not_answer_the_next_question(
    host: Host, person: Person, served: Served, second: str
) -> None:
    async with host.process(calling("call-1"), calling(second), DONE):
        await host.start()
        await person.answers(True)
        before = await host.messages(webhooks=1)
        async with AsyncClient(served.url, served.token) as agent:
            await send_again(agent)
        assert await host.messages(webhooks=2) == before
        assert (await person.sees()).json["tool_call_id"] == second


async def test_an_unsigned_webhook_resumes_nothing(host: Host, person: Person) -> None:
    async with host.process(calling("call-1")), aiohttp.ClientSession() as stranger:
        await host.start()
        async with stranger.post(f"{host.url}/answers", json={"type": "ask.answered"}) as response:
            assert response.status == 401
        assert (await host.messages(webhooks=1))[-1].type == "ai"
