"""Claude Code's hooks at ``/hooks/claude``: its questions and permission prompts go to people, without any code.

A status that is not 2xx, a lost connection and a timeout are no block there: Claude Code goes on as if there were no
hook (https://code.claude.com/docs/en/hooks#http-hook-fields). So whatever is to hold Claude back is said in a 200.
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
_KEY: Final = 200
"""Characters of an id that is used as a key; longer ones are none of Claude Code's."""
_TOGETHER: Final = 20
"""Late answers that one event brings; more come with the next."""


class _Caller(NamedTuple):
    """Who calls, how the hook is set up, and what the response tells."""

    query: HookQuery
    agent: Agent | None
    carrier: ResponseTracker


@dataclass(frozen=True, slots=True)
class ClaudeHook:
    """The hook's endpoint."""

    service: Service
    callers: Callers

    def routes(self) -> Sequence[AbstractRouteDef]:
        """The one route."""
        return [web.post(PATH, self.handle)]

    async def handle(self, request: web.Request) -> web.Response:
        """One event; what is none of ours is left to Claude Code with an empty answer."""
        agent = self.callers.agent(request)
        caller = _Caller(parse_query(request.query), agent, request[RESPONSE_TRACKER])
        answer: Json = {}
        match parse_event(await read_body(request)):
            case PreToolUse() as event:
                key = event.tool_use_id and f"claude:{event.session_id}:{event.tool_use_id}"
                decision = await self._question(event, event.tool_input, caller, key)
                answer = responses.pre_tool_use_response(decision)
            case PermissionRequest(tool_name=responses.ASK_TOOL) as event:
                answer = responses.permission_response_from_decision(
                    await self._asked_before(event, caller)
                )
            case PermissionRequest() as event:
                answer = await self._permission(event, caller)
            case Elicitation(requested_schema=dict()) as event:
                answer = await self._elicitation(event, caller)
            case ContextEvent(agent_id=None) as event:
                answer = await self._late(event, caller)
            case _:
                pass
        return web.json_response(answer)

    async def _late(self, event: ContextEvent, caller: _Caller) -> Json:
        """What people answered since Claude stopped waiting for it: context for Claude, once."""
        name = caller.agent.name if caller.agent else None
        found = await self.service.late_answer_tracker.list_unseen(
            name, event.session_id, None, _TOGETHER
        )
        for one in found:
            caller.carrier.add_outcome(one.ask)
        words = [describe_late_answer(one.ask) for one in found]
        return responses.late_answers_response(event.hook_event_name, words)

    async def _question(
        self,
        event: Event,
        tool_input: Json,
        caller: _Caller,
        key: str | None = None,
    ) -> Decision:
        """What people make of the questions of a call; ``key`` is the same for the same call."""
        call: Json = {
            "name": responses.ASK_TOOL,
            "arguments": {"questions": tool_input.get("questions")},
            "to": caller.query.to,
            "conversation": event.session_id,
            "tool_call_id": event.tool_use_id if isinstance(event, PreToolUse) else None,
            "metadata": _metadata(event),
        }
        try:
            ask = await self._asked(call, caller, event, key)
        except (InvalidCallError, ProblemError) as error:
            return Decision(_why_not(error))
        if ask.open:
            return Decision(self._unanswered(ask, caller.query))
        return responses.decision_from_ask(ask, tool_input)

    async def _asked_before(self, event: PermissionRequest, caller: _Caller) -> Decision:
        """The decision about questions that need a permission as well: where people answered them, it is theirs.

        The answers in the input are held against those that people gave: a model can write some there too.
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
        return await self._question(event, tool_input, caller)

    async def _permission(self, event: PermissionRequest, caller: _Caller) -> Json:
        asked = ("tool_name", "tool_input", "permission_suggestions", "mcp_server", "cwd")
        call: Json = {
            "name": event.hook_event_name,
            "arguments": event.model_dump(include=set(asked), exclude_none=True),
            "to": caller.query.to,
            "conversation": event.session_id,
            "metadata": _metadata(event),
        }
        try:
            ask = await self._asked(call, caller, event, None)
        except (InvalidCallError, ProblemError) as error:
            return responses.permission_response_from_decision(Decision(_why_not(error)))
        if ask.open:
            return responses.permission_response_from_decision(
                Decision(self._unanswered(ask, caller.query))
            )
        return responses.permission_response_from_ask(ask)

    async def _elicitation(self, event: Elicitation, caller: _Caller) -> Json:
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
            ask = await self._asked(call, caller, event, key)
        except (InvalidCallError, ProblemError) as error:
            return responses.elicitation_response(
                {"action": "cancel"}, f"Not asked: {_why_not(error)}"
            )
        if ask.open:
            told = self._unanswered(ask, caller.query)
            return responses.elicitation_response({"action": "cancel"}, told)
        return responses.elicitation_response_from_ask(ask)

    async def _asked(self, call: Json, caller: _Caller, event: Event, key: str | None) -> Ask:
        """The ask once it has ended, or as it stands when the time is up: then its prompt says that nobody waits.

        A permission prompt is at the terminal as well. Claude Code hangs up when it is decided there, and then nothing
        that people decide here counts any more: the ask is withdrawn.
        """
        usable = key if key and len(key) <= 2 * _KEY else None
        body = read_submission(call)
        ask = (await self.callers.submit(self.service, body, caller.agent, usable)).ask
        caller.carrier.hold_back(ask)
        if ask.open:
            try:
                with suppress(StoreError):  # then it stands as it was submitted
                    ask = await self.service.wait(ask.id, caller.query.wait, ask) or ask
            except asyncio.CancelledError:
                if isinstance(event, PermissionRequest):
                    await self.callers.run_to_completion(self.service.withdraw(ask.id))
                raise
        if ask.open:  # pragma: no branch - Python 3.11 loses its trace where a timeout came out
            self.service.presence.forget(ask.id)
            await self.callers.run_to_completion(self.service.set_attended(ask.id, attended=False))
        caller.carrier.add_outcome(ask)
        return ask

    def _unanswered(self, ask: Ask, query: HookQuery) -> str:
        stopping = "Answerback stopped before anybody answered"
        late = f"Nobody answered within {query.wait:g} seconds"
        where = f" at {ask.thread.url}" if ask.thread and ask.thread.url else ""
        return (
            f"{stopping if self.service.stopping else late}. The question stays open{where} ({ask.id}). Do not "
            "assume an answer: go on with what does not depend on it, or stop and say what you wait for."
        )


def _metadata(event: Event) -> Json:
    metadata: Json = {"via": "claude-code"}
    return metadata | ({"cwd": event.cwd} if event.cwd else {})


def _why_not(error: InvalidCallError | ProblemError) -> str:
    """Why people could not be asked, for Claude."""
    if isinstance(error, InvalidCallError):
        return render_refusal(error).content
    return f"{error.title}. {error.detail or ''}".rstrip()
