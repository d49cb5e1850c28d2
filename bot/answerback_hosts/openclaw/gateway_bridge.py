"""The bridge to a running OpenClaw gateway: forwards its questions and approvals to people.

Whatever is answered in OpenClaw itself first is withdrawn. A gateway keeps questions in memory: if it is killed,
they stay open, and their answers continue the session as a message.
"""

from __future__ import annotations

import hashlib
from typing import Final

from pydantic import JsonValue

from answerback_agents.bridges.ask_people import (
    Request,
    files_for_model,
    id_text,
    structured_result,
)
from answerback_agents.bridges.event_server import Json
from answerback_agents.bridges.server_bridge import Call, ServerBridge
from answerback_agents.pipe.json_rpc import as_object, objects, without_nulls
from answerback_client import Ask
from answerback_hosts.openclaw.gateway import OpenclawGateway

_QUESTION: Final = "question"
_SHOWN: Final = ("header", "question", "options", "multiSelect")
_START_TOLERANCE: Final = 3.0
"""Seconds by which two estimates of a gateway's start may differ: it takes longer to start again."""


class OpenclawBridge(ServerBridge[OpenclawGateway]):
    host = "OpenClaw"
    kinds = (_QUESTION, "exec.approval", "plugin.approval")
    question_dialect = "openclaw"
    unreadable = "that is secret or has no valid id"
    _last_start = float("inf")
    """When the gateway that was connected last had started."""

    async def catch_up(self) -> None:
        await super().catch_up()
        self._last_start = self.server.started_at

    async def list_pending(self, kind: str) -> list[Json]:
        found = await self.server.call(f"{kind}.list") or {}
        return objects(found.get("questions", found.get("items")))

    async def was_interrupted(
        self, session: str, call_id: str | None, asked_at: float | None
    ) -> bool:
        """Return True if another gateway runs than the one that a question waited in."""
        if asked_at is not None:
            return asked_at <= self.server.started_at
        return self.server.started_at > self._last_start + _START_TOLERANCE

    def prompt(self, session: str, text: str) -> Call:
        key = hashlib.sha256(text.encode()).hexdigest()
        return "chat.send", {"sessionKey": session, "message": text, "idempotencyKey": key}

    async def send(self, call: Call) -> bool:
        method, params = call
        return await self.server.call(method, **params or {}) is not None

    def handle_event(self, event: Json) -> None:
        payload = event.get("payload")
        kind, _, what = str(event.get("event")).rpartition(".")
        if kind not in self.kinds or not isinstance(payload, dict):
            return
        if what == "requested":
            self.ask(kind, payload)
        elif what == "resolved":
            self.pending.mark_gone(str(payload.get("id")))

    def parse(self, kind: str, record: Json) -> Request | None:
        return _parse_question(record) if kind == _QUESTION else _parse_approval(kind, record)

    def answers(self, kind: str, request: Request, ask: Ask) -> list[Call]:
        structured = structured_result(ask) or {}
        ended: Json
        if kind != _QUESTION:
            ended = {"decision": structured.get("decision", "deny")}
        elif (given := _given(request, structured)) is not None:
            ended = {"answers": {"answers": given}}
        else:
            ended = {"cancel": True}
        calls: list[Call] = [(f"{kind}.resolve", {"id": request.id, **ended})]
        if ask.end_turn and request.conversation is not None:
            calls.append(("chat.abort", {"sessionKey": request.conversation}))
        elif request.conversation is not None and (text := files_for_model(ask)) is not None:
            calls.append(self.prompt(request.conversation, text))
        return calls


def _parse_question(record: Json) -> Request | None:
    asked = objects(record.get("questions"))
    if (request_id := id_text(record.get("id"))) is None or any(q.get("isSecret") for q in asked):
        return None
    questions: list[JsonValue] = [
        {"id": row.get("questionId"), **{key: row[key] for key in _SHOWN if key in row}}
        for row in asked
    ]
    return Request(
        id=request_id,
        name="ask_user",
        dialect="openclaw",
        arguments={"questions": questions},
        conversation=id_text(record.get("sessionKey")),
        turn=id_text(record.get("runId")),
    )


def _parse_approval(kind: str, record: Json) -> Request | None:
    asked = record.get("request")
    if (request_id := id_text(record.get("id"))) is None or not isinstance(asked, dict):
        return None
    folder = asked.get("cwd")
    return Request(
        id=request_id,
        name=f"{kind}.requested",
        dialect="approval",
        arguments=without_nulls(asked),
        conversation=id_text(asked.get("sessionKey")),
        tool_call_id=id_text(asked.get("toolCallId")),
        turn=id_text(asked.get("runId")),
        folder=folder if isinstance(folder, str) else None,
    )


def _given(request: Request, structured: Json) -> Json | None:
    """The answers by question; a message in their place is the answer to those that are open. None: no answers."""
    given = as_object(as_object(structured.get("answers")).get("answers"))
    message = structured.get("reply")
    if structured.get("status") == "answered" or not isinstance(message, str) or not message:
        return given or None
    asked = objects(request.arguments["questions"])
    return {str(row["id"]): given.get(str(row["id"])) or [message] for row in asked}
