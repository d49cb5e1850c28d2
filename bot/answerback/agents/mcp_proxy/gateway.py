"""The gateway between an MCP client and a server: everything passes, but people decide about calls of tools.

A call is passed on once it is allowed, and not before: if the proxy is killed, it has allowed nothing.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from answerback.agents.acp.messages import result_of
from answerback.agents.mcp_proxy import messages
from answerback.agents.mcp_proxy.definitions import Definitions, DefinitionsError
from answerback.agents.mcp_proxy.messages import RefusedLineError, ToolCall
from answerback.agents.mcp_proxy.pending_asks import Pending, PendingAsks
from answerback.agents.mcp_proxy.policy import Decision, ServerPolicy, Verdict
from answerback.agents.pipe.ask_people import AskClient, AskOutcome, Call
from answerback.agents.pipe.json_rpc import (
    Json,
    as_object,
    encode_message,
    encode_notification,
    encode_response,
    id_key,
    params,
)
from answerback.agents.pipe.lines import LineWriter

_MAX_REQUESTS: Final = 1_000
"""Requests in progress that are remembered, the latest ones."""
_ALLOWED: Final = {"behavior": "allow"}


class _Sent(NamedTuple):
    """A request that a side has got."""

    message: Json
    definition: Json | None = None


class _Unanswered:
    """The requests that a side has got and not answered yet: the latest ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[str, _Sent] = {}

    def add(self, sent: _Sent) -> _Sent | None:
        """Note a request; return the one that is forgotten for it."""
        with self._lock:
            self._by_key[id_key(sent.message["id"])] = sent
            if len(self._by_key) <= _MAX_REQUESTS:
                return None
            return self._by_key.pop(next(iter(self._by_key)))

    def take(self, request_id: object) -> _Sent | None:
        """Return the request that a response is for, and forget it: each is answered once.

        As the official SDKs do, it takes "7" for 7, where no request has the id "7".
        """
        keys = [id_key(request_id)]
        if isinstance(request_id, str) and messages.NUMBER.fullmatch(request_id):
            keys.append(request_id)
        with self._lock:
            key = next((each for each in keys if each in self._by_key), None)
            return None if key is None else self._by_key.pop(key)


@dataclass(eq=False)
class Gateway:
    """Passes messages on, in threads of its callers, and asks people in its own.

    Args:
        send: sends a line, and the message in it, to the server.
        origin: where the agent runs, as a submission says it.
    """

    policy: ServerPolicy
    definitions: Definitions
    people: AskClient
    client: LineWriter
    send: Callable[[bytes, Json], None]
    warn: Callable[[str], None]
    origin: Json = field(default_factory=dict)
    progress_interval: float = 15.0
    """Seconds between two reports to a client whose call waits for people."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _to_server: _Unanswered = field(default_factory=_Unanswered)
    _to_client: _Unanswered = field(default_factory=_Unanswered)
    _own: set[str] = field(default_factory=set)
    """The requests of the gateway itself that the server has not answered yet, by the keys of their ids."""
    _task_questions: dict[str, None] = field(default_factory=dict)
    """What tasks have asked people, the latest: a task repeats it until it has the answer."""
    _rounds: dict[str, Json] = field(default_factory=dict)
    """The calls that the client sends again with further input, and what people have answered already."""

    def __post_init__(self) -> None:
        self._calls = PendingAsks(self.people, self.warn)
        self._elicitations = PendingAsks(self.people, self.warn)

    def end(self) -> None:
        self._calls.end()
        self._elicitations.end()

    # --- from the client -----------------------------------------------------------------------

    def relay_from_client(self, lines: Iterable[bytes]) -> None:
        """Pass on the client's messages until its stream ends."""
        for line in filter(bytes.strip, lines):
            try:
                message = messages.parse(line)
            except RefusedLineError as error:
                self.warn(f"Refused a message from the client: {error}.")
                self.client.try_write_line(error.response())
            else:
                self._from_client(message, line)

    def _from_client(self, message: Json, line: bytes) -> None:
        if messages.is_tool_call(message):
            self._call(message, line)
        elif message.get("method") == messages.CANCELLED:
            request_id = params(message).get("requestId")
            key = id_key(request_id)
            self._to_server.take(request_id)  # its client ignores what the server may still say
            # What the server has not got yet, it need not cancel.
            if not self._calls.cancel(key):
                self.send(line, message)
            self._elicitations.cancel(f"input {key}")
        elif "method" not in message and self._to_client.take(message.get("id")) is None:
            self.warn("The client answered a request that it had not received.")
        else:
            if message.get("method") == messages.TASK_CANCEL:
                self._elicitations.cancel(_task_key(params(message).get("taskId")))
            self._continue(line, message, self._take_round(message))

    def _continue(
        self, line: bytes, message: Json, answers: Json | None, definition: Json | None = None
    ) -> None:
        """Pass on a request with what people answered in its last round."""
        if answers:
            given = as_object(params(message).get("inputResponses"))
            merged = {"inputResponses": {**given, **answers}}
            message = {**message, "params": {**params(message), **merged}}
            line = encode_message(message)
        self._pass_on(line, message, definition)

    def _pass_on(self, line: bytes, message: Json, definition: Json | None = None) -> None:
        if "method" in message and "id" in message:
            forgotten = self._to_server.add(_Sent(message, definition))
            if forgotten is not None:
                text = f"More than {_MAX_REQUESTS} requests wait for {self.policy.name}."
                self.client.try_write_line(
                    messages.error_response(forgotten.message, messages.NOT_ALLOWED, text)
                )
        self.send(line, message)

    def _call(self, message: Json, line: bytes) -> None:
        call = messages.read_tool_call(message)
        if isinstance(call, str):
            self.warn(f"Refused a call: {call}.")
            self.client.try_write_line(
                messages.error_response(message, messages.INVALID_PARAMS, f"Refused: {call}.")
            )
            return
        definition = self.definitions.listed(call.name)
        if (answers := self._take_round(message)) is not None:
            self._continue(line, message, answers, definition)
            return
        verdict = self._decide(call, definition)
        if verdict.decision is Decision.PASS:
            self._pass_on(line, message, definition)
        elif verdict.decision is Decision.DENY:
            text = f"The policy for {self.policy.name} denies this call ({verdict.reason})."
            self.client.try_write_line(messages.denial(message, text))
        else:
            pending = self._calls.open(id_key(message["id"]))
            _start(self._hold, pending, call, message, line, definition)
            if (token := messages.progress_token(message)) is not None:
                _start(self._report_progress, pending, token)

    def _decide(self, call: ToolCall, definition: Json | None) -> Verdict:
        """Decide by the policy. What would pass is asked about if the tool is not what was allowed before."""
        verdict = self.policy.decide(call.name, call.arguments, definition)
        if verdict.decision is not Decision.PASS:
            return verdict
        if definition is None:
            return Verdict(Decision.ASK, "the server has not listed this tool, or twice")
        if self.definitions.change(call.name, definition) is not None:
            return Verdict(Decision.ASK, "the tool has changed")
        return verdict if self._allow(call, definition) else Verdict(Decision.ASK, "not kept")

    def _allow(self, call: ToolCall, definition: Json | None) -> bool:
        """Keep the definition with which a call is allowed, and return whether that worked."""
        try:
            if definition is not None:
                self.definitions.allow(call.name, definition)
        except DefinitionsError as error:
            self.warn(str(error))
            return False
        return True

    def _hold(
        self, pending: Pending, call: ToolCall, message: Json, line: bytes, definition: Json | None
    ) -> None:
        """Ask people about a call, and pass it on if they allow it."""
        arguments: Json = {"server": self.policy.name, **call._asdict()}
        if change := self.definitions.change(call.name, definition):
            arguments["changed"] = change
        asked = Call(messages.TOOL_CALL, "approval", arguments, None, origin=self.origin)
        outcome = self._calls.ask(pending, asked)
        if not self._calls.close(pending):
            return
        if outcome.is_decided and outcome.structured == _ALLOWED:
            self._allow(call, definition)
            self._pass_on(line, message, definition)
        else:
            self.client.try_write_line(messages.denial(message, _why_not(outcome)))

    def _report_progress(self, pending: Pending, token: object) -> None:
        count = 0
        while not pending.over.wait(self.progress_interval):
            count += 1
            # Less than any progress that the server may report later: it must only grow.
            self.client.try_write_line(
                encode_notification(
                    "notifications/progress",
                    progressToken=token,
                    progress=count / 1_000_000,
                    message="Waiting for a person to allow this call",
                )
            )

    # --- from the server -----------------------------------------------------------------------

    def relay_from_server(self, lines: Iterable[bytes]) -> None:
        """Pass on the server's messages until its stream ends."""
        for line in filter(bytes.strip, lines):
            try:
                message = messages.parse(line)
            except RefusedLineError as error:
                self.warn(f"Refused a message from {self.policy.name}: {error}.")
                if self._to_server.take(error.id) is not None:
                    self.client.try_write_line(error.response())
            else:
                self._from_server(message, line)

    def _from_server(self, message: Json, line: bytes) -> None:
        if message.get("method") == messages.ELICITATION and "id" in message:
            pending = self._elicitations.open(id_key(message["id"]))
            _start(self._elicit, pending, message)
        elif message.get("method") == messages.CANCELLED:
            if not self._elicitations.cancel(id_key(params(message).get("requestId"))):
                self.client.write_line(line)
        elif "method" not in message:
            self._relay_response(message, line)
        elif "id" in message:
            self._to_client.add(_Sent(message))
            self.client.write_line(line)
        elif messages.elicitations(params(message)):
            # The client will ask for the task's state, too; then people are asked.
            rest = messages.without_elicitations(params(message))
            self.client.write_line(encode_message({**message, "params": rest}))
        else:
            self.client.write_line(line)

    def _relay_response(self, message: Json, line: bytes) -> None:
        if (key := id_key(message.get("id"))) in self._own:
            self._own.discard(key)
            if "error" in message:
                self.warn(f"{self.policy.name} does not take what people have answered.")
            return
        sent = self._to_server.take(message.get("id"))
        if sent is None:
            self.warn(f"{self.policy.name} answered a request that it had not received.")
            return
        result = as_object(message.get("result"))
        if sent.message["method"] == messages.TOOL_LISTING and "tools" in result:
            is_first_page = params(sent.message).get("cursor") is None
            self.definitions.add_listing(result["tools"], is_first_page=is_first_page)
        if result.get("resultType") == "input_required":
            _start(self._require_input, sent, message, line)
            return
        if messages.elicitations(result):
            self._ask_for_task(sent.message, result)
            line = encode_message({**message, "result": messages.without_elicitations(result)})
        self.client.write_line(line)

    def _elicit(self, pending: Pending, request: Json) -> None:
        answer = self._ask_for_server(pending, params(request))
        if answer is not None:
            response = {"jsonrpc": "2.0", "id": request["id"], "result": answer}
            self.send(encode_response(request["id"], answer), response)

    def _ask_for_server(self, pending: Pending, fields: Json) -> Json | None:
        """Ask people a question of the server, headed by its name; None if it was cancelled."""
        if isinstance(text := fields.get("message"), str):
            fields = {**fields, "message": f"The server {self.policy.name} asks: {text}"}
        asked = Call(messages.ELICITATION, "elicitation", fields, None, origin=self.origin)
        outcome = self._elicitations.ask(pending, asked)
        return (
            result_of(messages.ELICITATION, outcome) if self._elicitations.close(pending) else None
        )

    def _require_input(self, sent: _Sent, response: Json, line: bytes) -> None:
        """Ask people what a result asks, and send the request again; the client gets what is not for people."""
        result, answers = response["result"], {}
        for key, fields in messages.elicitations(result).items():
            pending = self._elicitations.open(f"input {id_key(sent.message['id'])}")
            answer = self._ask_for_server(pending, fields)
            if answer is None:
                return
            answers[key] = answer
        rest = messages.without_elicitations(result) if answers else result
        if answers and not rest["inputRequests"]:
            again = messages.with_answers(sent.message, result, answers)
            self._pass_on(encode_message(again), again, sent.definition)
            return
        if answers or messages.is_tool_call(sent.message):
            with self._lock:
                self._rounds[messages.round_key(sent.message, result.get("requestState"))] = answers
                if len(self._rounds) > _MAX_REQUESTS:
                    del self._rounds[next(iter(self._rounds))]
        self.client.try_write_line(
            encode_message({**response, "result": rest}) if answers else line
        )

    def _ask_for_task(self, request: Json, task: Json) -> None:
        """Ask people what a task asks, once, and give it the answers."""
        task_id = task.get("taskId", params(request).get("taskId"))
        for key, fields in messages.elicitations(task).items():
            question = json.dumps([task_id, key])
            if question not in self._task_questions:
                self._task_questions[question] = None
                if len(self._task_questions) > _MAX_REQUESTS:
                    del self._task_questions[next(iter(self._task_questions))]
                pending = self._elicitations.open(_task_key(task_id))
                _start(self._answer_task, pending, request, task_id, key, fields)

    def _answer_task(
        self, pending: Pending, request: Json, task_id: object, key: str, fields: Json
    ) -> None:
        answer = self._ask_for_server(pending, fields)
        if answer is not None:
            own_id = f"answerback-{secrets.token_hex(8)}"
            self._own.add(id_key(own_id))
            update = messages.task_update(own_id, request, task_id, {key: answer})
            self.send(encode_message(update), update)

    def _take_round(self, message: Json) -> Json | None:
        """What people answered in the last round of a request, if this continues it: each once.

        None: nothing, and if it is a call, people have not allowed it in that round.
        """
        fields = params(message)
        if "inputResponses" not in fields and "requestState" not in fields:
            return None
        with self._lock:
            return self._rounds.pop(messages.round_key(message, fields.get("requestState")), None)


def _task_key(task_id: object) -> str:
    return f"task {id_key(task_id)}"


def _start(work: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=partial(work, *arguments), daemon=True).start()


def _why_not(outcome: AskOutcome) -> str:
    """Tell the model why its call is not allowed."""
    if outcome.is_turn_ended:
        return "The user denied this call and ended the turn. Stop, and do nothing further."
    why = (
        (outcome.structured or {}).get("message") or outcome.message or "The user denied this call."
    )
    return f"This call was not allowed. {why}"
