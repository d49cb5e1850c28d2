"""`answerback acp` with an editor, a scripted agent and a real service: the first answer counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.ask import Status
from answerback.runtime.config import ServerSettings
from tests.ports import free_port
from tests.service_support import WAIT
from tests.unit.bot.acp_support import (
    AGENT,
    INITIALIZE,
    Editor,
    elicitation,
    notice,
    permission,
    run_editor,
    selected,
    withdrawn,
)
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import END, REPLY, value


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.fixture
async def editor(service: Served) -> AsyncIterator[Editor]:
    async with run_editor(service.url) as made:
        yield made


async def ended(service: Served, ask_id: str) -> Status:
    """Wait until an ask has ended."""
    with service.running.service.signals.follow(ask_id) as follower:
        async with asyncio.timeout(WAIT):
            while True:
                found = await service.running.service.store.asks.get(ask_id)
                assert found is not None
                if found.status is not Status.OPEN:
                    return found.status
                await follower.next_commit()


@pytest.mark.rule("ACP-2", "URGENCY-1")
@pytest.mark.parametrize(
    ("action", "option"), [(value("yes"), "yes"), (value("no"), "no"), (REPLY, "no")]
)
async def test_an_answer_in_the_thread_counts_and_the_editor_is_notified(
    service: Served, editor: Editor, action: Json, option: str
) -> None:
    await editor.prompt(permission())
    assert await editor.next() == permission()
    ask = await service.newest()
    assert (ask.request.conversation, ask.request.urgency) == ("s1", "high")
    await service.act(ask, **action)
    received = [
        await editor.next(),
        await editor.next(),
    ]  # the agent's echo, and the notification to the editor
    assert withdrawn() in received
    received.remove(withdrawn())
    assert '"optionId": "' + option in received[0]["params"]["line"]
    await editor.send(selected("no" if option == "yes" else "yes"))  # too late: dropped
    await editor.send(notice("_after"))
    assert await editor.agent_received() == notice("_after")


@pytest.mark.rule("ACP-2", "CONNECT-3")
async def test_an_answer_in_the_editor_counts_and_the_ask_is_withdrawn(
    service: Served, editor: Editor
) -> None:
    await editor.prompt(permission("x"))
    assert await editor.next() == permission("x")
    ask = await service.newest()
    await editor.send(selected("yes", "x"))
    assert await editor.agent_received() == selected("yes", "x")
    assert await ended(service, ask.id) is Status.WITHDRAWN
    await editor.send(notice("_after"))
    assert await editor.agent_received() == notice("_after")


@pytest.mark.rule("ACP-2")
async def test_a_reused_request_id_is_a_new_request(service: Served, editor: Editor) -> None:
    await editor.prompt(permission())
    await editor.next()
    await service.act(await service.newest(), **value("no"))
    await editor.next()
    await editor.next()
    await editor.prompt(permission())
    await editor.next()
    await service.newest(2)
    await editor.send(selected("yes"))  # to the first request, too late
    await editor.send(selected("no"))
    assert await editor.agent_received() == selected("no")


@pytest.mark.rule("ACP-3")
async def test_cancelling_a_session_in_the_editor_withdraws_its_asks(
    service: Served, editor: Editor
) -> None:
    await editor.send(INITIALIZE)
    await editor.agent_received()
    await editor.prompt(permission(), permission(9, "s2"), elicitation())
    assert [await editor.next(), await editor.next()] == [permission(), permission(9, "s2")]
    await service.newest(3)
    rows = (await service.running.service.store.asks.page(limit=5)).rows
    mine = [ask for ask in rows if ask.request.conversation == "s1"]
    await editor.send(notice("session/cancel", sessionId="s1"))
    assert await editor.agent_received() == notice("session/cancel", sessionId="s1")
    assert await editor.agent_received() == {
        "jsonrpc": "2.0",
        "id": 8,
        "result": {"action": "cancel"},
    }
    assert [await ended(service, ask.id) for ask in mine] == [Status.WITHDRAWN] * 2
    [other] = [ask for ask in rows if ask.request.conversation == "s2"]
    found = await service.running.service.store.asks.get(other.id)
    assert found is not None
    assert found.status is Status.OPEN


@pytest.mark.rule("ACP-3")
async def test_end_turn_cancels_the_request_and_interrupts_the_agent(
    service: Served, editor: Editor
) -> None:
    await editor.prompt(permission())
    await editor.next()
    ask = await service.newest()
    await editor.prompt(permission(9))
    await editor.next()
    other = await service.newest(2)
    await service.act(ask, **END)
    received = [await editor.next() for _ in range(5)]
    lines = [each["params"]["line"] for each in received if each["method"] == "_heard"]
    assert ['"id": 7' in lines[0], "session/cancel" in lines[1], '"id": 9' in lines[2]] == [
        True
    ] * 3
    assert '"outcome": "cancelled"' in lines[0]
    assert '"outcome": "cancelled"' in lines[2]
    assert [withdrawn() in received, withdrawn(9) in received] == [True, True]
    assert await ended(service, other.id) is Status.WITHDRAWN


@pytest.mark.rule("ACP-3")
async def test_a_request_that_the_agent_cancels_is_withdrawn(
    service: Served, editor: Editor
) -> None:
    await editor.prompt(permission(), elicitation())
    assert await editor.next() == permission()
    await service.newest(2)
    rows = (await service.running.service.store.asks.page(limit=5)).rows
    await editor.prompt(withdrawn(7), withdrawn(8))
    assert [await editor.next(), await editor.next()] == [withdrawn(7), withdrawn(8)]
    assert await editor.agent_received() == {
        "jsonrpc": "2.0",
        "id": 8,
        "result": {"action": "cancel"},
    }
    assert [await ended(service, ask.id) for ask in rows] == [Status.WITHDRAWN] * 2


@pytest.mark.rule("ACP-4")
async def test_an_agent_can_elicit_even_if_the_editor_cannot(
    service: Served, editor: Editor
) -> None:
    await editor.send(INITIALIZE)
    modes: Json = {"form": {}, "url": {}}
    assert (await editor.agent_received())["params"]["clientCapabilities"] == {"elicitation": modes}
    await editor.prompt(elicitation())
    ask = await service.newest()
    await service.act(ask, **value({"port": 8443}))
    result = {"action": "accept", "content": {"port": 8443}}
    assert await editor.agent_received() == {"jsonrpc": "2.0", "id": 8, "result": result}


@pytest.mark.rule("ACP-4")
async def test_an_editor_that_supports_elicitation_shows_the_question_too(
    service: Served, editor: Editor
) -> None:
    able: Json = {"clientCapabilities": {"elicitation": {"form": {}, "url": {}}, "fs": {}}}
    initialize = {**INITIALIZE, "params": {**able, "protocolVersion": 1}}
    await editor.send(initialize)
    assert await editor.agent_received() == initialize
    await editor.prompt(elicitation())
    assert await editor.next() == elicitation()
    ask = await service.newest()
    answer = {"jsonrpc": "2.0", "id": 8, "result": {"action": "decline"}}
    await editor.send(answer)
    assert await editor.agent_received() == answer
    assert await ended(service, ask.id) is Status.WITHDRAWN


@pytest.mark.rule("ACP-2")
async def test_an_error_from_the_editor_is_not_an_answer(service: Served, editor: Editor) -> None:
    await editor.prompt(permission())
    await editor.next()
    ask = await service.newest()
    await editor.send({"id": 7, "error": {"code": -32601, "message": "Method not found"}})
    await editor.send(notice("_after"))
    assert await editor.agent_received() == notice("_after")
    await service.act(ask, **value("yes"))
    assert await editor.agent_received() == selected("yes")
    await editor.prompt(permission(10))
    await editor.next()
    ask = await service.newest(2)
    error = {"id": 10, "error": {"code": -32603, "message": "Internal error"}}
    await editor.send(error)
    await editor.send(notice("_after"))
    assert await editor.agent_received() == notice("_after")
    async with service.http.delete(f"{service.url}/v1/asks/{ask.id}") as response:
        assert response.status == 200
    assert await editor.agent_received() == error


@pytest.mark.rule("ACP-1")
async def test_people_see_what_the_agent_reported_earlier_about_the_tool_call(
    service: Served, editor: Editor
) -> None:
    call = {"toolCallId": "call_1", "title": "Run make", "rawInput": {"command": "make deploy"}}
    update = {"sessionUpdate": "tool_call", "status": "pending", **call}
    kind = {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "kind": "execute"}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "call_2", "status": "completed"}
    updates = [
        notice("session/update", sessionId="s1", update=each)
        for each in (update, kind, {**update, "toolCallId": "call_2"}, done)
    ]
    only_id = {"toolCallId": "call_1", "title": None}
    versions = [
        permission(1, toolCall=only_id),
        permission(
            2, toolCall=None, title="Run?", subject={"type": "tool_call", "toolCall": only_id}
        ),
        permission(3, toolCall={"toolCallId": "call_2"}),
    ]
    await editor.prompt(*updates)
    assert [await editor.next() for _ in updates] == updates
    for count, request in enumerate(versions, 1):
        await editor.prompt(request)
        assert await editor.next() == request
        ask = await service.newest(count)
        context = ask.form.questions[0].context or ""
        assert ("make deploy" in context) is (count < 3)


@pytest.mark.rule("ACP-5")
async def test_an_answer_after_a_restart_of_the_service_counts(tmp_path: Path) -> None:
    port = free_port()
    async with served(tmp_path, server=ServerSettings(port=port)) as service:
        url = service.url
    async with run_editor(url) as editor:
        async with served(tmp_path, server=ServerSettings(port=port)) as service:
            await editor.prompt(permission(), permission(9))
            assert [await editor.next(), await editor.next()] == [permission(), permission(9)]
            await service.newest(2)
            first, second = (await service.running.service.store.asks.page(limit=5)).rows
            for ask in (first, second):
                await service.wait_for_waiters(ask)
        mine, theirs = (7, 9)
        await editor.send(selected("yes", theirs))
        assert await editor.agent_received() == selected("yes", theirs)
        async with served(tmp_path, server=ServerSettings(port=port)) as service:
            statuses: dict[str, Status] = {}
            async with asyncio.timeout(WAIT):
                while Status.WITHDRAWN not in statuses.values():
                    rows = (await service.running.service.store.asks.page(limit=5)).rows
                    statuses = {ask.id: ask.status for ask in rows}
                    await asyncio.sleep(0.01)
            [open_id] = [ask_id for ask_id, status in statuses.items() if status is Status.OPEN]
            left = await service.running.service.store.asks.get(open_id)
            assert left is not None
            await service.act(left, **value("no"))
            received = [await editor.next(), await editor.next()]
            assert withdrawn(mine) in received


@pytest.mark.rule("ACP-5")
async def test_open_asks_are_withdrawn_when_the_agent_ends(service: Served, editor: Editor) -> None:
    await editor.prompt(permission(), elicitation())
    await editor.next()
    await service.newest(2)
    await editor.send(notice("_exit", status=3))
    assert await editor.end() == (b"", "")
    assert editor.process.returncode == 3
    for ask in (await service.running.service.store.asks.page(limit=5)).rows:
        assert ask.status is Status.WITHDRAWN


@pytest.mark.rule("ACP-2")
async def test_of_two_simultaneous_answers_the_agent_gets_one(
    service: Served, editor: Editor
) -> None:
    ids = list(range(100, 110))
    answered_ids: list[int] = []

    async def until(message: Json) -> None:
        while (received := await editor.next()) != message:
            if received["method"] == "_heard":
                answered_ids.append(json.loads(received["params"]["line"])["id"])

    for count, request_id in enumerate(ids, 1):
        await editor.prompt(permission(request_id))
        await until(permission(request_id))
        ask = await service.newest(count)
        action = asyncio.create_task(_act_if_open(service, ask.id))
        await editor.send(selected("no", request_id))
        await action
    await editor.send(notice("_after"))
    await until(_heard(notice("_after")))
    assert answered_ids == ids


def _heard(message: Json) -> Json:
    return {"method": "_heard", "params": {"line": json.dumps(message) + "\n"}}


async def _act_if_open(service: Served, ask_id: str) -> None:
    """Act on an ask that may already have ended."""
    path = f"{service.url}/v1/asks/{ask_id}/actions"
    async with service.http.post(path, json=value("yes"), headers=service.acting) as response:
        assert response.status < 500


@pytest.mark.rule("ASK-8", "ACP-2")
@pytest.mark.parametrize("is_new", [True, False])
async def test_people_read_in_which_project_a_session_works(
    service: Served, editor: Editor, is_new: bool
) -> None:
    started: Json = {"id": 5, "method": "session/new", "params": {"cwd": "/srv/shop"}}
    loaded: Json = {
        "id": 5,
        "method": "session/load",
        "params": {"cwd": "/srv/shop", "sessionId": "s1"},
    }
    await editor.send(started if is_new else loaded)
    await editor.agent_received()
    response: Json = {"id": 5, "result": {"sessionId": "s1"} if is_new else {}}
    await editor.prompt(response, permission())
    assert await editor.next() == response
    origin = (await service.newest()).request.origin
    assert (origin.project, origin.folder, origin.session) == ("shop", "/srv/shop", "s1")


@pytest.mark.rule("ACP-8")
async def test_what_a_person_replies_goes_with_the_editors_next_prompt(
    service: Served, editor: Editor
) -> None:
    """The case "acp-reply-words-lost": the answer to a permission request has no place for words."""
    for request_id, session in ((7, "s1"), (8, "s2")):
        await editor.prompt(permission(request_id, session))
        assert (await editor.next())["id"] == request_id
        ask = await service.newest(request_id - 6)
        await service.act(ask, **{**REPLY, "text": f"Zig, on {session}"})
        received = [await editor.next(), await editor.next()]
        assert selected("no", request_id) in [
            json.loads(each["params"]["line"]) for each in received if each["method"] == "_heard"
        ]
    block = {"type": "text", "text": "Go on"}
    expected = {"type": "text", "text": 'The user was asked "Run make" and replied: Zig, on s1'}
    for blocks in ([expected, block], [block]):
        params = {"sessionId": "s1", "prompt": [block], "say": []}
        await editor.send({"id": 9, "method": "session/prompt", "params": params})
        prompted = await editor.next()
        assert (prompted["method"], prompted["params"]["prompt"]) == ("_prompted", blocks)


@pytest.mark.rule("APPROVAL-13")
async def test_words_with_a_decision_go_with_the_next_prompt(
    service: Served, editor: Editor
) -> None:
    await editor.prompt(permission())
    assert (await editor.next())["id"] == 7
    await service.act(await service.newest(), action="answer", value="yes", note="On staging.")
    received = [await editor.next(), await editor.next()]
    assert selected("yes") in [
        json.loads(each["params"]["line"]) for each in received if each["method"] == "_heard"
    ]
    block = {"type": "text", "text": "Go on"}
    text = 'The user was asked "Run make", decided, and said: On staging.'
    for blocks in ([{"type": "text", "text": text}, block], [block]):
        params = {"sessionId": "s1", "prompt": [block], "say": []}
        await editor.send({"id": 9, "method": "session/prompt", "params": params})
        assert (await editor.next())["params"]["prompt"] == blocks


@pytest.mark.rule("ACP-7")
async def test_arguments_that_follow_the_request_at_once_are_shown(
    service: Served, editor: Editor
) -> None:
    tool_call = {"toolCallId": "call_1", "title": "shop_drop_rows", "rawInput": {}}
    update = {**tool_call, "sessionUpdate": "tool_call_update", "rawInput": {"table": "orders"}}
    await editor.prompt(
        permission(toolCall=tool_call), notice("session/update", sessionId="s1", update=update)
    )
    ask = await service.newest()
    assert ask.question is not None
    assert not ask.question.nothing_known
    assert ask.question.text == "Use shop_drop_rows: orders"


@pytest.mark.rule("ASK-8", "ACP-7")
@pytest.mark.parametrize(
    ("announced", "label"),
    [
        ({"agentInfo": {"name": "Kimi Code CLI", "version": "1"}}, "Kimi Code"),
        ({"agentInfo": {"name": "@agentclientprotocol/claude-agent-acp"}}, "Claude Code"),
        ({"info": {"name": "opencode"}}, "opencode"),
        ({"agentInfo": {"name": "another"}}, "Assistant"),
        ({}, "Assistant"),
    ],
)
async def test_people_read_which_agent_asks(
    service: Served, editor: Editor, announced: Json, label: str
) -> None:
    result = {"protocolVersion": 1, "agentCapabilities": {}, **announced}
    await editor.prompt({"jsonrpc": "2.0", "id": 0, "result": result}, permission())
    ask = await service.newest()
    assert ask.request.origin.label(None, ask.request.prompt_label) == label


@pytest.mark.rule("ASK-8")
async def test_an_agent_that_does_not_say_its_name_has_that_of_its_command(
    service: Served, tmp_path: Path
) -> None:
    kimi = tmp_path / "kimi"
    kimi.symlink_to(AGENT[0])
    async with run_editor(service.url, str(kimi), *AGENT[1:]) as editor:
        await editor.prompt(permission())
        assert (await service.newest()).request.origin.host == "Kimi Code"
