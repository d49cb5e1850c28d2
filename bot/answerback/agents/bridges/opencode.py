"""The bridge to a running ``opencode serve``: forwards its questions and permission prompts to people.

If opencode's own window answers first, the ask is withdrawn. A bridge that was killed, or lost its connection, finds
the requests that wait for an answer in opencode's lists, and its first asks by their idempotency keys.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final, Literal, assert_never
from urllib.parse import quote

from answerback.agents.bridges.ask_people import (
    Request,
    RequestAsker,
    is_machine_made,
    reason_for_no_answer,
    structured_result,
)
from answerback.agents.bridges.frame import (
    ForeignServerError,
    Json,
    LateDelivery,
    Pending,
    PendingRequests,
    Report,
    ServerUnavailableError,
    follow,
    id_text,
    until_accepted,
)
from answerback.agents.bridges.late_answers import LateAnswerSource
from answerback.agents.bridges.opencode_server import OpencodeServer
from answerback_client import Ask
from answerback_client.backoff import Backoff

Kind = Literal["question", "permission"]

_KINDS: Final[tuple[Kind, ...]] = ("question", "permission")
_FIRST_PAUSE: Final = 0.25
_MAX_PAUSE: Final = 10.0
_QUESTION: Final = "question"
_NO_PERSON: Final = "[no answer: no person answered]"


class OpencodeBridge:
    """Follows one opencode server.

    Args:
        late: the source of answers given after opencode had ended.
    """

    def __init__(
        self,
        server: OpencodeServer,
        people: RequestAsker,
        late: LateAnswerSource,
        report: Report,
    ) -> None:
        self._server = server
        self._people = people
        self._late = LateDelivery(late, self._prompt)
        self._report = report
        self._tasks = asyncio.TaskGroup()
        self._pending = PendingRequests(people, self._tasks)
        self._is_caught_up = False

    async def run(self) -> None:
        """Follow the server until cancelled.

        Raises:
            ForeignServerError: the address is not that of an opencode server.
            ClientError: Answerback refuses the bridge, or cannot be reached at the start.
        """
        async with self._tasks:
            self._tasks.create_task(self._late.run())
            await follow(self._server, self._catch_up, self._handle_event, self._report)

    async def _catch_up(self) -> None:
        """Process the requests that came and went while there was no connection."""
        listed = {kind: await self._server.pending(kind) for kind in _KINDS}
        waiting = {id_text(each.get("id")) or "" for rows in listed.values() for each in rows}
        for request_id in self._pending.waiting.keys() - waiting:
            await self._handle_missing(request_id)
        if not self._is_caught_up:
            await self._people.withdraw_stale_asks(waiting, self._is_needed)
            for session in await self._server.sessions():
                await self._late.deliver(session)
            self._is_caught_up = True
        for kind, rows in listed.items():
            for each in rows:
                self._ask(kind, each)

    async def _handle_missing(self, request_id: str) -> None:
        """Handle a request that opencode no longer waits for: either answered there, or interrupted by its end."""
        if (asked := self._pending.waiting.get(request_id)) is None:
            return  # it was answered meanwhile
        if await self._was_interrupted(asked.name, asked.conversation, asked.tool_call_id):
            self._pending.drop(request_id)
        else:
            self._pending.mark_gone(request_id)

    async def _is_needed(self, ask: Ask) -> bool:
        """Whether an answer to an earlier run's ask is delivered late."""
        session, call_id = ask.json["conversation"], ask.json["tool_call_id"]
        name = _QUESTION if ask.json["dialect"] == "opencode" else ""
        return await self._was_interrupted(name, *map(id_text, (session, call_id)))

    async def _was_interrupted(self, name: str, session: str | None, call_id: str | None) -> bool:
        """Whether opencode ended while it waited; its questions then stay open, and their answers come late."""
        if name != _QUESTION or session is None or call_id is None:
            return False
        if not await self._server.was_interrupted(session, call_id):
            return False
        self._late.interrupted.add(session)
        return True

    async def _prompt(self, session: str, text: str) -> bool:
        body: Json = {"parts": [{"type": "text", "text": text}]}
        return await self._server.post(f"/session/{quote(session, safe='')}/prompt_async", body)

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
                self._pending.mark_gone(request_id)
            case _:
                pass

    def _ask(self, kind: Kind, asked: Json) -> None:
        request = _parse_request(kind, asked)
        if request is None:
            self._report(f"A {kind} without a valid id stays in opencode's own window.")
            return
        name = f"{request.name} {request.id}"

        async def answer(ask: Ask) -> None:
            for path, body in _answers(kind, request, ask):
                if not await until_accepted(partial(self._server.post, path, body)):
                    self._report(f"opencode no longer waits for {path}.")

        self._pending.forward(
            request.id,
            request,
            answer,
            lambda error: self._report(f"{name} stays in opencode's own window: {error}"),
            self._place,
        )

    async def _place(self, pending: Pending) -> Request:
        """Add the folder of the request's session: the ask of an earlier run has it too."""
        if (session := pending.request.conversation) is None:
            return pending.request
        backoff = Backoff(_FIRST_PAUSE, _MAX_PAUSE)
        while not pending.gone.is_set():
            try:
                return pending.request._replace(folder=await self._server.folder(session))
            except ServerUnavailableError:
                await backoff.wait()
            except ForeignServerError:
                break
        return pending.request


def _parse_request(kind: Kind, asked: Json) -> Request | None:
    tool, session = asked.get("tool"), asked.get("sessionID")
    call_id = tool.get("callID") if isinstance(tool, dict) else None
    if (request_id := id_text(asked.get("id"))) is None:
        return None
    shown = ("questions",) if kind == "question" else ("permission", "patterns", "always", "metadata")  # fmt: skip
    return Request(
        id=request_id,
        name=_QUESTION if kind == "question" else "permission.asked",
        dialect="opencode" if kind == "question" else "approval",
        arguments={key: asked[key] for key in shown if key in asked},
        conversation=id_text(session),
        tool_call_id=id_text(call_id),
    )


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
