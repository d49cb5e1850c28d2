"""Erase what people and agents wrote in an ask and its record. Pure.

A skeleton stays: which agent asked in which dialect, where and when, which kinds of steps people took, and how it
ended. People's names are removed, and so are ids that may be names themselves: only a chat platform's opaque ids stay.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from answerback.core.asides import UNOPENED
from answerback.core.ask import AbandonedMessage, Ask, RecordEntry, Request
from answerback.core.form import Form
from answerback.core.origin import UNKNOWN_ASKER
from answerback.core.walker import Person, Walk

ERASED: Final = "erased"
"""Replaces the id of a person that is not kept."""
_KEPT: Final = frozenset(
    {
        *("answer_type", "exclusive", "persistence", "source", "other", "remembered"),
        *("reason", "status", "reminded", "erased", "gave_up", "consumed"),
        *("grant", "made_in", "use", "uses", "minutes", "grant_revoked", "stands_in"),
    }
)
"""The keys that stay in the body of a record entry: kinds, never content."""


def erase_ask(ask: Ask, at: float, opaque: Collection[str]) -> Ask:
    """Return an ended ask without its content.

    Args:
        opaque: the surfaces whose ids do not reveal who a person is; other ids are erased too.
    """
    if ask.outcome is None:
        raise AssertionError(f"{ask.id} is open, so it must not be erased")
    kept = ask.placement.destination.surface in opaque
    revision = ask.revision + 1
    return replace(
        ask,
        erased_at=at,
        request=erase_request(ask.request),
        placement=replace(
            ask.placement,
            destination=ask.placement.destination
            if kept
            else replace(ask.placement.destination, user=None),
            responders=(),
            confirmers=(),
            confirmers_elsewhere=(),
            handed_over=None,
            stand_ins=(),
            shown_revision=revision
            if ask.placement.message is None
            else ask.placement.shown_revision,
            old_message=_left(ask.to_retire, opaque),
            place_before=None,
        ),
        copies=tuple(
            copy
            for copy in ask.copies
            if (copy.surface or ask.placement.destination.surface) in opaque
        ),
        schedule=replace(ask.schedule, recipient_ids=(), unreachable=()),
        walk=Walk(phase=ask.walk.phase),
        revision=revision,
        # If no message shows the ask, there is none to edit.
        outcome=replace(ask.outcome, message=None, ended_by=_person(ask.outcome.ended_by, opaque)),
        last_actor=None,
        updated_at=at,
        opening=UNOPENED,
        unreachable_accounts=0,
        asides=(),
        collection=replace(ask.collection, unread_by_agent=False),
        retry_request=ask.retry_request
        and replace(ask.retry_request, text=None, by=_person(ask.retry_request.by, opaque)),
        grant=ask.grant
        and replace(
            ask.grant,
            by=_known(ask.grant.by, opaque),
            revoked_by=_person(ask.grant.revoked_by, opaque),
        ),
    )


def _left(left: AbandonedMessage | None, opaque: Collection[str]) -> AbandonedMessage | None:
    """Return what is needed to turn a message that was left behind into a note."""
    if left is None or left.destination.surface in opaque:
        return left
    return replace(left, destination=replace(left.destination, user=None))


def erase_request(request: Request) -> Request:
    """Return a request reduced to who sent it and in which dialect."""
    return Request(
        name=request.dialect,
        dialect=request.dialect,
        arguments={},
        form=Form(questions=()),
        agent=request.agent,
        prompt_label=request.agent or UNKNOWN_ASKER,  # a label may name the agent's owner
    )


def erase_entry(entry: RecordEntry, opaque: Collection[str]) -> RecordEntry:
    """Return a record entry without its content."""
    body: dict[str, JsonValue] = {
        name: value
        for name, value in entry.body.items()
        if name in _KEPT and isinstance(value, str | bool | int)
    }
    return RecordEntry(at=entry.at, kind=entry.kind, by=_person(entry.by, opaque), body=body)


def _person(person: Person | None, opaque: Collection[str]) -> Person | None:
    return None if person is None else _known(person, opaque)


def _known(person: Person, opaque: Collection[str]) -> Person:
    kept = person.surface in opaque
    return Person(surface=person.surface, user_id=person.user_id if kept else ERASED)
