"""The table of actions on an ask: which asks each is for, who may take it, and what follows. Pure.

An action of a new kind is a row here. `answerback.service.act_or_refuse` checks and stores what a row decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from answerback.core import ask as asks
from answerback.core import clarification, editing, granting, refusals, unseen
from answerback.core.actions import (
    Answer,
    Back,
    Confirm,
    Edit,
    EndTurn,
    Object,
    Other,
    Reply,
    Submit,
)
from answerback.core.ask import Ask, Change
from answerback.core.clarification import AskBack
from answerback.core.controls import offers_to_remember
from answerback.core.editing import AllowEdited
from answerback.core.granting import RevokeGrant
from answerback.core.handing_over import HandOver, stands_in_for_any
from answerback.core.people import People
from answerback.core.too_late import TryAgain, apply_try_again
from answerback.core.walker import Refused
from answerback.dialects.approvals import edits
from answerback.ports.surface import Actor, Rejected, RejectReason, Surface
from answerback.service import may_act
from answerback.service.handing_over import NeedsPerson, Recipient, decide_hand_over
from answerback.service.may_act import NeedsGroups


class Situation(NamedTuple):
    """The facts that a decision depends on, besides the action."""

    ask: Ask
    actor: Actor
    recipient: Recipient | None
    """To whom the ask is to be handed over, once they were looked up."""
    at: float
    people: People
    surface: Surface | None
    """Where the ask is shown; None: it is not configured."""


Outcome = Change | Refused | Rejected | NeedsGroups | NeedsPerson | None
"""A decision; None: the action is possible, and nothing is stored."""
Decide = Callable[[Any, Situation], Outcome]
"""Decides about an action of one kind."""


class Who(Enum):
    """Who may take an action."""

    ACTORS = auto()
    """Whoever may do anything with the ask now."""
    RESPONDERS = auto()
    """Whoever may answer, also while the answers wait for confirmation."""
    CONFIRMERS = auto()
    """Whoever may confirm. Others first read why theirs would not count anyway, such as that they have answered."""


@dataclass(frozen=True, slots=True)
class Row:
    """The rules for actions of one kind."""

    decide: Decide | None = None
    """None: it is a step of the walker."""
    who: Who = Who.ACTORS
    is_for_ended: bool = False
    """True if it concerns asks that have ended, and not open ones."""
    moves_on: bool = True
    """True if another question may follow, which perhaps nobody has to be asked."""


def rejected(refused: Refused, now: Situation) -> Rejected:
    """Return the rejection of an action of a person who may take it, but not like this."""
    if may_act.is_too_new(refused, now.actor, now.ask, now.people, now.at):
        refused = Refused((refusals.LINKED_RECENTLY.problem(),))
    forbidden = refused.problems[0].code in refusals.FORBIDDEN
    why = RejectReason.NOT_ALLOWED if forbidden else RejectReason.INVALID
    return Rejected(why, now.ask, refused.problems)


def _answer(action: Answer, now: Situation) -> Outcome:
    ask, by = now.ask, now.actor.person
    if action.remember and not offers_to_remember(ask):
        return Refused((refusals.CANNOT_BE_REMEMBERED.problem(),))
    change = asks.apply_action(ask, action, at=now.at, by=by, people=now.people)
    if action.unseen and isinstance(change, Change):
        change = unseen.answer_once_more(action, change, at=now.at, by=by, people=now.people)
    if action.grant is not None and isinstance(change, Change):
        change = granting.make_grant(ask, action, action.grant, change, by)
    return change


def _allow_edited(action: AllowEdited, now: Situation) -> Outcome:
    ask, by = now.ask, now.actor.person
    answer = Answer(value=action.value, note=action.note, files=action.files)
    if ask.question is not None:
        if refused := editing.refuse_edit(ask, action, by, now.at, now.people):
            return Refused((refused.problem(),))
        call = editing.editable_call(ask)
        assert call is not None, f"{ask.id}: the call cannot be edited, which was checked"
        edited = edits.read_edit(ask.request, call, action.edited)
        if isinstance(edited, tuple):
            return Refused(edited)
        answer = replace(answer, edited=edited)
    return asks.apply_action(ask, answer, at=now.at, by=by, people=now.people)


def _confirm(action: Confirm, now: Situation) -> Outcome:
    ask, by = now.ask, now.actor.person
    if stands_in_for_any(ask, by, ask.walk.answerers, now.people):
        return Refused((refusals.STANDS_IN.problem(),))
    return asks.apply_action(now.ask, action, at=now.at, by=by, people=now.people)


def _ask_back(action: AskBack, now: Situation) -> Outcome:
    return clarification.apply_ask_back(now.ask, action, at=now.at, by=now.actor.person)


def _hand_over(action: HandOver, now: Situation) -> Outcome:
    return decide_hand_over(
        now.ask, action, now.actor, now.recipient, now.at, now.people, now.surface
    )


def _try_again(action: TryAgain, now: Situation) -> Outcome:
    change = apply_try_again(now.ask, action, at=now.at, by=now.actor.person)
    return None if action.is_draft and isinstance(change, Change) else change


def _revoke(_action: RevokeGrant, now: Situation) -> Outcome:
    return granting.revoke(now.ask, at=now.at, by=now.actor.person)


TABLE: Final[Mapping[type, Row]] = {
    Answer: Row(_answer),
    AllowEdited: Row(_allow_edited),
    Other: Row(),
    Back: Row(),
    Edit: Row(),
    Submit: Row(),
    Reply: Row(),
    EndTurn: Row(),
    Object: Row(),
    Confirm: Row(_confirm, Who.CONFIRMERS),
    AskBack: Row(_ask_back, moves_on=False),
    HandOver: Row(_hand_over, Who.RESPONDERS, moves_on=False),
    TryAgain: Row(_try_again, is_for_ended=True, moves_on=False),
    RevokeGrant: Row(_revoke, is_for_ended=True, moves_on=False),
}
"""The rows by the types of actions."""
UNRESOLVED: Final = Row()
"""The rules for an entry that is not an action yet: it is about an open ask."""
