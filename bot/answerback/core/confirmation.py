"""Confirmations: whether a person's confirmation of an ask's answers counts. Pure.

Who gave any of the answers cannot confirm them, nor can a machine, nor a person who might be one of those who have
answered or confirmed before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from answerback.core import refusals
from answerback.core.people import People
from answerback.core.person import AuthMethod, EpochSeconds, FrozenModel, Person, StrictDataclass
from answerback.core.refusals import Refusal

MAX_CONFIRMATIONS: Final = 10
"""The most confirmations that an ask may need."""


class ConfirmationRule(FrozenModel):
    """The conditions for the answers of a form to be confirmed."""

    due: int
    """The number of people who have to confirm."""
    requester: str | None = None
    """The person on whose behalf the agent asks, by their name in the directory or their account, if they may not
    confirm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote(StrictDataclass):
    """One person's confirmation."""

    by: Person
    at: EpochSeconds


def confirm(
    rule: ConfirmationRule,
    answerers: Collection[Person],
    votes: tuple[Vote, ...],
    vote: Vote,
    people: People,
) -> tuple[Vote, ...] | Refusal:
    """Add a person's confirmation to those given, or say why it does not count."""
    by, voters = vote.by, [each.by for each in votes]
    if any(people.may_be_same(by, each) for each in answerers):
        return refusals.ALREADY_ANSWERED
    if any(people.may_be_same(by, each) for each in voters):
        return refusals.ALREADY_CONFIRMED
    if by.known is AuthMethod.KEY:
        return refusals.NOBODY_IN_PARTICULAR
    if rule.requester is not None and (
        refused := refuse_requester(rule.requester, by, vote.at, people, refusals.REQUESTER)
    ):
        return refused
    if not all(people.is_different(by, each, vote.at) for each in (*answerers, *voters)):
        return refusals.NOT_TOLD_APART
    return (*votes, vote)


def refuse_requester(
    name: str, by: Person, at: float, people: People, refusal: Refusal
) -> Refusal | None:
    """Return why somebody cannot act who is, or might be, the person on whose behalf the agent asks.

    Args:
        name: that person's name in the directory, or their account.
        refusal: why that person themselves cannot.
    """
    requesters = people.persons_named(name)
    if any(people.may_be_same(by, each) for each in requesters):
        return refusal
    # The directory may list no account of theirs there, or not even them any more.
    is_other = any(people.is_different(by, each, at) for each in requesters)
    if not is_other and (requesters or not people.is_known(by, at)):
        return refusals.NOT_TOLD_APART
    return None
