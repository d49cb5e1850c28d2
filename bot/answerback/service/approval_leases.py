"""The ends of approvals whose host gives up with their caller: the hook, bridge or proxy that waits for them.

`answerback.service.agent_presence` renews a lease for as long as the caller waits. Once it has run out, the approval
ends: nobody is offered a decision that reaches no one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from answerback.core import refusals, too_late
from answerback.core.ask import Ask, Change, Status
from answerback.core.giving_up import GaveUp
from answerback.ports.clock import MIN_CLOCK_STEP, Clock
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.act_or_refuse import ChangeCommitter
from answerback.service.agent_presence import CALLER, lease_until

_DECIDED: Final = {Status.ANSWERED, Status.CANCELLED, Status.TURN_ENDED, Status.FAILED}
"""The ends of an approval that tell the host something other than that there is no decision."""


class ApprovalLeases:
    """Ends approvals whose caller has gone, or is about to tell its host no.

    Args:
        is_waiting: whether an ask's caller waits in this process.
    """

    def __init__(
        self, commits: ChangeCommitter, clock: Clock, is_waiting: Callable[[str], bool]
    ) -> None:
        self._commits = commits
        self._clock = clock
        self._is_waiting = is_waiting
        self._running_since = clock.monotonic()
        """Since when this process and its store have been running without a break, by the monotonic clock."""
        self._ahead = clock.now() - clock.monotonic()

    def run_since(self, at: float) -> None:
        """Count leases as if this process had been running since then, by the monotonic clock."""
        self._running_since = at

    async def report_no_answer(self, ask_id: str) -> Acted | Rejected:
        """End an approval because its host is about to be told no. What people decided before stands."""
        ask = await self._commits.store.asks.get(ask_id)
        if ask is not None and ask.request.dialect != too_late.APPROVAL:
            problem = refusals.NOT_AN_APPROVAL.problem()
            return Rejected(RejectReason.INVALID, ask, (problem,))
        done = await self._commits.change(
            ask_id, lambda latest, at: too_late.give_up(latest, GaveUp.DENIED, at=at)
        )
        if isinstance(done, Rejected) and done.ask is not None and done.ask.status not in _DECIDED:
            return Acted(done.ask, repeated=True)
        return done

    async def end_lease(self, ask_id: str) -> Acted | Rejected:
        """End an approval whose lease has run out, unless its caller waits or may not have had the time to."""
        seconds = CALLER.seconds
        grace = seconds - self._measure_run()

        def decide(ask: Ask, at: float) -> Change | None:
            lapses_at = ask.presence_lapses_at
            if lapses_at is None or lapses_at > at:
                return None  # renewed in the meantime
            if self._is_waiting(ask_id):
                return Change(lease_until(ask, at + seconds), ())
            if grace > 0:
                return Change(lease_until(ask, at + grace), ())
            return too_late.give_up(ask, GaveUp.GONE, at=at)

        return await self._commits.change(ask_id, decide)

    def _measure_run(self) -> float:
        """Return the seconds that this process has been running. After a break, such as a suspended machine, they start
        again."""
        now = self._clock.monotonic()
        ahead = self._clock.now() - now
        if ahead - self._ahead > MIN_CLOCK_STEP:
            self.run_since(now)
        self._ahead = ahead
        return now - self._running_since
