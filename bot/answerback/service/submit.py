"""Submitting: a tool call becomes a stored ask, or is refused with every error in it."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.actions import Answer
from answerback.core.ask import DEFAULT_ASKER, Ask, Change, Reason, RecordEntry, Request
from answerback.core.errors import DeclinedCallError, InvalidCallError, Problem, ProblemError
from answerback.core.origin import Origin
from answerback.core.view import can_remember
from answerback.core.walker import Source, start
from answerback.dialects import interim_results, registry
from answerback.dialects.registry import ParsedCall
from answerback.ports.store import Write
from answerback.ports.store_values import AskLimits, Existing, Idempotency, LimitReached
from answerback.ports.surface import Shown
from answerback.service.act_or_refuse import ChangeCommitter
from answerback.service.agent_presence import LEASE
from answerback.service.ask_limits import too_many_asks
from answerback.service.repeated_calls import RepeatedCalls, join_key
from answerback.service.submission_request import Agent, Plan, Routes, Submission, plan, read_origin

logger = logging.getLogger(__name__)

_NO_AGENT: Final = ""
"""The asker's name if there are no tokens, and so no agents with names."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """An ask that an agent submitted; ``created`` is False if its idempotency key matched an earlier one."""

    ask: Ask
    created: bool


class Submitter:
    """Accepts tool calls and stores them as asks.

    Args:
        known_surfaces: the names of all existing surfaces, configured or not.
        check_callback: returns None if a callback may be sent for an agent, else the reason why not.
        limits: what may be asked if there are no tokens.
    """

    def __init__(
        self,
        commits: ChangeCommitter,
        known_surfaces: frozenset[str],
        routes: Routes,
        check_callback: Callable[[str, Agent | None], str | None],
        repeats: RepeatedCalls,
        limits: AskLimits,
    ) -> None:
        self._commits = commits
        self._known_surfaces = known_surfaces
        self._routes = routes
        self._check_callback = check_callback
        self._repeats = repeats
        self._limits = limits
        self._parse_lock = asyncio.Lock()

    async def submit(
        self,
        body: Submission,
        *,
        agent: Agent | None = None,
        idempotency_key: str | None = None,
        digest: str = "",
        carrier: str | None = None,
    ) -> Submitted:
        """Store a tool call as an ask and have it shown.

        Args:
            digest: of the whole body; a repeated key with another digest is refused.
            carrier: the hook that puts the ask, which has idempotency keys of its own.

        Raises:
            InvalidCallError: with every error in the call and its envelope; the record notes the refusal.
            ProblemError: the idempotency key was used with another body.
        """
        key = None
        if idempotency_key is not None:
            # No header can contain a line end, so no agent can submit an ask in a hook's place.
            scope = "" if carrier is None else f"{carrier}\n"
            agent_name = agent.name if agent else _NO_AGENT
            key = Idempotency(agent_name, scope + idempotency_key, digest)
        if (joined := await self._repeats.find(join_key(body, agent), body, key)) is not None:
            return Submitted(joined, created=False)
        try:
            parsed, planned = await self._read(body, agent)
            new = self._new_ask(body, agent, parsed, planned, carrier)
            ask = await self._with_thread(new)
            write = await self._initial_write(ask)
        except InvalidCallError as error:
            # What was valid when it was first submitted may be invalid by now: a route may have been renamed.
            if key is not None and (first := await self._commits.store.asks.find_created(key)):
                return _submitted_before(first)
            await self._note_refusal(error, agent)
            raise
        await self._repeats.save_wait(
            write.ask
        )  # first: if this process is killed in between, the ask does not exist
        limits = agent.limits if agent else self._limits
        stored = await self._commits.store.asks.create(write, key, limits)
        if isinstance(stored, Existing):
            await self._repeats.save_wait(stored.ask)
            return _submitted_before(stored)
        if isinstance(stored, LimitReached):
            self._commits.hooks.limited(agent.name if agent else _NO_AGENT, stored.limit)
            raise too_many_asks(ask, stored, limits)
        extra = {
            "action": "submitted",
            "ask_id": stored.ask.id,
            "agent": stored.ask.request.agent,
            "dialect": stored.ask.request.dialect,
            "surface": stored.ask.destination.surface,
        }
        logger.info("An ask was submitted", extra=extra)
        self._commits.publish(write)
        return Submitted(stored.ask, created=True)

    async def _read(self, body: Submission, agent: Agent | None) -> tuple[ParsedCall, Plan]:
        """The parsed call and its plan; raises InvalidCallError with the errors of both."""
        problems: list[Problem] = []
        known = self._known_surfaces | self._commits.surfaces.keys()
        planned = plan(body, self._routes, known, agent)
        if isinstance(planned, tuple):
            problems += planned
        else:
            problems += self._check_place(planned)
        if body.callback is not None and (
            refusal := self._check_callback(body.callback.url, agent)
        ):
            problems.append(Problem(pointer="/callback/url", code="unknown_value", message=refusal))
        try:
            parsed = await self._parse(body)
        except InvalidCallError as error:
            problems += self._check_enabled(body, error.dialect or body.dialect or "")
            raise InvalidCallError(
                error.tool, [*error.problems, *problems], error.dialect
            ) from None
        problems += self._check_enabled(body, parsed.dialect)
        if problems or isinstance(planned, tuple):
            raise InvalidCallError(body.name[:100], problems, parsed.dialect)
        return parsed, planned

    async def _parse(self, body: Submission) -> ParsedCall:
        """Parse a call; a slow one in a thread, one at a time."""
        if registry.is_quick_to_parse(body.arguments):
            return registry.parse_call(body.name, body.arguments, body.dialect)
        async with self._parse_lock:
            return await asyncio.to_thread(
                registry.parse_call, body.name, body.arguments, body.dialect
            )

    def _check_enabled(self, body: Submission, dialect: str) -> list[Problem]:
        tool = body.arguments.get("tool")
        asking = tool if dialect == "tool_question" and isinstance(tool, str) else None
        key = self._commits.rules.disabling_key(dialect, body.name, asking)
        if key is None:
            return []
        message = f'The tool "{body.name}" is switched off here ({key} is false). Do not call it.'
        return [Problem(pointer="/name", code="unknown_value", message=message)]

    def _check_place(self, planned: Plan) -> list[Problem]:
        surface = self._commits.surfaces.get(planned.destination.surface)
        if surface is None:
            return []  # an ask that no person has to answer needs no surface: see _check_askable
        if (wrong := surface.destination_problem(planned.destination)) is not None:
            return [Problem(pointer="/to", code="unknown_route", message=wrong)]
        if not self._responders(planned):
            message = (
                "No responders are set for this destination. Add responders to the call, to its route "
                f"(routes.<name>.responders) or to the surface ({surface.name}.responders): user ids, "
                '"@id" for a group or role, or "anyone".'
            )
            return [Problem(pointer="/responders", code="responders_required", message=message)]
        return []

    def _check_askable(self, ask: Ask) -> None:
        """Refuse an ask that needs a person on a surface that is not configured.

        Raises:
            DeclinedCallError: nobody can be asked there.
        """
        surface, outcome = ask.destination.surface, ask.outcome
        if (
            outcome is None
            or outcome.reason is not Reason.NO_PROMPT_BACKEND
            or surface in self._commits.surfaces
        ):
            return
        there = ", ".join(f'"{name}"' for name in sorted(self._commits.surfaces))
        message = (
            f'The surface "{surface}" is not configured here, so nobody can be asked there. '
            f"The operator can configure it (the settings {surface}.*, then restart). "
            f"Configured: {there}."
        )
        dialect = ask.request.dialect
        raise DeclinedCallError(
            ask.request.name[:100],
            "Nobody can be asked",
            Problem(pointer="/to", code="unknown_surface", message=message),
            dialect,
            registry.render_ended(ask).model_dump(),
            reason=outcome.reason,
        )

    def _responders(self, planned: Plan) -> tuple[str, ...]:
        if planned.responders:
            return planned.responders
        if planned.destination.user is not None:
            return (planned.destination.user,)
        surface = self._commits.surfaces.get(planned.destination.surface)
        return surface.default_responders(planned.destination) if surface else ()

    def _new_ask(
        self,
        body: Submission,
        agent: Agent | None,
        parsed: ParsedCall,
        planned: Plan,
        carrier: str | None,
    ) -> Ask:
        now = self._commits.clock.now()
        request = Request(
            name=body.name,
            dialect=parsed.dialect,
            arguments=parsed.arguments,
            repaired=parsed.repaired,
            form=parsed.form.model_copy(update={"context_format": planned.context_format}),
            agent=agent.name if agent else None,
            callback=body.callback.url if body.callback else None,
            conversation=body.conversation,
            turn=body.turn,
            tool_call_id=body.tool_call_id,
            on_expiry=planned.on_expiry,
            remind_after=planned.remind_after,
            escalation=planned.escalation,
            mention=planned.mention,
            accepts=body.accepts,
            metadata=body.metadata,
            join=join_key(body, agent),
            mode=body.mode
            or interim_results.default_mode(parsed.dialect, body.name, parsed.arguments),
            prompt_label=agent.display_name if agent else DEFAULT_ASKER,
            prompt_labels=self._commits.rules.labels(parsed.dialect, body.name, parsed.form.tool),
            origin=_with_subagent(read_origin(body, carrier), body.metadata if carrier else {}),
            carrier=carrier,
        )
        reachable = request.callback is not None or request.mode == "async"
        return Ask(
            id=f"ask_{secrets.token_hex(12)}",
            created_at=now,
            updated_at=now,
            request=request,
            destination=planned.destination,
            responders=self._responders(planned),
            walk=start(parsed.form),
            attended_for=None if reachable else LEASE,
            unattended=request.mode == "async" and request.callback is None,
            expires_at=now + planned.expires_in if planned.expires_in is not None else None,
        )

    async def _with_thread(self, ask: Ask) -> Ask:
        """The ask with its thread, if the surface knows it without posting anything."""
        surface = self._commits.surfaces.get(ask.destination.surface)
        if surface is None or surface.live:
            return ask
        shown = await surface.show(ask, _save_nothing)
        return replace(ask, thread=shown.thread) if isinstance(shown, Shown) else ask

    async def _initial_write(self, ask: Ask) -> Write:
        """What is stored for a new ask: open at its first question, or already ended without asking anybody.

        Raises:
            DeclinedCallError: its surface is not configured.
        """
        if (failed := self._commits.fail_misconfigured(ask)) is not None:
            return self._commits.build_write(failed, ask.created_at)
        change = Change(ask, asks.request_entry(ask, ask.created_at))
        remembered = await self._remembered(ask)
        if remembered is not None:
            answered = asks.apply_action(
                ask,
                Answer(value=remembered[0]),
                at=ask.created_at,
                by=None,
                source=Source.REMEMBERED,
            )
            if isinstance(answered, Change):
                return self._commits.build_write(
                    Change(answered.ask, (*change.entries, *answered.entries)), ask.created_at
                )
        routed = self._commits.apply_routing(change, ask.created_at)
        self._check_askable(routed.ask)
        return self._commits.build_write(routed, ask.created_at)

    async def _remembered(self, ask: Ask) -> tuple[JsonValue] | None:
        request, question = ask.request, ask.question
        if (
            question is None
            or request.conversation is None
            or request.turn is None
            or not can_remember(ask)
        ):
            return None
        return await self._commits.store.asks.get_remembered(
            request.agent or _NO_AGENT,
            request.conversation,
            request.turn,
            ask.form.tool or "",
            ask.form.digest_of(question),
        )

    async def _note_refusal(self, error: InvalidCallError, agent: Agent | None) -> None:
        body: dict[str, JsonValue] = {
            "refused": error.tool,
            "agent": agent.name if agent else None,
            "errors": [problem.model_dump() for problem in error.problems[:20]],
        }
        if isinstance(error, DeclinedCallError):
            body["reason"] = error.reason
        await self._commits.store.record.add(
            None, RecordEntry(at=self._commits.clock.now(), kind="note", body=body)
        )


def _submitted_before(first: Existing) -> Submitted:
    if not first.same_body:
        title = "This Idempotency-Key was used for another body"
        raise ProblemError(422, title, "Send the same body again, or use a new key for a new ask.")
    return Submitted(first.ask, created=False)


async def _save_nothing(_shown: object) -> None:
    """A surface without a live message has nothing to save."""


def _with_subagent(origin: Origin, hook: Mapping[str, JsonValue]) -> Origin:
    """Return the origin, with the subagent beside the host's name if a hook's metadata names one."""
    subagent = hook.get("subagent")
    if not isinstance(subagent, str) or not subagent.strip():
        return origin
    return origin.model_copy(update={"host": f"{origin.host or DEFAULT_ASKER} ({subagent})"})
