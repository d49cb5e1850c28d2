"""Late answers through `answerback bridge codex`: Codex gets them once, with its next turn, even after a kill."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from answerback_agents.bridges.late_answers import LateAnswerSource
from answerback_client import AsyncClient
from tests.recipes.receiving import listening
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.agents.bridges.test_bridge_codex import (
    QUESTION,
    THREAD,
    Talk,
    answer,
    run_bridge,
)

TAKEN: Json = {"id": 1, "result": {"turn": {"id": "turn-2"}}}
REFUSED: Json = {"id": 1, "error": {"code": -32600, "message": "There is no such thread."}}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def turn(talk: Talk, thread: str = THREAD, method: str = "turn/start", **more: Any) -> Json:
    """The additional context of a turn."""
    given = [{"type": "text", "text": "Go on"}]
    params = {"threadId": thread, "input": given, **more}
    talk.say({"id": 1, "method": method, "params": params})
    read = await talk.read()
    assert (read["id"], read["method"]) == (1, method)
    assert read["params"].items() >= {"threadId": thread, "input": given}.items()
    context: Json = read["params"].get("additionalContext", {})
    return context


async def killed(service: Served) -> str:
    """Let a bridge ask and kill it before the answer; returns the ask's id."""
    async with run_bridge(service, [QUESTION]) as talk:
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        talk.child.kill()
        await talk.ended()
    await service.act(ask, **answer("No"))
    return ask.id


@pytest.mark.rule("CONNECT-5", "LATE-6")
async def test_the_bridge_after_a_killed_one_delivers_the_answer_once_with_the_next_turn(
    service: Served,
) -> None:
    ask_id = await killed(service)
    async with run_bridge(service, [], TAKEN, TAKEN, TAKEN) as talk:
        assert await turn(talk, "another-thread") == {}
        assert await talk.receive() == TAKEN
        late_context = (await turn(talk))["answerback"]
        assert late_context["kind"] == "application"
        assert ask_id in late_context["value"]
        assert "No" in late_context["value"]
        assert await talk.receive() == TAKEN
        assert await turn(talk) == {}


@pytest.mark.rule("CONNECT-5", "LATE-6")
async def test_an_answer_that_codex_refused_is_delivered_again(service: Served) -> None:
    ask_id = await killed(service)
    async with run_bridge(service, [], REFUSED, TAKEN) as talk:
        assert ask_id in str(await turn(talk))
        assert await talk.receive() == REFUSED
        assert ask_id in str(await turn(talk))


@pytest.mark.rule("CONNECT-5", "LATE-6")
async def test_an_answer_is_delivered_again_if_the_bridge_is_killed_before_codex_accepts_it(
    service: Served,
) -> None:
    ask_id = await killed(service)
    async with run_bridge(service, []) as talk:
        assert ask_id in str(await turn(talk))
        talk.child.kill()
        await talk.ended()
    async with run_bridge(service, []) as talk:
        assert ask_id in str(await turn(talk))
        talk.say({"method": "fake/end"})
        assert await talk.ended() == 3
    async with run_bridge(service, [], TAKEN) as talk:
        own = {"editor": {"kind": "untrusted", "value": "The open file."}}
        late_context = await turn(talk, method="turn/steer", additionalContext=own)
        assert late_context["editor"] == own["editor"]
        assert ask_id in str(late_context["answerback"])


async def test_a_turn_continues_without_the_service(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(served(tmp_path))
        async with run_bridge(service, []) as talk:
            await stack.aclose()
            assert await turn(talk) == {}


async def test_a_service_that_refuses_does_not_hold_up_a_turn() -> None:
    # It does not have that route.
    async with listening(web.Application()) as url, AsyncClient(url) as client:
        assert await LateAnswerSource(client).fetch(THREAD) is None
