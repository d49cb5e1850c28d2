"""Claude Code's hooks at ``/hooks/claude``: its questions go to people, and the answers back, without any code.

Shapes: https://code.claude.com/docs/en/hooks (HTTP hooks, PreToolUse, Elicitation). A status that is not 2xx, a lost
connection and a timeout are no block there: Claude Code goes on as if there were no hook. So whatever
is to hold Claude back is said in a 200.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from aiohttp import web
from aiohttp.web_routedef import AbstractRouteDef
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from answerback.core.ask import Ask, Change, Status
from answerback.core.errors import InvalidCallError, ProblemError
from answerback.dialects.registry import refusal, result_of
from answerback.service.callers import Callers, body_of
from answerback.service.service import Service
from answerback.service.submission import Agent, Submission, problems_of, read_submission

PATH: Final = "/hooks/claude"
DEFAULT_WAIT: Final = 590.0
"""Seconds: just under the 600 after which Claude Code gives up a hook that has no timeout of its own."""
_LONGEST_WAIT: Final = 7 * 86_400.0
_TOOL: Final = "AskUserQuestion"
_KEY: Final = 200
"""Characters of an id that is used as a key; longer ones are none of Claude Code's."""

Json = dict[str, JsonValue]


class HookQuery(BaseModel):
    """The query of the hook's URL, as its settings have it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    to: str | None = None
    """Where to ask; without it the token's route or the default."""
    wait: Annotated[float, Field(ge=0, le=_LONGEST_WAIT, allow_inf_nan=False)] = DEFAULT_WAIT
    """Seconds to wait; to be a little less than the hook's ``timeout``."""


class _Event(BaseModel):
    """What both events have; Claude Code adds fields from version to version."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    session_id: str
    cwd: str | None = None


class PreToolUse(_Event):
    """Before a tool is run."""

    hook_event_name: Literal["PreToolUse"]
    tool_name: str
    tool_input: Json
    tool_use_id: str | None = None


class Elicitation(_Event):
    """An MCP server of Claude's asks its user for something."""

    hook_event_name: Literal["Elicitation"]
    mcp_server_name: str
    message: str
    mode: str | None = None
    requested_schema: Json | None = None
    elicitation_id: str | None = None


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
        query = _query(request)
        event = _event(await body_of(request))
        if isinstance(event, PreToolUse) and event.tool_name == _TOOL:
            return web.json_response(await self._question(event, query, agent))
        if isinstance(event, Elicitation) and event.requested_schema is not None:
            return web.json_response(await self._elicitation(event, query, agent))
        return web.json_response({})

    async def _question(self, event: PreToolUse, query: HookQuery, agent: Agent | None) -> Json:
        call: Json = {
            "name": _TOOL,
            "arguments": {"questions": event.tool_input.get("questions")},
            "to": query.to,
            "conversation": event.session_id,
            "tool_call_id": event.tool_use_id,
            "metadata": _metadata(event),
        }
        key = event.tool_use_id and f"claude:{event.session_id}:{event.tool_use_id}"
        try:
            ask = await self._asked(read_submission(call), query, agent, key)
        except InvalidCallError as error:
            return _deny(refusal(error).content)
        except ProblemError as error:
            return _deny(f"{error.title}. {error.detail or ''}")
        return _deny(self._unanswered(ask, query)) if ask.open else _decided(ask, event)

    async def _elicitation(self, event: Elicitation, query: HookQuery, agent: Agent | None) -> Json:
        call: Json = {
            "name": "elicitation/create",
            "arguments": {"message": event.message, "requestedSchema": event.requested_schema},
            "to": query.to,
            "conversation": event.session_id,
            "tool_call_id": event.elicitation_id,
            "metadata": {**_metadata(event), "mcp_server": event.mcp_server_name},
        }
        key = event.elicitation_id and f"claude:{event.session_id}:{event.elicitation_id}"
        try:
            ask = await self._asked(read_submission(call), query, agent, key)
        except InvalidCallError as error:
            return _elicited({"action": "cancel"}, f"Not asked: {refusal(error).content}")
        except ProblemError as error:
            return _elicited(
                {"action": "cancel"}, f"Not asked: {error.title}. {error.detail or ''}"
            )
        if ask.open:
            return _elicited({"action": "cancel"}, self._unanswered(ask, query))
        if ask.status is Status.TURN_ENDED:
            return _stopped(ask) | _elicited({"action": "cancel"})
        result = result_of(ask)
        structured = result.structured if result is not None and not result.is_error else None
        return _elicited(structured if isinstance(structured, dict) else {"action": "cancel"})

    async def _asked(
        self, body: Submission, query: HookQuery, agent: Agent | None, key: str | None
    ) -> Ask:
        """The ask once it has ended, or as it stands when the time is up: then its prompt says that nobody waits."""
        usable = key if key and len(key) <= 2 * _KEY else None
        ask = (await self.callers.submit(self.service, body, agent, usable)).ask
        if ask.open and ask.unattended:
            await self._attend(ask, unattended=False)
        if ask.open:
            ask = await self.service.wait(ask.id, query.wait, ask) or ask
        if ask.open:  # pragma: no branch - Python 3.11 loses its trace where a timeout came out
            await self._attend(ask, unattended=True)
        return ask

    def _unanswered(self, ask: Ask, query: HookQuery) -> str:
        stopping = "Answerback stopped before anybody answered"
        late = f"Nobody answered within {query.wait:g} seconds"
        where = f" at {ask.thread.url}" if ask.thread and ask.thread.url else ""
        return (
            f"{stopping if self.service.stopping else late}. The question stays open{where} ({ask.id}). Do not "
            "assume an answer: go on with what does not depend on it, or stop and say what you wait for."
        )

    async def _attend(self, ask: Ask, *, unattended: bool) -> None:
        def decide(latest: Ask, _at: float) -> Change | None:
            # The same revision shown anew: whoever is about to answer is not put off by it.
            shown = latest.revision - 1
            return Change(replace(latest, unattended=unattended, shown_revision=shown), ())

        await self.callers.finish(self.service.update(ask.id, decide))


def _query(request: web.Request) -> HookQuery:
    try:
        return HookQuery.model_validate(dict(request.query))
    except ValidationError as error:
        raise ProblemError(400, "Bad query", None, problems_of(error)) from error


def _event(raw: bytes) -> PreToolUse | Elicitation | None:
    """The event in a body, or None for an event that is none of ours."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise ProblemError(400, "Bad hook event", "The body is no JSON.") from None
    name = body.get("hook_event_name") if isinstance(body, dict) else None
    try:
        if name == "PreToolUse":
            return PreToolUse.model_validate(body)
        if name == "Elicitation":
            return Elicitation.model_validate(body)
    except ValidationError as error:
        raise ProblemError(400, "Bad hook event", None, problems_of(error)) from error
    if not isinstance(name, str):
        raise ProblemError(400, "Bad hook event", "A hook event names itself in hook_event_name.")
    return None


def _metadata(event: _Event) -> Json:
    metadata: Json = {"via": "claude-code"}
    return metadata | ({"cwd": event.cwd} if event.cwd else {})


def _decided(ask: Ask, event: PreToolUse) -> Json:
    """The decision about an AskUserQuestion call, by how its ask ended."""
    if ask.status is Status.TURN_ENDED:
        return _stopped(ask) | _deny("The user ended the turn.")
    result = result_of(ask)
    if result is None:
        raise AssertionError("an ask that ended otherwise than by End Turn has a result")
    if ask.status is Status.ANSWERED and isinstance(result.structured, dict):
        answers = result.structured["answers"]
        return _pre_tool_use(
            permissionDecision="allow",
            permissionDecisionReason=f"Answered{_by(ask)}.",
            updatedInput={**event.tool_input, "answers": answers},
        )
    if ask.status is Status.CANCELLED and ask.walk.reply:
        return _deny(f"The user did not choose an answer, and replied: {ask.walk.reply}")
    if ask.status is Status.CANCELLED:
        return _deny("The user declined to answer these questions.")
    if ask.status in {Status.EXPIRED, Status.WITHDRAWN}:
        return _deny(f"There is no answer: the questions were {_ENDED[ask.status]}.")
    return _deny(result.content)


_ENDED: Final = {Status.EXPIRED: "not answered in time", Status.WITHDRAWN: "withdrawn"}


def _stopped(ask: Ask) -> Json:
    """End Turn: Claude stops, and its user sees why."""
    return {"continue": False, "stopReason": f"The turn was ended{_by(ask)}."}


def _by(ask: Ask) -> str:
    person = ask.outcome.ended_by if ask.outcome else None
    return f" by {person.name or person.user_id} on {person.surface}" if person else ""


def _deny(words: str) -> Json:
    return _pre_tool_use(permissionDecision="deny", permissionDecisionReason=words)


def _pre_tool_use(**output: JsonValue) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}


def _elicited(output: Json, words: str | None = None) -> Json:
    answer: Json = {"hookSpecificOutput": {"hookEventName": "Elicitation", **output}}
    return answer if words is None else {**answer, "systemMessage": words}
