"""The bridge to a running ``opencode serve``: forwards its questions and permission prompts to people.

If opencode's own window answers first, the ask is withdrawn. A bridge that was killed, or lost its connection, finds
the requests that wait for an answer in opencode's lists, and its first asks by their idempotency keys.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, assert_never
from urllib.parse import quote

from pydantic import JsonValue

from answerback.agents.bridges.ask_people import (
    Request,
    RequestAsker,
    is_machine_made,
    reason_for_no_answer,
    structured_result,
)
from answerback.agents.bridges.late_answers import LateAnswerSource
from answerback.agents.bridges.opencode_server import (
    NotOpencodeError,
    OpencodeServer,
    ServerUnavailableError,
)
from answerback_client import Ask, ClientError
from answerback_client.backoff import Backoff

Json = dict[str, JsonValue]
Kind = Literal["question", "permission"]

_KINDS: Final[tuple[Kind, ...]] = ("question", "permission")
_FIRST_PAUSE: Final = 0.25
_MAX_PAUSE: Final = 10.0
_LATE_ANSWER_INTERVAL: Final = 2.0
"""Seconds between two checks for answers to interrupted sessions."""
_QUESTION: Final = "question"
_NO_PERSON: Final = "[no answer: no person answered]"


@dataclass(slots=True)
class _Pending:
    """A request that people are asked about."""

    kind: Kind
    request: Request
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when opencode no longer waits for an answer."""
    task: asyncio.Task[None] = field(init=False)
    """Waits for the answer."""


class OpencodeBridge:
    """Follows one opencode server.

    Args:
        late: the source of answers given after opencode had ended.
        report: shows a line to the person who started the bridge.
    """

    def __init__(
        self,
        server: OpencodeServer,
        people: RequestAsker,
        late: LateAnswerSource,
        report: Callable[[str], None],
    ) -> None:
        self._server = server
        self._people = people
        self._late_answers = late
        self._interrupted: set[str] = set()
        """Sessions with open questions that no longer wait for the answers."""
        self._report = report
        self._pending: dict[str, _Pending] = {}
        self._tasks = asyncio.TaskGroup()
        self._is_caught_up = False

    async def run(self) -> None:
        """Follow the server until cancelled.

        Raises:
            NotOpencodeError: the address is not that of an opencode server.
            ClientError: Answerback refuses the bridge, or cannot be reached at the start.
        """
        backoff = Backoff(_FIRST_PAUSE, _MAX_PAUSE)
        connected = True  # so that a server that is down is reported at once, and only once
        async with self._tasks:
            self._tasks.create_task(self._follow_late())
            while True:
                try:
                    async with self._server.open_event_stream() as events:
                        await self._catch_up()
                        backoff.reset()
                        self._report(f"Connected to {self._server.url}.")
                        connected = True
                        async for event in events:
                            self._handle_event(event)
                except ServerUnavailableError as error:
                    if connected:
                        self._report(f"{error} Retrying until it is back.")
                    connected = False
                await backoff.wait()

    async def _catch_up(self) -> None:
        """Process the requests that came and went while there was no connection."""
        pending = {kind: await self._server.pending(kind) for kind in _KINDS}
        waiting = {_text(each.get("id")) or "" for rows in pending.values() for each in rows}
        for request_id in self._pending.keys() - waiting:
            await self._handle_missing(request_id)
        if not self._is_caught_up:
            await self._people.withdraw_stale_asks(waiting, self._is_needed)
            for session in await self._server.sessions():
                await self._prompt_with_late_answers(session)
            self._is_caught_up = True
        for kind, rows in pending.items():
            for each in rows:
                self._ask(kind, each)

    async def _handle_missing(self, request_id: str) -> None:
        """Handle a request that opencode no longer waits for: either answered there, or interrupted by its end."""
        if (pending := self._pending.get(request_id)) is None:
            return  # it was answered meanwhile
        asked = pending.request
        if await self._was_interrupted(asked.name, asked.conversation, asked.tool_call_id):
            self._pending.pop(request_id, None)
            pending.task.cancel()
        else:
            self._mark_gone(request_id)

    async def _is_needed(self, ask: Ask) -> bool:
        """Whether an answer to an earlier run's ask is delivered late."""
        session, call_id = ask.json["conversation"], ask.json["tool_call_id"]
        name = _QUESTION if ask.json["dialect"] == "opencode" else ""
        return await self._was_interrupted(name, *map(_text, (session, call_id)))

    async def _was_interrupted(self, name: str, session: str | None, call_id: str | None) -> bool:
        """Whether opencode ended while it waited; its questions then stay open, and their answers come late."""
        if name != _QUESTION or session is None or call_id is None:
            return False
        if not await self._server.was_interrupted(session, call_id):
            return False
        self._interrupted.add(session)
        return True

    async def _follow_late(self) -> None:
        """Deliver answers to interrupted sessions."""
        while True:
            with contextlib.suppress(ServerUnavailableError):
                waiting = [*self._interrupted]
                self._interrupted -= {
                    session for session in waiting if await self._prompt_with_late_answers(session)
                }
            await asyncio.sleep(_LATE_ANSWER_INTERVAL)

    async def _prompt_with_late_answers(self, session: str) -> bool:
        """Prompt a session with its late answers, so that it continues; returns whether there were any."""
        words = await self._late_answers.fetch(session)
        if words is None:
            return False
        body: Json = {"parts": [{"type": "text", "text": words.text}]}
        try:
            if await self._server.post(f"/session/{quote(session, safe='')}/prompt_async", body):
                words.receipt.confirm()
        finally:
            words.receipt.abandon()  # has no effect once confirmed
        return True

    def _handle_event(self, event: Json) -> None:
        match event:
            case {"type": "question.asked", "properties": dict() as asked}:
                self._ask("question", asked)
            case {"type": "permission.asked", "properties": dict() as asked}:
                self._ask("permission", asked)
            case {
                "type": "question.replied" | "question.rejected" | "permission.replied",
                "properties": {"requestID": str(request_id)},
            }:
                self._mark_gone(request_id)
            case _:
                pass

    def _ask(self, kind: Kind, asked: Json) -> None:
        request = _parse_request(kind, asked)
        if request is None:
            self._report(f"A {kind} without a valid id stays in opencode's own window.")
        elif request.id not in self._pending:
            pending = self._pending[request.id] = _Pending(kind, request)
            pending.task = self._tasks.create_task(self._forward(pending))

    def _mark_gone(self, request_id: str) -> None:
        if (pending := self._pending.pop(request_id, None)) is not None:
            pending.gone.set()

    async def _forward(self, pending: _Pending) -> None:
        """Ask people about a request, and send their answer to opencode."""
        request = pending.request
        try:
            placed = request._replace(folder=await self._folder(pending))
            ask = await self._people.ask_and_wait(placed, pending.gone)
        except ClientError as error:
            self._report(f"{request.name} {request.id} stays in opencode's own window: {error}")
            return
        if ask is not None:
            for path, body in _answers(pending.kind, request, ask):
                await self._deliver(path, body)
        self._pending.pop(request.id, None)

    async def _folder(self, pending: _Pending) -> str | None:
        """The folder of a request's session, the same for the same request: the ask of an earlier run has it too."""
        if (session := pending.request.conversation) is None:
            return None
        backoff = Backoff(_FIRST_PAUSE, _MAX_PAUSE)
        while not pending.gone.is_set():
            try:
                return await self._server.folder(session)
            except ServerUnavailableError:
                await backoff.wait()
            except NotOpencodeError:
                break
        return None

    async def _deliver(self, path: str, body: Json | None) -> None:
        """Post until opencode has received it. opencode accepts one answer, and refuses a second one."""
        backoff = Backoff(_FIRST_PAUSE, _MAX_PAUSE)
        while True:
            try:
                if not await self._server.post(path, body):
                    self._report(f"opencode no longer waits for {path}.")
                return
            except ServerUnavailableError:
                await backoff.wait()


def _parse_request(kind: Kind, asked: Json) -> Request | None:
    tool, session = asked.get("tool"), asked.get("sessionID")
    call_id = tool.get("callID") if isinstance(tool, dict) else None
    if (request_id := _text(asked.get("id"))) is None:
        return None
    shown = ("questions",) if kind == "question" else ("permission", "patterns", "always", "metadata")  # fmt: skip
    return Request(
        id=request_id,
        name=_QUESTION if kind == "question" else "permission.asked",
        dialect="opencode" if kind == "question" else "approval",
        arguments={key: asked[key] for key in shown if key in asked},
        conversation=_text(session),
        tool_call_id=_text(call_id),
    )


def _text(value: JsonValue) -> str | None:
    """Return an id: they are part of paths and headers."""
    is_id = isinstance(value, str) and value.isascii() and value.isprintable()
    return value if is_id and isinstance(value, str) and value else None


def _answers(kind: Kind, request: Request, ask: Ask) -> list[tuple[str, Json | None]]:
    """The API calls that report to opencode how an ask ended."""
    at = f"/{kind}/{quote(request.id, safe='')}"
    structured = structured_result(ask)
    match kind:
        case "question":
            if structured is not None:
                return [(f"{at}/reply", {"answers": structured.get("answers")})]
            if is_machine_made(ask):
                questions = request.arguments.get("questions")
                count = len(questions) if isinstance(questions, list) else 1
                return [(f"{at}/reply", {"answers": [[_NO_PERSON]] * count})]
            return [(f"{at}/reject", None)]
        case "permission":
            if structured is not None:
                return [(f"{at}/reply", structured)]
            refused: Json = {"reply": "reject"}
            if not ask.end_turn:
                return [(f"{at}/reply", {**refused, "message": reason_for_no_answer(ask)})]
            session = quote(request.conversation or "", safe="")
            return [(f"{at}/reply", refused), (f"/session/{session}/abort", None)]
        case _:
            assert_never(kind)
