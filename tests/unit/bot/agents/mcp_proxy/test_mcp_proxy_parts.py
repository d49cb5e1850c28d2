"""The gateway of `answerback mcp-proxy` by itself: progress, bounds, and people who cannot be asked."""

from __future__ import annotations

import io
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from answerback_agents.mcp_proxy import (
    definitions,
    gateway,
    messages,
    open_rounds,
    progress,
    unanswered,
)
from answerback_agents.mcp_proxy.definitions import Definitions, DefinitionsError
from answerback_agents.mcp_proxy.gateway import Gateway
from answerback_agents.mcp_proxy.messages import RefusedLineError
from answerback_agents.mcp_proxy.pending_asks import PendingAsks
from answerback_agents.mcp_proxy.policy import named_server
from answerback_agents.mcp_proxy.progress import Progress
from answerback_agents.pipe.ask_people import AskClient, Asking, AskOutcome, Call
from answerback_agents.pipe.lines import LineWriter
from answerback_client.blocking_connection import BlockingConnection, Response
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json
from tests.unit.bot.agents.acp.test_acp_lines import Pipe
from tests.unit.bot.mcp_proxy_support import TOOL, call, encode, request, response

ALLOWED = {
    "id": "ask_1",
    "status": "answered",
    "source": "human",
    "tool_result": {"structured": {"behavior": "allow"}},
}


class Parts:
    """A gateway between a client and a server in memory; `people` stands for the service."""

    def __init__(self, folder: Path, **people: Any) -> None:
        self.client = Pipe()
        self.sent: list[Json] = []
        self.got_one = threading.Event()
        self.warnings: list[str] = []
        asker: Any = SimpleNamespace(**people)
        self.gateway = Gateway(
            policy=named_server("github"),
            definitions=Definitions(folder / "allowed.json"),
            people=asker,
            client=LineWriter(self.client),
            send=self._send,
            warn=self.warnings.append,
            progress_interval=0.01,
        )

    def _send(self, _line: bytes, message: Json) -> None:
        self.sent.append(message)
        self.got_one.set()

    def client_says(self, *lines: Json) -> None:
        self.gateway.relay_from_client(map(encode, lines))

    def server_says(self, *lines: Json) -> None:
        self.gateway.relay_from_server(map(encode, lines))


def answering(outcome: Callable[[], AskOutcome]) -> Callable[..., AskOutcome]:
    """People who are asked, and then give an outcome."""

    def ask(asking: Asking, _call: Call) -> AskOutcome:
        asking.ask_id = "ask_1"
        return outcome()

    return ask


@pytest.mark.rule("GATEWAY-2")
def test_a_client_that_wants_progress_hears_that_people_are_asked(tmp_path: Path) -> None:
    decided = threading.Event()

    def decide() -> AskOutcome:
        assert decided.wait(WAIT)
        return AskOutcome(ALLOWED, "")

    parts = Parts(tmp_path, ask=answering(decide))
    parts.client_says(call(_meta={"progressToken": "p"}))
    first, second, *_ = parts.client.lines(2)
    decided.set()
    assert parts.got_one.wait(WAIT)
    assert first["method"] == "notifications/progress"
    assert first["params"]["progressToken"] == "p"
    assert 0 < first["params"]["progress"] < second["params"]["progress"] < 1


@pytest.mark.rule("GATEWAY-2")
@pytest.mark.parametrize("faster", [False, True])
def test_the_service_hears_first_that_a_call_is_denied_for_want_of_an_answer(
    tmp_path: Path, faster: bool
) -> None:
    def report(ask_id: str) -> AskOutcome:
        assert ask_id == "ask_1"
        return AskOutcome(ALLOWED if faster else None, "")

    lost = answering(lambda: AskOutcome(None, "The service was away."))
    parts = Parts(tmp_path, ask=lost, report_no_answer=report)
    parts.client_says(call())
    if faster:
        assert parts.got_one.wait(WAIT)
    else:
        [denied] = parts.client.lines(1)
        assert "The service was away." in denied["result"]["content"][0]["text"]
    assert parts.warnings == ["The service was away."]


def test_a_question_is_withdrawn_if_waiting_for_its_answer_fails() -> None:
    withdrawn = threading.Event()
    people: Any = SimpleNamespace(
        ask=answering(lambda: AskOutcome(None, "The service was away.")),
        withdraw_in_background=lambda _asking: withdrawn.set(),
    )
    asks = PendingAsks(people, lambda _: None)
    asks.ask(asks.open("1"), Call("elicitation/create", "elicitation", {}, None))
    assert withdrawn.wait(WAIT)


@pytest.mark.rule("GATEWAY-2")
def test_whatever_fails_denies(tmp_path: Path) -> None:
    class Fails(BlockingConnection):
        def call(self, method: str, *_: object, **__: object) -> Response:
            if method == "GET":
                raise RuntimeError("a bug")
            return Response(201, {"id": "ask_1", "status": "open"})

    people = AskClient(Fails("http://127.0.0.1:1"))
    parts = Parts(tmp_path, ask=people.ask, report_no_answer=lambda _: AskOutcome(None, ""))
    parts.client_says(call())
    [denied] = parts.client.lines(1)
    assert "RuntimeError" in denied["result"]["content"][0]["text"]


@pytest.mark.rule("GATEWAY-2", "CONNECT-10")
def test_a_call_is_denied_if_another_program_takes_the_address_of_the_service(
    tmp_path: Path,
) -> None:
    class Replaced(BlockingConnection):
        def call(self, method: str, path: str, *_: object, **__: object) -> Response:
            if (method, path) != ("POST", "/v1/asks"):
                raise self.foreign(404)
            return Response(201, {"id": "ask_1", "status": "open"})

    people = AskClient(Replaced("http://127.0.0.1:1"))
    parts = Parts(tmp_path, ask=people.ask, report_no_answer=people.report_no_answer)
    parts.client_says(call())
    [denied] = parts.client.lines(1)
    assert "is not Answerback (HTTP 404)" in denied["result"]["content"][0]["text"]
    assert not parts.sent


@pytest.mark.rule("GATEWAY-2")
@pytest.mark.parametrize(
    "ask",
    [
        {**ALLOWED, "source": "default"},
        {**ALLOWED, "status": "expired"},
        {**ALLOWED, "tool_result": {"structured": {"behavior": "allow", "more": 1}}},
        {**ALLOWED, "tool_result": None},
    ],
)
def test_only_a_persons_plain_yes_allows(tmp_path: Path, ask: Json) -> None:
    parts = Parts(tmp_path, ask=answering(lambda: AskOutcome(ask, "")))
    parts.client_says(call())
    [denied] = parts.client.lines(1)
    assert denied["result"]["isError"]
    assert not parts.sent


@pytest.mark.rule("GATEWAY-2")
def test_an_ask_that_opens_after_its_call_was_cancelled_is_withdrawn(tmp_path: Path) -> None:
    cancelled, withdrawn = threading.Event(), threading.Event()

    class Opens(BlockingConnection):
        def call(self, method: str, path: str, *_: object, **__: object) -> Response:
            if method == "POST":
                assert cancelled.wait(WAIT)
                return Response(201, {"id": "ask_1", "status": "open"})
            if method == "DELETE":
                assert path == "/v1/asks/ask_1"
                withdrawn.set()
            assert withdrawn.wait(WAIT)
            return Response(200, {"id": "ask_1", "status": "withdrawn"})

    people = AskClient(Opens("http://127.0.0.1:1"))
    withdraw = people.withdraw_in_background
    parts = Parts(tmp_path, ask=people.ask, withdraw_in_background=withdraw, end=people.end)
    parts.client_says(call(), {"method": "notifications/cancelled", "params": {"requestId": 7}})
    cancelled.set()
    assert withdrawn.wait(WAIT)
    parts.gateway.end()
    assert not parts.sent
    assert not parts.warnings


@pytest.mark.rule("GATEWAY-3")
def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered, "MAX_REQUESTS", 2)
    monkeypatch.setattr(open_rounds, "MAX_REMEMBERED", 2)
    monkeypatch.setattr(gateway, "MAX_REMEMBERED", 2)
    parts = Parts(tmp_path, ask=answering(lambda: AskOutcome(ALLOWED, "")))
    parts.client_says(*(request("ping", n) for n in range(4)))
    assert [error["id"] for error in parts.client.lines(2)] == [0, 1]
    for n in range(3):
        parts.got_one.clear()
        parts.client_says(call(request_id=n))
        assert parts.got_one.wait(WAIT)
        more = {"resultType": "input_required", "requestState": str(n), "inputRequests": {}}
        parts.server_says(response(n, **more))
        parts.client.lines(n + 3)
    assert len(parts.gateway._rounds._rounds) == 2
    sure = {"method": "elicitation/create", "params": {"message": "Sure?"}}
    for n, key in enumerate("abca"):
        parts.client_says(request("tasks/get", n, taskId="t"))
        parts.got_one.clear()
        parts.server_says(response(n, taskId="t", inputRequests={key: sure}))
        assert parts.got_one.wait(WAIT)
    assert [each["method"] for each in parts.sent].count("tasks/update") == 4


def test_a_call_that_a_server_listed_without_being_asked_changes_nothing(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    parts.server_says(response(1, tools=[TOOL]))
    assert parts.gateway.definitions.listed("create_issue") is None
    parts.client_says(request("tools/list", 1))
    parts.server_says(response(1, tools="none"))
    parts.gateway.relay_from_server([b"\r\n"])
    assert parts.gateway.definitions.listed("create_issue") is None


@pytest.mark.rule("GATEWAY-4")
def test_a_long_change_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "_MAX_CHANGE", 20)
    kept = Definitions(tmp_path / "allowed.json")
    kept.allow("x", TOOL)
    kept.allow("x", TOOL)
    change = kept.change("x", {**TOOL, "description": "y"})
    assert change is not None
    assert change.endswith("characters are not shown here]")
    assert Definitions(tmp_path / "allowed.json").change("x", TOOL) is None


@pytest.mark.rule("GATEWAY-4")
def test_a_definition_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / f"allowed.json.{os.getpid()}").mkdir()
    with pytest.raises(DefinitionsError, match="Cannot write"):
        Definitions(tmp_path / "allowed.json").allow("x", TOOL)


@pytest.mark.rule("GATEWAY-4")
@pytest.mark.parametrize("text", ["[]", "nonsense", '{"x": 1}'])
def test_a_broken_file_of_definitions_lets_nothing_pass(tmp_path: Path, text: str) -> None:
    (tmp_path / "allowed.json").write_text(text)
    with pytest.raises(DefinitionsError):
        Definitions(tmp_path / "allowed.json")


@pytest.mark.rule("GATEWAY-3")
def test_a_line_that_does_not_end_is_not_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MAX_LINE", 10)
    [first, last] = messages.read_bounded(io.BytesIO(b"x" * 200_000 + b"\n{}\n"))
    [only] = messages.read_bounded(io.BytesIO(b"x" * 20))
    assert len(first) < 1_000
    assert last == b"{}\n"
    for line in (first, only, b"x" * 20):
        with pytest.raises(RefusedLineError, match="more than 10 bytes"):
            messages.parse(line)


@pytest.mark.rule("GATEWAY-2", "GATEWAY-4", "GATEWAY-6")
@pytest.mark.parametrize("spelt", ["7", 7.0, "07", " 7", [7], None])
def test_what_the_server_answers_under_another_spelling_of_an_id_gets_round_nothing(
    tmp_path: Path, spelt: Any
) -> None:
    """The official SDKs take "7" for 7, and so the client would believe it."""
    decided = threading.Event()

    def decide() -> AskOutcome:
        assert decided.wait(WAIT)
        return AskOutcome(ALLOWED, "")

    parts = Parts(tmp_path, ask=answering(decide))
    parts.client_says(call())
    parts.server_says(response(spelt, content=[]))  # it has not got the call yet
    decided.set()
    assert parts.got_one.wait(WAIT)
    [warning] = parts.warnings
    assert warning == "github answered a request that it had not received."
    parts.client_says(request("tools/list", 7))
    parts.server_says(response(spelt, tools=[TOOL]), response(7, tools=[]))
    taken = parts.gateway.definitions.listed("create_issue") is not None
    assert parts.client.lines(1) == [
        response(spelt, tools=[TOOL]) if taken else response(7, tools=[])
    ]
    asked = {"a": {"method": "elicitation/create", "params": {"message": "Sure?"}}}
    parts.client_says(request("prompts/get", 7))
    parts.got_one.clear()
    parts.server_says(response(spelt, resultType="input_required", inputRequests=asked))
    assert parts.got_one.wait(WAIT) if taken else len(parts.warnings) == 3
    assert len(parts.client.lines(1)) == 1


@pytest.mark.rule("GATEWAY-6")
@pytest.mark.parametrize("spelt", [5, "5", 5.0])
def test_the_client_answers_no_question_for_people_whatever_the_id_looks_like(
    tmp_path: Path, spelt: Any
) -> None:
    parts = Parts(tmp_path, ask=answering(lambda: AskOutcome(ALLOWED, "")))
    parts.client_says(response(spelt, action="accept"))
    parts.server_says(request("elicitation/create", 5, message="Sure?"))
    assert parts.got_one.wait(WAIT)
    parts.client_says(response(spelt, action="accept"))
    assert len(parts.sent) == 1
    parts.server_says(request("roots/list", 6))
    parts.client_says(response(6, roots=[]), response(6, roots=[]))
    assert parts.sent[1:] == [response(6, roots=[])]


@pytest.mark.rule("GATEWAY-4")
def test_a_list_that_its_client_has_given_up_is_not_what_it_has_seen(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    parts.client_says(
        request("tools/list", 1), {"method": "notifications/cancelled", "params": {"requestId": 1}}
    )
    parts.client_says(request("tools/list", 2))
    parts.server_says(response(1, tools=[TOOL]))
    parts.gateway.relay_from_server([b'{"id":2,"result":{"tools":[],"tools":[]}}\n'])
    parts.server_says(response(2, tools=[TOOL]))
    assert parts.gateway.definitions.listed("create_issue") is None
    assert [error["id"] for error in parts.client.lines(1)] == [2]


@pytest.mark.rule("GATEWAY-4")
def test_a_huge_definition_is_compared_in_time(tmp_path: Path) -> None:
    kept = Definitions(tmp_path / "allowed.json")
    letters = [random.Random(n).choices("abcdefghij", k=300_000) for n in range(2)]
    kept.allow("x", {**TOOL, "enum": letters[0]})
    change = kept.change("x", {**TOOL, "enum": letters[1]})
    assert change is not None
    assert change.startswith('@@ line 4 @@\n+    "')
    assert change.endswith("characters are not shown here]")


@pytest.mark.rule("GATEWAY-10")
def test_odd_progress_counts_for_nothing_and_little_is_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "MAX_TOKENS", 2)
    kept = Progress(LineWriter(Pipe()), 0.01)
    for token, value in ((1, "half"), (1, None), (2, 3), (3, 4), (4, 5), (4, 1)):
        kept.note({"params": {"progressToken": token, "progress": value}})
    assert kept._last == {"3": 4.0, "4": 5.0}


@pytest.mark.rule("GATEWAY-10")
@pytest.mark.parametrize(
    ("url", "host"),
    [("https://Me@Example.COM:8/x", "example.com"), ("http://[", "nowhere"), (7, "nowhere")],
)
def test_people_read_the_host_of_a_link_as_far_as_it_can_be_told(
    tmp_path: Path, url: object, host: str
) -> None:
    asked: list[Call] = []

    def ask(_asking: Asking, call: Call) -> AskOutcome:
        asked.append(call)
        return AskOutcome(None, "")

    parts = Parts(tmp_path, ask=ask, withdraw_in_background=lambda _: None)
    parts.server_says(request("elicitation/create", 5, mode="url", url=url, message="Open"))
    assert parts.got_one.wait(WAIT)
    assert asked[0].arguments["message"] == f"The server github asks, with a link to {host}: Open"


@pytest.mark.rule("GATEWAY-6")
def test_a_notification_with_answers_is_dropped_and_tasks_are_remembered_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_rounds, "MAX_REMEMBERED", 2)
    parts = Parts(tmp_path)
    parts.client_says({"method": "notifications/x", "params": {"inputResponses": {"a": {}}}})
    assert parts.sent == []
    assert len(parts.warnings) == 1
    roots = {"method": "roots/list"}
    for task in "abc":
        shown = {"taskId": task, "inputRequests": {"r": roots}}
        parts.server_says({"method": "notifications/tasks", "params": shown})
    for number, task in enumerate("abc"):
        given: Json = {"r": {"roots": []}}
        parts.client_says(request("tasks/update", number, taskId=task, inputResponses=given))
    assert [each["params"]["taskId"] for each in parts.sent] == ["b", "c"]
