"""The service: submit, act, withdraw, expire. Each loads, authorises, decides and commits once, then wakes waiters.

It is the only place through which asks are changed and read. `submit` and `act_or_refuse` define how they are
submitted, acted on and stored; forms are the walker's business.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core import clarification
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, Reason, RecordEntry, Status
from answerback.core.escalation import follow_group, try_other_account, undo_move
from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback.core.walker import Refused, Source
from answerback.ports.claims import SOLE_CLAIM, Claim, Fence
from answerback.ports.clock import Clock
from answerback.ports.commands import Command, Commands
from answerback.ports.extension import Running
from answerback.ports.files import FileReader
from answerback.ports.files import PeopleFiles as PeopleFilesPort
from answerback.ports.store import Store
from answerback.ports.store_values import NO_LIMITS, AskLimits, StoredEntry
from answerback.ports.surface import (
    Acted,
    Actor,
    Batch,
    Rejected,
    RejectReason,
    SupportsLists,
    Surface,
)
from answerback.presentation.responders import missing_groups
from answerback.service import batches, question_routing
from answerback.service.act_or_refuse import AskActions, ChangeCommitter
from answerback.service.agent_presence import AgentPresence, change_presence
from answerback.service.approval_leases import ApprovalLeases
from answerback.service.expiry import expire_after_crashes, expire_change
from answerback.service.files import Files
from answerback.service.grants import CredentialOf, Grants, need_no_credential
from answerback.service.inbox import Hides, Inbox, hide_nothing
from answerback.service.late_answers import LateAnswerTracker
from answerback.service.live_messages import ShownAsks
from answerback.service.may_act import NeedsGroups, look_up_groups
from answerback.service.notify import Hooks
from answerback.service.people_files import PeopleFiles
from answerback.service.repeated_calls import RepeatedCalls
from answerback.service.submission_reader import SubmissionReader
from answerback.service.submission_request import NO_ROUTES, Agent, Routes
from answerback.service.submit import Submitter
from answerback.service.waiters import Waiters

logger = logging.getLogger(__name__)


class Service(AskActions, ShownAsks):
    """The only way to change asks. Implements `answerback.ports.surface.Asks`, which says what most methods do.

    Args:
        surfaces: the configured surfaces by name, each built with the service and added before anything is submitted.
        known_surfaces: the names of all existing surfaces, configured or not.
        check_callback: returns None if a callback may be sent for an agent, else the reason why not.
        limits: what may be asked if there are no tokens.
        hooks: what else in this process reacts to commits.
        claim: this process's claim on the work that others with the same store could also do.
        credential_of: returns what proves who a person is.
        commands: what people can do by ``/answerback``.
        extensions: those that store something with changes.
        quiet_until: returns until when a person is not to be reminded of anything; None: they may be.
        hidden_from: returns which asks are left out of a person's list.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        surfaces: Mapping[str, Surface],
        *,
        known_surfaces: frozenset[str],
        routes: Routes = NO_ROUTES,
        rules: question_routing.Rules | None = None,
        labels: Labels | None = None,
        has_inquiry: bool = False,
        check_callback: Callable[[str, Agent | None], str | None] = lambda _url, _agent: None,
        limits: AskLimits = NO_LIMITS,
        claim: Claim = SOLE_CLAIM,
        hooks: Hooks | None = None,
        credential_of: CredentialOf = need_no_credential,
        commands: Sequence[Command] = (),
        extensions: Sequence[Running] = (),
        quiet_until: Callable[[Person, float], float | None] = lambda _person, _at: None,
        hidden_from: Callable[[Person], Awaitable[Hides]] = hide_nothing,
    ) -> None:
        self.store, self.clock, self.surfaces = store, clock, surfaces
        self.claim, self.people = claim, routes.people
        self.commands = Commands(commands, labels or Labels())
        self.quiet_until = quiet_until
        self.rules, self.hooks = rules or question_routing.Rules(), hooks or Hooks()
        commits = ChangeCommitter(
            store,
            clock,
            surfaces,
            self.rules,
            self.hooks,
            routes.people,
            claim,
            has_inquiry=has_inquiry,
            extensions=extensions,
        )
        self.late_answer_tracker = LateAnswerTracker(store, clock, commits.publish_result)
        self.grants = Grants(commits, credential_of)
        self.list_grants = self.grants.list_live
        inbox = Inbox(store.search, surfaces, routes.people, hidden_from)
        self.list_waiting_for, self.search_for = inbox.list_waiting_for, inbox.search_for
        self.is_waiting_for, self.list_open_to_anyone = (
            inbox.is_waiting_for,
            inbox.list_open_to_anyone,
        )
        self.list_answered_by = inbox.list_answered_by
        reported = self.late_answer_tracker.wait_until_reported
        super().__init__(commits, labels or Labels(), reported, self.grants.credential_of)
        self.update, self.signals = commits.change, commits.signals
        self.follow = self.signals.follow
        self.presence = AgentPresence(clock, self.set_attended, alone=claim is SOLE_CLAIM)
        self.approval_leases = ApprovalLeases(commits, clock, self.presence.is_waiting)
        self.files: FileReader = store.files
        self.uploads = Files(store.files, clock)
        self.people_files: PeopleFilesPort = PeopleFiles(store.files, clock)
        self.anonymous_limits = limits
        self._repeats = RepeatedCalls(store, clock, self.presence, self.late_answer_tracker)
        reader = SubmissionReader(commits, known_surfaces, routes, check_callback, self.uploads)
        self.submit = Submitter(
            commits, reader, self.presence, self._repeats, limits, self.grants, self.uploads
        ).submit
        """Stores a tool call as an ask; see `Submitter.submit`."""
        self._waiters = Waiters(commits, self.presence)
        self.wait, self.stop_waiting = self._waiters.wait, self._waiters.stop

    async def decide_batch(self, batch: Batch, actor: Actor, *, fence: Fence | None = None) -> int:
        return await batches.decide_batch(self, batch, actor, fence)

    async def with_groups(self, actor: Actor, ask: Ask) -> Actor | None:
        missing = missing_groups(ask.participants, actor)
        if not missing:
            return actor
        return await look_up_groups(self.surfaces, NeedsGroups(ask, actor, missing))

    # --- what ends an ask without a person's answer ------------------------------------------------

    async def withdraw(self, ask_id: str) -> Acted | Rejected:
        """Withdraw an ask for its agent."""
        return await self.update(
            ask_id,
            lambda ask, at: asks.end_ask(ask, Status.WITHDRAWN, at=at, reason=Reason.WITHDRAWN),
        )

    async def erase(self, ask_id: str) -> Ask | None:
        """Erase what was written in an ended ask, and update its message accordingly; an open ask stays as it is.

        People's ids stay on surfaces with live messages, where an id names nobody. Call `Erasure.scrub` afterwards.
        """
        opaque = {name for name, surface in self.surfaces.items() if surface.live}
        now = self.clock.now()
        ask = await self.store.erasure.erase(ask_id, now, opaque)
        if ask is not None and ask.erased_at == now:
            logger.info("An ask was erased", extra={"action": "erased", "ask_id": ask.id})
            self.signals.notify(ask)
            self.hooks.show(ask)
        return ask

    async def fail(self, ask_id: str, reason: Reason, message: str) -> Acted | Rejected:
        """Fail an ask that cannot be shown to anyone, with a message for the model."""
        return await self.update(
            ask_id,
            lambda ask, at: asks.end_ask(ask, Status.FAILED, at=at, reason=reason, message=message),
        )

    async def expire(self, ask_id: str) -> Acted | Rejected:
        """End an ask that nobody answered in time, with the defaults if the ask allows them and all exist."""
        return await self.update(ask_id, partial(expire_change, self._commits))

    async def expire_plainly(self, ask_id: str, crashes: int) -> Acted | Rejected:
        """End an ask whose time is up without its defaults, because taking them has crashed so many times."""
        return await self.update(ask_id, partial(expire_after_crashes, crashes=crashes))

    async def answer_by_inquiry(self, ask_id: str, value: JsonValue) -> Acted | Rejected:
        """Answer the open question with the inquiry backend's answer; an invalid answer fails the ask."""

        def decide(ask: Ask, at: float) -> Change | None:
            if not ask.schedule.awaits_inquiry:
                return None
            change = asks.apply_action(
                ask, Answer(value=value), at=at, by=None, source=Source.INQUIRY
            )
            if isinstance(change, Refused):
                why = f"The inquiry backend's answer does not fit: {change.problems[0].message}"
                message = question_routing.no_retry_message(why)
                return asks.end_ask(
                    ask, Status.FAILED, at=at, reason=Reason.BACKEND_ERROR, message=message
                )
            return self._commits.apply_routing(change, at)

        return await self.update(ask_id, decide)

    async def set_attended(self, ask_id: str, *, attended: bool | None) -> Acted | Rejected:
        """Note for a while whether the agent waits for an ask; if it does not, the message says so.

        None: it does not wait in this process, but perhaps in another.
        """
        result = await self.update(ask_id, partial(change_presence, attended=attended))
        if isinstance(result, Acted):
            await self._repeats.save_wait(result.ask)
        return result

    async def fail_unreachable(self, ask: Ask, why: str) -> None:
        where = ask.placement.destination.surface
        why_failed = f"{ask.request.name} could not reach anyone on {where}: {why}"
        message = question_routing.no_retry_message(why_failed, question_routing.WITHOUT_PEOPLE)

        def fail(latest: Ask, at: float, entries: tuple[RecordEntry, ...] = ()) -> Change:
            reason = Reason.BACKEND_ERROR
            ended = asks.end_ask(latest, Status.FAILED, at=at, reason=reason, message=message)
            return ended._replace(entries=(*entries, *ended.entries))

        def decide(latest: Ask, at: float) -> Change | None:
            if latest.placement.destination != ask.placement.destination:
                return None  # it has moved meanwhile: people are asked elsewhere
            if (before := latest.placement.place_before) is not None:
                back = undo_move(latest, at, why)
                return fail(back.ask, at, back.entries) if before.is_closed else back
            if (elsewhere := try_other_account(latest, at, why)) is not None:
                return elsewhere
            return fail(latest, at)

        done = await self.update(ask.id, decide)
        if not isinstance(done, Acted):
            return
        extra = {"ask_id": ask.id, "surface": where}
        if done.ask.unreachable_accounts > ask.unreachable_accounts:
            extra["action"] = "account_refused"
            message = "An ask is sent to another account of the agent's owner: %s"
            logger.warning(message, why, extra=extra)
        elif ask.placement.place_before is not None:
            extra["action"] = "move_undone"
            logger.error("An ask could not be moved and stays where it was: %s", why, extra=extra)

    async def follow_group(self, ask_id: str, old: str, new: str) -> None:
        await self.update(ask_id, lambda ask, at: follow_group(ask, old, new, at))

    # --- reading and waiting -------------------------------------------------------------------------

    async def get(self, ask_id: str) -> Ask | None:
        return await self.store.asks.get(ask_id)

    def list_changed(self, person: Person, ask: Ask) -> None:
        """Update a person's lists: an ask has left them or is there again, though the ask has not changed."""
        for name, user_id in self.people.accounts_of(person):
            self.signals.notify_lists(name, ask)
            surface = self.surfaces.get(name)
            if surface is not None and isinstance(surface, SupportsLists):
                surface.refresh_list(user_id)

    async def explain(self, ask_id: str, text: str) -> Acted | Rejected:
        """Add the agent's explanation: of what people asked back, or of anything else about the open question."""
        refused: list[Refused] = []

        def decide(ask: Ask, at: float) -> Change | None:
            refused.clear()  # the decision may run more than once
            change = clarification.apply_explanation(ask, text, at=at)
            if isinstance(change, Refused):
                refused.append(change)
                return None
            return change

        done = await self.update(ask_id, decide)
        if refused and isinstance(done, Acted):
            return Rejected(RejectReason.INVALID, done.ask, refused[0].problems)
        return done

    @property
    def stopping(self) -> bool:
        """True once the process is about to stop, and no caller should wait any more."""
        return self._waiters.stopping

    async def record(self, ask_id: str, after: int = 0) -> Sequence[StoredEntry]:
        return await self.store.record.read(ask_id, after)

    async def draft(self, key: str) -> JsonValue:
        return await self.store.drafts.get(key)

    async def save_draft(self, key: str, value: JsonValue, ask_id: str = "") -> None:
        await self.store.drafts.save(key, value, self.clock.now(), ask_id)

    async def change_draft(self, key: str, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
        return await self.store.drafts.change(key, change, self.clock.now())
