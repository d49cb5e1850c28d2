"""Claude Code's hooks at ``/hooks/claude``: they forward its questions and permission prompts to people, without code.

A non-2xx status, a lost connection or a timeout does not block Claude Code: it continues as if there were no hook
(https://code.claude.com/docs/en/hooks#http-hook-fields). So a response that has to hold Claude back is always a 200.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from aiohttp import web
from aiohttp.web_routedef import AbstractRouteDef
from pydantic import JsonValue

from answerback.agents.claude_http import responses
from answerback.agents.claude_http.events import (
    ContextEvent,
    Elicitation,
    Event,
    HookQuery,
    PermissionRequest,
    PreToolUse,
    parse_event,
    parse_query,
)
from answerback.agents.claude_http.responses import Decision
from answerback.core.ask import Ask
from answerback.core.errors import InvalidCallError, ProblemError, StoreError
from answerback.dialects.registry import render_refusal
from answerback.service.agent_requests import RESPONSE_TRACKER, Callers, read_body
from answerback.service.late_answer_text import describe_late_answer
from answerback.service.late_answers import ResponseTracker
from answerback.service.service import Service
from answerback.service.submission_request import Agent, read_submission

Json = dict[str, JsonValue]

PATH: Final = "/hooks/claude"
_MAX_ID_LENGTH: Final = 200
"""The maximum length of an id that is used as a key, in characters; Claude Code's ids are shorter."""
_MAX_LATE_ANSWERS: Final = 20
"""The number of late answers that one event delivers; the rest come with the next."""


class _Caller(NamedTuple):
    """The calling agent, its hook's settings, and the tracker of what the response delivers."""

    query: HookQuery
    agent: Agent | None
    tracker: ResponseTracker


@dataclass(frozen=True, slots=True)
class ClaudeHook:
    """The endpoint of the hook."""

    service: Service
    callers: Callers

    def routes(self) -> Sequence[AbstractRouteDef]:
        """The route of the endpoint."""
        return [web.post(PATH, self.handle)]

    async def handle(self, request: web.Request) -> web.Response:
        """Handle an event; an event that does not concern people gets an empty response."""
        agent = self.callers.agent(request)
        caller = _Caller(parse_query(request.query), agent, request[RESPONSE_TRACKER])
        answer: Json = {}
        match parse_event(await read_body(request)):
            case PreToolUse() as event:
                key = event.tool_use_id and f"claude:{event.session_id}:{event.tool_use_id}"
                decision = await self._handle_question(event, event.tool_input, caller, key)
                answer = responses.pre_tool_use_response(decision)
            case PermissionRequest(tool_name=responses.ASK_TOOL) as event:
                answer = responses.permission_response_from_decision(
                    await self._questions_permission(event, caller)
                )
            case PermissionRequest() as event:
                answer = await self._handle_permission(event, caller)
            case Elicitation(requested_schema=dict()) as event:
                answer = await self._handle_elicitation(event, caller)
            case ContextEvent(agent_id=None) as event:
                answer = await self._handle_context_event(event, caller)
            case _:
                pass
        return web.json_response(answer)

    async def _handle_context_event(self, event: ContextEvent, caller: _Caller) -> Json:
        """Deliver answers that came after Claude stopped waiting, as context; each of them once."""
        name = caller.agent.name if caller.agent else None
        unseen = await self.service.late_answer_tracker.list_unseen(
            name, event.session_id, None, _MAX_LATE_ANSWERS
        )
        for late in unseen:
            caller.tracker.add_outcome(late.ask)
        words = [describe_late_answer(late.ask) for late in unseen]
        return responses.late_answers_response(event.hook_event_name, words)

    async def _handle_question(
        self,
        event: Event,
        tool_input: Json,
        caller: _Caller,
        key: str | None = None,
    ) -> Decision:
        """Ask people the questions of a call; ``key`` is the same for the same call."""
        call: Json = {
            "name": responses.ASK_TOOL,
            "arguments": {"questions": tool_input.get("questions")},
            "to": caller.query.to,
            "conversation": event.session_id,
            "tool_call_id": event.tool_use_id if isinstance(event, PreToolUse) else None,
            "metadata": _metadata(event),
        }
        try:
            ask = await self._ask_and_wait(call, caller, event, key)
        except (InvalidCallError, ProblemError) as error:
            return Decision(_describe_error(error))
        if ask.open:
            return Decision(self._describe_unanswered(ask, caller.query))
        return responses.decision_from_ask(ask, tool_input)

    async def _questions_permission(self, event: PermissionRequest, caller: _Caller) -> Decision:
        """Decide about questions that need a permission as well: allowed if people have answered them.

        The answers in the input are compared with those on record, as a model can write answers there too.
        """
        tool_input = event.tool_input if isinstance(event.tool_input, dict) else {}
        if tool_input.get("answers") is not None:
            name = caller.agent.name if caller.agent else None
            page = await self.service.store.page(conversation=event.session_id, agent=name)
            for row in page.rows:
                if row.request.agent == name and responses.answers_match(row, tool_input):
                    return Decision(
                        f"Answered{responses.ended_by_suffix(row)}.", updated=tool_input
                    )
        return await self._handle_question(event, tool_input, caller)

    async def _handle_permission(self, event: PermissionRequest, caller: _Caller) -> Json:
        asked = ("tool_name", "tool_input", "permission_suggestions", "mcp_server", "cwd")
        call: Json = {
            "name": event.hook_event_name,
            "arguments": event.model_dump(include=set(asked), exclude_none=True),
            "to": caller.query.to,
            "conversation": event.session_id,
            "metadata": _metadata(event),
        }
        try:
            ask = await self._ask_and_wait(call, caller, event, None)
        except (InvalidCallError, ProblemError) as error:
            return responses.permission_response_from_decision(Decision(_describe_error(error)))
        if ask.open:
            return responses.permission_response_from_decision(
                Decision(self._describe_unanswered(ask, caller.query))
            )
        return responses.permission_response_from_ask(ask)

    async def _handle_elicitation(self, event: Elicitation, caller: _Caller) -> Json:
        call: Json = {
            "name": "elicitation/create",
            "arguments": {"message": event.message, "requestedSchema": event.requested_schema},
            "to": caller.query.to,
            "conversation": event.session_id,
            "tool_call_id": event.elicitation_id,
            "metadata": {**_metadata(event), "mcp_server": event.mcp_server_name},
        }
        key = event.elicitation_id and f"claude:{event.session_id}:{event.elicitation_id}"
        try:
            ask = await self._ask_and_wait(call, caller, event, key)
        except (InvalidCallError, ProblemError) as error:
            return responses.elicitation_response(
                {"action": "cancel"}, f"Not asked: {_describe_error(error)}"
            )
        if ask.open:
            words = self._describe_unanswered(ask, caller.query)
            return responses.elicitation_response({"action": "cancel"}, words)
        return responses.elicitation_response_from_ask(ask)

    async def _ask_and_wait(
        self, call: Json, caller: _Caller, event: Event, key: str | None
    ) -> Ask:
        """Submit an ask and wait: returns it once it has ended, or still open when the time is up.

        If the time is up, its prompt shows that nobody waits any more. A permission prompt is shown at the terminal as
        well: Claude Code closes the connection when it is decided there, and then the ask is withdrawn.
        """
        usable = key if key and len(key) <= 2 * _MAX_ID_LENGTH else None
        body = read_submission(call)
        ask = (await self.callers.submit(self.service, body, caller.agent, usable)).ask
        caller.tracker.hold_back(ask)
        if ask.open:
            try:
                with suppress(StoreError):  # keep the ask as it was submitted
                    ask = await self.service.wait(ask.id, caller.query.wait, ask) or ask
            except asyncio.CancelledError:
                if isinstance(event, PermissionRequest):
                    await self.callers.run_to_completion(self.service.withdraw(ask.id))
                raise
        if ask.open:  # pragma: no branch - Python 3.11 loses its trace if a timeout was raised
            self.service.presence.forget(ask.id)
            await self.callers.run_to_completion(self.service.set_attended(ask.id, attended=False))
        caller.tracker.add_outcome(ask)
        return ask

    def _describe_unanswered(self, ask: Ask, query: HookQuery) -> str:
        stopping = "Answerback was stopped before anybody answered"
        late = f"Nobody answered within {query.wait:g} seconds"
        where = f" at {ask.thread.url}" if ask.thread and ask.thread.url else ""
        return (
            f"{stopping if self.service.stopping else late}. The question stays open{where} ({ask.id}). Do not "
            "assume an answer: continue with work that does not depend on it, or stop and say what you are waiting for."
        )


def _metadata(event: Event) -> Json:
    metadata: Json = {"via": "claude-code"}
    return metadata | ({"cwd": event.cwd} if event.cwd else {})


def _describe_error(error: InvalidCallError | ProblemError) -> str:
    """Explain to Claude why people could not be asked."""
    if isinstance(error, InvalidCallError):
        return render_refusal(error).content
    return f"{error.title}. {error.detail or ''}".rstrip()
