"""The gateway of `answerback mcp-proxy` and the tasks of a server: what they ask goes to people, too."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from answerback_agents.pipe.ask_people import Asking, AskOutcome, Call
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json
from tests.unit.bot.agents.mcp_proxy.test_mcp_proxy_parts import Parts, answering
from tests.unit.bot.mcp_proxy_support import request, response

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
ASKED = {"method": "elicitation/create", "params": {"message": "Sure?"}}
ROOTS = {"method": "roots/list"}
ACCEPTED = {"action": "accept", "content": {}}
YES = {
    "id": "ask_1",
    "status": "answered",
    "source": "human",
    "tool_result": {"structured": ACCEPTED},
}


def poll(number: int) -> Json:
    """A client's request for the state of a task."""
    return request("tasks/get", number, taskId="t", _meta={**META, "progressToken": 1})


def waiting(number: int, **requests: Json) -> Json:
    """The state of a task that requires input."""
    return response(
        number,
        resultType="complete",
        taskId="t",
        status="input_required",
        inputRequests=requests,
    )


@pytest.mark.rule("GATEWAY-6")
def test_people_answer_once_what_a_task_asks_in_its_state(tmp_path: Path) -> None:
    asked: list[Call] = []

    def ask(_asking: Asking, call: Call) -> AskOutcome:
        asked.append(call)
        return AskOutcome(YES, "")

    parts = Parts(tmp_path, ask=ask)
    parts.client_says(poll(1))
    parts.got_one.clear()
    parts.server_says(waiting(1, a=ASKED, b=ROOTS))
    assert parts.client.lines(1) == [waiting(1, b=ROOTS)]
    assert parts.got_one.wait(WAIT)
    [call] = asked
    assert call.arguments["message"] == "The server github asks: Sure?"
    [_, update] = parts.sent
    assert update["method"] == "tasks/update"
    assert update["params"] == {"taskId": "t", "inputResponses": {"a": ACCEPTED}, "_meta": META}
    parts.server_says(response(update["id"], resultType="complete"))
    parts.client_says(poll(2))
    parts.server_says(waiting(2, a=ASKED))
    assert parts.client.lines(2)[1] == waiting(2)
    assert len(asked) == 1
    assert parts.warnings == []


@pytest.mark.rule("GATEWAY-6")
def test_what_a_task_announces_that_it_asks_reaches_no_client(tmp_path: Path) -> None:
    parts = Parts(tmp_path, ask=answering(lambda: AskOutcome(YES, "")))
    announced: Json = {"jsonrpc": "2.0", "method": "notifications/tasks"}
    parts.server_says({**announced, "params": {"taskId": "t", "inputRequests": {"a": ASKED}}})
    assert parts.client.lines(1) == [{**announced, "params": {"taskId": "t", "inputRequests": {}}}]
    assert parts.sent == []


@pytest.mark.rule("GATEWAY-6")
def test_what_a_cancelled_task_asks_is_withdrawn(tmp_path: Path) -> None:
    withdrawn, opened_one = threading.Event(), threading.Event()

    def ask(asking: Asking, _call: Call) -> AskOutcome:
        asking.ask_id = "ask_1"
        opened_one.set()
        assert withdrawn.wait(WAIT)
        return AskOutcome(None, "withdrawn")

    parts = Parts(tmp_path, ask=ask, withdraw_in_background=lambda _: withdrawn.set())
    parts.client_says(poll(1))
    parts.server_says(waiting(1, a=ASKED))
    assert opened_one.wait(WAIT)
    parts.client_says(request("tasks/cancel", 2, taskId="t"))
    assert withdrawn.wait(WAIT)
    assert [each["method"] for each in parts.sent] == ["tasks/get", "tasks/cancel"]


@pytest.mark.rule("GATEWAY-6")
def test_a_server_that_takes_no_answers_for_its_task_is_reported(tmp_path: Path) -> None:
    parts = Parts(tmp_path, ask=answering(lambda: AskOutcome(YES, "")))
    parts.client_says(request("tasks/get", 1, taskId="t"))
    parts.got_one.clear()
    parts.server_says(waiting(1, a=ASKED))
    assert parts.got_one.wait(WAIT)
    update = parts.sent[-1]
    assert update["params"] == {"taskId": "t", "inputResponses": {"a": ACCEPTED}}
    error = {"code": -32601, "message": "no such method"}
    parts.server_says({"jsonrpc": "2.0", "id": update["id"], "error": error})
    assert parts.warnings == ["github does not take what people have answered."]
    assert len(parts.client.lines(1)) == 1


@pytest.mark.rule("GATEWAY-6")
def test_the_client_gives_a_task_only_what_it_was_shown(tmp_path: Path) -> None:
    def update(number: int, *keys: str, task: str = "t") -> Json:
        given: Json = {key: {"roots": []} for key in keys}
        return request("tasks/update", number, taskId=task, inputResponses=given)

    parts = Parts(tmp_path, ask=answering(lambda: AskOutcome(YES, "")))
    parts.client_says(poll(1))
    parts.got_one.clear()
    parts.server_says(waiting(1, a=ASKED, b=ROOTS))
    assert parts.got_one.wait(WAIT)
    announced: Json = {"jsonrpc": "2.0", "method": "notifications/tasks"}
    parts.server_says({**announced, "params": {"taskId": "u", "inputRequests": {"c": ROOTS}}})
    parts.client_says(update(2, "a"), update(3, "a", "b"), update(4, "b", task="u"))
    refused = parts.client.lines(5)[2:]
    assert [(each["id"], each["error"]["code"]) for each in refused] == [
        (2, -32602),
        (3, -32602),
        (4, -32602),
    ]
    count = len(parts.sent)
    parts.client_says(update(5, "b"), update(6, "c", task="u"))
    assert [each["id"] for each in parts.sent[count:]] == [5, 6]
