"""Late answers through `answerback bridge opencode`: a question outlives opencode, and its answer becomes a prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.ports.late_answers import LateAnswerQuery
from answerback_client import Answers, AsyncClient, UnreachableError
from answerback_client import Ask as Answered
from answerback_hosts.opencode import server as opencode_server
from tests.fakes.opencode import Opencode
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.agents.bridges.test_bridge_opencode import (
    PERMISSION,
    QUESTION,
    SESSION,
    bridging,
    ended,
    faked,
    next_answer,
)

YES = {"action": "answer", "value": "Yes"}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.fixture
async def opencode() -> AsyncIterator[Opencode]:
    async with faked(Opencode()) as made:
        yield made


async def asked(
    service: Served, opencode: Opencode, question: Json = QUESTION, number: int = 1
) -> Ask:
    """Let opencode ask its question of this number; returns the ask that the bridge waits for."""
    await opencode.ask(question)
    ask = await service.newest(number)
    await service.wait_for_waiters(ask)
    return ask


async def restarted(opencode: Opencode) -> None:
    """Restart opencode, and wait until the bridge has connected to it."""
    before = opencode.connections
    await opencode.stop()
    opencode.forget()
    await opencode.start()
    await opencode.connected(before + 1)


async def prompted(opencode: Opencode) -> str:
    """The text of the prompt that opencode accepted."""
    path, body = await next_answer(opencode)
    assert path == f"/session/{SESSION}/prompt_async"
    (part,) = body["parts"]
    assert part["type"] == "text"
    return str(part["text"])


async def wait_until_undelivered(service: Served, *ask_ids: str) -> None:
    """Wait until exactly these answers are undelivered."""
    query = LateAnswerQuery("", SESSION)
    async with asyncio.timeout(WAIT):
        while True:
            found = await service.running.service.store.late_answers.list_owed(query, 0)
            if [one.ask.id for one in found] == [*ask_ids]:
                return
            await asyncio.sleep(0.005)


def another_question() -> Json:
    """A second question of the same session."""
    tool = {**QUESTION["properties"]["tool"], "callID": "call_other"}
    return {**QUESTION, "properties": {**QUESTION["properties"], "id": "que_other", "tool": tool}}


def is_bridge(task: asyncio.Task[Any]) -> bool:
    """Return True if a task runs a bridge."""
    return "ServerBridge.run" in repr(task.get_coro())


@pytest.mark.rule("CONNECT-4", "LATE-6")
async def test_a_restarted_opencode_is_prompted_with_the_answer_once(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
        await restarted(opencode)
        await service.wait_for_waiters(ask, 0)
        await service.act(ask, **YES)
        text = await prompted(opencode)
        assert ask.id in text
        assert "Yes" in text
        await wait_until_undelivered(service)
    async with bridging(service, opencode):
        assert opencode.received.empty()


@pytest.mark.rule("CONNECT-4", "LATE-6")
async def test_what_is_answered_while_opencode_restarts_becomes_a_prompt(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
        await opencode.stop()
        opencode.forget()
        await service.act(ask, **YES)
        await service.wait_for_waiters(
            ask, 0
        )  # the bridge has the answer, and nobody to give it to
        await opencode.start()
        assert ask.id in await prompted(opencode)
        await wait_until_undelivered(service)


@pytest.mark.rule("CONNECT-4", "LATE-6")
async def test_a_bridge_that_ends_while_opencode_is_down_keeps_no_answer(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
        await opencode.stop()
        opencode.forget()
        await service.act(ask, **YES)
        await service.wait_for_waiters(ask, 0)
    await opencode.start()
    async with bridging(service, opencode):
        assert ask.id in await prompted(opencode)


@pytest.mark.rule("CONNECT-4", "LATE-6")
async def test_an_answer_that_opencode_takes_at_the_second_try_does_not_come_late(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
        await opencode.stop()
        await service.act(ask, **YES)
        await wait_until_undelivered(service, ask.id)
        await opencode.start()
        path, _ = await next_answer(opencode)
        assert path.endswith("/reply")
        await wait_until_undelivered(service)


@pytest.mark.rule("CONNECT-4", "LATE-6")
async def test_an_answer_that_arrives_while_the_bridge_stops_comes_late(
    service: Served, opencode: Opencode, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = AsyncClient.wait

    async def wait_and_stop(client: AsyncClient, ask_id: str) -> Answered:
        found = await wait(client, ask_id)
        running.cancel()
        return found

    async with bridging(service, opencode):
        monkeypatch.setattr(AsyncClient, "wait", wait_and_stop)
        (running,) = [task for task in asyncio.all_tasks() if is_bridge(task)]
        await opencode.ask(QUESTION)
        ask = await service.newest()
        await service.act(ask, **YES)
        await asyncio.wait([running])
    monkeypatch.undo()
    opencode.forget()
    async with bridging(service, opencode):
        assert ask.id in await prompted(opencode)


@pytest.mark.rule("CONNECT-4", "LATE-6")
async def test_each_late_answer_to_a_session_with_several_questions_becomes_a_prompt(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        first = await asked(service, opencode)
        second = await asked(service, opencode, another_question(), number=2)
        await restarted(opencode)
        for ask in (first, second):
            await service.wait_for_waiters(ask, 0)
        for ask in (first, second):
            await service.act(ask, **YES)
            assert ask.id in await prompted(opencode)


@pytest.mark.rule("CONNECT-4", "LATE-6")
async def test_late_answers_wait_for_a_service_that_restarts_while_the_bridge_catches_up(
    service: Served, opencode: Opencode, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
    opencode.forget()
    await service.act(ask, **YES)
    look_up, failures = AsyncClient.answers, iter(range(1))

    async def restarting(client: AsyncClient, *given: Any, **more: Any) -> Answers:
        for _ in failures:
            raise UnreachableError("Cannot reach Answerback.")
        return await look_up(client, *given, **more)

    monkeypatch.setattr(AsyncClient, "answers", restarting)
    async with bridging(service, opencode):
        assert ask.id in await prompted(opencode)


@pytest.mark.rule("CONNECT-4", "LATE-6")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_bridge_killed_with_its_opencode_prompts_it_when_both_are_back(
    service: Served, opencode: Opencode, when: str
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
    opencode.forget()
    if when == "before":
        await service.act(ask, **YES)
    opencode.listed.clear()
    async with bridging(service, opencode):
        if when == "after":
            await opencode.listed.wait()
            found = await service.running.service.store.asks.get(ask.id)
            assert found is not None
            assert found.status is Status.OPEN
            await service.act(ask, **YES)
        assert ask.id in await prompted(opencode)


@pytest.mark.rule("CONNECT-4")
@pytest.mark.parametrize("is_busy", [True, False])
async def test_permissions_and_requests_that_opencode_has_answers_to_are_withdrawn(
    service: Served, opencode: Opencode, is_busy: bool
) -> None:
    async with bridging(service, opencode):
        await opencode.ask(QUESTION if is_busy else PERMISSION)
        ask = await service.newest()
        await service.wait_for_waiters(ask)
        if is_busy:
            opencode.busy.add(SESSION)
        await restarted(opencode)
        await ended(service, ask, Status.WITHDRAWN)


@pytest.mark.rule("LATE-6")
async def test_answers_for_a_deleted_session_count_as_undelivered(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
        await restarted(opencode)
        await service.wait_for_waiters(ask, 0)
        opencode.delete(SESSION)
        await service.act(ask, **YES)
        async with asyncio.timeout(WAIT):
            while not opencode.refused:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.005)
    await wait_until_undelivered(service, ask.id)


async def answered_elsewhere(service: Served, opencode: Opencode, number: int) -> None:
    """Another session asks its question of this number, and gets the answer."""
    properties = {**QUESTION["properties"], "id": "que_other", "sessionID": "ses_other"}
    await opencode.ask({**QUESTION, "properties": properties})
    await service.act(await service.newest(number), **YES)
    path, _ = await next_answer(opencode)
    assert path == "/question/que_other/reply"


@pytest.mark.rule("CONNECT-4")
@pytest.mark.parametrize("bridge_lives", [True, False])
async def test_the_question_of_a_deleted_session_is_withdrawn_and_others_are_asked(
    service: Served, opencode: Opencode, bridge_lives: bool
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
        await opencode.stop()
        opencode.forget()
        opencode.delete(SESSION)
        if bridge_lives:
            await opencode.start()
            await ended(service, ask, Status.WITHDRAWN)
            await answered_elsewhere(service, opencode, 2)
    if not bridge_lives:
        await opencode.start()
        async with bridging(service, opencode):
            await ended(service, ask, Status.WITHDRAWN)
            await answered_elsewhere(service, opencode, 2)


@pytest.mark.rule("CONNECT-4")
async def test_an_answer_that_a_deleted_session_does_not_take_concerns_itself_alone(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
        opencode.forget()
        opencode.delete(SESSION)
        await service.act(ask, **YES)
        await answered_elsewhere(service, opencode, 2)
        await wait_until_undelivered(service)


@pytest.mark.rule("CONNECT-4", "LATE-6")
async def test_the_question_of_a_session_that_cannot_be_read_stays_open(
    service: Served, opencode: Opencode, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
    opencode.forget()
    opencode.inputs = {"plan": "x" * 100_000}
    monkeypatch.setattr(opencode_server, "MAX_LINE", 100_000)
    async with bridging(service, opencode):
        await answered_elsewhere(service, opencode, 2)
        await service.act(ask, **YES)
        assert ask.id in await prompted(opencode)


@pytest.mark.rule("ASK-8", "CONNECT-4")
@pytest.mark.parametrize("session", [SESSION, None])
async def test_people_are_asked_even_if_opencode_does_not_say_where_it_works(
    service: Served, opencode: Opencode, session: str | None
) -> None:
    opencode.folder = None
    opencode.failing_folders = 2
    properties = {**PERMISSION["properties"], "sessionID": session}
    async with bridging(service, opencode):
        await opencode.ask({**PERMISSION, "properties": properties})
        ask = await service.newest()
    assert ask.request.origin.folder is None
    assert opencode.failing_folders == (2 if session is None else 0)


@pytest.mark.rule("ASK-8", "CONNECT-4")
async def test_people_read_in_which_project_a_session_works(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        await opencode.ask(PERMISSION)
        origin = (await service.newest()).request.origin
    assert (origin.project, origin.folder, origin.session) == ("shop", opencode.folder, SESSION)


@pytest.mark.rule("CONNECT-4", "LATE-6")
@pytest.mark.parametrize("failures", [0, 1])
async def test_a_session_that_waits_for_an_answer_gets_a_late_one_after_it(
    service: Served, opencode: Opencode, failures: int
) -> None:
    opencode.failing_prompts = failures
    async with bridging(service, opencode):
        ask = await asked(service, opencode)
    opencode.forget()
    await service.act(ask, **YES)
    opencode.pending["question"]["que_other"] = {**QUESTION["properties"], "id": "que_other"}
    async with bridging(service, opencode):
        second = await service.newest(2)
        assert opencode.received.empty()
        await service.act(second, action="answer", value="No")
        path, _ = await next_answer(opencode)
        assert path == "/question/que_other/reply"
        assert ask.id in await prompted(opencode)
        await wait_until_undelivered(service)


@pytest.mark.rule("CONNECT-4", "LATE-6")
async def test_a_session_that_asks_once_all_is_caught_up_gets_nothing_but_its_answer(
    service: Served, opencode: Opencode
) -> None:
    async with bridging(service, opencode):
        async with asyncio.timeout(WAIT):
            await opencode.listed.wait()
        for number in (1, 2):
            request_id = f"que_{number}"
            properties = {**QUESTION["properties"], "id": request_id}
            await opencode.ask({**QUESTION, "properties": properties})
            await service.act(await service.newest(number), **YES)
            path, _ = await next_answer(opencode)
            assert request_id in path


@pytest.mark.rule("CONNECT-4")
async def test_what_opencode_answers_itself_before_its_folder_is_known_waits_for_nobody(
    service: Served, opencode: Opencode
) -> None:
    opencode.failing_folders = 10**6
    async with bridging(service, opencode):
        await opencode.ask(PERMISSION)
        async with asyncio.timeout(WAIT):
            while opencode.failing_folders == 10**6:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.005)
        asked = PERMISSION["properties"]
        replied = {"sessionID": SESSION, "requestID": asked["id"], "reply": "once"}
        await opencode.send({"id": "evt_2", "type": "permission.replied", "properties": replied})
        await ended(service, await service.newest(), Status.WITHDRAWN)
