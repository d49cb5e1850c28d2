"""The bridge between a client and ``codex app-server``: people get what Codex asks, everything else passes through.

Messages are lines of JSON without a ``jsonrpc`` key. Shapes: the output of ``codex app-server generate-json-schema``
in release 0.171.0. Codex only asks what its client announces that it can ask, so the bridge announces that.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback_agents.bridges.ask_people import (
    Request,
    RequestAsker,
    files_for_model,
    is_needed_by_its_run,
    words_for_model,
)
from answerback_agents.bridges.late_answers import LateAnswerSource, LateAnswerText
from answerback_agents.bridges.outcome_reports import OutcomeReports
from answerback_agents.bridges.pending_requests import PendingRequests
from answerback_agents.bridges.server_bridge import Report
from answerback_agents.pipe.json_rpc import as_object, parse_message
from answerback_agents.pipe.origins import Folders
from answerback_client import Ask, ClientError, UnreachableError
from answerback_hosts.codex.app_server_answers import (
    ELICITATION,
    PERMISSIONS,
    QUESTION,
    answer_of,
    refusal,
)
from answerback_hosts.codex.app_server_capabilities import ClientCapabilities
from answerback_hosts.codex.app_server_items import MCP_TOOL_CALL, AnnouncedItems, approval_kind

Json = dict[str, JsonValue]

_DIALECTS: Final = {
    QUESTION: "codex",
    ELICITATION: "elicitation",
    PERMISSIONS: "approval",
    "item/commandExecution/requestApproval": "approval",
    "item/fileChange/requestApproval": "approval",
}
"""The requests that go to people, and their dialects."""
_CONTEXT_SOURCE: Final = "answerback"
"""The source of the additional context of a turn."""


class _Call(NamedTuple):
    """A call that people are asked about."""

    dialect: str
    arguments: Json


@dataclass(eq=False)
class CodexBridge:
    """One client and one app server."""

    people: RequestAsker
    late_answers: LateAnswerSource
    """The answers given after an earlier run had ended."""
    to_server: Callable[[bytes], object]
    """Sends a line to Codex."""
    to_client: Callable[[bytes], object]
    """Sends a line to the client."""
    report: Report

    def __post_init__(self) -> None:
        self._run = secrets.token_hex(8)
        """Makes request ids unique: a server restarts its count of requests each time that it starts."""
        self._tasks = asyncio.TaskGroup()
        self._pending = PendingRequests(self.people, self._tasks)
        self._carried: dict[str, Sequence[str]] = {}
        """The late answers in the client's requests, by request, until Codex has accepted it."""
        self._unresolved: dict[str, str] = {}
        """The answered questions, by request, until Codex reports that it has the answer."""
        self._reports = OutcomeReports(self.people, self._tasks)
        self._items = AnnouncedItems()
        self._capabilities = ClientCapabilities()
        self._folders = Folders()
        self._requests = 0

    async def run(self, client: AsyncIterator[bytes], server: AsyncIterator[bytes]) -> None:
        """Relay until the server ends.

        Its open permission prompts then end as well. Its questions stay open: an answer is delivered with the next turn
        of the thread.
        """
        await self.people.withdraw_stale_asks([], is_needed_by_its_run)
        async with self._tasks:
            from_client = self._tasks.create_task(self._relay_from_client(client))
            async for line in server:
                self._relay_from_server(line)
            from_client.cancel()
            self._pending.end()
            await self._reports.end()

    async def _relay_from_client(self, lines: AsyncIterator[bytes]) -> None:
        async for line in lines:
            match message := parse_message(line):
                case {"method": "initialize", "params": dict() as params}:
                    announced = self._capabilities.announce(params)
                    self.to_server(_encode_line({**message, "params": announced}))
                case {"method": "turn/start" | "turn/steer", "params": {"threadId": str(thread)}}:
                    late_answers = None
                    await self._reports.wait()
                    with suppress(UnreachableError):  # the next turn fetches them
                        late_answers = await self.late_answers.fetch(thread)
                    self.to_server(
                        line
                        if late_answers is None
                        else self._with_late_answers(late_answers, message)
                    )
                case _:
                    self.to_server(line)

    def _with_late_answers(self, late_answers: LateAnswerText, message: Json) -> bytes:
        """The client's request for a turn, with the late answers added to its context."""
        params = as_object(message["params"])
        context: Json = {**as_object(params.get("additionalContext"))}
        context[_CONTEXT_SOURCE] = {"kind": "application", "value": late_answers.text}
        self._carried[json.dumps(message.get("id"))] = late_answers.ask_ids
        return _encode_line({**message, "params": {**params, "additionalContext": context}})

    def _relay_from_server(self, line: bytes) -> None:
        match message := parse_message(line):
            case {"id": request_id, "method": str(method), "params": dict() as params} if (
                call := self._call(method, params)
            ):
                self._forward(request_id, method, call, line)
            case {"method": "serverRequest/resolved", "params": {"requestId": request_id}} if (
                self._pending.mark_gone(key := json.dumps(request_id)) or self._resolve(key)
            ):
                pass
            case {"id": str(request_id)} if request_id.startswith(self._run):
                pass  # the response to a request of our own
            case {"id": request_id}:
                self._settle_carried(request_id, message)
                self._note_folder(message.get("result"))
                self.to_client(line)
            case _:
                self._items.follow(message)
                self._note_folder(message.get("params"))
                self.to_client(line)

    def _call(self, method: str, params: Json) -> _Call | None:
        """Read a request of Codex; None if it is left to Codex's own client."""
        if method == ELICITATION and (kind := approval_kind(params)) is not None:
            if kind != MCP_TOOL_CALL:
                return None  # the client carries it out, for example installs a plug-in
            if (approval := self._items.take_mcp_approval(params)) is not None:
                return _Call("approval", approval)
        dialect = _DIALECTS.get(method)
        return None if dialect is None else _Call(dialect, self._items.with_changes(params))

    def _note_folder(self, result: JsonValue) -> None:
        """Note the folder of a thread that was started or resumed."""
        if isinstance(result, dict) and isinstance(thread := result.get("thread"), dict):
            self._folders.remember(thread.get("id"), thread.get("cwd", result.get("cwd")))

    def _settle_carried(self, request_id: JsonValue, response: Json) -> None:
        """Acknowledge the late answers in a request that Codex accepted, and return those in one that it refused."""
        if "method" in response:
            return
        if (carried := self._carried.pop(json.dumps(request_id), None)) is not None:
            self._reports.start(carried, taken="error" not in response)

    def _resolve(self, key: str) -> bool:
        """Acknowledge the answer to a question that Codex has taken; returns whether there was one."""
        ask_id = self._unresolved.pop(key, None)
        if ask_id is not None:
            self._reports.start([ask_id])
        return ask_id is not None

    def _forward(self, request_id: JsonValue, method: str, call: _Call, line: bytes) -> None:
        key, params = json.dumps(request_id), call.arguments

        async def answer(ask: Ask) -> None:
            if ask.end_turn and params.get("turnId") is not None:
                self._interrupt(params)
            decision = _encode_line({"id": request_id, **answer_of(method, ask)})
            if method == QUESTION:
                self.to_server(decision)
                self._unresolved[key] = ask.id
                self._steer(params, files_for_model(ask))
                return
            # The words go first, so that the model reads them with the decision, and does not act on that alone.
            self._steer(params, words_for_model(ask))
            self.to_server(decision)
            self._reports.start([ask.id])  # Codex does not say that it has it

        def refused(error: ClientError) -> None:
            self._pending.mark_gone(key)  # further messages about it are for the client
            if not self._capabilities.has_asked_for(params):
                self.report(f"Refused {method}, which Codex's own client cannot ask: {error}")
                self.to_server(_encode_line({"id": request_id, "result": refusal(method)}))
                return
            self.report(f"Passed {method} on to Codex's own client: {error}")
            self.to_client(line)

        self._pending.forward(key, self._request(request_id, method, call), answer, refused)

    def _request(self, request_id: JsonValue, method: str, call: _Call) -> Request:
        thread, turn, item = (
            value if isinstance(value := call.arguments.get(key), str) else None
            for key in ("threadId", "turnId", "itemId")
        )
        return Request(
            id=f"{self._run}:{request_id}",
            name=method,
            dialect=call.dialect,
            arguments=call.arguments,
            conversation=thread,
            turn=turn,
            tool_call_id=item,
            folder=self._folders.folder(thread),
            process=None if method == QUESTION else os.getpid(),
        )

    def _interrupt(self, params: Json) -> None:
        """End the turn."""
        self._send("turn/interrupt", {key: params.get(key) for key in ("threadId", "turnId")})

    def _steer(self, params: Json, text: str | None) -> None:
        """Tell the model what a person said to a request of a turn, if anything."""
        if text is None or params.get("turnId") is None:
            return
        turn: Json = {"threadId": params.get("threadId"), "expectedTurnId": params.get("turnId")}
        self._send("turn/steer", turn | {"input": [{"type": "text", "text": text}]})

    def _send(self, method: str, params: Json) -> None:
        """Send a request of our own, whose response is not awaited."""
        self._requests += 1
        own_id = f"{self._run}:{self._requests}"
        self.to_server(_encode_line({"id": own_id, "method": method, "params": params}))


def _encode_line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"
