"""The bridge to a running ``opencode serve``: its questions and permission prompts go to people.

What opencode's own window answers first is withdrawn. A bridge that was killed, or lost its connection, finds in
opencode's lists what waits for an answer, and people's first asks by their idempotency keys.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, assert_never
from urllib.parse import quote

from pydantic import JsonValue

from answerback.agents.bridges.ask_people import Request, RequestAsker
from answerback.agents.bridges.late_answers import LateAnswerSource
from answerback.agents.bridges.opencode_server import OpencodeServer, ServerUnavailableError
from answerback_client import Ask, ClientError
from answerback_client.backoff import Backoff

Json = dict[str, JsonValue]
Kind = Literal["question", "permission"]

_KINDS: Final[tuple[Kind, ...]] = ("question", "permission")
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 10.0
_LOOK_AGAIN: Final = 2.0
"""Seconds between two looks whether people have answered an interrupted session."""
_QUESTION: Final = "question"


@dataclass(slots=True)
class _Pending:
    """A request that people are asked about."""

    kind: Kind
    request: Request
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when opencode does not wait for it any more."""
    task: asyncio.Task[None] = field(init=False)
    """Waits for the answer."""


class OpencodeBridge:
    """Follows one opencode server.

    Args:
        late: what people answered after opencode had been ended.
        tell: takes a line for the person who started the bridge.
    """

    def __init__(
        self,
        server: OpencodeServer,
        people: RequestAsker,
        late: LateAnswerSource,
        tell: Callable[[str], None],
    ) -> None:
        self._server = server
        self._people = people
        self._late = late
        self._interrupted: set[str] = set()
        """Sessions whose questions are open, and that do not wait for the answer any more."""
        self._tell = tell
        self._pending: dict[str, _Pending] = {}
        self._tasks = asyncio.TaskGroup()
        self._looked_back = False

    async def run(self) -> None:
        """Follows the server until it is cancelled.

        Raises:
            NotOpencodeError: something else answers there.
            ClientError: Answerback refuses the bridge, or cannot be reached when it starts.
        """
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        connected = True  # so that a server that is away is told of at once, and once
        async with self._tasks:
            self._tasks.create_task(self._follow_late())
            while True:
                try:
                    async with self._server.open_event_stream() as events:
                        await self._catch_up()
                        backoff.reset()
                        self._tell(f"Connected to {self._server.url}.")
                        connected = True
                        async for event in events:
                            self._take(event)
                except ServerUnavailableError as error:
                    if connected:
                        self._tell(f"{error} Trying again until it does.")
                    connected = False
                await backoff.wait()

    async def _catch_up(self) -> None:
        """Takes up what came, and what went, while nothing was connected."""
        found = {kind: await self._server.pending(kind) for kind in _KINDS}
        waiting = {str(each["id"]) for rows in found.values() for each in rows}
        for request_id in self._pending.keys() - waiting:
            await self._missing(request_id)
        if not self._looked_back:
            await self._people.withdraw_stale_asks(waiting, self._is_needed)
            for session in await self._server.sessions():
                await self._tell_late(session)
            self._looked_back = True
        for kind, rows in found.items():
            for each in rows:
                self._ask(kind, each)

    async def _missing(self, request_id: str) -> None:
        """A request that opencode does not wait for any more: was it answered there, or was opencode ended?"""
        if (pending := self._pending.get(request_id)) is None:
            return  # it was answered meanwhile
        asked = pending.request
        if await self._was_interrupted(asked.name, asked.conversation, asked.tool_call_id):
            self._pending.pop(request_id, None)
            pending.task.cancel()
        else:
            self._gone(request_id)

    async def _is_needed(self, ask: Ask) -> bool:
        """Whether an answer to what an earlier run asked is told late."""
        session, call_id = ask.json["conversation"], ask.json["tool_call_id"]
        name = _QUESTION if ask.json["dialect"] == "opencode" else ""
        return await self._was_interrupted(name, *map(_text, (session, call_id)))

    async def _was_interrupted(self, name: str, session: str | None, call_id: str | None) -> bool:
        """Whether opencode was ended while it waited; its questions stay open, and are told late."""
        if name != _QUESTION or session is None or call_id is None:
            return False
        if not await self._server.was_interrupted(session, call_id):
            return False
        self._interrupted.add(session)
        return True

    async def _follow_late(self) -> None:
        """Tells interrupted sessions what people answer."""
        while True:
            with contextlib.suppress(ServerUnavailableError):
                waiting = [*self._interrupted]
                self._interrupted -= {one for one in waiting if await self._tell_late(one)}
            await asyncio.sleep(_LOOK_AGAIN)

    async def _tell_late(self, session: str) -> bool:
        """Whether there was something to tell a session: it goes on with that."""
        words = await self._late.fetch(session)
        if words is None:
            return False
        body: Json = {"parts": [{"type": "text", "text": words.text}]}
        try:
            if await self._server.post(f"/session/{quote(session, safe='')}/prompt_async", body):
                words.receipt.confirm()
        finally:
            words.receipt.abandon()  # where it is not done
        return True

    def _take(self, event: Json) -> None:
        match event:
            case {"type": "question.asked", "properties": dict() as asked}:
                self._ask("question", asked)
            case {"type": "permission.asked", "properties": dict() as asked}:
                self._ask("permission", asked)
            case {
                "type": "question.replied" | "question.rejected" | "permission.replied",
                "properties": {"requestID": str(request_id)},
            }:
                self._gone(request_id)
            case _:
                pass

    def _ask(self, kind: Kind, asked: Json) -> None:
        request = _request(kind, asked)
        if request.id not in self._pending:
            pending = self._pending[request.id] = _Pending(kind, request)
            pending.task = self._tasks.create_task(self._carry(pending))

    def _gone(self, request_id: str) -> None:
        if (pending := self._pending.pop(request_id, None)) is not None:
            pending.gone.set()

    async def _carry(self, pending: _Pending) -> None:
        """Puts a request to people, and their answer to opencode."""
        request = pending.request
        try:
            ask = await self._people.ask_and_wait(request, pending.gone)
        except ClientError as error:
            self._tell(f"{request.name} {request.id} stays in opencode's own window: {error}")
            return
        if ask is not None:
            for path, body in _answers(pending.kind, request, ask):
                await self._deliver(path, body)
        self._pending.pop(request.id, None)

    async def _deliver(self, path: str, body: Json | None) -> None:
        """Posts until opencode has it. It takes one answer only, and refuses one to what is answered already."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                if not await self._server.post(path, body):
                    self._tell(f"opencode does not wait for {path} any more.")
                return
            except ServerUnavailableError:
                await backoff.wait()


def _request(kind: Kind, asked: Json) -> Request:
    used, session = asked.get("tool"), asked.get("sessionID")
    call_id = used.get("callID") if isinstance(used, dict) else None
    shown = ("questions",) if kind == "question" else ("permission", "patterns", "always", "metadata")  # fmt: skip
    return Request(
        id=str(asked["id"]),
        name=_QUESTION if kind == "question" else "permission.asked",
        dialect="opencode" if kind == "question" else "approval",
        arguments={key: asked[key] for key in shown if key in asked},
        conversation=_text(session),
        tool_call_id=_text(call_id),
    )


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _answers(kind: Kind, request: Request, ask: Ask) -> list[tuple[str, Json | None]]:
    """The calls that tell opencode how an ask ended."""
    at = f"/{kind}/{quote(request.id, safe='')}"
    result = ask.tool_result
    found = result.structured if result and not result.is_error else None
    match kind:
        case "question":
            if isinstance(found, dict):
                return [(f"{at}/reply", {"answers": found["answers"]})]
            return [(f"{at}/reject", None)]
        case "permission":
            if isinstance(found, dict):
                return [(f"{at}/reply", found)]
            refused: Json = {"reply": "reject"}
            if result is not None:
                return [(f"{at}/reply", {**refused, "message": result.content})]
            session = quote(request.conversation or "", safe="")
            return [(f"{at}/reply", refused), (f"/session/{session}/abort", None)]
        case _:
            assert_never(kind)
