"""Grants in the service: what prompts offer, which of them a grant answers, and whether its maker still may."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from answerback.core import granting
from answerback.core.ask import Ask, Destination
from answerback.core.grants import Asker, Grant, GrantOffer, covers, offer_of
from answerback.core.person import Person
from answerback.core.too_late import APPROVAL
from answerback.core.walker import Refused
from answerback.dialects.approval import read_tool_call
from answerback.dialects.registry import ParsedCall
from answerback.ports.clock import MIN_CLOCK_STEP, ClockStepDetector
from answerback.ports.message_state import mark_outdated
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import AskLimits, CreateResult, GrantGone, Idempotency
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.act_or_refuse import ChangeCommitter
from answerback.service.may_act import is_among
from answerback.service.submission_plan import Plan
from answerback.service.submission_request import Agent, Submission

MAX_LISTED: Final = 1_000
"""The number of the newest grants that are looked through for those that can still be used."""
CredentialOf = Callable[[Person], Awaitable[str | None]]
"""Returns what proves who a person is; empty if their platform does, None if nothing does any more."""


async def need_no_credential(_person: Person) -> str | None:
    """The platform says who a person is."""
    return ""


def plan_offer(
    agent: Agent | None, body: Submission, parsed: ParsedCall, planned: Plan
) -> GrantOffer | None:
    """Return what of a call may be allowed again: nothing if it is not certain who asks."""
    folder, route, rule = body.origin.folder, planned.route, planned.grants
    if rule is None or route is None or agent is None:
        return None
    if body.is_rewritten or body.files:
        return None
    # People read the folder as it is shown, which might stand for another.
    if parsed.dialect != APPROVAL or folder is None or folder != planned.origin.folder:
        return None
    call = read_tool_call(body.name, body.arguments)
    # A new token of the same name might be anybody's.
    asker = Asker(f"{agent.name} {agent.token_hash}", planned.origin.owner, folder, route)
    return None if call is None else offer_of(rule, asker, call)


class Grants:
    """Finds the grants that answer new asks.

    Args:
        credential_of: see `CredentialOf`.
    """

    def __init__(self, commits: ChangeCommitter, credential_of: CredentialOf) -> None:
        self._commits = commits
        self._store, self._clock = commits.store, commits.clock
        self._credential_of = credential_of
        self._clock_steps = ClockStepDetector(self._clock)
        self._trusted_since: float | None = None
        """The time from which on grants were made by the clock as it is now; None: not known yet."""

    async def credential_of(self, person: Person) -> str:
        """Return what proves who a person is, who is about to grant something."""
        await self._check_clock()  # from now on, a clock that is set back is noticed
        return await self._credential_of(person) or ""

    async def list_live(self, person: Person | None) -> Sequence[Grant]:
        """The grants that can still be used, newest first; with a person, only theirs."""
        found, now = await self._store.grants.newest(MAX_LISTED), self._clock.now()
        is_same = self._commits.people.is_same
        return [
            grant
            for grant in found
            if grant.is_live(now) and (person is None or is_same(grant.by, person))
        ]

    async def revoke(self, ask_id: str, by: Person) -> Acted | Rejected:
        """Revoke the grant of an ask for the operator, who need not be a responder."""
        commits = self._commits

        def decide(ask: Ask | None) -> Decision[Write | Rejected]:
            if ask is None:
                return Decision(None, Rejected(RejectReason.NOT_FOUND))
            now = commits.clock.now()
            change = granting.revoke(ask, at=now, by=by)
            if isinstance(change, Refused):
                return Decision(None, Rejected(RejectReason.INVALID, ask, change.problems))
            write = commits.build_write(change._replace(ask=mark_outdated(change.ask)), now, ask)
            return Decision(write, write)

        done, _ = await self._store.asks.change(ask_id, decide, then=commits.publish_result)
        return Acted(done.ask) if isinstance(done, Write) else done

    async def create(
        self, write: Write, key: Idempotency | None, limits: AskLimits
    ) -> tuple[CreateResult, Write]:
        """Store a new ask, answered by a grant if one covers it; return what was stored, too."""
        create = self._store.asks.create
        while (granted := await self._answer(write)) is not None:
            stored = await create(granted, key, limits)
            # Otherwise another ask has used it meanwhile, or a person has revoked it.
            if not isinstance(stored, GrantGone):
                return stored, granted
        return await create(write, key, limits), write

    async def _answer(self, write: Write) -> Write | None:
        """Return a new ask answered by the first grant that covers it; None if there is none, or nobody is asked."""
        ask = write.ask
        if ask.request.grants is None or not ask.open or ask.schedule.awaits_inquiry:
            return None
        since = await self._check_clock()
        scopes = [each.scope for each in ask.request.grants.matches]
        for grant in await self._store.grants.find(scopes):
            is_trusted = grant.at >= since and covers(grant, ask.request.grants, ask.created_at)
            if is_trusted and await self._may_still_answer(grant, ask):
                place = await self._place(grant, ask)
                change = granting.use_grant(
                    replace(ask, placement=replace(ask.placement, destination=place)), grant
                )
                if change is not None:
                    change = change._replace(entries=(*write.entries, *change.entries))
                    return self._commits.build_write(change, ask.created_at)
        return None

    async def _place(self, grant: Grant, ask: Ask) -> Destination:
        """Return where people read that a grant was used: in the thread where it was made, if that is at hand."""
        made_in, to = await self._store.asks.get(grant.ask_id), ask.placement.destination
        thread = made_in.placement.thread if made_in is not None else None
        is_beside = made_in is not None and made_in.placement.destination == to
        if thread is None or thread.id is None or not is_beside or to.channel is None:
            return to
        return to if to.thread else replace(to, thread=thread.id)

    async def _may_still_answer(self, grant: Grant, ask: Ask) -> bool:
        if await self._credential_of(grant.by) != grant.credential:
            return False
        people, surfaces = self._commits.people, self._commits.surfaces
        return await is_among(ask.placement.responders, ask, grant.by, people, surfaces) is True

    async def _check_clock(self) -> float:
        """Return from when on the clock can be trusted: it may have been set back, also while no service ran.

        All grants end then, but another process may be about to do that.
        """
        set_back, now = self._clock_steps.measure_set_back(), self._clock.now()
        if self._trusted_since is None:
            latest = await self._store.record.last_time()
            was_later = latest is not None and latest > now + MIN_CLOCK_STEP
            self._trusted_since = now if was_later else 0.0
        if set_back:
            self._trusted_since = now
        return self._trusted_since
