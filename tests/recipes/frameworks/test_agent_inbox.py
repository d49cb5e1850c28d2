"""The recipe for Agent Inbox: a real graph whose interrupts have its schema, and SQLite checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import JsonValue

from answerback_client import AsyncClient
from tests.recipes.conftest import Person, Served

MAIL: dict[str, JsonValue] = {"to": "Kim", "text": "Hello"}


@pytest.fixture
def inbox(recipe: Callable[[str], ModuleType]) -> ModuleType:
    return recipe("agent_inbox")


async def run(
    inbox: ModuleType, served: Served, file: Path, given: dict[str, JsonValue] | None = MAIL
) -> str | None:
    """Run the graph as a process of the recipe's user does; return what it has sent."""
    async with (
        AsyncSqliteSaver.from_conn_string(str(file)) as checkpointer,
        AsyncClient(served.url, served.token) as answerback,
    ):
        got = await inbox.run(inbox.graph_of(checkpointer), answerback, str(file), given)
    return None if got is None else str(got["sent"])


@pytest.mark.parametrize(
    ("answers", "sent"),
    [
        (["approve"], "Kim: Hello"),
        (["edit", {"to": "Ada", "text": "Hello"}], "Ada: Hello"),
        (["respond", "Call them."], "(not sent: Call them.)"),
        (["reject"], "(ignored)"),
    ],
)
async def test_people_give_the_responses_of_agent_inbox(
    inbox: ModuleType,
    served: Served,
    person: Person,
    tmp_path: Path,
    answers: list[JsonValue],
    sent: str,
) -> None:
    running = asyncio.create_task(run(inbox, served, tmp_path / "runs.db"))
    asked = await person.sees()
    assert asked.prompt is not None
    for text in ("send_mail", "text: Hello", "since **Monday**"):
        assert text in f"{asked.prompt['text']} {asked.prompt['context']}"
    await person.answers(*answers)
    assert await running == sent


async def test_a_reply_is_a_response_and_nothing_is_offered_that_the_graph_does_not_allow(
    inbox: ModuleType, served: Served, person: Person
) -> None:
    request: dict[str, Any] = {
        "action_request": {"action": "send_mail", "args": MAIL},
        "config": {"allow_accept": True, "allow_respond": True},
    }
    async with AsyncClient(served.url, served.token) as answerback:
        replying = asyncio.create_task(inbox.respond(answerback, "inbox-reply", request))
        asked = await person.sees()
        assert asked.prompt is not None
        options = asked.prompt["options"]
        assert isinstance(options, list)
        assert [one["value"] for one in options if isinstance(one, dict)] == ["approve", "respond"]
        await person.replies("Later.")
        assert await replying == {"type": "response", "args": "Later."}
        request["config"] = {"allow_accept": True}
        replying = asyncio.create_task(inbox.respond(answerback, "inbox-none", request))
        await person.replies("Later.")
        assert await replying is None


async def test_a_thread_waits_until_its_process_is_back_and_end_turn_leaves_it_so(
    inbox: ModuleType, served: Served, person: Person, tmp_path: Path
) -> None:
    running = asyncio.create_task(run(inbox, served, tmp_path / "runs.db"))
    asked = await person.sees()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await person.answers("approve")
    assert await run(inbox, served, tmp_path / "runs.db", None) == "Kim: Hello"
    assert not (await person.front.get(asked.id)).open

    text, _ = await asyncio.gather(
        run(inbox, served, tmp_path / "ended.db"), person.ends_the_turn()
    )
    assert text is None
