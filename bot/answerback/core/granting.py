"""Change asks by grants: one is made with an answer, allows a prompt, or is revoked. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import JsonValue

from answerback.core import grants, refusals
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, RecordEntry, Status, apply_action
from answerback.core.form import Option, OptionKind
from answerback.core.grants import Grant, GrantEnd, GrantNote, GrantOffer, GrantTerms, GrantUse
from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback.core.walker import Refused, Source


@dataclass(frozen=True, slots=True)
class RevokeGrant:
    """Revoke the grant that an ask made or used."""

    action: ClassVar[str] = "revoke_grant"


def option_to_grant(ask: Ask) -> Option | None:
    """Return the option of an open prompt that allows once, if the prompt can be allowed again; None otherwise."""
    question = ask.question
    if ask.request.grants is None or question is None or ask.form.confirmation is not None:
        return None
    return question.sole_option(OptionKind.ALLOW_ONCE)


def make_grant(
    ask: Ask, answer: Answer, terms: GrantTerms, change: Change, by: Person
) -> Change | Refused:
    """Add to the change that an answer makes the grant that was given with it."""
    option, request, at = option_to_grant(ask), ask.request, change.ask.updated_at
    offer = None if option is None or option.value != answer.value else request.grants
    if change.ask.status is not Status.ANSWERED:
        offer = None
    if (problem := grants.find_terms_problem(offer, terms)) is not None:
        return Refused((problem,))
    match = offer.find(terms.match) if offer else None
    if match is None or request.agent is None or request.route is None:
        raise AssertionError(f"{ask.id} offers no grant")
    grant = Grant(
        id=f"grant_{ask.id.removeprefix('ask_')}",
        ask_id=ask.id,
        scope=match.scope,
        match=match.match,
        subject=match.subject,
        agent=request.agent,
        owner=request.origin.owner,
        folder=request.origin.folder or "",
        route=request.route,
        by=by,
        credential=terms.credential,
        at=at,
        until=at + 60 * terms.minutes,
        uses=terms.uses,
    )
    note = GrantNote(id=grant.id, by=by, uses=grant.uses, until=grant.until)
    body: dict[str, JsonValue] = {
        "grant": grant.id,
        "match": match.match,
        "subject": match.subject,
        "minutes": terms.minutes,
        "uses": terms.uses,
    }
    entry = RecordEntry(at=at, kind="note", by=by, body=body)
    *before, ended = change.entries
    return Change(replace(change.ask, grant=note), (*before, entry, ended), grant)


def use_grant(ask: Ask, grant: Grant) -> Change | None:
    """Return how a grant answers a new ask; None if its answer would not end it."""
    option, at = option_to_grant(ask), ask.created_at
    if option is None:
        return None
    change = apply_action(ask, Answer(value=option.value), at=at, by=None, source=Source.GRANT)
    if isinstance(change, Refused) or change.ask.status is not Status.ANSWERED:
        return None
    number = grant.used + 1
    note = GrantNote(id=grant.id, by=grant.by, uses=grant.uses, until=grant.until, number=number)
    body: dict[str, JsonValue] = {
        "grant": grant.id,
        "made_in": grant.ask_id,
        "use": number,
        "uses": grant.uses,
    }
    entry = RecordEntry(at=at, kind="note", by=grant.by, body=body)
    *before, ended = change.entries
    done = replace(change.ask, grant=note)
    return Change(done, (*before, entry, ended), GrantUse(grant.id, number, at))


def can_revoke(ask: Ask) -> bool:
    """Return whether an ask has a grant that nobody has revoked there."""
    return ask.grant is not None and ask.grant.revoked_at is None and ask.erased_at is None


def revoke(ask: Ask, *, at: float, by: Person) -> Change | Refused:
    """Revoke the grant of an ask. The ask stays as it ended."""
    if ask.grant is None or not can_revoke(ask):
        return Refused((refusals.NO_GRANT.problem(),))
    note = replace(ask.grant, revoked_at=at, revoked_by=by)
    entry = RecordEntry(at=at, kind="note", by=by, body={"grant_revoked": note.id})
    return Change(replace(ask, grant=note), (entry,), GrantEnd(note.id, at))


def describe_offer(offer: GrantOffer, labels: Labels) -> list[str]:
    """Return what may be allowed again, in full."""
    return [describe_match(each.match, each.subject, labels) for each in offer.matches]


def describe_match(match: str, subject: str, labels: Labels) -> str:
    """Return what a grant is for, in full."""
    kinds = {
        "command": labels.grant_command,
        "file": labels.grant_file,
        "address": labels.grant_address,
        "tool": labels.grant_tool,
    }
    return kinds.get(match, labels.grant_prefix).format(text=subject)
