"""`answerback acp` and odd messages, services and answers: whatever comes, an elicitation is answered."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from answerback_agents.acp import messages, proxy
from answerback_agents.cli import piped_program
from answerback_agents.pipe import json_rpc
from answerback_agents.pipe.ask_people import AskClient, Call
from answerback_agents.pipe.lines import LineTooLongError, LineWriter, read_lines
from answerback_agents.pipe.origins import MAX_FOLDERS
from answerback_client.blocking_connection import BlockingConnection, Response
from answerback_client.errors import ForeignServiceError, UnreachableError
from tests.service_support import WAIT
from tests.unit.bot.acp_support import INITIALIZE, elicitation, notice, permission, selected
from tests.unit.bot.agent_support import Json
from tests.unit.bot.agents.acp.test_acp_lines import AWAY, Parts, line

CANCELLED: Json = {"jsonrpc": "2.0", "id": 8, "result": {"action": "cancel"}}
ENDED: Json = {"id": "ask_1", "status": "answered", "source": "human", "tool_result": None}
RESULT: Json = {"is_error": False, "content": "", "structured": {"action": "accept"}}


def saying(answer: Any) -> AskClient:
    """A client of a service that answers every call with the same JSON."""

    class Says(BlockingConnection):
        def call(self, *_: object, **__: object) -> Response:
            return Response(200, answer)

    return AskClient(Says(AWAY))


@pytest.mark.rule("ACP-6")
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"id": "ask_1"},
        {"id": 7, "status": "answered"},
        {"id": "ask_1", "status": []},
        {"id": "ask_1", "status": "bewitched"},
        {**ENDED, "tool_result": "yes"},
        {**ENDED, "tool_result": {"structured": {"action": "accept"}}},
        {**ENDED, "tool_result": {**RESULT, "structured": "accept"}},
        {**ENDED, "tool_result": RESULT, "source": "default"},
        {**ENDED, "tool_result": RESULT, "source": None},
    ],
)
def test_an_elicitation_is_answered_whatever_the_service_says(answer: Any) -> None:
    parts = Parts(saying(answer))
    parts.proxy.relay_from_agent([line(elicitation())])
    assert parts.agent.lines(1) == [CANCELLED]


@pytest.mark.rule("ACP-6")
def test_a_persons_answer_is_passed_on() -> None:
    parts = Parts(saying({**ENDED, "tool_result": RESULT}))
    parts.proxy.relay_from_agent([line(elicitation())])
    assert parts.agent.lines(1) == [{"jsonrpc": "2.0", "id": 8, "result": {"action": "accept"}}]


@pytest.mark.rule("ACP-6")
def test_a_permission_from_the_configuration_is_left_to_the_editor() -> None:
    allowed = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    fixed = {**ENDED, "source": "config", "tool_result": {**RESULT, "structured": allowed}}
    parts = Parts(saying(fixed))
    parts.proxy.relay_from_agent([line(permission())])
    parts.join()
    assert parts.agent.getvalue() == b""
    parts.proxy.relay_from_editor([line(selected("no"))])
    assert parts.agent.lines(1) == [selected("no")]


@pytest.mark.rule("ACP-6")
def test_an_unforeseen_error_still_answers_the_agent() -> None:
    class Breaks(BlockingConnection):
        def call(self, *_: object, **__: object) -> Response:
            raise KeyError("id")

    parts = Parts(AskClient(Breaks(AWAY)))
    parts.proxy.relay_from_agent([line(elicitation())])
    assert parts.agent.lines(1) == [CANCELLED]
    assert parts.has_warned.wait(WAIT)
    assert "KeyError" in parts.warned[0]


@pytest.mark.rule("ACP-6")
@pytest.mark.parametrize(
    "error", [UnreachableError("It is away."), ForeignServiceError("It is not Answerback.")]
)
def test_a_service_that_goes_while_people_think_leaves_the_decision_to_the_editor(
    error: Exception,
) -> None:
    class Goes(BlockingConnection):
        def call(self, method: str, path: str, *_: object, **__: object) -> Response:
            if (method, path) != ("POST", "/v1/asks"):
                raise error
            return Response(201, {"id": "ask_1", "status": "open"})

    parts = Parts(AskClient(Goes(AWAY)))
    parts.proxy.relay_from_agent([line(elicitation())])
    assert parts.agent.lines(1) == [CANCELLED]
    assert parts.has_warned.wait(WAIT)
    assert str(error) in parts.warned[0]


ODD: list[Json] = [
    elicitation(mode=[]),
    elicitation(mode={}, requestedSchema=7, sessionId=[]),
    elicitation(sessionId={"a": 1}, toolCallId=[]),
    permission(toolCall="x", subject={"toolCall": []}),
    permission(toolCall=None, subject=7, sessionId=None),
    {**permission(), "params": []},
    {**elicitation(), "params": None, "id": {}},
    notice("session/update", update=[], sessionId=[]),
    notice("session/update", update={"sessionUpdate": [], "status": {}}),
    notice("session/update", update={"sessionUpdate": "tool_call", "toolCallId": {}}),
    notice("$/cancel_request", requestId=[]),
    {"jsonrpc": "2.0", "method": ["session/request_permission"], "id": 1},
]


@pytest.mark.rule("ACP-6")
@pytest.mark.parametrize("odd", ODD)
def test_no_message_stops_the_relay(odd: Json) -> None:
    parts = Parts(saying({**ENDED, "tool_result": RESULT}))
    parts.proxy.relay_from_agent([line(odd), line(elicitation(request_id="last"))])
    answers = {"jsonrpc": "2.0", "id": "last", "result": {"action": "accept"}}
    parts.join()
    assert answers in [json.loads(each) for each in parts.agent.getvalue().splitlines()]


@pytest.mark.rule("ACP-6")
@pytest.mark.parametrize(
    "params", [[], {"clientCapabilities": "x"}, {"protocolVersion": 2, "capabilities": 7}]
)
def test_odd_capabilities_are_replaced_by_ours(params: Any) -> None:
    parts = Parts(AskClient(BlockingConnection(AWAY)))
    parts.proxy.relay_from_editor([line({**INITIALIZE, "params": params})])
    [sent] = parts.agent.lines(1)
    assert "elicitation" in json.dumps(sent)


def test_only_the_latest_tool_calls_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "_MAX_TOOL_CALLS", 2)
    parts = Parts(AskClient(BlockingConnection(AWAY)))
    updates = [{"sessionUpdate": "tool_call", "toolCallId": f"call_{n}"} for n in range(5)]
    parts.proxy.relay_from_agent(
        [line(notice("session/update", sessionId="s", update=each)) for each in updates]
    )
    assert [*parts.proxy._tool_calls] == [json_rpc.id_key(["s", f"call_{n}"]) for n in (3, 4)]


def drain(lines: Iterable[bytes]) -> None:
    """Read all lines."""
    for _ in lines:
        pass


@pytest.mark.rule("ACP-6")
def test_a_line_without_an_end_is_not_kept_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = read_lines(io.BytesIO(b"{}\n" + b"x" * 100), 10)
    assert next(lines) == b"{}\n"
    with pytest.raises(LineTooLongError):
        next(lines)
    target = io.BytesIO()
    warnings: list[str] = []
    source, sink = io.BytesIO(b"x" * 100), LineWriter(target)
    thread = piped_program.start_relay(
        lambda each: drain(read_lines(each, 10)), source, sink, warnings.append
    )
    thread.join(WAIT)
    assert target.closed
    assert warnings == ["Stopped relaying: a line has more than 10 bytes."]


@pytest.mark.rule("ACP-6")
def test_a_relay_that_fails_says_why_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    tracebacks: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", tracebacks.append)

    def fail(_source: object) -> None:
        raise KeyError("id")

    source, target = io.BytesIO(), io.BytesIO()
    warnings: list[str] = []
    piped_program.start_relay(fail, source, LineWriter(target), warnings.append).join(WAIT)
    assert source.closed
    assert target.closed, "an agent that its editor cannot cancel any more must not continue"
    assert warnings == ["Stopped relaying: KeyError('id')."]
    assert len(tracebacks) == 1


def test_a_call_without_an_id_of_its_session_is_asked_without_one() -> None:
    call = messages.call_from_request(elicitation(sessionId=7), {})
    assert (call.conversation, call.dialect) == (None, "elicitation")
    assert isinstance(call, Call)


def test_sessions_that_an_agent_never_starts_take_bounded_memory() -> None:
    parts = Parts(saying({}))
    started = [
        {"id": number, "method": "session/new", "params": {"cwd": "/srv"}}
        for number in range(MAX_FOLDERS + 1)
    ]
    parts.proxy.relay_from_editor(map(line, started))
    assert len(parts.proxy._requested_folders) == MAX_FOLDERS
