"""Acts on an ask, or refuses: each action is authorised, decided and stored in one transaction.

Waiters are notified afterwards. An action is refused here if it is late (the ask has ended), stale (it names an older
revision) or by a person who may not act. `AskActions` handles what people do; `ChangeCommitter` is shared by all
changes. Decisions are pure: they see the ask as it is in the transaction.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add, attrgetter

from answerback.core import ask as asks
from answerback.core import intents, refusals
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, Status
from answerback.core.escalation import as_still_open, return_to_act
from answerback.core.grants import GrantEnd
from answerback.core.intents import Intent, ResolvedAction, UnresolvedAction
from answerback.core.labels import Labels
from answerback.core.people import People
from answerback.core.person import Person
from answerback.core.sent_files import changed_files
from answerback.core.too_late import TryAgain
from answerback.core.walker import Refused, Source
from answerback.ports.claims import Claim, Fence
from answerback.ports.clock import Clock
from answerback.ports.extension import Running
from answerback.ports.extension_rows import NO_ROWS, Rows
from answerback.ports.message_state import mark_outdated
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import RememberedAnswer
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason, Surface
from answerback.presentation.responders import missing_groups
from answerback.service import decisions, may_act, question_routing
from answerback.service.decisions import TABLE, UNRESOLVED, Row, Situation, Who
from answerback.service.handing_over import NeedsPerson, Recipient, look_up_recipient
from answerback.service.may_act import NeedsGroups
from answerback.service.notify import Hooks, Signals

logger = logging.getLogger(__name__)

_KIND = attrgetter("kind")


@dataclass(slots=True)
class ChangeCommitter:
    """Stores changes of asks and notifies of them."""

    store: Store
    clock: Clock
    surfaces: Mapping[str, Surface]
    rules: question_routing.Rules
    hooks: Hooks
    """The other parts of this process that react to changes."""
    people: People
    """Tells which accounts belong to one person."""
    claim: Claim
    """This process's claim on the work that follows from a change."""
    has_inquiry: bool
    """True if an inquiry backend is configured."""
    extensions: Sequence[Running]
    """The extensions that store something with changes."""
    signals: Signals = field(init=False)

    def __post_init__(self) -> None:
        self.signals = Signals(self.surfaces)

    async def change(
        self, ask_id: str, decide: Callable[[Ask, float], Change | None]
    ) -> Acted | Rejected:
        """Change an open ask; ``decide`` is pure, and None leaves the ask as it is."""
        at = self.clock.now()

        def decision(ask: Ask | None) -> Decision[Write | Rejected | Acted]:
            if ask is None:
                return Decision(None, Rejected(RejectReason.NOT_FOUND))
            if not ask.open:
                return Decision(None, Rejected(RejectReason.ENDED, ask))
            change = decide(ask, at)
            if change is None:
                return Decision(None, Acted(ask))
            write = self.build_write(change, at, ask)
            return Decision(write, write)

        result, _ = await self.store.asks.change(ask_id, decision, then=self.publish_result)
        return Acted(result.ask) if isinstance(result, Write) else result

    def apply_routing(self, change: Change, at: float, *, reached: bool = False) -> Change:
        """Continue for as long as nobody has to be asked: take fixed answers, and fail what nobody can answer.

        Args:
            reached: whether the person acted where the ask is shown, so that people can be asked there.
        """
        ask, entries = change.ask, change.entries
        # Once it is shown, an ask stays on its surface: people who see it can still answer it.
        reachable = (
            reached
            or ask.placement.message is not None
            or self.is_up(ask.placement.destination.surface)
        )
        if reachable and not self.rules.tools:
            return change  # the configuration has no rules: people are asked
        while (question := ask.question) is not None and not ask.schedule.awaits_inquiry:
            routed = question_routing.route(
                ask, question, self.rules, surface=reachable, inquiry=self.has_inquiry
            )
            if isinstance(routed, question_routing.AskPerson):
                break
            if isinstance(routed, question_routing.Inquire):
                ask = replace(ask, schedule=replace(ask.schedule, awaits_inquiry=True))
                break
            if isinstance(routed, question_routing.Fail):
                following = asks.end_ask(
                    ask, Status.FAILED, at=at, reason=routed.reason, message=routed.message
                )
            else:
                taken = asks.apply_action(
                    ask,
                    Answer(value=routed.value),
                    at=at,
                    by=None,
                    source=Source.CONFIG,
                )
                if isinstance(taken, Refused):
                    raise AssertionError(  # noqa: TRY004 a refusal is not a type error
                        f"A fixed answer was checked and then refused: {taken.problems[0].message}"
                    )
                following = taken
            ask, entries = following.ask, (*entries, *following.entries)
        return change._replace(ask=ask, entries=entries)

    def build_write(
        self,
        change: Change,
        at: float,
        before: Ask | None = None,
        *,
        memory: RememberedAnswer | None = None,
    ) -> Write:
        """Return the changes that one transaction stores for an action on the ask ``before``, with the rows of
        extensions."""
        ask = change.ask
        surface = self.surfaces.get(ask.placement.destination.surface)
        if surface is None or not surface.live or ask.schedule.awaits_inquiry:
            ask = replace(ask, placement=replace(ask.placement, shown_revision=ask.revision))
        change = change._replace(ask=ask)
        added = NO_ROWS
        # A change that does not concern an extension costs nothing.
        for extension in self.extensions:
            if extension.only_callbacks and ask.request.callback is None:
                continue
            kinds = extension.kinds
            if kinds is None or not kinds.isdisjoint(map(_KIND, change.entries)):
                new = extension.on_change(before, change, at)
                added = Rows(*map(add, added, new))
        owed = ask.outcome is not None and ask.status is not Status.WITHDRAWN
        if owed := owed and not isinstance(change.grant, GrantEnd):
            ask = replace(
                ask,
                collection=replace(ask.collection, unread_by_agent=True, read_by_agent_at=None),
            )
        return Write(
            ask,
            change.entries,
            deliveries=added.deliveries,
            rows=added.rows,
            memory=memory,
            owed=owed,
            claim=self.claim,
            ask_rows=added.ask_rows,
            grant=change.grant,
            files=None
            if before is None or before.walk.file_ids == ask.walk.file_ids
            else changed_files(before.walk, ask.walk),
        )

    def publish_result(self, result: object) -> None:
        """Notify of a change if the decision was one, even if the caller has hung up meanwhile."""
        if isinstance(result, Write):
            self.publish(result)

    def publish(self, write: Write) -> None:
        """Notify all that react to what was just stored."""
        ask = write.ask
        if any([entry.kind == "ended" for entry in write.entries]):  # noqa: C419 a few, once a click
            extra = {"action": ask.status.value, "ask_id": ask.id, "agent": ask.request.agent}
            logger.info("An ask has ended", extra=extra)
            self.hooks.ended(ask)
        self.signals.notify(ask)
        self.hooks.changed(ask)
        if ask.placement.shown_revision < ask.revision or ask.to_retire is not None:
            self.hooks.show(ask)
        if write.deliveries:
            self.hooks.deliver()
        if (due := ask.next_due()) is not None:
            self.hooks.due(due)

    def is_up(self, surface_name: str) -> bool:
        """Return True if a surface can reach people now."""
        surface = self.surfaces.get(surface_name)
        return surface is not None and surface.unready_reason() is None


_Decided = Decision[Write | Acted | Rejected | NeedsGroups | NeedsPerson]
_Check = Callable[[Ask], None]
_Decide = Callable[[Intent, Actor, Recipient | None, float, Ask | None], _Decided]
"""Decides about an intent of an actor: who is given the ask, if that was looked up, the time, and the ask."""


def _is_named(actor: Actor, actors: tuple[str, ...]) -> bool:
    """Return True if an ask's surface alone tells that this person may act."""
    named = actor.person.user_id in actors or asks.ANYONE in actors
    return named and actor.ids is None


def _decide_by_row(
    action: ResolvedAction, row: Row, now: Situation
) -> Change | Rejected | NeedsGroups | NeedsPerson | None:
    """Decide about an action of a person who may take it; None: it is possible, and nothing is stored."""
    ask, actor, people, at = now.ask, now.actor, now.people, now.at
    if row.decide is not None:
        change = row.decide(action, now)
    else:
        change = asks.apply_action(ask, action, at=at, by=actor.person, people=people)  # type: ignore[arg-type] # see `Row`
    if isinstance(change, Refused):
        return decisions.rejected(change, now)
    if row.who is Who.CONFIRMERS:
        return may_act.refused_to_confirm(actor, ask, people, at) or change
    return change


def _check_and_decide(
    check: _Check, decide: Callable[[Ask | None], _Decided], ask: Ask | None
) -> _Decided:
    if ask is not None:
        check(ask)
    return decide(ask)


class AskActions:
    """Lets people act on asks: the part of the service that decides whether they may, and what follows.

    Args:
        wait_until_reported: returns once no response is reporting an ask's outcome, so that what a person adds to the
            outcome does not count as reported with it.
        credential_of: returns what proves who grants something.
    """

    def __init__(
        self,
        commits: ChangeCommitter,
        labels: Labels,
        wait_until_reported: Callable[[str], Awaitable[None]],
        credential_of: Callable[[Person], Awaitable[str]],
    ) -> None:
        self._commits = commits
        self._credential_of = credential_of
        self._wait_until_reported = wait_until_reported
        self.labels = labels

    async def act(
        self,
        ask_id: str,
        action: ResolvedAction,
        actor: Actor,
        *,
        revision: int | None = None,
        delivery: str | None = None,
        digest: str = "",
        at: float | None = None,
    ) -> Acted | Rejected:
        return await self.apply(
            Intent(ask_id, action, revision, delivery, at, digest=digest), actor
        )

    async def apply(
        self,
        intent: Intent,
        actor: Actor,
        *,
        fence: Fence | None = None,
        check: _Check | None = None,
    ) -> Acted | Rejected:
        """Apply what a person wants.

        Args:
            check: raises an error, which this raises too, if the caller may not act on the ask. It is pure and quick.
        """
        began = time.perf_counter()
        outcome = await self._apply_anywhere(intent, actor, fence, check)
        if intent.wanted is None:
            return outcome
        counted = "repeated" if isinstance(outcome, Acted) and outcome.repeated else "acted"
        result = outcome.why.value if isinstance(outcome, Rejected) else counted
        seconds = time.perf_counter() - began
        surface, action = actor.person.surface, intent.wanted.action
        self._commits.hooks.acted(surface, action, result, seconds, outcome.ask)
        return outcome

    async def _apply_anywhere(
        self, intent: Intent, actor: Actor, fence: Fence | None, check: _Check | None
    ) -> Acted | Rejected:
        commits = self._commits
        if commits.people.accounts:
            actor = actor._replace(person=commits.people.as_named(actor.person))
        if isinstance(intent.wanted, TryAgain):
            await self._wait_until_reported(intent.ask_id)
        if isinstance(wanted := intent.wanted, Answer) and wanted.grant is not None:
            terms = replace(wanted.grant, credential=await self._credential_of(actor.person))
            intent = intent._replace(wanted=replace(wanted, grant=terms))
        outcome = await self._apply_at(self._decide, intent, actor, fence, check)
        if isinstance(outcome, Rejected) and may_act.is_perhaps_at_old_place(outcome, intent):
            there = await self._apply_at(self._decide_at_old_place, intent, actor, fence, check)
            is_refused = isinstance(there, Rejected) and there.why is RejectReason.NOT_ALLOWED
            if is_refused and outcome.why is RejectReason.STALE:  # they may act at the new place
                return outcome._replace(ask=there.ask)
            outcome = there
        if isinstance(outcome, Rejected) and outcome.why is RejectReason.NOT_FOUND:
            return Rejected(RejectReason.NOT_FOUND)
        return outcome

    async def _apply_at(
        self,
        decide_at: _Decide,
        intent: Intent,
        actor: Actor,
        fence: Fence | None,
        check: _Check | None,
    ) -> Acted | Rejected:
        """Decide in one transaction, and again for as long as groups or a person have yet to be looked up."""
        commits = self._commits
        recipient: Recipient | None = None
        while True:
            decide = partial(decide_at, intent, actor, recipient, commits.clock.now())
            if check is not None:
                decide = partial(_check_and_decide, check, decide)
            outcome, repeated = await commits.store.asks.change(
                intent.ask_id,
                decide,
                delivery=intent.delivery,
                digest=intent.digest,
                then=commits.publish_result,
                fence=fence,
            )
            if repeated:
                ask = await commits.store.asks.get(intent.ask_id)
                return Acted(ask, repeated=True) if ask else Rejected(RejectReason.NOT_FOUND)
            if isinstance(outcome, Write):
                swept = outcome.files and outcome.files.dropped
                return await self._swept(outcome, swept) if swept else Acted(outcome.ask)
            if isinstance(outcome, NeedsPerson):
                recipient = await look_up_recipient(commits.surfaces, outcome)
                if recipient is None:
                    return Rejected(RejectReason.UNCHECKED, outcome.ask)
                continue
            if not isinstance(outcome, NeedsGroups):
                return outcome
            with_groups = await may_act.look_up_groups(commits.surfaces, outcome)
            if with_groups is None:
                return Rejected(RejectReason.UNCHECKED, outcome.ask)
            if outcome.as_recipient and recipient is not None:
                recipient = recipient._replace(actor=with_groups)
            else:
                actor = with_groups

    async def _swept(self, write: Write, dropped: Sequence[str]) -> Acted:
        """Delete the bytes of files that no answer names any more."""
        await self._commits.store.files.sweep(dropped)
        return Acted(write.ask)

    def _decide_at_old_place(
        self, intent: Intent, actor: Actor, recipient: Recipient | None, now: float, ask: Ask | None
    ) -> _Decided:
        """Decide about what a person does where an ask still looks open, because nobody can see it elsewhere yet."""
        if ask is None or (still := as_still_open(ask)) is None:
            return self._decide(intent, actor, recipient, now, ask)
        back = return_to_act(ask, now)
        if intent.revision is not None and may_act.is_unchanged_since(intent.revision, ask):
            intent = intent._replace(revision=back.ask.revision)
        write, result = self._decide(intent, actor, recipient, now, back.ask)
        if isinstance(result, Write):
            write = result._replace(entries=(*back.entries, *result.entries))
            return Decision(write, write)
        if isinstance(result, Acted | Rejected) and result.ask is back.ask:
            result = result._replace(ask=still)
        return Decision(write, result)

    def _decide(
        self, intent: Intent, actor: Actor, recipient: Recipient | None, now: float, ask: Ask | None
    ) -> _Decided:
        if ask is None or intent.surface not in {None, ask.placement.destination.surface}:
            return Decision(None, Rejected(RejectReason.NOT_FOUND, ask))
        actor = self._where_asked(actor, ask)
        action = intent.wanted
        row = TABLE.get(type(action), UNRESOLVED)
        if (refused := self._refused(intent, row, actor, ask)) is not None:
            return Decision(None, refused)
        if action is None:
            return Decision(None, Acted(ask))
        if isinstance(action, UnresolvedAction):
            resolved = intents.resolve_action(action, ask, intent, self.labels)
            if isinstance(resolved, intents.Unclear):
                why = RejectReason.STALE if resolved.early else RejectReason.INVALID
                return Decision(None, Rejected(why, ask, (resolved.problem,)))
            action, row = resolved, TABLE[type(resolved)]
        surface = self._commits.surfaces.get(ask.placement.destination.surface)
        situation = Situation(ask, actor, recipient, now, self._commits.people, surface)
        change = _decide_by_row(action, row, situation)
        if change is None:
            return Decision(None, Acted(ask))
        if not isinstance(change, Change):
            return Decision(None, change)
        write = self._write(ask, action, row, change, actor.person, now)
        return Decision(write, write)

    def _write(
        self, ask: Ask, action: ResolvedAction, row: Row, change: Change, by: Person, now: float
    ) -> Write:
        """Return what is stored of a person's action: the questions that nobody has to be asked are answered, too."""
        if row.is_for_ended:
            shown_again = change._replace(ask=mark_outdated(change.ask))
            return self._commits.build_write(shown_again, now, ask)
        if row.moves_on:
            reached = by.surface == ask.placement.destination.surface and by.via is None
            change = self._commits.apply_routing(change, now, reached=reached)
        memory = None
        if isinstance(action, Answer) and action.remember:
            memory = question_routing.answer_to_remember(ask, action)
        return self._commits.build_write(change, now, ask, memory=memory)

    def _where_asked(self, actor: Actor, ask: Ask) -> Actor:
        """Return a person with their ids where the ask is now: it may have moved since they wanted to act."""
        here = ask.placement.destination.surface
        if actor.person.surface == here and actor.ids is None:
            return actor
        if actor.ids is None and actor.person.via is None:
            actor = Actor(actor.person)  # the groups that a surface knows are its own
        return actor._replace(ids=self._commits.people.ids_of(actor.person, here))

    def _refused(
        self, intent: Intent, row: Row, actor: Actor, ask: Ask
    ) -> Rejected | NeedsGroups | None:
        """Refuse an ended ask, a person who may not act, a revision that is not the current one, or another chat."""
        if not ask.open and not row.is_for_ended:
            return Rejected(RejectReason.ENDED, ask)
        if (
            ask.placement.confirmers_elsewhere
            and row.who is not Who.RESPONDERS
            and may_act.confirms_from_elsewhere(actor, ask, self._commits.people)
        ):
            return self._refused_as_outdated(intent, ask)
        if actor.ids == ():
            problem = refusals.NOT_IN_DIRECTORY.problem(ask.placement.destination.surface)
            return Rejected(RejectReason.NOT_ALLOWED, ask, (problem,))
        actors = ask.actors_at(intent.place, answering=row.who is Who.RESPONDERS)
        missing = None if _is_named(actor, actors) else missing_groups(actors, actor)
        if missing is not None:
            rejected = Rejected(RejectReason.NOT_ALLOWED, ask)
            return NeedsGroups(ask, actor, missing) if missing else rejected
        return self._refused_as_outdated(intent, ask)

    def _refused_as_outdated(self, intent: Intent, ask: Ask) -> Rejected | None:
        if intent.revision not in {None, ask.revision}:
            return Rejected(RejectReason.STALE, ask)
        is_here = ask.is_asked_in(intent.place)
        return None if is_here else Rejected(RejectReason.NOT_FOUND, ask)
