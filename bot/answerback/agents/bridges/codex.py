"""The bridge between a client and ``codex app-server``: what Codex asks goes to people, all else passes through.

Messages are lines of JSON without a ``jsonrpc`` key. Read in the schema that ``codex app-server generate-json-schema``
of release 0.169.0 writes. Codex asks questions of a client that has said ``experimentalApi``: the bridge says it.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from answerback.agents.bridges.ask_people import PROCESS, Request, RequestAsker
from answerback.agents.bridges.late_answers import LateAnswerSource, LateAnswerText
from answerback.agents.command_hooks.delivery_receipts import DeliveryReceipt
from answerback_client import Ask, ClientError

Json = dict[str, JsonValue]

_OBJECT: Final = TypeAdapter(Json)
_QUESTION: Final = "item/tool/requestUserInput"
_ELICITATION: Final = "mcpServer/elicitation/request"
_PERMISSIONS: Final = "item/permissions/requestApproval"
_DIALECTS: Final = {
    _QUESTION: "codex",
    _ELICITATION: "elicitation",
    _PERMISSIONS: "approval",
    "item/commandExecution/requestApproval": "approval",
    "item/fileChange/requestApproval": "approval",
}
"""The requests that go to people, and their dialects."""
_DECLINED: Final[dict[str, Json]] = {
    _ELICITATION: {"action": "cancel"},
    _PERMISSIONS: {"permissions": {}, "scope": "turn"},
}
_FAILED: Final = -32000
_CONTEXT: Final = "answerback"
"""The source of what a turn is told beside its input."""


@dataclass(slots=True)
class _Pending:
    """A request that people are asked about; Codex says when it is resolved, also by their answer."""

    id: JsonValue
    method: str
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when Codex does not wait for it any more."""
    task: asyncio.Task[None] = field(init=False)
    """Waits for the answer."""


class CodexBridge:
    """One client and one app server.

    Args:
        late: what people answered after an earlier run had ended.
        to_server: takes a line for Codex.
        to_client: takes a line for the client.
        tell: takes a line for the person who started the bridge.
    """

    def __init__(
        self,
        people: RequestAsker,
        late: LateAnswerSource,
        to_server: Callable[[bytes], None],
        to_client: Callable[[bytes], None],
        tell: Callable[[str], None],
    ) -> None:
        self._people = people
        self._late = late
        self._to_server = to_server
        self._to_client = to_client
        self._tell = tell
        self._run = secrets.token_hex(8)
        """A server counts its requests anew each time that it is started."""
        self._pending: dict[str, _Pending] = {}
        self._told: dict[str, DeliveryReceipt] = {}
        """Requests of the client with late answers in them, until Codex has taken them."""
        self._interrupts = 0

    async def run(self, client: AsyncIterator[bytes], server: AsyncIterator[bytes]) -> None:
        """Passes on until the server ends.

        Then nobody may decide any more what it wanted to be allowed. Its questions stay open: an answer goes with the
        next turn of the thread.
        """
        await self._people.withdraw_stale_asks([], _is_needed)
        async with asyncio.TaskGroup() as tasks:
            said = tasks.create_task(self._from_client(client))
            async for line in server:
                self._from_server(line, tasks)
            said.cancel()
            for pending in self._pending.values():
                pending.task.cancel()
            for receipt in self._told.values():
                receipt.abandon()

    async def _from_client(self, lines: AsyncIterator[bytes]) -> None:
        async for line in lines:
            match message := _message(line) or {}:
                case {"method": "initialize", "params": dict() as params}:
                    given = params.get("capabilities")
                    known = given if isinstance(given, dict) else {}
                    told: Json = {**params, "capabilities": {**known, "experimentalApi": True}}
                    self._to_server(_line({**message, "params": told}))
                case {"method": "turn/start" | "turn/steer", "params": {"threadId": str(thread)}}:
                    words = await self._late.fetch(thread)
                    self._to_server(line if words is None else self._with(words, message))
                case _:
                    self._to_server(line)

    def _with(self, words: LateAnswerText, message: Json) -> bytes:
        """A request of the client's for a turn, with what people answered late."""
        params = message["params"]
        assert isinstance(params, dict)
        given = params.get("additionalContext")
        context: Json = {**(given if isinstance(given, dict) else {})}
        context[_CONTEXT] = {"kind": "application", "value": words.text}
        self._told[json.dumps(message.get("id"))] = words.receipt
        return _line({**message, "params": {**params, "additionalContext": context}})

    def _from_server(self, line: bytes, tasks: asyncio.TaskGroup) -> None:
        match message := _message(line) or {}:
            case {"id": request_id, "method": str(method), "params": dict() as params} if (
                method in _DIALECTS
            ):
                pending = self._pending[json.dumps(request_id)] = _Pending(request_id, method)
                pending.task = tasks.create_task(self._carry(pending, params, line))
            case {"method": "serverRequest/resolved", "params": {"requestId": request_id}} if (
                found := self._pending.pop(json.dumps(request_id), None)
            ):
                found.gone.set()
            case {"id": str(request_id)} if request_id.startswith(self._run):
                pass  # what became of our own interrupt
            case {"id": request_id}:
                self._taken(request_id, message)
                self._to_client(line)
            case _:
                self._to_client(line)

    def _taken(self, request_id: JsonValue, response: Json) -> None:
        """Codex has the late answers that were in a request of the client's, unless it refused that."""
        if "method" not in response and (receipt := self._told.pop(json.dumps(request_id), None)):
            receipt.abandon() if "error" in response else receipt.confirm()

    async def _carry(self, pending: _Pending, params: Json, line: bytes) -> None:
        """Puts a request to people, and their answer to Codex."""
        try:
            ask = await self._people.ask_and_wait(self._request(pending, params), pending.gone)
        except ClientError as error:
            if self._pending.pop(json.dumps(pending.id), None) is not None:
                self._tell(f"{pending.method} goes to Codex's own client: {error}")
                self._to_client(line)
            return
        if ask is not None:
            if ask.end_turn and params.get("turnId") is not None:
                self._interrupt(params)
            self._to_server(_line({"id": pending.id, **_answer(pending.method, ask)}))

    def _request(self, pending: _Pending, params: Json) -> Request:
        thread, turn, item = (
            value if isinstance(value := params.get(key), str) else None
            for key in ("threadId", "turnId", "itemId")
        )
        return Request(
            id=f"{self._run}:{pending.id}",
            name=pending.method,
            dialect=_DIALECTS[pending.method],
            arguments=params,
            conversation=thread,
            turn=turn,
            tool_call_id=item,
            process=None if pending.method == _QUESTION else os.getpid(),
        )

    def _interrupt(self, params: Json) -> None:
        """Ends the turn."""
        self._interrupts += 1
        turn = {key: params.get(key) for key in ("threadId", "turnId")}
        message: Json = {
            "id": f"{self._run}:{self._interrupts}",
            "method": "turn/interrupt",
            "params": {**turn},
        }
        self._to_server(_line(message))


async def _is_needed(ask: Ask) -> bool:
    """Whether an answer to what another run asked is of use: to a question, or while that run goes on."""
    metadata = ask.json["metadata"]
    process = metadata.get(PROCESS) if isinstance(metadata, dict) else None
    if not isinstance(process, int):
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # somebody else's
    return process != os.getpid()  # this run has not asked anything yet


def _answer(method: str, ask: Ask) -> Json:
    """The response that tells Codex how an ask ended."""
    result = ask.tool_result
    found = result.structured if result and not result.is_error else None
    if method == _QUESTION:
        if isinstance(found, dict):
            return {"result": {"answers": found["answers"]}}
        if result is None:
            return {"result": {"answers": {}}}
        return {"error": {"code": _FAILED, "message": result.content}}
    if isinstance(found, dict):
        return {"result": found}
    decision = "cancel" if ask.end_turn else "decline"
    return {"result": _DECLINED.get(method, {"decision": decision})}


def _message(line: bytes) -> Json | None:
    try:
        return _OBJECT.validate_json(line)
    except ValidationError:
        return None


def _line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"
