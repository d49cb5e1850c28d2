"""The bridge to a running ``opencode serve``: forwards its questions and permission prompts to people.

If opencode's own window answers first, the ask is withdrawn. A bridge that was killed, or lost its connection, finds
the requests that wait for an answer in opencode's lists, and its first asks by their idempotency keys.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from answerback_agents.bridges.ask_people import (
    Request,
    files_for_model,
    id_text,
    is_machine_made,
    reason_for_no_answer,
    structured_result,
    words_for_model,
)
from answerback_agents.bridges.event_server import ForeignServerError, Json, ServerUnavailableError
from answerback_agents.bridges.pending_requests import Pending
from answerback_agents.bridges.server_bridge import Call, ServerBridge
from answerback_agents.pipe.json_rpc import as_object
from answerback_base.backoff import Backoff
from answerback_client import Ask
from answerback_hosts.opencode.server import OpencodeServer

_QUESTION: Final = "question"
_QUESTION_V2: Final = "question.v2"
_PERMISSION_V2: Final = "permission.v2"
_SHOWN: Final = {
    _QUESTION: ("questions",),
    "permission": ("permission", "patterns", "always", "metadata"),
    _QUESTION_V2: ("questions",),
    _PERMISSION_V2: ("action", "resources", "save", "metadata"),
}
"""The kinds of requests, and the fields that people see. Those of the second version are in the package
@opencode-ai/sdk 1.19.3, before any server that sends them.
"""
_NO_PERSON: Final = "[no answer: no person answered]"


class OpencodeBridge(ServerBridge[OpencodeServer]):
    host = "opencode"
    kinds = (*_SHOWN,)
    question_dialect = "opencode"

    async def list_pending(self, kind: str) -> list[Json]:
        return await self.server.pending(kind)

    async def was_interrupted(
        self, session: str, call_id: str | None, asked_at: float | None
    ) -> bool:
        """Return True if opencode says of a question's call that it waits in vain."""
        return call_id is not None and await self.server.was_interrupted(session, call_id)

    def prompt(self, session: str, text: str) -> Call:
        body: Json = {"parts": [{"type": "text", "text": text}]}
        return f"/session/{quote(session, safe='')}/prompt_async", body

    async def send(self, call: Call) -> bool:
        return await self.server.post(*call)

    def handle_event(self, event: Json) -> None:
        match event:
            case {"type": str(name), "properties": dict() as asked} if (
                kind := name.removesuffix(".asked")
            ) in _SHOWN and kind != name:
                self.ask(kind, asked)
            case {"type": str(name), "properties": {"requestID": str(request_id)}} if (
                name.removesuffix(".replied").removesuffix(".rejected") in _SHOWN
            ):
                self.pending.mark_gone(request_id)
            case _:
                pass

    async def place(self, pending: Pending) -> Request:
        """Add the folder of the request's session: the ask of an earlier run has it too."""
        if (session := pending.request.conversation) is None:
            return pending.request
        backoff = Backoff()
        while not pending.gone.is_set():
            try:
                return await self._with_arguments(pending.request, session)
            except ServerUnavailableError:
                await backoff.wait()
            except ForeignServerError:
                break
        return pending.request

    async def _with_arguments(self, request: Request, session: str) -> Request:
        """Add the folder of a request's session, and the arguments of its tool call, if it has none.

        A permission for an MCP tool has none (1.18.33); its tool call in the session has them.
        """
        request = request._replace(folder=await self.server.folder(session))
        call_id, arguments = request.tool_call_id, request.arguments
        if request.dialect != "approval" or call_id is None or arguments.get("metadata"):
            return request
        if (found := await self.server.arguments(session, call_id)) is None:
            return request
        return request._replace(arguments={**arguments, "metadata": found})

    def parse(self, kind: str, record: Json) -> Request | None:
        if (request_id := id_text(record.get("id"))) is None:
            return None
        is_question = kind in {_QUESTION, _QUESTION_V2}
        source = as_object(record.get("tool")) or as_object(record.get("source"))
        return Request(
            id=request_id,
            name=_QUESTION if is_question else f"{kind}.asked",
            dialect="opencode" if is_question else "approval",
            arguments={key: record[key] for key in _SHOWN[kind] if key in record},
            conversation=id_text(record.get("sessionID")),
            tool_call_id=id_text(source.get("callID")),
        )

    def answers(self, kind: str, request: Request, ask: Ask) -> list[Call]:
        at, session = quote(request.id, safe=""), quote(request.conversation or "", safe="")
        word, _, is_v2 = kind.partition(".")
        at = f"/api/session/{session}/{word}/{at}" if is_v2 else f"/{word}/{at}"
        structured = structured_result(ask)
        if word == _QUESTION:
            if structured is not None:
                answered: Call = (f"{at}/reply", {"answers": structured.get("answers")})
                return [answered, *self._told(request, files_for_model(ask))]
            if is_machine_made(ask):
                questions = request.arguments.get("questions")
                count = len(questions) if isinstance(questions, list) else 1
                return [(f"{at}/reply", {"answers": [[_NO_PERSON]] * count})]
            return [(f"{at}/reject", None), *self._told(request, files_for_model(ask))]
        if structured is not None:
            return [(f"{at}/reply", structured), *self._told(request, words_for_model(ask))]
        refused: Json = {"reply": "reject"}
        if not ask.end_turn:
            return [(f"{at}/reply", {**refused, "message": reason_for_no_answer(ask)})]
        return [(f"{at}/reply", refused), (f"/session/{session}/abort", None)]

    def _told(self, request: Request, text: str | None) -> list[Call]:
        """The call that tells the model what the answer has no place for; none if there is nothing."""
        if text is None or request.conversation is None:
            return []
        return [self.prompt(request.conversation, text)]
