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
from typing import Final

from answerback_agents.mcp_proxy import messages
from answerback_agents.mcp_proxy.definitions import Definitions, DefinitionsError, input_schema
from answerback_agents.mcp_proxy.messages import RefusedLineError, ToolCall
from answerback_agents.mcp_proxy.open_rounds import MAX_REMEMBERED, OpenRounds
from answerback_agents.mcp_proxy.pending_asks import Pending, PendingAsks
from answerback_agents.mcp_proxy.policy import Decision, ServerPolicy, Verdict
from answerback_agents.mcp_proxy.progress import Progress
from answerback_agents.mcp_proxy.server_questions import ServerQuestions
from answerback_agents.mcp_proxy.unanswered import MAX_REQUESTS, Sent, Unanswered
from answerback_agents.pipe.ask_people import AskClient, AskOutcome, Call
from answerback_agents.pipe.json_rpc import (
    Json,
    as_object,
    encode_message,
    encode_response,
    id_key,
    params,
)
from answerback_agents.pipe.lines import LineWriter
from answerback_agents.pipe.saved_files import describe_files, files_of

_ALLOWED: Final = {"behavior": "allow"}
_WAITING: Final = "Waiting for a person to allow this call"


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
    _to_server: Unanswered = field(default_factory=Unanswered)
    _to_client: Unanswered = field(default_factory=Unanswered)
    _own: set[str] = field(default_factory=set)
    """The requests of the gateway itself that the server has not answered yet, by the keys of their ids."""
    _task_questions: dict[str, None] = field(default_factory=dict)
    """The latest questions of tasks to people: a task repeats one until it has the answer."""
    _rounds: OpenRounds = field(default_factory=OpenRounds)

    def __post_init__(self) -> None:
        self._progress = Progress(self.client, self.progress_interval)
        self._calls = PendingAsks(self.people, self.warn)
        self._elicitations = PendingAsks(self.people, self.warn)
        self._questions = ServerQuestions(
            self.policy.name, self._elicitations, self._progress, self.origin
        )

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
            self._to_server.take(request_id)  # its client ignores further messages of the server
            # What the server has not got yet, it need not cancel.
            if not self._calls.cancel(key):
                self.send(line, message)
            self._elicitations.cancel(f"input {key}")
        elif "method" not in message and self._to_client.take(message.get("id")) is None:
            self.warn("The client answered a request that it had not received.")
        elif message.get("method") == messages.TASK_UPDATE and self._rounds.updates_task(message):
            self._pass_on(line, message)
        elif messages.continues(message):
            self._continue(message, line)
        else:
            if message.get("method") == messages.TASK_CANCEL:
                self._elicitations.cancel(_task_key(params(message).get("taskId")))
            self._pass_on(line, message)

    def _continue(self, message: Json, line: bytes, definition: Json | None = None) -> None:
        """Pass on what the client was asked for, with what people have answered in the same round."""
        opened = self._rounds.take(message)
        if opened is None:
            self._refuse(
                message,
                "it brings input that the client was not asked for: people answer what the server asks. "
                "Send it without inputResponses and requestState",
            )
            return
        if opened.answers:
            given = as_object(params(message).get("inputResponses"))
            line = messages.with_answers(line, {**given, **opened.answers})
        if opened.edited is not None:
            line = messages.with_arguments(line, opened.edited)
        self._pass_on(line, message, definition, edited=opened.edited)

    def _refuse(self, message: Json, why: str) -> None:
        self.warn(f"Refused a message from the client: {why}.")
        if "id" in message or messages.is_tool_call(message):
            text = f"Refused: {why}."
            self.client.try_write_line(
                messages.error_response(message, messages.INVALID_PARAMS, text)
            )

    def _pass_on(
        self,
        line: bytes,
        message: Json,
        definition: Json | None = None,
        *,
        is_repeated: bool = False,
        edited: str | None = None,
    ) -> None:
        """Send a message to the server.

        Args:
            message: what its client sent.
            line: the same, or a call with what people answered or changed.
            edited: a call's arguments as people changed them.
        """
        line = messages.declare_elicitation(message, line)
        if "method" in message and "id" in message:
            forgotten = self._to_server.add(Sent(message, line, definition, is_repeated, edited))
            if forgotten is not None:
                text = f"More than {MAX_REQUESTS} requests wait for {self.policy.name}."
                self.client.try_write_line(
                    messages.error_response(forgotten.message, messages.NOT_ALLOWED, text)
                )
        self.send(line, message)

    def _call(self, message: Json, line: bytes) -> None:
        call = messages.read_tool_call(message)
        if isinstance(call, str):
            self._refuse(message, call)
            return
        definition = self.definitions.listed(call.name)
        if messages.continues(message):
            self._continue(message, line, definition)
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
            _start(self._progress.report, pending, messages.progress_tokens(message), _WAITING)

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
        arguments: Json = {
            "server": self.policy.name,
            "name": call.name,
            "arguments": call.arguments,
        }
        if call.meta:
            arguments["_meta"] = call.meta
        if change := self.definitions.change(call.name, definition):
            arguments["changed"] = change
        if (schema := input_schema(definition, beside=line)) is not None:
            arguments["inputSchema"] = schema
        asked = Call(
            messages.TOOL_CALL, "approval", arguments, None, origin=self.origin, takes_edited=True
        )
        outcome = self._calls.ask(pending, asked)
        if not self._calls.close(pending):
            return
        if outcome.is_decided and outcome.structured == _ALLOWED:
            self._allow(call, definition)
            self._pass_on(line, message, definition)
        elif outcome.is_decided and outcome.edited is not None:
            self._pass_edited(call, outcome.edited, message, line, definition)
        else:
            self.client.try_write_line(messages.denial(message, _why_not(outcome)))

    def _pass_edited(
        self, call: ToolCall, edited: str, message: Json, line: bytes, definition: Json | None
    ) -> None:
        """Pass on a call as people have changed it, unless the policy denies that."""
        try:
            line = messages.with_arguments(line, edited)
            now = messages.read_tool_call(messages.parse(line))
        except RefusedLineError as error:
            self.client.try_write_line(messages.denial(message, f"Refused: {error}."))
            return
        if isinstance(now, str):
            self.client.try_write_line(messages.denial(message, f"Refused: {now}."))
            return
        verdict = self.policy.decide(now.name, now.arguments, definition)
        if verdict.decision is Decision.DENY:
            text = (
                f"The policy for {self.policy.name} denies this call as a person has changed it "
                f"({verdict.reason})."
            )
            self.client.try_write_line(messages.denial(message, text))
            return
        self._allow(call, definition)
        self._pass_on(line, message, definition, edited=edited)

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
        method = message.get("method")
        if method == messages.ELICITATION and "id" in message:
            pending = self._elicitations.open(id_key(message["id"]))
            _start(self._elicit, pending, message)
        elif method == messages.CANCELLED:
            if not self._elicitations.cancel(id_key(params(message).get("requestId"))):
                self.client.write_line(line)
        elif method is None:
            self._relay_response(message, line)
        elif "id" in message:
            self._to_client.add(Sent(message))
            self.client.write_line(line)
        elif not (method == messages.LINK_COMPLETE and self._questions.complete(message)):
            self._relay_notification(message, line)

    def _relay_notification(self, message: Json, line: bytes) -> None:
        fields = params(message)
        if message["method"] == messages.PROGRESS:
            self._progress.note(message)
        if messages.elicitations(fields):
            # The client will ask for the task's state, too; then people are asked.
            fields = messages.without_elicitations(fields)
            line = encode_message({**message, "params": fields})
        self._rounds.show_task(fields.get("taskId"), fields)
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
        if (links := messages.required_links(message)) and not sent.is_repeated:
            _start(self._open_links, sent, links, line)
        elif result.get("resultType") == "input_required":
            _start(self._require_input, sent, message, line)
        else:
            self._relay_result(sent, message, line)

    def _relay_result(self, sent: Sent, message: Json, line: bytes) -> None:
        result = as_object(message.get("result"))
        if messages.elicitations(result):
            self._ask_for_task(sent.message, result)
            result = messages.without_elicitations(result)
            line = encode_message({**message, "result": result})
        elif (
            messages.is_tool_call(sent.message)
            and isinstance(result.get("content"), list)
            and (text := self._questions.take_text()) is not None
        ):
            line = messages.with_text(line, text)
        self._rounds.show_task(_task_id(sent.message, result), result)
        self.client.write_line(line)

    def _elicit(self, pending: Pending, request: Json) -> None:
        tokens = self._to_server.progress_tokens()
        answer = self._questions.answer(pending, params(request), tokens)
        if answer is not None:
            response = {"jsonrpc": "2.0", "id": request["id"], "result": answer}
            self.send(encode_response(request["id"], answer), response)

    def _open_links(self, sent: Sent, links: list[Json], line: bytes) -> None:
        """Ask people to open links, and make the request again; if nobody can be asked, the client gets the error."""
        key = f"input {id_key(sent.message['id'])}"
        opened = self._questions.open_links(key, links, messages.progress_tokens(sent.message))
        if opened is True:
            self._pass_on(
                sent.line, sent.message, sent.definition, is_repeated=True, edited=sent.edited
            )
        elif opened is not False:
            if opened.ask is not None and messages.is_tool_call(sent.message):
                text = f"The user did not open what {self.policy.name} needs for this call."
                line = messages.denial(sent.message, text)
            self.client.try_write_line(line)

    def _require_input(self, sent: Sent, response: Json, line: bytes) -> None:
        """Ask people what a result asks, and send the request again; the client gets what is not for people."""
        result, answers = response["result"], {}
        tokens = messages.progress_tokens(sent.message)
        for key, fields in messages.elicitations(result).items():
            pending = self._elicitations.open(f"input {id_key(sent.message['id'])}")
            answer = self._questions.answer(pending, fields, tokens)
            if answer is None:
                return
            answers[key] = answer
        rest = messages.without_elicitations(result) if answers else result
        if answers and not rest["inputRequests"]:
            state = {"requestState": result.get("requestState")}
            again = messages.with_answers(sent.line, answers, **state)
            self._pass_on(again, sent.message, sent.definition, edited=sent.edited)
            return
        self._rounds.open(sent.message, rest, answers, sent.edited)
        self.client.try_write_line(
            encode_message({**response, "result": rest}) if answers else line
        )

    def _ask_for_task(self, request: Json, task: Json) -> None:
        """Ask people what a task asks, once, and give it the answers."""
        task_id = _task_id(request, task)
        for key, fields in messages.elicitations(task).items():
            question = json.dumps([task_id, key])
            if question not in self._task_questions:
                self._task_questions[question] = None
                if len(self._task_questions) > MAX_REMEMBERED:
                    del self._task_questions[next(iter(self._task_questions))]
                pending = self._elicitations.open(_task_key(task_id))
                _start(self._answer_task, pending, request, task_id, key, fields)

    def _answer_task(
        self, pending: Pending, request: Json, task_id: object, key: str, fields: Json
    ) -> None:
        answer = self._questions.answer(pending, fields)
        if answer is not None:
            own_id = f"answerback-{secrets.token_hex(8)}"
            self._own.add(id_key(own_id))
            update = messages.task_update(own_id, request, task_id, {key: answer})
            self.send(encode_message(update), update)


def _task_id(request: Json, fields: Json) -> object:
    """The task that a result is about."""
    return fields.get("taskId", params(request).get("taskId"))


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
    files = describe_files(files_of(outcome.ask or {}))
    return "\n".join(filter(None, (f"This call was not allowed. {why}", files)))
