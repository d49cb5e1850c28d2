"""A visit to the page of an ask: who looks at it, what they may read and do there, and the ask as they read it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from answerback.core.ask import ANYONE, Ask
from answerback.core.confirmer_copies import is_account_elsewhere
from answerback.core.editing import AllowEdited, refuse_edit
from answerback.core.errors import AnswerbackError
from answerback.core.escalation import as_still_open
from answerback.core.form import OptionKind
from answerback.core.labels import Labels
from answerback.core.people import People
from answerback.core.person import AuthMethod, Person
from answerback.core.view import Control
from answerback.ports.surface import Actor
from answerback.presentation import attribution
from answerback.presentation.responders import has_done_their_part, missing_groups
from answerback_base.sanitize import one_line
from answerback_web.render import AskPage, Summary
from answerback_web.site import NAME, Site
from answerback_web.visitors import Visitor


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit to the page of an ask: who came by which address, and what they may do there."""

    ask_id: str
    here: str
    """The last part of the page's address."""
    visitor: Visitor | None
    """Who may answer here; None: nobody, so the page only shows the ask."""
    home: str | None
    """The address of that person's inbox; None if they have none on this listener."""
    people: People
    """Tells which ids the visitor has on other surfaces."""
    groups: frozenset[str] = frozenset()
    """The groups that they are in where the ask is shown, of `groups_known`, which were looked up."""
    groups_known: frozenset[str] = frozenset()

    @property
    def person(self) -> Person | None:
        """The visitor as a person who may act."""
        return self.visitor.person if self.visitor else None

    def may_answer(self, ask: Ask) -> bool:
        """Return True if the visitor may answer, or do anything else that is left to be done."""
        return self._is_among(ask.actors, ask) or (ask.confirming and self._is_elsewhere(ask))

    def _is_elsewhere(self, ask: Ask) -> bool:
        """Return True if the visitor is one of those who may confirm and have no account where the ask is shown."""
        if self.person is None or not ask.placement.confirmers_elsewhere:
            return False
        return is_account_elsewhere(ask, self.people.accounts_of(self.person))

    def is_theirs(self, ask: Ask) -> bool:
        """Return True if the ask stands in the visitor's inbox, or would if it had not ended."""
        if self.visitor is not None and self.visitor.is_operator:
            return True
        is_named = self._is_among(ask.participants, ask) or self._is_elsewhere(ask)
        return is_named or self.may_answer(ask)

    def _waiting_summary(self, summary: Summary, ask: Ask, labels: Labels) -> Summary:
        """Return the heading for who cannot confirm: for whom they wait, as far as those are named."""
        surface, answerers = ask.placement.destination.surface, ask.walk.answerers
        named = [
            attribution.responder_name(surface, each)
            for each in ask.waits_for
            if each != ANYONE
            and not any(
                self.people.is_same(Person(surface=surface, user_id=each), one) for one in answerers
            )
        ]
        names = ", ".join(one_line(each) for each in named if each is not None)
        text = f"{summary.text} {labels.confirm_by.format(who=names)}" if names else summary.text
        return Summary(labels.confirm_waiting, text)

    def without_refused(self, page: AskPage, ask: Ask, labels: Labels) -> AskPage:
        """Return a page without the controls that could only refuse this visitor."""
        person, people = self.person, self.people
        if person is None or not ask.confirming:
            return page
        is_asked = self._is_among(ask.waits_for, ask) or self._is_elsewhere(ask)
        is_nobody = person.known is AuthMethod.KEY or not is_asked
        refused = {
            Control.CONFIRM: is_nobody or has_done_their_part(ask, person, people),
            Control.BACK: not any(people.is_same(person, each) for each in ask.walk.answerers),
        }
        if refused[Control.CONFIRM] and page.summary is not None:
            summary = self._waiting_summary(page.summary, ask, labels)
            page = replace(page, summary=summary, title=summary.title)
        return replace(
            page,
            controls=page.controls - {each for each, is_refused in refused.items() if is_refused},
            recipients=page.recipients if self._is_among(ask.placement.responders, ask) else None,
        )

    def _is_among(self, names: tuple[str, ...], ask: Ask) -> bool:
        """Return True if names include the visitor, or a group that has not been looked up; the web has no groups."""
        actor = self.actor(ask)
        return actor is not None and missing_groups(names, actor) != frozenset()

    def actor(self, ask: Ask) -> Actor | None:
        """Return the visitor as one who may act on an ask; None if they have no account where it is shown."""
        if self.person is None or (ids := self._ids(ask)) == ():
            return None
        return Actor(self.person, self.groups, self.groups_known, all_groups=ids is None, ids=ids)

    def with_groups_of(self, actor: Actor) -> Visit:
        """Return the visit of a person whose groups have been looked up."""
        return replace(self, groups=actor.groups, groups_known=actor.groups_known)

    def may_read(self, ask: Ask) -> bool:
        """Return True if the page shows an ask: those that are shown elsewhere have one for the operator, and for those
        who certainly may answer or confirm them."""
        if ask.placement.destination.surface == NAME:
            return True
        if self._is_elsewhere(ask) or (self.visitor is not None and self.visitor.is_operator):
            return True
        actor = self.actor(ask)
        return actor is not None and missing_groups(ask.participants, actor) is None

    def _ids(self, ask: Ask) -> tuple[str, ...] | None:
        """Return the visitor's ids where an ask is shown; None if that is here."""
        if (person := self.person) is None:
            return ()
        if ask.placement.destination.surface == person.surface:
            return None
        return self.people.ids_of(person, ask.placement.destination.surface)

    def may_change(self, ask: Ask, at: float) -> bool:
        """Return True if the visitor may change the call that the ask is about, before they allow it."""
        option = ask.question.sole_option(OptionKind.ALLOW_ONCE) if ask.question else None
        if self.person is None or option is None or not self.may_answer(ask):
            return False
        action = AllowEdited(value=option.value, edited="{}")
        return refuse_edit(ask, action, self.person, at, self.people) is None


class UnreadableError(AnswerbackError):
    """There is no ask with an id, or its visitor may not read it; ``ask`` is what they may not read."""

    status: ClassVar[int] = 404

    def __init__(self, ask: Ask | None = None) -> None:
        super().__init__("" if ask is None else ask.id)
        self.ask = ask


class GroupsUnknownError(UnreadableError):
    """Nobody can say just now whether a visitor is in a group that an ask is for."""

    status = 503


@dataclass(frozen=True, eq=False)
class ReadableAsks:
    """Finds asks for visitors."""

    site: Site

    async def load(self, visit: Visit) -> tuple[Visit, Ask]:
        """Load the ask of a visit; see `as_read`."""
        ask = await self.site.service.get(visit.ask_id)
        if ask is None:
            raise UnreadableError
        return await self.as_read(visit, ask)

    async def as_read(self, visit: Visit, ask: Ask) -> tuple[Visit, Ask]:
        """Return an ask as its visitor reads it, and the visit with the groups on which that depends.

        A link that only shows the ask ends some days after the ask.

        Raises:
            UnreadableError: they may not read it; GroupsUnknownError, if that is unknown.
        """
        if visit.visitor is None and self.site.has_link_ended(ask):
            raise UnreadableError(ask)
        still = None if ask.placement.place_before is None else as_still_open(ask)
        if still is not None and still.placement.destination.surface == NAME:
            ask = still  # nobody can see it elsewhere yet
        if visit.may_read(ask):
            return visit, ask
        if (actor := visit.actor(ask)) is None:
            raise UnreadableError(ask)
        if (known := await self.site.service.with_groups(actor, ask)) is None:
            raise GroupsUnknownError(ask)
        visit = visit.with_groups_of(known)
        if not visit.may_read(ask):
            raise UnreadableError(ask)
        return visit, ask
