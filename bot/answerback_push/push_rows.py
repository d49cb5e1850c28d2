"""The rows that a change stores in the outbox for the people who can have themselves notified. Pure.

Whom an ask waits for is worked out when the row is sent: until then, the ask may have been answered or seen.
"""

from __future__ import annotations

import json
import secrets
from typing import Final

from answerback.core.ask import Ask
from answerback.core.people import People
from answerback.core.person import Person
from answerback.ports.store_values import Delivery, push_queue

WAITS: Final = "push.waits"
"""An ask has begun to wait for people."""
OVER: Final = "push.over"
"""An ask no longer waits for people."""
CONFIRMING: Final = "confirming"
"""The field of a row that says whether it is about a confirmation: by the time it is sent, the ask may be."""


def push_rows(
    surface: str, people: People, before: Ask | None, after: Ask, at: float
) -> tuple[Delivery, ...]:
    """Return the rows for those for whom the ask begins to wait, or no longer waits, with a change.

    Args:
        surface: where people can have themselves notified.
        people: tells who has an account there.
    """
    was = frozenset[tuple[bool, str]]() if before is None else _waiting(surface, people, before)
    now = _waiting(surface, people, after)
    started, ended = ({name for _, name in names} for names in (now - was, was - now))
    if before is not None and _handed(after) != _handed(before):
        started |= {name for _, name in now if name in after.schedule.recipient_ids}
    rows = []
    if started:
        rows.append(_row(WAITS, after, sorted(started), at + after.request.push_after))
    if ended:
        rows.append(_row(OVER, after, sorted(ended), at))
    return tuple(rows)


def _handed(ask: Ask) -> tuple[tuple[str, ...], int]:
    """Tell one hand over from another, also to the same person."""
    return ask.schedule.recipient_ids, ask.schedule.reminders_done_before


def _waiting(surface: str, people: People, ask: Ask) -> frozenset[tuple[bool, str]]:
    """Return those for whom an ask waits and who could be notified, and whether to confirm."""
    if not ask.open or ask.schedule.awaits_inquiry:
        return frozenset()
    place, names = ask.placement.destination.surface, ask.waits_for
    if place != surface:
        names = tuple(name for name in names if _could_be_notified(name, place, surface, people))
    if ask.confirming:
        names = (
            *names,
            *(each for each in ask.placement.confirmers_elsewhere if _is_on(surface, each, people)),
        )
    return frozenset((ask.confirming, name) for name in names)


def _is_on(surface: str, account: str, people: People) -> bool:
    """Return True if the person of an account, as ``surface:id``, has one on the surface that notifies."""
    there, _, user_id = account.partition(":")
    accounts = people.accounts_of(Person(surface=there, user_id=user_id))
    return any(each == surface for each, _ in accounts)


def _could_be_notified(name: str, place: str, surface: str, people: People) -> bool:
    """Return True if a person whom an ask names elsewhere may have an account on the surface that notifies."""
    if not people.accounts or name.startswith("@"):
        return bool(people.accounts)
    accounts = people.accounts_of(Person(surface=place, user_id=name))
    return any(each == surface for each, _ in accounts)


def _row(kind: str, ask: Ask, names: list[str], at: float) -> Delivery:
    row_id = f"psh_{secrets.token_hex(12)}"
    # Rows of one ask are sent in turn; a push must hold up neither the ask's webhooks nor other pushes.
    return Delivery(
        id=row_id,
        ask_id=push_queue(ask.id, row_id),
        type=kind,
        url="",
        agent=f"@{ask.id}",
        body=json.dumps({"ask": ask.id, "names": names, CONFIRMING: ask.confirming}),
        created_at=at,
    )
