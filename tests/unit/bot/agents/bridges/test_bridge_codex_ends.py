"""The end of `answerback bridge codex` or of Codex itself: approvals are withdrawn, questions stay open."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from answerback.core.ask import Status
from answerback_agents.bridges.ask_people import RequestAsker, is_needed_by_its_run
from answerback_client import AsyncClient
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.agents.bridges.test_bridge_codex import (
    COMMAND,
    ELICITATION,
    PERMISSIONS,
    QUESTION,
    THREAD,
    answer,
    run_bridge,
    withdrawn,
)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.mark.rule("CONNECT-5")
async def test_when_codex_ends_its_approvals_are_withdrawn_and_its_status_is_kept(
    service: Served,
) -> None:
    async with run_bridge(service, [COMMAND]) as talk:
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        talk.say({"method": "fake/end"})
        assert await talk.ended() == 3
    await withdrawn(service, ask.id)


async def test_a_bridge_ends_with_its_codex_even_if_the_service_is_down(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(served(tmp_path))
        async with run_bridge(service, [], COMMAND, PERMISSIONS) as talk:
            await stack.aclose()
            for number in (1, 2):
                talk.say({"id": number, "method": "thread/list", "params": {}})
                await talk.read()
            talk.say({"method": "fake/end"})
            assert await talk.ended() == 3


@pytest.mark.rule("CONNECT-5", "LATE-6")
async def test_when_codex_ends_its_question_stays_open_for_the_next_turn(service: Served) -> None:
    async with run_bridge(service, [QUESTION]) as talk:
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        talk.say({"method": "fake/end"})
        assert await talk.ended() == 3
    await service.act(ask, **answer("No"))
    taken: Json = {"id": 1, "result": {"turn": {"id": "turn-2"}}}
    async with run_bridge(service, [], taken) as talk:
        talk.say({"id": 1, "method": "turn/start", "params": {"threadId": THREAD, "input": []}})
        assert ask.id in str((await talk.read())["params"]["additionalContext"])


@pytest.mark.rule("CONNECT-5", "LATE-6")
@pytest.mark.parametrize("is_resolved", [False, True])
async def test_an_answer_that_codex_had_not_taken_when_it_ended_comes_with_the_next_turn(
    service: Served, is_resolved: bool
) -> None:
    resolved: Json = {
        "method": "serverRequest/resolved",
        "params": {"threadId": THREAD, "requestId": QUESTION["id"]},
    }
    async with run_bridge(service, [QUESTION], *[resolved] * is_resolved) as talk:
        ask = await service.newest()
        await service.act(ask, **answer("No"))
        assert (await talk.read())["id"] == QUESTION["id"]
        talk.say({"method": "fake/end"})
        assert await talk.ended() == 3
    taken: Json = {"id": 1, "result": {"turn": {"id": "turn-2"}}}
    async with run_bridge(service, [], taken) as talk:
        talk.say({"id": 1, "method": "turn/start", "params": {"threadId": THREAD, "input": []}})
        context = str((await talk.read())["params"].get("additionalContext"))
        assert (ask.id in context) is not is_resolved


@pytest.mark.rule("CONNECT-5")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_bridge_that_is_stopped_withdraws_only_its_approvals(
    service: Served, number: signal.Signals
) -> None:
    async with run_bridge(service, [QUESTION, COMMAND, PERMISSIONS, ELICITATION]) as talk:
        await service.newest(4)
        asks = (await service.running.service.store.asks.page()).rows
        for ask in asks:
            await service.wait_for_waiters(ask)
        talk.child.send_signal(number)
        assert await talk.ended() == 128 + number
    for ask in asks:
        if ask.request.dialect != "codex":
            await withdrawn(service, ask.id)
    assert await open_asks(service) == [ask.id for ask in asks if ask.request.dialect == "codex"]


@pytest.mark.rule("CONNECT-5")
async def test_the_next_bridge_withdraws_the_approvals_of_a_killed_one(
    service: Served,
) -> None:
    async with run_bridge(service, [QUESTION, COMMAND, PERMISSIONS, ELICITATION]) as killed:
        await service.newest(4)
        asks = (await service.running.service.store.asks.page()).rows
        killed.child.kill()
        await killed.ended()
    assert len(await open_asks(service)) == 4
    async with run_bridge(service, [COMMAND]) as alive:
        mine = await service.newest(5)
        question = next(ask for ask in asks if ask.request.dialect == "codex")
        assert await open_asks(service) == [mine.id, question.id]
        async with run_bridge(service, []):
            assert await open_asks(service) == [mine.id, question.id]
        await service.act(mine, **answer("accept"))
        assert (await alive.read())["result"] == {"decision": "accept"}


async def test_the_approval_of_another_users_process_is_left_alone(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_process: int, _number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    call = {"name": COMMAND["method"], "arguments": COMMAND["params"], "to": "web"}
    source: Json = {"bridge": "codex", "host": "here"}
    async with AsyncClient(service.url) as client:
        metadata = {**source, "request": "1", "process": 1}
        asked = await client.submit_body({**call, "metadata": metadata})
        await RequestAsker(client, source, None).withdraw_stale_asks([], is_needed_by_its_run)
        assert (await client.get(asked.id)).open
        monkeypatch.undo()
        metadata["process"] = 2**40
        over = await client.submit_body({**call, "metadata": metadata})
        await RequestAsker(client, source, None).withdraw_stale_asks([], is_needed_by_its_run)
        assert await open_asks(service) == [asked.id]
        assert (await client.get(over.id)).status == "withdrawn"


async def open_asks(service: Served) -> list[str]:
    """The ids of the open asks, newest first."""
    rows = (await service.running.service.store.asks.page(status=Status.OPEN)).rows
    return [ask.id for ask in rows]
