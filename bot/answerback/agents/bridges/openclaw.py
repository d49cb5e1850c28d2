"""The bridge to a running OpenClaw gateway: forwards its questions and approvals to people.

Whatever is answered in OpenClaw itself first is withdrawn. A gateway keeps questions in memory: if it is killed,
they stay open, and their answers continue the session as a message.
"""

from __future__ import annotations

import asyncio
import hashlib
from datetime import datetime
from functools import partial
from typing import Final

from pydantic import JsonValue

from answerback.agents.bridges.ask_people import Request, RequestAsker, structured_result
from answerback.agents.bridges.frame import (
    Json,
    LateDelivery,
    PendingRequests,
    Report,
    follow,
    id_text,
    until_accepted,
)
from answerback.agents.bridges.late_answers import LateAnswerSource
from answerback.agents.bridges.openclaw_gateway import OpenclawGateway
from answerback_client import Ask

_QUESTION: Final = "question"
_KINDS: Final = (_QUESTION, "exec.approval", "plugin.approval")
_OWN_WINDOW: Final = "stays in OpenClaw's own windows"
_SHOWN: Final = ("header", "question", "options", "multiSelect")
_MAX_SESSIONS: Final = 50
"""The number of sessions that are checked for late answers."""
_START_TOLERANCE: Final = 3.0
"""Seconds by which two estimates of a gateway's start may differ: it takes longer to start again."""


class OpenclawBridge:
    """Follows one OpenClaw gateway.

    Args:
        late: the source of answers given after the gateway had ended.
    """

    def __init__(
        self,
        gateway: OpenclawGateway,
        people: RequestAsker,
        late: LateAnswerSource,
        report: Report,
    ) -> None:
        self._gateway = gateway
        self._people = people
        self._late = LateDelivery(late, self._prompt)
        self._report = report
        self._tasks = asyncio.TaskGroup()
        self._pending = PendingRequests(people, self._tasks)
        self._last_start = float("inf")
        """When the gateway that was connected last had started."""
        self._is_caught_up = False

    async def run(self) -> None:
        """Follow the gateway until cancelled.

        Raises:
            ForeignServerError: the address is not that of a gateway, or it refuses the token.
            ClientError: Answerback refuses the bridge, or cannot be reached at the start.
        """
        async with self._tasks:
            self._tasks.create_task(self._late.run())
            await follow(self._gateway, self._catch_up, self._handle_event, self._report)

    async def _catch_up(self) -> None:
        """Process the requests that came and went while there was no connection."""
        records = {kind: await self._list(kind) for kind in _KINDS}
        listed = {id_text(each.get("id")) or "" for rows in records.values() for each in rows}
        is_new = self._gateway.started_at > self._last_start + _START_TOLERANCE
        for key, request in self._pending.waiting.items():
            if key in listed:
                continue
            if is_new and request.dialect == "openclaw" and request.conversation is not None:
                self._late.interrupted.add(request.conversation)
                self._pending.drop(key)
            else:
                self._pending.mark_gone(key)
        self._last_start = self._gateway.started_at
        for kind, rows in records.items():
            for each in rows:
                self._ask(kind, each)
        if not self._is_caught_up:
            await self._people.withdraw_stale_asks(listed, self._is_needed)
            waiting = {request.conversation for request in self._pending.waiting.values()}
            # What was answered while no bridge ran; a session that waits gets its answer where it waits.
            for session in {*await self._sessions()} - waiting:
                await self._late.deliver(session)
            self._is_caught_up = True

    async def _list(self, kind: str) -> list[Json]:
        found = await self._gateway.call(f"{kind}.list") or {}
        rows = found.get("questions", found.get("items"))
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    async def _sessions(self) -> list[str]:
        found = await self._gateway.call("sessions.list", limit=_MAX_SESSIONS) or {}
        rows = found.get("sessions")
        keys = (
            [row.get("key") for row in rows if isinstance(row, dict)]
            if isinstance(rows, list)
            else []
        )
        return [key for key in map(id_text, keys) if key is not None]

    async def _is_needed(self, ask: Ask) -> bool:
        """Whether the gateway has ended since a question was put to an earlier run: its answer then comes late."""
        session = id_text(ask.json["conversation"])
        asked_at = datetime.fromisoformat(str(ask.json["created_at"])).timestamp()
        if ask.json["dialect"] != "openclaw" or session is None:
            return False
        if asked_at > self._gateway.started_at:
            return False
        self._late.interrupted.add(session)
        return True

    async def _prompt(self, session: str, text: str) -> bool:
        key = hashlib.sha256(text.encode()).hexdigest()
        sent = {"sessionKey": session, "message": text, "idempotencyKey": key}
        return await self._accepts("chat.send", {**sent})

    def _handle_event(self, event: Json) -> None:
        payload = event.get("payload")
        kind, _, what = str(event.get("event")).rpartition(".")
        if kind not in _KINDS or not isinstance(payload, dict):
            return
        if what == "requested":
            self._ask(kind, payload)
        elif what == "resolved":
            self._pending.mark_gone(str(payload.get("id")))

    def _ask(self, kind: str, record: Json) -> None:
        request = _parse_question(record) if kind == _QUESTION else _parse_approval(kind, record)
        if request is None:
            self._report(f"A {kind} that is secret or has no valid id {_OWN_WINDOW}.")
            return
        name = f"{kind} {request.id}"

        async def answer(ask: Ask) -> None:
            for method, params in _answers(kind, request, ask):
                if not await until_accepted(partial(self._accepts, method, params)):
                    self._report(f"OpenClaw no longer waits for {name}.")
                    return

        self._pending.forward(
            request.id,
            request,
            answer,
            lambda error: self._report(f"{name} {_OWN_WINDOW}: {error}"),
        )

    async def _accepts(self, method: str, params: Json) -> bool:
        return await self._gateway.call(method, **params) is not None


def _parse_question(record: Json) -> Request | None:
    rows = record.get("questions")
    asked = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
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
        arguments={key: value for key, value in asked.items() if value is not None},
        conversation=id_text(asked.get("sessionKey")),
        tool_call_id=id_text(asked.get("toolCallId")),
        turn=id_text(asked.get("runId")),
        folder=folder if isinstance(folder, str) else None,
    )


def _answers(kind: str, request: Request, ask: Ask) -> list[tuple[str, Json]]:
    """The calls that report to the gateway how an ask ended."""
    structured = structured_result(ask) or {}
    resolve = f"{kind}.resolve"
    if kind != _QUESTION:
        calls = [(resolve, {"id": request.id, "decision": structured.get("decision", "deny")})]
    elif (given := _given(request, structured)) is not None:
        calls = [(resolve, {"id": request.id, "answers": {"answers": given}})]
    else:
        calls = [(resolve, {"id": request.id, "cancel": True})]
    if ask.end_turn and request.conversation is not None:
        calls.append(("chat.abort", {"sessionKey": request.conversation}))
    return calls


def _given(request: Request, structured: Json) -> Json | None:
    """The answers by question; a message in their place is the answer to those that are open. None: there are none."""
    envelope, message = structured.get("answers"), structured.get("reply")
    answers = envelope.get("answers") if isinstance(envelope, dict) else None
    given = answers if isinstance(answers, dict) else {}
    if structured.get("status") == "answered" or not isinstance(message, str) or not message:
        return given or None
    rows = request.arguments["questions"]
    asked = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return {str(row["id"]): given.get(str(row["id"])) or [message] for row in asked}
