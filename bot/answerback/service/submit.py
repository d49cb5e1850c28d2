"""Submitting: a tool call that was read becomes a stored ask, or is refused with every error in it."""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass, replace

from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.core.ask import (
    DEFAULT_ASKER,
    Ask,
    Attendance,
    Change,
    Placement,
    Reason,
    RecordEntry,
    Request,
    Schedule,
    apply_action,
    request_entry,
)
from answerback.core.controls import memory_key
from answerback.core.errors import DeclinedCallError, InvalidCallError, ProblemError
from answerback.core.too_late import APPROVAL
from answerback.core.walker import Source, start
from answerback.dialects import registry
from answerback.dialects.approvals.edits import without_edit_questions
from answerback.ports.store import Write
from answerback.ports.store_values import (
    AskLimits,
    Existing,
    FilesGone,
    Idempotency,
    LimitReached,
)
from answerback.ports.surface import Shown
from answerback.service.act_or_refuse import ChangeCommitter
from answerback.service.agent_presence import POLICIES, AgentPresence
from answerback.service.ask_limits import too_many_asks
from answerback.service.files import Files, files_gone
from answerback.service.grants import Grants, plan_offer
from answerback.service.json_bodies import unknown_surface
from answerback.service.question_routing import fail_misconfigured
from answerback.service.repeated_calls import RepeatedCalls, join_key
from answerback.service.submission_reader import ReadSubmission, SubmissionReader
from answerback.service.submission_request import Agent, Submission, name_of
from answerback_base.strict_json import digest_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Submitted:
    """An ask that an agent submitted; ``created`` is False if its idempotency key matched an earlier one."""

    ask: Ask
    created: bool


@dataclass(frozen=True, slots=True)
class Submitter:
    """Accepts tool calls and stores them as asks."""

    commits: ChangeCommitter
    reader: SubmissionReader
    presence: AgentPresence
    repeats: RepeatedCalls
    limits: AskLimits
    """The limits for callers if there are no tokens."""
    grants: Grants
    files: Files

    async def submit(
        self,
        body: Submission,
        *,
        agent: Agent | None = None,
        idempotency_key: str | None = None,
        digest: str = "",
        hook: str | None = None,
    ) -> Submitted:
        """Store a tool call as an ask and have it shown.

        Args:
            digest: of the body without its files; a repeated key with another digest, or other files, is refused.
            hook: the hook that puts the ask, which has idempotency keys of its own.

        Raises:
            InvalidCallError: with every error in the call and its envelope; the record notes the refusal.
            ProblemError: the idempotency key was used with another body.
        """
        if body.files and idempotency_key is not None:
            digest = digest_of([digest, await self.files.identify(body.files)])
        key = _key(agent, idempotency_key, digest, hook)
        submitted = await self._submit(body, agent, key, hook)
        await self.presence.record_poll(submitted.ask)
        return submitted

    async def _submit(
        self, body: Submission, agent: Agent | None, key: Idempotency | None, hook: str | None
    ) -> Submitted:
        join = None if body.join is None else join_key(body, agent)
        if join and (joined := await self.repeats.find(join, body, key)) is not None:
            return Submitted(joined, created=False)
        try:
            read = await self.reader.read(body, agent, hook)
            write = await self._first_write(self._new_ask(body, agent, read, join, hook))
            if read.attached.inline:
                await self.files.store_inline(read.attached, name_of(agent))
        except InvalidCallError as error:
            # What was valid when it was first submitted may be invalid by now: a route may have been renamed.
            if key is not None and (first := await self.commits.store.asks.find_created(key)):
                return _submitted_before(first)
            await self._note_refusal(error, agent)
            raise
        if join:  # first: if this process is killed in between, the ask does not exist
            await self.repeats.save_wait(write.ask)
        limits = agent.limits if agent else self.limits
        if write.ask.request.grants is None:
            stored = await self.commits.store.asks.create(write, key, limits)
        else:
            stored, write = await self.grants.create(write, key, limits)
        if isinstance(stored, Existing):
            await self.repeats.save_wait(stored.ask)
            return _submitted_before(stored)
        if isinstance(stored, FilesGone):
            files = write.ask.request.files
            raise InvalidCallError(body.name[:100], files_gone(files), write.ask.request.dialect)
        if isinstance(stored, LimitReached):
            self.commits.hooks.limited(name_of(agent), stored.limit)
            raise too_many_asks(write.ask, stored, limits)
        ask, request = write.ask, write.ask.request
        extra = {"action": "submitted", "ask_id": ask.id, "agent": request.agent}
        extra |= {"dialect": request.dialect, "surface": ask.placement.destination.surface}
        logger.info("An ask was submitted", extra=extra)
        self.commits.publish(write)
        return Submitted(ask, created=True)

    def _check_askable(self, ask: Ask) -> None:
        """Refuse an ask that needs a person on a surface that is not configured.

        Raises:
            DeclinedCallError: nobody can be asked there.
        """
        surface, surfaces = ask.placement.destination.surface, self.commits.surfaces
        if surface not in surfaces:
            raise DeclinedCallError(
                ask.request.name[:100],
                "Nobody can be asked",
                unknown_surface(surface, surfaces),
                ask.request.dialect,
                registry.render_ended(ask).model_dump(),
                reason=Reason.NO_PROMPT_BACKEND,
            )

    def _new_ask(
        self,
        body: Submission,
        agent: Agent | None,
        read: ReadSubmission,
        join: str | None,
        hook: str | None,
    ) -> Ask:
        now, rules = self.commits.clock.now(), self.commits.rules
        parsed, planned = read.parsed, read.planned
        form = parsed.form
        if body.takes_edited and parsed.dialect == APPROVAL:
            form = without_edit_questions(form)
        ask_id, begin_trace = f"ask_{secrets.token_hex(12)}", self.commits.hooks.trace
        request = Request(
            name=body.name,
            dialect=parsed.dialect,
            arguments=parsed.arguments,
            repaired=parsed.repaired,
            sent=body.arguments if parsed.repaired else None,
            form=form.model_copy(
                update={
                    "context_format": planned.context_format,
                    "confirmation": planned.confirmation,
                }
            ),
            agent=agent.name if agent else None,
            callback=body.callback.url if body.callback else None,
            conversation=body.conversation,
            turn=body.turn,
            tool_call_id=body.tool_call_id,
            on_expiry=planned.on_expiry,
            remind_after=planned.remind_after,
            push_after=planned.push_after,
            escalation=planned.escalation,
            other_accounts=read.other_accounts,
            mention=planned.mention,
            accepts=body.accepts,
            metadata=body.metadata,
            repeat_key=join,
            mode=body.mode or ("async" if parsed.is_async else "wait"),
            prompt_label=agent.display_name if agent else DEFAULT_ASKER,
            prompt_labels=rules.labels(parsed.dialect, body.name, parsed.form.tool)
            if rules.tools
            else {},
            origin=planned.origin,
            editable=read.editable,
            route=planned.route,
            mark=planned.mark,
            urgency=planned.urgency,
            allowed_recipients=planned.allowed_recipients,
            grants=plan_offer(agent, body, parsed, planned) if planned.grants else None,
            hook=hook,
            ends_with_caller=(body.leased or hook is not None) and parsed.dialect == APPROVAL,
            files=read.attached.files,
            trace={} if begin_trace is None else begin_trace(ask_id),
        )
        reachable = request.callback is not None or request.mode == "async"
        is_tracked = request.ends_with_caller or not reachable
        seconds = POLICIES[request.ends_with_caller].seconds if is_tracked else None
        return Ask(
            id=ask_id,
            created_at=now,
            updated_at=now,
            request=request,
            placement=Placement(
                destination=planned.destination,
                responders=planned.responders or (),
                confirmers=planned.confirmers,
                confirmers_elsewhere=planned.confirmers_elsewhere,
            ),
            walk=start(parsed.form),
            attendance=Attendance(
                wait_seconds=seconds,
                agent_left=request.mode == "async"
                and request.callback is None
                and not request.ends_with_caller,
            ),
            schedule=Schedule(
                expires_at=now + planned.expires_in if planned.expires_in is not None else None
            ),
        )

    async def _first_write(self, ask: Ask) -> Write:
        """Return what is stored for a new ask.

        Raises:
            DeclinedCallError: its surface is not configured.
        """
        surface = self.commits.surfaces.get(ask.placement.destination.surface)
        if surface is not None and not surface.live:  # it knows the place without posting anything
            shown = await surface.show(ask, _save_nothing)
            if isinstance(shown, Shown):
                ask = replace(ask, placement=replace(ask.placement, thread=shown.thread))
        commits = self.commits
        if commits.rules.tools and (
            failed := fail_misconfigured(ask, commits.rules, inquiry=commits.has_inquiry)
        ):
            return commits.build_write(failed, ask.created_at)
        write = commits.build_write(await self._first_change(ask), ask.created_at)
        if (outcome := write.ask.outcome) and outcome.reason is Reason.NO_PROMPT_BACKEND:
            self._check_askable(write.ask)
        return write

    async def _first_change(self, ask: Ask) -> Change:
        """Return a new ask at its first question, or already ended without asking anyone."""
        at, asked = ask.created_at, request_entry(ask, ask.created_at)
        key = None if ask.request.turn is None else memory_key(ask)
        if key and (remembered := await self.commits.store.asks.get_remembered(*key)):
            answer = Answer(value=remembered[0])
            answered = apply_action(ask, answer, at=at, by=None, source=Source.REMEMBERED)
            if isinstance(answered, Change):
                return Change(answered.ask, (*asked, *answered.entries))
        return self.commits.apply_routing(Change(ask, asked), at)

    async def _note_refusal(self, error: InvalidCallError, agent: Agent | None) -> None:
        body: dict[str, JsonValue] = {
            "refused": error.tool,
            "agent": agent.name if agent else None,
            "errors": [problem.model_dump() for problem in error.problems[:20]],
        }
        if isinstance(error, DeclinedCallError):
            body["reason"] = error.reason
        await self.commits.store.record.add(
            None, RecordEntry(at=self.commits.clock.now(), kind="note", body=body)
        )


def _key(agent: Agent | None, key: str | None, digest: str, hook: str | None) -> Idempotency | None:
    if key is None:
        return None
    # No header can contain a line end, so no agent can submit an ask in a hook's place.
    scope = "" if hook is None else f"{hook}\n"
    return Idempotency(name_of(agent), scope + key, digest)


def _submitted_before(first: Existing) -> Submitted:
    if not first.same_body:
        title = "This Idempotency-Key was used for another body"
        raise ProblemError(422, title, "Send the same body again, or use a new key for a new ask.")
    return Submitted(first.ask, created=False)


async def _save_nothing(_shown: object) -> None:
    """A surface without a live message has nothing to save."""
