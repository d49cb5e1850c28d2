"""Acting: what a responder does to an ask, authorised, decided and stored in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from answerback.core import ask as asks
from answerback.core.ask import ANYONE, UNOPENED, Ask, Opened
from answerback.core.errors import PlatformError, Problem, RateLimitedError, UnavailableError
from answerback.core.view import can_remember
from answerback.core.walker import Action, Answer, Refused
from answerback.ports.records import Memory
from answerback.ports.store import Decision, Write
from answerback.ports.surface import Acted, Actor, Groups, Rejected, Why
from answerback.service.transaction import Commits

logger = logging.getLogger(__name__)


class Seen(NamedTuple):
    """What somebody acted on: the revision they saw, where that is known, and when, by the platform's clock."""

    revision: int | None = None
    at: float | None = None
    typed: bool = False
    """Whether they acted by typing words."""


@dataclass(frozen=True, slots=True)
class _NeedsGroups:
    """Whether the actor may act depends on groups that were not looked up yet."""

    ask: Ask
    groups: frozenset[str]


class Acting:
    """Lets people act on asks."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits

    async def act(
        self,
        ask_id: str,
        choose: Callable[[Ask], Action | None],
        actor: Actor,
        seen: Seen,
        delivery: str | None,
    ) -> Acted | Rejected | None:
        """What the action that ``choose`` finds for the ask as it stands makes of it; None when it finds none."""
        while True:
            now = self._commits.clock.now()
            decide = partial(self._decide, choose, actor, seen, now)
            told, repeated = await self._commits.store.change(
                ask_id, decide, delivery=delivery, then=self._commits.stored
            )
            if repeated:
                ask = await self._commits.store.get(ask_id)
                return Acted(ask, repeated=True) if ask else Rejected(Why.NOT_FOUND)
            if isinstance(told, Write):
                return Acted(told.ask)
            if not isinstance(told, _NeedsGroups):
                return told
            known = await self._with_groups(told.ask, actor, told.groups)
            if known is None:
                return Rejected(Why.UNCHECKED, told.ask)
            actor = known

    def _decide(
        self,
        choose: Callable[[Ask], Action | None],
        actor: Actor,
        seen: Seen,
        at: float,
        ask: Ask | None,
    ) -> Decision[Write | Rejected | _NeedsGroups | None]:
        if ask is None:
            return Decision(None, Rejected(Why.NOT_FOUND))
        if not ask.open:
            return Decision(None, Rejected(Why.ENDED, ask))
        if (missing := self._missing_groups(ask, actor)) is not None:
            return Decision(
                None, _NeedsGroups(ask, missing) if missing else Rejected(Why.NOT_ALLOWED, ask)
            )
        if seen.revision not in {None, ask.revision}:
            return Decision(None, Rejected(Why.STALE, ask))
        action = choose(ask)
        if action is None:
            return Decision(None, None)
        if isinstance(action, Answer) and action.remember and not can_remember(ask):
            problem = Problem(
                pointer="/remember",
                code="unknown_value",
                message="This answer cannot be remembered here.",
            )
            return Decision(None, Rejected(Why.INVALID, ask, (problem,)))
        opened = UNOPENED
        if actor.person.surface == ask.destination.surface:  # another one has another clock
            opened = Opened(at=seen.at, typed=seen.typed)
        change = asks.acted(ask, action, at=at, by=actor.person, opened=opened)
        if isinstance(change, Refused):
            return Decision(None, Rejected(Why.INVALID, ask, change.problems))
        write = self._commits.write(
            self._commits.routed(change, at), at, memory=_memory(ask, action)
        )
        return Decision(write, write)

    @staticmethod
    def _missing_groups(ask: Ask, actor: Actor) -> frozenset[str] | None:
        """None: may act. Otherwise the groups that are still to be looked up; empty: may not act."""
        if ANYONE in ask.responders or actor.person.user_id in ask.responders:
            return None
        groups = frozenset(r[1:] for r in ask.responders if r.startswith("@"))
        if groups & actor.groups:
            return None
        return frozenset() if actor.all_groups else groups - actor.groups_known

    async def _with_groups(self, ask: Ask, actor: Actor, groups: frozenset[str]) -> Actor | None:
        """The actor with what the surface knows of these groups; None where it will tell later.

        A surface that is not there, or that may not tell, says no.
        """
        surface = self._commits.surfaces.get(ask.destination.surface)
        found: frozenset[str] = frozenset()
        if surface is not None and isinstance(surface, Groups):
            try:
                found = await surface.groups_of(actor.person, groups)
            except PlatformError as error:
                extra = {"action": "groups_unknown", "ask_id": ask.id, "code": error.code}
                logger.warning(
                    "Whether somebody is in a group could not be found out: %s", error, extra=extra
                )
                if isinstance(error, (RateLimitedError, UnavailableError)):
                    return None
        return actor._replace(groups=actor.groups | found, groups_known=actor.groups_known | groups)


def _memory(ask: Ask, action: Action) -> Memory | None:
    if not (isinstance(action, Answer) and action.remember):
        return None
    request, question = ask.request, ask.question
    if question is None or request.conversation is None or request.turn is None:
        raise AssertionError(f"{ask.id}: an answer is remembered only in a turn that has a name")
    return Memory(
        request.agent or "",
        request.conversation,
        request.turn,
        ask.form.tool or "",
        question.id,
        action.value,
    )
